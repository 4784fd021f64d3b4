// Chromium, driven over WebDriver, with axe-core.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

export const TAB = "\uE004";
export const ENTER = "\uE007";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Starts a browser that writes screenshots to `folder`, if there is one; it runs until `close`. */
export async function openBrowser(folder) {
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

  async function press(...keys) {
    const actions = keys.flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]);
    await post("actions", { actions: [{ type: "key", id: "keyboard", actions }] });
  }

  async function screenshot(name) {
    if (folder) writeFileSync(join(folder, `${name}.png`), Buffer.from(await ask("GET", `/session/${session}/screenshot`), "base64"));
  }

  async function resize(width, scheme) {
    await cdp("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: false });
    await cdp("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
  }

  /** What is wrong with the page in a window of a width, in a colour scheme: what axe-core finds, and scrolling sideways. */
  async function look(name, width, scheme) {
    await resize(width, scheme);
    const wrong = [];
    const [needed, there] = await execute("const at = document.documentElement; return [at.scrollWidth, at.clientWidth]");
    if (needed > there) wrong.push(`${name}: the page is ${needed} pixels wide, and ${there} are there`);
    if (await execute("return !window.axe")) await execute(axe + "; window.axe = axe;");
    const violations = await post("execute/async", {
      script: `const done = arguments[0];
        axe.run({ preload: false, resultTypes: ["violations"] }).then(
          ({ violations }) => done(violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ": " + html))),
          (error) => done(["axe-core: " + error]));`,
      args: [],
    });
    wrong.push(...violations.slice(0, 20).map((violation) => `${name}: ${violation}`));
    await screenshot(name);
    return wrong;
  }

  const visit = (url) => post("url", { url });
  const logged = async () => (await post("se/log", { type: "browser" })).map(({ message }) => `the browser says: ${message}`);

  async function close() {
    if (session) await ask("DELETE", `/session/${session}`).catch(() => {});
    driver.removeAllListeners("exit");
    driver.kill();
  }

  const args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"];
  const binary = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path));
  const alwaysMatch = {
    browserName: "chrome",
    "goog:chromeOptions": { args, ...(binary && { binary }) },
    "goog:loggingPrefs": { browser: "ALL" },
    // axe-core takes as long as the machine needs.
    timeouts: { script: null },
  };
  try {
    session = (await ask("POST", "/session", { capabilities: { alwaysMatch } })).sessionId;
  } catch (error) {
    await close();
    throw error;
  }
  return { cdp, close, execute, logged, look, press, resize, screenshot, visit };
}
