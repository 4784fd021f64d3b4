// Opens an HTML report in Chromium, over WebDriver, and prints a line for each thing that is wrong with it:
// what axe-core finds, light and dark, wide and narrow, folded and unfolded; pages that scroll sideways; keys that do
// not work; anything that the policy of the page had to refuse. With a folder, screenshots are written there.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [page, folder] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const wrong = [];

const driver = spawn("chromedriver", ["--port=0"], { stdio: ["ignore", "pipe", "inherit"] });
const port = await new Promise((resolve, reject) => {
  let said = "";
  driver.on("error", reject);
  driver.on("exit", () => reject(new Error(`chromedriver ended: ${said}`)));
  driver.stdout.on("data", (data) => {
    said += data;
    const found = /started successfully on port (\d+)/.exec(said);
    if (found) resolve(found[1]);
  });
});

async function ask(method, path, body) {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    body: method === "POST" ? JSON.stringify(body ?? {}) : undefined,
  });
  const { value } = await answer.json();
  if (value?.error) throw new Error(`${path}: ${value.error}: ${value.message}`);
  return value;
}

let session;
const post = (path, body) => ask("POST", `/session/${session}/${path}`, body);
const execute = (script, ...args) => post("execute/sync", { script, args });
const cdp = (cmd, params = {}) => post("goog/cdp/execute", { cmd, params });
const check = (holds, otherwise) => holds || wrong.push(otherwise);

async function press(...keys) {
  const actions = keys.flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]);
  await post("actions", { actions: [{ type: "key", id: "keyboard", actions }] });
}

async function look(name, width, scheme) {
  await cdp("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: false });
  await cdp("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
  const [needed, there] = await execute("const at = document.documentElement; return [at.scrollWidth, at.clientWidth]");
  check(needed <= there, `${name}: the page is ${needed} pixels wide, and ${there} are there`);
  const violations = await post("execute/async", {
    script: `const done = arguments[0];
      axe.run({ resultTypes: ["violations"] }).then(
        ({ violations }) => done(violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ": " + html))),
        (error) => done(["axe-core: " + error]));`,
    args: [],
  });
  wrong.push(...violations.slice(0, 20).map((violation) => `${name}: ${violation}`));
  if (folder) writeFileSync(join(folder, `${name}.png`), Buffer.from(await ask("GET", `/session/${session}/screenshot`), "base64"));
}

const focused = () =>
  execute("const at = document.activeElement; return at.className || at.getAttribute('href') || at.localName");

const TAB = "\uE004";
const ENTER = "\uE007";

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
  if (folder) writeFileSync(join(folder, "timeline.png"), Buffer.from(await ask("GET", `/session/${session}/screenshot`), "base64"));
  await execute("document.querySelector('#zoom button').focus()");
  await press(ENTER, ENTER);
  check(Math.abs((await width()) - 4 * before) < 8, `zooming in twice makes ${before} pixels ${await width()}`);
  const [needed, there] = await execute("const at = document.documentElement; return [at.scrollWidth, at.clientWidth]");
  check(needed <= there, "the timeline makes the page scroll sideways");
  if (folder) writeFileSync(join(folder, "timeline-zoomed.png"), Buffer.from(await ask("GET", `/session/${session}/screenshot`), "base64"));
  const link = await execute("const at = document.querySelector('.timeline a'); at?.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, view: window })); return at?.getAttribute('href')");
  if (link) check((await execute("return location.hash")) === link, "a bar does not lead to its case");
}

/** A page whose script does not run shows the same, but for the filter. */
async function withoutScript(url) {
  const text = () => execute("return document.body.innerText.length");
  await post("url", { url });
  const before = await text();
  await cdp("Emulation.setScriptExecutionDisabled", { value: true });
  await post("url", { url });
  check(await execute("const at = document.getElementById('filter'); return !at || at.hidden"), "the filter needs its script and is shown without it");
  check(await execute("const at = document.getElementById('zoom'); return !at || at.hidden"), "zooming needs its script and is shown without it");
  check((await text()) > before * 0.9, "without a script the page says less");
}

try {
  const args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"];
  const binary = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path));
  const options = { args, ...(binary && { binary }) };
  const alwaysMatch = {
    browserName: "chrome",
    "goog:chromeOptions": options,
    "goog:loggingPrefs": { browser: "ALL" },
    // axe-core takes as long as the machine needs.
    timeouts: { script: null },
  };
  session = (await ask("POST", "/session", { capabilities: { alwaysMatch } })).sessionId;
  const url = pathToFileURL(page).href;
  await post("url", { url });
  await walk();
  await filter();
  await timeline();
  await post("url", { url });
  await execute(axe + "; window.axe = axe;");
  const open = (is) => execute(`document.querySelectorAll("details").forEach((at) => { at.open = arguments[0]; })`, is);
  await execute("scrollTo(0, 0)");
  for (const scheme of ["light", "dark"]) for (const width of [1280, 400]) await look(`${scheme}-${width}`, width, scheme);
  await open(true);
  for (const scheme of ["light", "dark"]) for (const width of [1280, 400]) await look(`open-${scheme}-${width}`, width, scheme);
  check(await execute("return window.owned === undefined"), "a script of a server ran");
  const logged = await post("se/log", { type: "browser" });
  wrong.push(...logged.map(({ message }) => `the browser says: ${message}`));
  await withoutScript(url);
} catch (error) {
  wrong.push(String(error));
} finally {
  if (session) await ask("DELETE", `/session/${session}`).catch(() => {});
  driver.removeAllListeners("exit");
  driver.kill();
}
if (wrong.length > 0) console.log(wrong.join("\n"));
process.exitCode = wrong.length > 0 ? 1 : 0;
