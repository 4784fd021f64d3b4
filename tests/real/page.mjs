// Opens an HTML report in Chromium, over WebDriver, and prints a line for each thing that is wrong with it:
// what axe-core finds, light and dark, wide and narrow, folded and unfolded; pages that scroll sideways; keys that do
// not work; anything that the policy of the page had to refuse. With a folder, screenshots are written there.
import { pathToFileURL } from "node:url";
import { ENTER, TAB, openBrowser } from "./browser.mjs";

const [page, folder] = process.argv.slice(2);
const wrong = [];
const browser = await openBrowser(folder);
const { cdp, execute, press, screenshot, visit } = browser;
const check = (holds, otherwise) => holds || wrong.push(otherwise);

const focused = () =>
  execute("const at = document.activeElement; return at.className || at.getAttribute('href') || at.localName");

async function walk() {
  await press(TAB);
  check((await focused()) === "skip", `the first Tab reaches \`${await focused()}\`, not the link that skips`);
  await press(ENTER);
  check((await execute("return document.activeElement.id")) === "main", "the skip link does not lead to the results");
  const toggles = await execute("return [...document.querySelectorAll('main summary')].length");
  if (toggles === 0) return;
  for (let at = 0; at < 200 && (await focused()) !== "summary"; at += 1) await press(TAB);
  const open = () => execute("return document.activeElement.parentElement.open");
  const before = await open();
  await press(ENTER);
  check((await open()) === !before, "Enter on a summary does not toggle it");
}

async function filter() {
  const count = () => execute("return document.querySelectorAll('#cases tbody tr:not([hidden])').length");
  const all = await count();
  if (all === 0) return;
  await execute("document.getElementById('words').focus()");
  await press(..."nothing is called so");
  check((await count()) === 0, "the filter hides nothing");
  await execute("document.getElementById('words').value = ''; document.getElementById('filter').dispatchEvent(new Event('input'))");
  check((await count()) === all, "an empty filter hides cases");
}

async function timeline() {
  const width = () => execute("return document.querySelector('.lanes')?.clientWidth ?? 0");
  const before = await width();
  if (before === 0) return;
  await execute("document.getElementById('timeline').scrollIntoView()");
  await screenshot("timeline");
  await execute("document.querySelector('#zoom button').focus()");
  await press(ENTER, ENTER);
  check(Math.abs((await width()) - 4 * before) < 8, `zooming in twice makes ${before} pixels ${await width()}`);
  const [needed, there] = await execute("const at = document.documentElement; return [at.scrollWidth, at.clientWidth]");
  check(needed <= there, "the timeline makes the page scroll sideways");
  await screenshot("timeline-zoomed");
  const link = await execute("const at = document.querySelector('.timeline a'); at?.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, view: window })); return at?.getAttribute('href')");
  if (link) check((await execute("return location.hash")) === link, "a bar does not lead to its case");
}

/** A page whose script does not run shows the same, but for the filter. */
async function withoutScript(url) {
  const text = () => execute("return document.body.innerText.length");
  await visit(url);
  const before = await text();
  await cdp("Emulation.setScriptExecutionDisabled", { value: true });
  await visit(url);
  check(await execute("const at = document.getElementById('filter'); return !at || at.hidden"), "the filter needs its script and is shown without it");
  check(await execute("const at = document.getElementById('zoom'); return !at || at.hidden"), "zooming needs its script and is shown without it");
  check((await text()) > before * 0.9, "without a script the page says less");
}

try {
  const url = pathToFileURL(page).href;
  await visit(url);
  await walk();
  await filter();
  await timeline();
  await visit(url);
  const open = (is) => execute(`document.querySelectorAll("details").forEach((at) => { at.open = arguments[0]; })`, is);
  await execute("scrollTo(0, 0)");
  for (const scheme of ["light", "dark"]) for (const width of [1280, 400]) wrong.push(...(await browser.look(`${scheme}-${width}`, width, scheme)));
  await open(true);
  for (const scheme of ["light", "dark"]) for (const width of [1280, 400]) wrong.push(...(await browser.look(`open-${scheme}-${width}`, width, scheme)));
  check(await execute("return window.owned === undefined"), "a script of a server ran");
  wrong.push(...(await browser.logged()));
  await withoutScript(url);
} catch (error) {
  wrong.push(String(error));
} finally {
  await browser.close();
}
if (wrong.length > 0) console.log(wrong.join("\n"));
process.exitCode = wrong.length > 0 ? 1 : 0;
