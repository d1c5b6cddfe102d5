/*
 * The dialogs: help, and the list of threads (or of any label's values).
 */
import { printable } from "./labels.js";
import { element } from "./table.js";
import { percent } from "./units.js";

const KEYS = [
  ["Views", [
    [["1"], "time order: what one thread did when"],
    [["2"], "left heavy: equal stacks together, the heaviest on the left"],
    [["3"], "sandwich: callers and callees of one function"],
    [["4"], "inverted: from the functions where time was spent to their callers"],
    [["5"], "table of functions"],
  ]],
  ["Moving", [
    [["+", "−", "0"], "zoom in, zoom out, show all"],
    [["w", "a", "s", "d"], "zoom in, left, zoom out, right"],
    [["↑", "↓", "←", "→"], "go to caller, callee, neighbour"],
    [["Enter"], "zoom to the chosen box"],
    [["double click"], "zoom to a box"],
    [["Ctrl", "wheel"], "zoom at the pointer"],
  ]],
  ["Choosing", [
    [["n", "p", "t"], "next thread, previous thread, list of threads"],
    [["r"], "show recursion as one frame"],
    [["m"], "own code: foreign frames as one"],
    [["/", "Ctrl F"], "search; Enter and Shift Enter go through the matches"],
    [["Esc"], "give up the search, the choice, the range of time"],
    [["?"], "this help"],
  ]],
];

const TEXTS = [
  "Width is value: a box is as wide as the share of samples in which its function is on the "
    + "stack. Only in time order does the horizontal axis mean time.",
  "Search and filters take JavaScript regular expressions. Search does not mind capitals; "
    + "filters (focus, ignore, hide) do, and look at name, file and module.",
  "A difference is blue and ▼ where less was spent, orange and ▲ where more was.",
  "The address keeps the view: copy it to show somebody the same place of this file.",
];

function keyList(rows) {
  const list = element("dl", { class: "keys" });
  for (const [keys, meaning] of rows) {
    const row = element("div");
    const term = element("dt");
    term.append(...keys.map((key) => element("kbd", {}, key)));
    row.append(term, element("dd", {}, meaning));
    list.append(row);
  }
  return list;
}

function open(dialog, title, parts) {
  const close = element("button", { type: "button", class: "close", "aria-label": "Close" }, "✕");
  close.addEventListener("click", () => dialog.close());
  dialog.replaceChildren(element("h2", { id: "dialog-title" }, title), ...parts, close);
  dialog.showModal();
}

/** Shows the help. */
export function showHelp(dialog) {
  const parts = KEYS.flatMap(([title, rows]) => [element("h3", {}, title), keyList(rows)]);
  parts.push(element("h3", {}, "Reading it"), ...TEXTS.map((text) => element("p", {}, text)));
  open(dialog, "Help", parts);
}

const MOST_OPTIONS = 500;

function fillOptions(list, options, whole, chosen) {
  list.replaceChildren(...options.slice(0, MOST_OPTIONS).map((option) => {
    const item = element("li", { role: "option", id: `option-${option.index}` });
    item.setAttribute("aria-selected", String(option.index === chosen));
    item.append(element("span", {}, printable(option.name)),
      element("span", {}, option.note || ""),
      element("span", {}, option.weight === undefined ? "" : percent(option.weight, whole)));
    item.dataset.index = option.index;
    return item;
  }));
}

/**
 * Lets people choose one of a long list.
 * @param {HTMLDialogElement} dialog
 * @param {object} list `title`, `options` (each `index name weight note`),
 *   `chosen` (an index)
 * @param {function} use gets the index
 */
export function pickOne(dialog, { title, options, chosen }, use) {
  const box = element("div", { class: "picker" });
  const input = element("input", { type: "search", role: "combobox", "aria-expanded": "true",
    "aria-controls": "options", "aria-label": `${title}: type to find`, placeholder: "Type to find",
    autocomplete: "off" });
  const list = element("ul", { id: "options", role: "listbox", "aria-label": title });
  const whole = options.reduce((sum, { weight }) => sum + (weight || 0), 0);
  let shown = options;
  let at = chosen;
  const update = () => {
    fillOptions(list, shown, whole, at);
    input.setAttribute("aria-activedescendant", `option-${at}`);
    list.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  };
  const finish = (index) => {
    dialog.close();
    use(index);
  };
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    shown = options.filter(({ name }) => name.toLowerCase().includes(wanted));
    if (!shown.some(({ index }) => index === at)) at = shown.length > 0 ? shown[0].index : -2;
    update();
  });
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step && event.key !== "Enter") return;
    event.preventDefault();
    const place = shown.findIndex(({ index }) => index === at);
    if (event.key === "Enter" && place >= 0) finish(at);
    if (step && shown[place + step]) at = shown[place + step].index;
    if (step) update();
  });
  list.addEventListener("click", (event) => {
    const item = event.target.closest("li");
    if (item) finish(Number(item.dataset.index));
  });
  box.append(input, list);
  open(dialog, title, [box]);
  update();
  input.focus();
}
