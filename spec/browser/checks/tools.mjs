// What the checks share.
import assert from "node:assert/strict";

/** Presses keys one after the other. */
export async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
  await settle(page);
}

/** Waits until what was asked for is drawn. */
export async function settle(page) {
  await page.evaluate(() => new Promise((done) =>
    requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** The state in the address. */
export async function state(page) {
  await page.waitForTimeout(200);
  return Object.fromEntries(new URLSearchParams((await page.evaluate("location.hash")).slice(1)));
}

/** The text of the bar of details. */
export function details(page) {
  return page.locator("#details").innerText();
}

/** Points at a place of the picture: a part of its width, and a level. */
export async function point(page, x, level, selector = ".flame") {
  const box = await page.locator(selector).first().boundingBox();
  await page.mouse.move(box.x + x * box.width, box.y + level * 20 + 10);
  await settle(page);
}

/** Colours of the canvas, and how many pixels have each. */
export function colours(page, selector = ".flame canvas") {
  return page.locator(selector).first().evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const counts = {};
    for (let i = 0; i < data.length; i += 4) {
      const key = `${data[i]},${data[i + 1]},${data[i + 2]},${data[i + 3]}`;
      counts[key] = (counts[key] || 0) + 1;
    }
    return counts;
  });
}

/** The rows of the table, as lists of texts. */
export function rows(page) {
  return page.locator("table.functions tbody tr").evaluateAll((lines) =>
    lines.map((line) => [...line.cells].map((cell) => cell.innerText.trim())));
}

/** Names of the table's first rows. */
export async function names(page) {
  return (await rows(page)).map((cells) => cells.find((text) => /[a-z]{3}/i.test(text)));
}

export { assert };
