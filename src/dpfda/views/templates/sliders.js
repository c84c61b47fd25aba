// A form of public numbers: a slider beside each, and what follows from them, shown as they change.
const numbers = document.querySelector("form[data-shown]");
if (numbers) {
  const place = document.getElementById("shown"), state = document.getElementById("state");
  const narrow = matchMedia("(max-width: 40rem)");
  let busy = false, again = false, waiting = 0;
  const ends = (input) => [input.dataset.low, input.dataset.high].map((x) => scaled(input, +x));
  const scaled = (input, x) => input.dataset.scale === "log" ? Math.log(x) : x;
  function follow(input) {
    const [a, b] = ends(input), slider = input.nextElementSibling;
    slider.value = 1000 * (scaled(input, +input.value) - a) / (b - a);
    slider.setAttribute("aria-valuetext", input.value);
  }
  function move(input, slider) {
    const [a, b] = ends(input), at = a + (b - a) * slider.value / 1000;
    const value = input.dataset.scale === "log" ? Math.exp(at) : at;
    input.value = input.step === "1" ? Math.round(+value.toPrecision(3)) : +value.toPrecision(2);
    slider.setAttribute("aria-valuetext", input.value);
  }
  async function ask() {
    if (busy) { again = true; return; }
    busy = true; again = false;
    place.setAttribute("aria-busy", "true");
    const sent = new URLSearchParams(new FormData(numbers));
    sent.delete("mark");
    history.replaceState(null, "", "?" + sent);
    if (narrow.matches) sent.set("narrow", "1");
    if (place.querySelector("details")?.open) sent.set("words", "1");
    try {
      const answer = await fetch(numbers.dataset.shown + "?" + sent);
      const opened = place.querySelector("details")?.open;
      place.innerHTML = await answer.text();
      if (opened) place.querySelector("details")?.setAttribute("open", "");
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        state.textContent = (place.querySelector("#said, .refused") ?? {}).textContent;
      }, 700);
    } catch {
      place.innerHTML = '<p class="refused" role="alert">This page\'s program was stopped: start it again.</p>';
    }
    place.removeAttribute("aria-busy");
    busy = false;
    if (again) ask();
  }
  for (const input of numbers.querySelectorAll("input[data-low]")) {
    if (input.dataset.low === input.dataset.high) continue;
    const slider = document.createElement("input");
    slider.type = "range"; slider.min = 0; slider.max = 1000;
    slider.setAttribute("aria-label", numbers.querySelector(`label[for=${input.id}]`).textContent + ", slider");
    input.after(slider);
    follow(input);
    slider.addEventListener("input", () => { move(input, slider); ask(); });
    input.addEventListener("input", () => follow(input));
  }
  numbers.addEventListener("change", ask);
  numbers.addEventListener("submit", (event) => {
    if (event.submitter?.formMethod === "get") { event.preventDefault(); ask(); }
  });
  place.addEventListener("toggle", (event) => {
    if (event.target.open && !event.target.querySelector("h3, figure")) ask();
  }, true);
  narrow.addEventListener("change", ask);
  if (narrow.matches) ask();
}
