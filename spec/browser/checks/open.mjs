// Every page opens, in every browser that it says it opens in.
import { readFileSync, writeFileSync } from "node:fs";
import { assert, colours, press, rows } from "./tools.mjs";

const PAGES = ["shop", "one", "none", "hostile", "threads", "huge", "negative", "diff"];

const opens = (name) => ({
  name: `the page "${name}" opens, and all its views`, check: async (use) => {
    const page = await use(name);
    for (const key of ["1", "4", "3", "5", "2"]) await press(page, key);
    const shown = await page.locator("#view").innerText();
    if (name === "none") assert.match(shown, /No samples/);
    else assert.ok(Object.keys(await colours(page)).length > 1, "nothing is drawn");
  },
});

export default [
  ...PAGES.map(opens),
  { name: "without scripts the top table is there", check: async (use) => {
    const page = await use("shop", { javaScriptEnabled: false });
    assert.match(await page.locator("#static").innerText(), /System\.Text\.Json\.Write/);
    assert.equal(await page.locator("#static tbody tr").count(), 7);
    assert.equal(await page.locator("#app").isVisible(), false);
    assert.match(await page.locator(".findings").innerText(), /Half of the time/);
  } },
  { name: "without DecompressionStream the page opens all the same", check: async (use) => {
    const page = await use("shop", { init: () => { delete window.DecompressionStream; } });
    await press(page, "5");
    assert.equal((await rows(page)).length, 7);
  } },
  { name: "damaged data are said, and the table stays", check: async (use, { directory }) => {
    const text = readFileSync(`${directory}/shop.html`, "utf8");
    const at = text.indexOf('id="data">') + 60;
    writeFileSync(`${directory}/damaged.html`, `${text.slice(0, at)}AAAA${text.slice(at + 4)}`);
    const page = await use("damaged", { isBroken: true });
    await page.waitForSelector(".failure");
    assert.match(await page.locator(".failure").innerText(), /cannot show its pictures/);
    assert.equal(await page.locator("#static").isVisible(), true);
    page.troubles = [];
  } },
  { name: "hostile names are shown and do nothing", check: async (use) => {
    const page = await use("hostile");
    await press(page, "5");
    const names = (await rows(page)).map((cells) => cells[4]);
    assert.ok(names.includes("</script><script>window.pwned = 1</script>"), names[0]);
    assert.ok(names.includes("a\\u0000b"));
    assert.ok(names.some((text) => text.includes("\ufffd")));
    assert.ok(names.includes("日本語 🦊"));
    await press(page, "3");
    await page.locator("button.function").first().click();
    await page.locator("#filter").click();
    await page.locator(".finding button").click();
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    assert.equal(await page.locator("img").count(), 0);
  } },
];
