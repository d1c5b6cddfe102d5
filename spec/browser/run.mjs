// Runs the checks of the HTML page in Chromium. Usage:
//   node run.mjs --list                 the names of all checks, a line each
//   node run.mjs DIRECTORY [TEXT]       runs all on the pages there, or those with TEXT in the name
// Prints a line of JSON for each check: its name and, when it failed, why.
import { createRequire } from "node:module";
import { resolve } from "node:path";
import access from "./checks/access.mjs";
import data from "./checks/data.mjs";
import find from "./checks/find.mjs";
import move from "./checks/move.mjs";
import open from "./checks/open.mjs";
import speed from "./checks/speed.mjs";
import unit from "./checks/unit.mjs";

const only = process.argv[3] || "";
const checks = [...unit, ...open, ...move, ...find, ...data, ...access, ...speed]
  .filter(({ name }) => name.includes(only));
if (process.argv[2] === "--list") {
  for (const { name } of checks) console.log(name);
  process.exit(0);
}

const require = createRequire(resolve(process.env.SONDE_NPM || "build/npm", "package.json"));
const { chromium } = require("playwright-core");
const directory = resolve(process.argv[2]);

/** Opens a page, and remembers what must not happen while it is open. */
async function openPage(browser, name, options = {}) {
  const { hash = "", init, ...more } = options;
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...more });
  const page = await context.newPage();
  page.troubles = [];
  page.on("console", (message) => {
    const isOurs = message.text().includes("getImageData");   // of the checks, not of the page
    if ((message.type() === "error" || message.type() === "warning") && !isOurs) {
      page.troubles.push(`console: ${message.text()}`);
    }
  });
  page.on("pageerror", (error) => page.troubles.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) page.troubles.push(`request: ${request.url()}`);
  });
  if (init) await page.addInitScript(init);
  await page.goto(`file://${directory}/${name}.html${hash}`);
  if (more.javaScriptEnabled !== false && !options.isBroken) {
    await page.waitForSelector("html[data-ready]", { timeout: 30000 });
  }
  return page;
}

async function run(browser, { name, check }) {
  const opened = [];
  const use = async (...args) => {
    const page = await openPage(browser, ...args);
    opened.push(page);
    return page;
  };
  let problem;
  try {
    await check(use, { require, directory });
    problem = opened.flatMap((page) => page.troubles).join("; ");
  } catch (error) {
    problem = error.stack;
  }
  for (const page of opened) await page.context().close();
  console.log(JSON.stringify(problem ? { name, problem } : { name }));
}

const browser = await chromium.launch({
  executablePath: process.env.SONDE_CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
for (const check of checks) await run(browser, check);
await browser.close();
