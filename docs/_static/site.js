// The theme's arrows that unfold a part of the list of pages have no name: give them one.
document.addEventListener("DOMContentLoaded", () => {
  for (const arrow of document.querySelectorAll("nav details > summary")) {
    if (!arrow.textContent.trim()) arrow.setAttribute("aria-label", "Show or hide the pages below");
  }
});
