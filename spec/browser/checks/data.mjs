// Profiles, threads, time, differences, extreme values.
import { assert, details, names, point, press, rows, settle, state } from "./tools.mjs";

const title = (page, row, column) => page.locator("table.functions tbody tr").nth(row)
  .locator("td").nth(column).getAttribute("title");

export default [
  { name: "profile and metric can be chosen", check: async (use) => {
    const page = await use("shop", { hash: "#view=table" });
    assert.equal((await rows(page))[0][0], "400 ms");
    await page.getByLabel("Metric").selectOption("samples");
    assert.equal((await rows(page))[0][0], "40");
    await page.getByLabel("Profile").selectOption("alloc");
    assert.equal((await rows(page))[0][0], "3 MB");
    assert.equal((await state(page)).profile, "alloc");
  } },
  { name: "the table sorts by every column and says so", check: async (use) => {
    const page = await use("shop", { hash: "#view=table" });
    for (const name of ["Self", "Total", "Function", "Module"]) {
      await page.locator("th button", { hasText: new RegExp(`^${name}$`) }).click();
      const head = page.locator("th[aria-sort]");
      assert.equal(await head.innerText(), name);
      await head.locator("button").click();
    }
    await page.locator("th button", { hasText: "Function" }).click();
    const shown = await names(page);
    assert.deepEqual(shown, [...shown].sort());
  } },
  { name: "1,000 threads can be searched and stepped through", check: async (use) => {
    const page = await use("threads");
    await press(page, "t");
    await page.locator("dialog input").fill("0777");
    assert.equal(await page.locator("dialog li").count(), 1);
    await press(page, "Enter");
    assert.equal(await page.locator("#pick-thread").innerText(), "worker 0777");
    assert.match(await page.locator("#chips").innerText(), /thread: worker 0777/);
    await press(page, "1");
    assert.equal(await page.locator("#pick-thread").innerText(), "worker 0777");
    await press(page, "n");
    assert.equal(await page.locator("#pick-thread").innerText(), "worker 0776");
    await press(page, "p", "p");
    assert.equal(await page.locator("#pick-thread").innerText(), "worker 0778");
  } },
  { name: "time order shows what a thread did when", check: async (use) => {
    const page = await use("shop");
    await press(page, "1");
    await point(page, 0.2, 4);
    assert.match(await details(page), /System\.Text\.Json\.Write/);
    assert.match(await details(page), /Lasted 400 ms[\s\S]*From 0\.0000 s to 0\.4000 s/);
    await point(page, 0.5, 3);
    assert.match(await details(page), /Serialize[\s\S]*Lasted 500 ms/);
  } },
  { name: "the strip tells events and chooses a range of time", check: async (use) => {
    const page = await use("shop", { hash: "#view=table" });
    const strip = page.locator("#strip");
    assert.match(await strip.getAttribute("aria-label"), /GC pauses: 2, 70 ms in all/);
    await strip.focus();
    await press(page, "ArrowRight", "ArrowRight");
    assert.match(await page.locator("#live").innerText(), /GC pauses · generation 2 · 50 ms/);
    const box = await strip.boundingBox();
    await page.mouse.move(box.x + 1, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 10, { steps: 4 });
    await page.mouse.up();
    await settle(page);
    assert.match(await page.locator("#chips").innerText(), /0\.\d* s to 0\.37\d* s/);
    const shown = await names(page);
    assert.ok(shown.includes("System.Text.Json.Write"));
    assert.equal(shown.includes("Shop.Tree.Walk"), false);
    await page.locator("#view").focus();
    await press(page, "Escape");
    assert.equal((await state(page)).range, undefined);
  } },
  { name: "values near 2^63 keep every digit", check: async (use) => {
    const page = await use("huge", { hash: "#view=table" });
    assert.equal(await title(page, 0, 0), "9,223,372,036,854,775,807");
    assert.equal(await title(page, 1, 0), "9,223,372,036,854,775,806");
    await press(page, "2");
    await point(page, 0.3, 1);
    assert.match(await details(page), /18,446,744,073,709,551,614/);
  } },
  { name: "negative values are shown with their sign", check: async (use) => {
    const page = await use("negative", { hash: "#view=table" });
    const shown = await rows(page);
    assert.ok(shown.some((cells) => cells[0] === "\u221230" && cells[4] === "shrank"));
    assert.ok(shown.some((cells) => cells[0] === "\u22129,223,372,036,854,775,807"));
    await press(page, "2");
    await point(page, 0.3, 2);
    assert.match(await details(page), /least[\s\S]*\u22129,223,372,036,854,775,807/);
  } },
  { name: "a difference shows both sides, new and gone", check: async (use) => {
    const page = await use("diff", { hash: "#view=table&counts=self" });
    assert.match(await page.locator("#legend").innerText(), /Not scaled/);
    const by = Object.fromEntries((await rows(page)).map((cells) => [cells[4], cells]));
    assert.deepEqual(by.new.slice(0, 4), ["0", "60", "+60", "new"]);
    assert.deepEqual(by.gone.slice(0, 4), ["30", "0", "\u221230", "gone"]);
    assert.deepEqual(by.grew.slice(0, 4), ["10", "30", "+20", "+200 %"]);
    assert.deepEqual(by.shrank.slice(0, 4), ["40", "20", "\u221220", "\u221250.0 %"]);
    assert.deepEqual(by.same.slice(0, 4), ["50", "50", "0", "0 %"]);
    assert.equal((await rows(page))[0][4], "new");
    await press(page, "2", "ArrowDown", "ArrowDown", "ArrowDown");
    assert.match(await details(page), /Before 50[\s\S]*After 50[\s\S]*Change 0/);
  } },
  { name: "a difference is scaled by total or by time, and says so", check: async (use) => {
    const page = await use("diff", { hash: "#view=table&counts=self" });
    await page.getByLabel("Scaled").selectOption("total");
    assert.match(await page.locator("#legend").innerText(), /Scaled by total/);
    let by = Object.fromEntries((await rows(page)).map((cells) => [cells[4], cells]));
    assert.deepEqual(by.same.slice(0, 3), ["38.5 %", "31.3 %", "\u22127.21 points"]);
    await page.getByLabel("Scaled").selectOption("time");
    assert.match(await page.locator("#legend").innerText(), /Scaled by time/);
    by = Object.fromEntries((await rows(page)).map((cells) => [cells[4], cells]));
    assert.deepEqual(by.same.slice(2, 4), ["\u221225", "\u221250.0 %"]);
  } },
  { name: "growth is orange, shrinking is blue", check: async (use) => {
    const page = await use("diff");
    const colour = (name) => page.locator("button.function", { hasText: name })
      .evaluate((button) => button.style.getPropertyValue("--swatch").match(/\d+/g).map(Number));
    await press(page, "5");
    const [red, , blue] = await colour("new");
    assert.ok(red > blue + 50, "new is orange");
    const gone = await colour("gone");
    assert.ok(gone[2] > gone[0] + 50, "gone is blue");
  } },
];
