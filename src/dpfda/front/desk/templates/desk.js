"use strict";
// Without this script all pages work; with it they answer while one types.
function sending(form) { const sent = new URLSearchParams(); for (const [k, v] of new FormData(form)) if (typeof v === "string") sent.append(k, v); return sent; }
function later(work, wait) { let timer; return () => { clearTimeout(timer); timer = setTimeout(work, wait); }; }

// A refusal names the field that it is about.
function mark(form, name) {
  for (const each of form.querySelectorAll("[aria-invalid]")) each.removeAttribute("aria-invalid");
  if (name) for (const each of form.querySelectorAll(`[name="${CSS.escape(name)}"], [name^="${CSS.escape(name)}."]`)) each.setAttribute("aria-invalid", "true");
}
const checked = document.querySelector("form[data-check]");
if (checked) {
  const place = document.getElementById("checked");
  let last = 0;
  const ask = later(async () => {
    const mine = ++last;
    place.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(checked.dataset.check, {method: "POST", body: sending(checked)});
      const text = await answer.text();
      if (mine !== last) return;
      place.innerHTML = text;
      mark(checked, place.querySelector("[data-wrong]")?.dataset.wrong);
    } catch { place.textContent = "The desk was stopped. Start it again with: dpfda desk"; }
    place.removeAttribute("aria-busy");
  }, 700);
  checked.addEventListener("input", ask);
}

// Known bounds go into the fields for bounds.
document.getElementById("presets")?.addEventListener("click", (event) => {
  const chosen = event.target.closest("button[data-low]"), ends = document.querySelectorAll('[name="bounds"]');
  if (!chosen || ends.length !== 2) return;
  ends[0].value = chosen.dataset.low; ends[1].value = chosen.dataset.high;
  const label = document.querySelector('[name="y-label"]');
  if (label && !label.value) label.value = `${chosen.dataset.quantity} (${chosen.dataset.unit})`;
  ends[0].focus();
  ends[0].dispatchEvent(new Event("input", {bubbles: true}));
});

// A slider beside a number: it moves the number, and the number moves it.
const plan = document.querySelector("form[data-shown]");
if (plan) {
  const place = document.getElementById("shown"), state = document.getElementById("state");
  let busy = false, again = false;
  async function ask() {
    if (busy) { again = true; return; }
    busy = true; again = false;
    place.setAttribute("aria-busy", "true");
    try {
      const sent = sending(plan);
      sent.delete("mark");
      place.innerHTML = await (await fetch(plan.dataset.shown + "?" + sent)).text();
      state.textContent = (place.querySelector("#said, .refused") ?? {}).textContent;
    } catch { place.textContent = "The desk was stopped. Start it again with: dpfda desk"; }
    place.removeAttribute("aria-busy");
    busy = false;
    if (again) ask();
  }
  for (const input of plan.querySelectorAll("input[data-low]")) {
    const slider = document.createElement("input"), low = Math.log(+input.dataset.low), high = Math.log(+input.dataset.high);
    slider.type = "range"; slider.min = 0; slider.max = 1000;
    slider.setAttribute("aria-label", plan.querySelector(`label[for="${input.id}"]`).textContent + ", slider");
    const follow = () => { slider.value = 1000 * (Math.log(+input.value || 1) - low) / (high - low); slider.setAttribute("aria-valuetext", input.value); };
    slider.addEventListener("input", () => {
      const value = Math.exp(low + (high - low) * slider.value / 1000);
      input.value = input.dataset.whole ? Math.round(+value.toPrecision(3)) : +value.toPrecision(2);
      slider.setAttribute("aria-valuetext", input.value);
    });
    slider.addEventListener("change", ask);
    input.addEventListener("input", follow);
    input.after(slider);
    follow();
  }
  plan.addEventListener("change", (event) => { if (event.target.type !== "range") ask(); });
}

// A button that costs is pressed once; the server holds to that as well.
document.querySelector("form[data-once]")?.addEventListener("submit", (event) => {
  const button = event.target.querySelector("button");
  if (button.getAttribute("aria-disabled")) event.preventDefault();
  button.setAttribute("aria-disabled", "true");
});
