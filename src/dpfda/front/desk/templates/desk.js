// Without this script all pages work; with it they answer while one types.
const form = document.querySelector("form[data-live]"), shown = document.getElementById("shown");
// An option of a verb may be called as a property of a form is.
const reads = form?.matches("[method=get], :has([formmethod])");
const stopped = Object.assign(document.createElement("p"), {className: "refused", role: "alert",
  textContent: "The desk was stopped. Start it again with: dpfda desk. Its page Ledger says what was charged."});
let timer, busy = false, again = false;

async function ask() {
  again = busy;
  if (busy) return;
  busy = true;
  shown.setAttribute("aria-busy", "true");
  const words = new URLSearchParams(new FormData(form));
  if (reads) { words.delete("mark"); history.replaceState(null, "", "?" + words); }
  if (shown.querySelector("details")?.open) words.set("words", "1");
  try {
    const live = form.getAttribute("action") + "?live=1";
    const answer = await (reads ? fetch(`${live}&${words}`) : fetch(live, {method: "POST", body: words}));
    // A desk that was started anew has no such page.
    if (answer.status === 404) throw answer;
    shown.innerHTML = await answer.text();
  } catch { shown.replaceChildren(stopped.cloneNode(true)); }
  document.getElementById("heard").textContent = shown.querySelector("p")?.textContent;
  // A refusal names the field that it is about.
  const wrong = shown.querySelector("[data-wrong]")?.dataset.wrong;
  for (const each of form.querySelectorAll("[aria-describedby]:not(fieldset)")) {
    each.ariaInvalid = each.name.split(".")[0] === wrong;
  }
  shown.removeAttribute("aria-busy");
  busy = false;
  if (again) ask();
}
function later() { clearTimeout(timer); timer = setTimeout(ask, 400); }
// What takes long is asked when a number is whole, or a slider moves.
form?.addEventListener("input", (event) => { if (!reads || event.target.type === "range") later(); });
form?.addEventListener("change", later);
// A page is left only where the desk still answers: what was filled in stays in sight.
async function leave(place, way) {
  const answer = await fetch(document.querySelector("nav a").href, {method: "HEAD"}).catch(() => null);
  answer?.ok ? way() : place.append(stopped);
}
for (const each of document.forms) each.addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.submitter?.getAttribute("formmethod")) ask();
  else leave(each, () => HTMLFormElement.prototype.submit.call(each));
});
const working = document.querySelector(".lead[role=status]");
if (working) setTimeout(leave, 1000, working.parentElement, () => location.reload());
shown.addEventListener("toggle", (event) => {
  if (form && event.target.open && !event.target.querySelector("h2, figure")) ask();
}, true);

// Curves of another kind have bounds of their own.
document.getElementById("shape")?.addEventListener("change", () => form.submit());

// A slider beside a number.
for (const input of document.querySelectorAll("input[data-low]")) {
  const log = input.dataset.scale.includes("log"), scaled = (x) => log ? Math.log(x) : +x;
  const low = scaled(input.dataset.low), high = scaled(input.dataset.high);
  const slider = Object.assign(document.createElement("input"), {type: "range", min: 0, max: 1000});
  const follow = () => {
    slider.value = 1000 * (scaled(input.value) - low) / (high - low);
    slider.ariaValueText = input.value;
  };
  slider.ariaLabel = input.labels[0].firstChild.textContent.trim() + ", slider";
  slider.addEventListener("input", () => {
    const at = low + (high - low) * slider.value / 1000, value = log ? Math.exp(at) : at;
    input.value = input.dataset.scale.includes("whole") ? Math.round(+value.toPrecision(3)) : +value.toPrecision(2);
    slider.ariaValueText = input.value;
  });
  input.addEventListener("input", follow);
  input.after(slider);
  follow();
}

// Known bounds go into the fields for bounds.
for (const button of document.querySelectorAll("#presets button")) button.addEventListener("click", () => {
  const ends = document.querySelectorAll('[name="bounds"]'), label = document.getElementById("y-label");
  [ends[0].value, ends[1].value] = [button.dataset.low, button.dataset.high];
  if (label && !label.value) label.value = button.textContent;
  ends[0].focus();
  ends[0].dispatchEvent(new Event("input", {bubbles: true}));
});
