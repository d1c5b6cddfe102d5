// Uses a flame graph as a person does and prints what it showed as JSON.
"use strict";
const { launch, open } = require("./browser.js");

// The boxes that can be seen: name and width in pixels.
function visible(page) {
  return page.evaluate(() => Array.from(document.querySelectorAll("#frames g"))
    .filter((g) => !g.classList.contains("hidden"))
    .map((g) => ({
      name: g.querySelector("title").textContent.replace(/ \([^()]*\)$/, ""),
      label: g.querySelector("text").textContent,
      width: Math.round(g.querySelector("rect").getBoundingClientRect().width),
      hit: g.classList.contains("hit"),
    })));
}

const text = (page, id) => page.evaluate((name) =>
  document.getElementById(name).textContent, id);
const hash = (page) => page.evaluate(() => location.hash);

async function main(file, name, words) {
  const browser = await launch();
  const url = "file://" + file;
  const { page, errors } = await open(browser, url);
  const result = { errors, start: await visible(page) };
  const box = page.locator("#frames g", { hasText: name }).first();
  await box.hover({ force: true });
  result.details = await text(page, "details");
  await box.click({ force: true });
  result.zoomed = await visible(page);
  page.on("dialog", (dialog) => dialog.accept(words));
  await page.keyboard.press("/");
  result.found = await visible(page);
  result.matched = await text(page, "matched");
  result.hash = await hash(page);
  const again = await open(browser, url + result.hash);
  result.recalled = await visible(again.page);
  await page.keyboard.press("Escape");
  result.reset = await visible(page);
  result.cleared = await text(page, "matched");
  console.log(JSON.stringify(result));
  await browser.close();
}

main(...process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
