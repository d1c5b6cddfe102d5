// What the scripts of this folder share: a browser, and a page that notes
// every error. The browser is Debian's chromium, or $CHROMIUM.
"use strict";
const { chromium } = require("playwright-core");

// speedscope draws with WebGL, which a machine without a screen does in
// software only when told so.
const ARGUMENTS = [
  "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
  "--ignore-gpu-blocklist",
];

async function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ARGUMENTS,
  });
}

async function open(browser, url) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 700 } });
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  await page.goto(url);
  return { page, errors };
}

module.exports = { launch, open };
