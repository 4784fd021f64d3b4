// What the generator has no setting for: a choice of versions in the bar of each page, two themes instead of five, and
// roles and keys for readers without a mouse or a screen.
/* global path_to_root */
"use strict";

(() => {
  const root = new URL(path_to_root || "./", location.href);
  const versions = window.versions ?? {};
  if (Object.keys(versions).length === 0) return;
  const here = decodeURIComponent(root.pathname.split("/").at(-2));
  const page = location.pathname.slice(root.pathname.length) || "index.html";
  const choice = document.createElement("select");
  choice.id = "version";
  choice.title = "Version";
  choice.setAttribute("aria-label", "Version");
  choice.append(...Object.keys(versions).map((name) => new Option(name, name, false, name === here)));
  choice.addEventListener("change", () => {
    // A page that a version does not have yet, or no longer has.
    const known = versions[choice.value].includes(page) ? page : "index.html";
    location.href = new URL(`../${encodeURIComponent(choice.value)}/${known}${location.hash}`, root).href;
  });
  // A page that is gone back to may come with the choice that left it.
  window.addEventListener("pageshow", () => { choice.value = here; });
  document.querySelector(".right-buttons").prepend(choice);
})();

for (const name of ["rust", "coal", "ayu"]) document.getElementById(`mdbook-theme-${name}`)?.parentElement.remove();
document.getElementById("mdbook-theme-navy").textContent = "Dark";

document.getElementById("mdbook-menu-bar").setAttribute("role", "banner");
document.getElementById("mdbook-search-wrapper").setAttribute("role", "search");
document.getElementById("mdbook-searchbar").setAttribute("aria-label", "Search");

// The generator has a label in its place, which Tab does not reach and which may not be a button.
const label = document.getElementById("mdbook-sidebar-toggle");
const checkbox = document.getElementById("mdbook-sidebar-toggle-anchor");
const toggle = document.createElement("button");
toggle.type = "button";
toggle.id = "pages";
toggle.className = label.className;
toggle.title = "Pages";
toggle.setAttribute("aria-label", "Pages");
toggle.append(...label.childNodes);
const tellState = () => toggle.setAttribute("aria-expanded", checkbox.checked);
checkbox.addEventListener("change", tellState);
toggle.addEventListener("click", () => label.click());
tellState();
label.style.display = "none";
label.after(toggle);

// What is wider than its place scrolls, with keys once Tab reaches it.
const observer = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
for (const block of document.querySelectorAll("pre > code, .table-wrapper")) observer.observe(block);
