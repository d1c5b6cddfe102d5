// Search and filters.
import { assert, details, names, press, rows, settle, state } from "./tools.mjs";

const matched = (page) => page.locator("#matched").innerText();

async function fill(page, id, text) {
  await page.locator(`#filter-${id}`).fill(text);
  await page.locator(`#filter-${id}`).press("Enter");
  await page.locator(`#filter-${id}`).blur();
  await settle(page);
}

export default [
  { name: "search says what share of the samples matches", check: async (use) => {
    const page = await use("shop");
    await press(page, "/");
    await page.keyboard.type("json\\.(write|ser)");
    assert.equal(await matched(page), "50.0 % in 2 functions");
    await press(page, "Enter");
    assert.match(await matched(page), /^1 of 1 · 50\.0 %/);
    assert.match(await details(page), /System\.Text\.Json\.Serialize/);
    assert.equal((await state(page)).q, "json\\.(write|ser)");
    await press(page, "Escape");
    assert.equal(await matched(page), "");
  } },
  { name: "Enter and Shift-Enter go through the matches and round", check: async (use) => {
    const page = await use("shop");
    await press(page, "Control+f");
    await page.keyboard.type("Monitor|Walk|Write");
    const order = [];
    for (let i = 0; i < 4; i++) {
      await press(page, "Enter");
      order.push((await details(page)).split(/\s/)[0]);
    }
    assert.deepEqual(order, ["System.Text.Json.Write", "System.Threading.Monitor.Wait",
      "Shop.Tree.Walk", "System.Text.Json.Write"]);
    await press(page, "Shift+Enter");
    assert.match(await details(page), /^\s*Shop\.Tree\.Walk/);
  } },
  { name: "what is no regular expression is searched as text", check: async (use) => {
    const page = await use("shop");
    await page.locator("#query").fill("List(");
    assert.equal(await page.locator("#query").getAttribute("aria-invalid"), "true");
    assert.equal(await matched(page), "0 % in 0 functions");
  } },
  { name: "search works in time order, in the table and in the sandwich", check: async (use) => {
    const page = await use("shop", { hash: "#q=Walk" });
    await press(page, "5");
    assert.deepEqual(await names(page), ["Shop.Tree.Walk"]);
    await press(page, "1");
    await page.locator("#query").press("Enter");
    await settle(page);
    assert.match(await details(page), /Shop\.Tree\.Walk[\s\S]*Lasted 200 ms/);
    await press(page, "Escape", "3");
    await page.locator("#query").fill("Serialize");
    await page.locator("#query").press("Enter");
    assert.match(await page.locator(".middle").innerText(), /Serialize/);
  } },
  { name: "a sandwich begins with what is searched", check: async (use) => {
    const page = await use("shop", { hash: "#view=sandwich&q=Walk" });
    assert.match(await page.locator(".middle").innerText(), /Shop\.Tree\.Walk/);
    const box = await page.locator("#query").boundingBox();
    assert.ok(box.width >= 130, `the field is ${box.width} pixels wide`);
  } },
  { name: "focus, ignore and hide do what their words say", check: async (use) => {
    const page = await use("shop", { hash: "#view=table" });
    await page.locator("#filter").click();
    await fill(page, "focus", "Json");
    assert.match(await page.locator("#chips").innerText(), /50\.0 % of all is shown/);
    assert.equal((await names(page)).includes("System.Threading.Monitor.Wait"), false);
    await fill(page, "focus", "");
    await fill(page, "ignore", "Monitor");
    assert.match(await page.locator("#chips").innerText(), /75\.0 % of all is shown/);
    await fill(page, "ignore", "");
    await fill(page, "hide", "Write$");
    const serialize = (await rows(page)).find((cells) => cells[4].includes("Serialize"));
    assert.deepEqual(serialize.slice(0, 4), ["500 ms", "50.0 %", "500 ms", "50.0 %"]);
    await page.locator("#chips button").first().click();
    assert.equal(await page.locator("#chips").isVisible(), false);
  } },
  { name: "recursion folds into one frame", check: async (use) => {
    const page = await use("shop");
    await page.locator("#query").fill("Walk");
    await page.locator("#query").press("Enter");
    await page.locator("#query").blur();
    await press(page, "ArrowDown");
    assert.match(await details(page), /Walk/);
    await press(page, "Escape", "r");
    assert.match(await page.locator("#chips").innerText(), /Recursion folded/);
    await page.locator("#query").fill("Walk");
    await page.locator("#query").press("Enter");
    await page.locator("#query").blur();
    assert.match(await details(page), /Self 200 ms/);
  } },
  { name: "own code folds what is foreign", check: async (use) => {
    const page = await use("shop", { hash: "#view=table" });
    await press(page, "m");
    const shown = await names(page);
    assert.equal(shown.includes("System.Text.Json.Write"), false);
    assert.ok(shown.includes("System.Text.Json.Serialize"));
    await page.locator("#filter").click();
    await fill(page, "mine", "Text.Json");
    assert.ok((await names(page)).includes("System.Text.Json.Write"));
    assert.equal((await names(page)).includes("Shop.Program.Main"), false);
  } },
  { name: "labels choose samples", check: async (use) => {
    const page = await use("shop", { hash: "#view=table&profile=alloc" });
    await page.locator("#filter").click();
    await page.getByLabel("type").selectOption("Shop.Node");
    await settle(page);
    assert.match(await page.locator("#chips").innerText(), /25\.0 % of all is shown/);
    assert.deepEqual((await names(page))[0], "Shop.Tree.Walk");
  } },
];
