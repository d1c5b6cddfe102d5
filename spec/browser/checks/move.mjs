// Zoom, choice, views, the address.
import { assert, colours, details, point, press, settle, state } from "./tools.mjs";

export default [
  { name: "pointing at a box shows its values", check: async (use) => {
    const page = await use("shop");
    await point(page, 0.3, 2);
    const text = await details(page);
    assert.match(text, /Shop\.Program\.Main/);
    assert.match(text, /Total 750 ms · 75\.0 % of all/);
    assert.match(text, /Shop\.Api\.dll/);
  } },
  { name: "a double click zooms, 0 shows all, the address remembers", check: async (use) => {
    const page = await use("shop");
    const whole = await colours(page);
    await point(page, 0.3, 2);
    await page.mouse.dblclick(...(await centre(page, 0.3, 3)));
    await settle(page);
    assert.notDeepEqual(await colours(page), whole);
    const zoom = (await state(page)).zoom.split("..").map(Number);
    assert.ok(Math.abs(zoom[1] - zoom[0] - 0.75) < 1e-6, String(zoom));
    await point(page, 0.2, 4);
    assert.match(await details(page), /50\.0 % of all · 66\.7 % of zoom/);
    const zoomed = await colours(page);
    await page.reload();
    await page.waitForSelector("html[data-ready]");
    await settle(page);
    await page.mouse.move(5, 5);
    await point(page, 0.2, 4);
    assert.match(await details(page), /66\.7 % of zoom/);
    assert.ok(Object.keys(zoomed).length > 1);
    await press(page, "0");
    assert.equal((await state(page)).zoom, undefined);
  } },
  { name: "keys and wheel zoom and pan", check: async (use) => {
    const page = await use("shop");
    const width = async () => {
      const { zoom } = await state(page);
      if (!zoom) return 1;
      const [from, to] = zoom.split("..").map(Number);
      return to - from;
    };
    await press(page, "+");
    assert.ok(await width() < 0.7);
    await press(page, "w", "w");
    assert.ok(await width() < 0.4);
    const before = (await state(page)).zoom;
    await press(page, "d");
    assert.notEqual((await state(page)).zoom, before);
    await press(page, "s", "s", "-", "-");
    assert.equal(await width(), 1);
    await page.mouse.move(...(await centre(page, 0.5, 3)));
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -300);
    await page.keyboard.up("Control");
    assert.ok(await width() < 0.5);
  } },
  { name: "arrows go through the boxes, Enter zooms, Escape gives up", check: async (use) => {
    const page = await use("shop");
    await press(page, "ArrowDown", "ArrowDown", "ArrowDown");
    assert.match(await details(page), /Shop\.Program\.Main/);
    assert.match(await page.locator("#live").innerText(), /Shop\.Program\.Main.*75\.0 %/);
    await press(page, "ArrowUp", "ArrowDown", "ArrowRight");
    assert.match(await details(page), /Monitor\.Wait/);
    await press(page, "Enter");
    const [from, to] = (await state(page)).zoom.split("..").map(Number);
    assert.ok(Math.abs(to - from - 0.25) < 1e-6);
    await press(page, "Escape");
    assert.match(await details(page), /Wall time/);
  } },
  { name: "the keys 1 to 5 show the views", check: async (use) => {
    const page = await use("shop");
    const views = { 1: "Time order", 2: "Flame graph", 3: "Sandwich", 4: "Inverted", 5: "Table" };
    for (const [key, title] of Object.entries(views)) {
      await press(page, key);
      assert.equal(await page.locator('[role="tab"][aria-selected="true"]').innerText(), title);
    }
    await page.goBack();
    await settle(page);
    assert.equal(await page.locator('[role="tab"][aria-selected="true"]').innerText(), "Inverted");
  } },
  { name: "inverted begins with what has values of its own", check: async (use) => {
    const page = await use("shop");
    await press(page, "4");
    await point(page, 0.1, 1);
    assert.match(await details(page), /System\.Text\.Json\.Write[\s\S]*400 ms · 40\.0 %/);
    await point(page, 0.1, 3);
    assert.match(await details(page), /Shop\.Orders\.List[\s\S]*400 ms/);
  } },
  { name: "the sandwich shows callers and callees", check: async (use) => {
    const page = await use("shop");
    await press(page, "3");
    await page.locator("button.function", { hasText: "Shop.Orders.List" }).click();
    assert.match(await page.locator(".middle").innerText(), /Shop\.Orders\.List.*750 ms, 75\.0 %/s);
    const callees = page.locator(".flame").nth(1);
    const box = await callees.boundingBox();
    await page.mouse.move(box.x + box.width * 0.3, box.y + 30);
    await settle(page);
    assert.match(await details(page), /System\.Text\.Json\.Serialize[\s\S]*500 ms/);
    const callers = await page.locator(".flame").nth(0).boundingBox();
    await page.mouse.move(callers.x + 50, callers.y + callers.height - 32);
    await settle(page);
    assert.match(await details(page), /Shop\.Program\.Main[\s\S]*750 ms/);
  } },
  { name: "light and dark follow the system and can be switched", check: async (use) => {
    const page = await use("shop", { colorScheme: "dark" });
    const theme = () => page.evaluate("document.documentElement.dataset.theme");
    assert.equal(await theme(), "dark");
    await page.emulateMedia({ colorScheme: "light" });
    await settle(page);
    assert.equal(await theme(), "light");
    await page.locator("#theme").click();
    assert.equal(await theme(), "dark");
    assert.equal((await state(page)).theme, "dark");
  } },
];

/** The middle of a box at a part of the width and a level, for the mouse. */
async function centre(page, x, level) {
  const box = await page.locator(".flame").first().boundingBox();
  return [box.x + x * box.width, box.y + level * 20 + 10];
}
