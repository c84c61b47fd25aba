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

{% include "sliders.js" %}
// A button that costs is pressed once; the server holds to that as well.
document.querySelector("form[data-once]")?.addEventListener("submit", (event) => {
  const button = event.target.querySelector("button");
  if (button.getAttribute("aria-disabled")) event.preventDefault();
  button.setAttribute("aria-disabled", "true");
});
