// Opens the built documentation in Chromium, from files, and prints a line for each thing that is wrong with it: the way
// from the start page to a version, the search, the choice of versions and of colours, what axe-core finds, light and
// dark, wide and narrow. With a second folder, screenshots are written there.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ENTER, openBrowser } from "./browser.mjs";

const [site, folder] = process.argv.slice(2);
const at = (path) => pathToFileURL(join(site, path)).href;
const wrong = [];
const browser = await openBrowser(folder);
const { execute, press, resize, screenshot, visit } = browser;
const check = (holds, otherwise) => holds || wrong.push(otherwise);
const address = () => execute("return location.href");

/** Waits for something that happens in the page, and says what did not happen; the count only ends the script. */
async function wait(what, script, ...args) {
  for (let tries = 0; tries < 600; tries += 1) {
    if (await execute(script, ...args)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${what} does not happen at ${await address()}`);
}

async function start() {
  await visit(at("index.html"));
  await wait("leading to a version", "return location.href !== arguments[0] && document.readyState === 'complete'", at("index.html"));
  const versions = await execute("return Object.keys(window.versions)");
  check((await address()) === at(`${versions[0]}/index.html`), `the start page leads to ${await address()}`);
  const images = await execute("return [...document.images].filter((image) => image.naturalWidth === 0).map((image) => image.src)");
  check(images.length === 0, `there are no pictures at ${images}`);
  return versions;
}

async function search(version) {
  await press("/");
  await wait("opening the search", "return document.activeElement.id === 'mdbook-searchbar'");
  await press(..."cacheScope");
  await wait("finding a word", "return document.querySelectorAll('#mdbook-searchresults li').length > 0");
  for (const [scheme, width] of [["light", 1280], ["dark", 400]]) {
    wrong.push(...(await browser.look(`search-${scheme}-${width}`, width, scheme)));
  }
  await execute("document.querySelector('#mdbook-searchresults a').click()");
  await wait("following a result", "return location.search.includes('highlight')");
  check((await address()).startsWith(at(version)), `a result leads to ${await address()}`);
  await wait("marking the word", "return document.querySelector('main mark') !== null");
}

async function follow(version) {
  await visit(at(`${version}/contents.html`));
  await resize(1280, "light");
  const isListed = () => execute("return document.documentElement.classList.contains('sidebar-visible')");
  const before = await isListed();
  await execute("document.getElementById('pages').focus()");
  await press(ENTER);
  check((await isListed()) === !before, "Enter does not toggle the list of pages");
  check((await execute("return document.getElementById('pages').ariaExpanded")) === String(!before), "the list of pages is not where its button says");
  await execute("[...document.querySelectorAll('main a')].find((link) => link.textContent === 'OAuth').click()");
  await wait("following a link", "return location.href === arguments[0]", at(`${version}/guides/oauth.html`));
  const listed = await execute("return document.querySelector('#mdbook-sidebar a.active')?.textContent");
  check(listed?.includes("OAuth"), `the list of pages marks \`${listed}\``);
}

/** The same page and place of another version; or its start, if it does not have that page. */
async function switchVersion(versions) {
  const choose = (name) =>
    execute("const at = document.getElementById('version'); at.value = arguments[0]; at.dispatchEvent(new Event('change'))", name);
  const other = versions.at(-1);
  await visit(`${at(`${versions[0]}/guides/oauth.html`)}#log-in-once`);
  await choose(other);
  await wait("switching the version", "return location.href === arguments[0]", `${at(`${other}/guides/oauth.html`)}#log-in-once`);
  check((await execute("return document.getElementById('version').value")) === other, "the choice does not name the version");
  if (await execute("return window.versions[arguments[0]].includes('tutorial.html')", other)) return;
  await visit(at(`${versions[0]}/tutorial.html`));
  await choose(other);
  await wait("leading to the start", "return location.href === arguments[0]", at(`${other}/index.html`));
}

async function chooseColours(version) {
  await resize(1280, "light");
  await visit(at(`${version}/tutorial.html`));
  const names = await execute("return [...document.querySelectorAll('#mdbook-theme-list button')].map((at) => at.textContent)");
  check(names.join() === "Auto,Light,Dark", `the colours are ${names}`);
  await execute("document.getElementById('mdbook-theme-toggle').focus()");
  await press(ENTER);
  await screenshot("colours");
  await execute("document.getElementById('mdbook-theme-navy').click()");
  check(await execute("return document.documentElement.classList.contains('navy')"), "the dark colours cannot be chosen");
  await execute("document.getElementById('mdbook-theme-default_theme').click()");
  check(await execute("return document.documentElement.classList.contains('light')"), "the colours do not follow the system");
}

try {
  const versions = await start();
  await search(versions[0]);
  await follow(versions[0]);
  if (versions.length > 1) await switchVersion(versions);
  await chooseColours(versions[0]);
  for (const [page, scheme, width] of [
    ["index", "light", 1280],
    ["index", "dark", 400],
    ["guides/reports", "light", 400],
    ["reference/matchers", "dark", 1280],
  ]) {
    await visit(at(`${versions[0]}/${page}.html`));
    wrong.push(...(await browser.look(`${page.replace("/", "-")}-${scheme}-${width}`, width, scheme)));
  }
  const loaded = await execute("return performance.getEntriesByType('resource').map(({ name }) => name)");
  check(loaded.every((url) => url.startsWith("file:")), `the pages load ${loaded.filter((url) => !url.startsWith("file:"))}`);
  wrong.push(...(await browser.logged()));
} catch (error) {
  wrong.push(String(error));
} finally {
  await browser.close();
}
if (wrong.length > 0) console.log(wrong.join("\n"));
process.exitCode = wrong.length > 0 ? 1 : 0;
