"use strict";
// Opens what a link points to.
const reveal = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (!target) return;
  for (let at = target; at; at = at.parentElement) if (at.localName === "details") at.open = true;
  if (target.localName === "tr") {
    target.hidden = false;
    const details = target.querySelector("details");
    if (details) details.open = true;
  }
  target.scrollIntoView();
};
addEventListener("hashchange", reveal);
if (location.hash) reveal();

// Filters the cases by words and by outcome.
const filter = document.getElementById("filter");
if (filter) {
  const words = document.getElementById("words");
  const troubled = document.getElementById("troubled");
  const found = document.getElementById("found");
  const rows = [...document.querySelectorAll("#cases tbody tr")];
  let texts;
  const apply = () => {
    texts ??= rows.map((row) => row.textContent.toLowerCase());
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, at) => {
      const fits = wanted.every((word) => texts[at].includes(word)) && !(troubled.checked && row.className === "fine");
      row.hidden = !fits;
      shown += fits;
    });
    found.textContent = shown === rows.length ? "" : `${shown} of ${rows.length} cases`;
  };
  filter.addEventListener("input", apply);
  filter.addEventListener("submit", (event) => event.preventDefault());
  filter.hidden = false;
}

// Makes the timeline longer, about the middle of what is seen.
const zoom = document.getElementById("zoom");
if (zoom) {
  const view = document.querySelector(".timeline");
  const lanes = document.querySelector(".lanes");
  const zoomed = document.getElementById("zoomed");
  let factor = 1;
  zoom.addEventListener("click", (event) => {
    const by = Number(event.target.value);
    if (!by) return;
    const before = factor;
    factor = Math.min(256, Math.max(1, factor * by));
    const middle = (view.scrollLeft + view.clientWidth / 2) * (factor / before);
    lanes.style.width = `${factor * 100}%`;
    view.scrollLeft = middle - view.clientWidth / 2;
    zoomed.textContent = factor === 1 ? "" : `${factor} ×`;
  });
  zoom.hidden = false;
}
