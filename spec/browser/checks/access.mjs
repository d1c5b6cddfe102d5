// What people need who do not see the canvas, or see it small.
import { assert, press, settle } from "./tools.mjs";

const VIEWS = ["flame", "time", "inverted", "sandwich", "table"];

async function audit(page, require) {
  await page.addScriptTag({ path: require.resolve("axe-core/axe.min.js") });
  const { violations } = await page.evaluate(() => window.axe.run(document));
  return violations.filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`);
}

const audited = (name, hash, colorScheme, more) => ({
  name: `axe finds nothing serious in ${name}${hash} (${colorScheme})`,
  check: async (use, { require }) => {
    const page = await use(name, { hash, colorScheme, bypassCSP: true });
    if (more) await more(page);
    assert.deepEqual(await audit(page, require), []);
  },
});

export default [
  ...VIEWS.flatMap((view) => ["light", "dark"].map((scheme) =>
    audited("shop", `#view=${view}`, scheme))),
  audited("diff", "#view=table", "light"),
  audited("diff", "#view=sandwich", "dark"),
  audited("none", "", "light"),
  audited("shop", "#q=Json&focus=Shop&own=1", "light", (page) => page.locator("#filter").click()),
  audited("shop", "", "dark", (page) => press(page, "?")),
  audited("threads", "", "light", (page) => press(page, "t")),
  { name: "nothing is wider than a screen of 400 pixels", check: async (use) => {
    for (const name of ["shop", "diff", "hostile"]) {
      for (const view of VIEWS) {
        const viewport = { width: 400, height: 800 };
        const page = await use(name, { hash: `#view=${view}`, viewport });
        const width = await page.evaluate("document.documentElement.scrollWidth");
        assert.ok(width <= 400, `${name} ${view}: ${width}`);
      }
    }
  } },
  { name: "the keyboard alone reaches the table and its rows", check: async (use) => {
    const page = await use("shop");
    let seen = "";
    for (let i = 0; i < 12 && seen !== "to-table"; i++) {
      await page.keyboard.press("Tab");
      seen = await page.evaluate("document.activeElement.id");
    }
    assert.equal(seen, "to-table");
    await page.keyboard.press("Enter");
    await settle(page);
    const focused = () => page.evaluate("document.activeElement.innerText");
    assert.equal(await focused(), "System.Text.Json.Write");
    await press(page, "ArrowDown");
    assert.equal(await focused(), "System.Threading.Monitor.Wait");
    await press(page, "Enter");
    assert.match(await page.locator(".middle").innerText(), /Monitor\.Wait/);
  } },
];
