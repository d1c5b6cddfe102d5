/*
 * The table of functions: the same numbers as the pictures, for reading,
 * sorting, and for those who cannot see a canvas.
 */
import { printable } from "./labels.js";
import { exactly, format, percent, signed } from "./units.js";
import { compare, magnitude, minus } from "./values.js";

const PAGE_ROWS = 100;

/** A column: its title, what it sorts by, and what a cell shows. */
const PLAIN_COLUMNS = [
  { id: "self", title: "Self", help: "in the function itself", isNumber: true,
    value: (row) => row.self[0], show: (row, t) => format(row.self[0], t.unit) },
  { id: "selfShare", title: "Self %", isNumber: true, isShare: true,
    value: (row) => row.self[0], show: (row, t) => percent(row.self[0], t.whole[0]) },
  { id: "total", title: "Total", help: "with the functions it calls", isNumber: true,
    value: (row) => row.total[0], show: (row, t) => format(row.total[0], t.unit) },
  { id: "totalShare", title: "Total %", isNumber: true, isShare: true,
    value: (row) => row.total[0], show: (row, t) => percent(row.total[0], t.whole[0]) },
];

const DIFF_COLUMNS = [
  { id: "before", title: "Before", isNumber: true,
    value: (row, t) => pick(row, t)[0], show: (row, t) => t.showSide(pick(row, t)[0], 0) },
  { id: "after", title: "After", isNumber: true,
    value: (row, t) => pick(row, t)[1], show: (row, t) => t.showSide(pick(row, t)[1], 1) },
  { id: "change", title: "Change", isNumber: true, isChange: true,
    value: (row, t) => change(row, t), show: (row, t) => t.showChange(change(row, t)) },
  { id: "relative", title: "Change %", isNumber: true, isChange: true,
    value: (row, t) => relative(row, t), show: (row, t) => relativeText(pick(row, t), t) },
];

const TEXT_COLUMNS = [
  { id: "name", title: "Function", value: (row) => row.name, show: (row) => row.name },
  { id: "module", title: "Module", value: (row) => row.module, show: (row) => row.module },
];

const pick = (row, table) => (table.counts === "self" ? row.self : row.total);

/** After (scaled) minus before. */
function change(row, table) {
  const [before, after] = pick(row, table);
  return table.change(before, after);
}

function relative(row, table) {
  const [before] = pick(row, table);
  if (Number(before) === 0) return Infinity;
  return Number(change(row, table)) / magnitude(before);
}

/** What a change is of what was there: "+12 %", "new", "gone". */
export function relativeText([before, after], { change: changeOf }) {
  if (Number(before) === 0) return Number(after) === 0 ? "" : "new";
  if (Number(after) === 0) return "gone";
  const text = percent(Number(changeOf(before, after)), Number(before));
  return Number(changeOf(before, after)) > 0 ? `+${text}` : text;
}

/** The change of two values when the second is first multiplied. */
export function changeBy(factor) {
  if (factor === 1) return (before, after) => minus(after, before);
  return (before, after) => Number(after) * factor - Number(before);
}

/** Rows out of sums by function. */
export function rowsOf(page, sums) {
  const rows = [];
  for (let fn = 1; fn < page.names.length; fn++) {
    if (sums.weight[fn] === 0 && sums.own[fn] === 0) continue;
    rows.push({
      fn,
      name: printable(page.names[fn]),
      module: printableModule(page, fn),
      self: sums.self.map((column) => column[fn]),
      total: sums.total.map((column) => column[fn]),
    });
  }
  return rows;
}

/** The module of a function without its directories. */
export function printableModule(page, fn) {
  const text = page.texts[page.module[fn]];
  return text === "" ? "" : printable(text.replace(/^.*[/\\]/, ""));
}

/** The table in an element. */
export class FunctionTable {
  /**
   * @param {HTMLElement} host
   * @param {object} on `select(fn)`, `open(fn)`
   */
  constructor(host, on) {
    this.host = host;
    this.on = on;
    this.sort = { id: "", isDown: true };
    this.limit = PAGE_ROWS;
    this.counts = "total";
  }

  /**
   * Shows rows.
   * @param {object} content `rows`, `unit`, `whole` (by side), `isDiff`,
   *   `factor`, `matches`, `selected`, `isNarrow`, `isSlim`, `caption`, `swatch(fn)`
   */
  show(content) {
    Object.assign(this, content);
    this.change = changeBy(this.factor);
    const first = this.isDiff ? "change" : "self";
    const isKnown = this.columns.some(({ id }) => id === this.sort.id);
    if (!isKnown) this.sort = { id: first, isDown: true };
    this.render();
  }

  get columns() {
    const numbers = this.isDiff ? DIFF_COLUMNS : PLAIN_COLUMNS;
    const dropped = this.isDiff ? (column) => this.isSlim && !column.isChange
      : (column) => this.isNarrow && column.isShare;
    const shown = numbers.filter((column) => !dropped(column));
    return [...shown, ...(this.isNarrow ? TEXT_COLUMNS.slice(0, 1) : TEXT_COLUMNS)];
  }

  showSide(value, side) {
    if (this.scale === "total") return percent(value, this.whole[side]);
    return format(value, this.unit);
  }

  showChange(value) {
    if (this.scale !== "total") return signed(value, this.unit);
    const text = percent(value, this.whole[0]).replace(" %", " points");
    return Number(value) > 0 ? `+${text}` : text;
  }

  sorted() {
    const column = this.columns.find(({ id }) => id === this.sort.id);
    const turn = this.sort.isDown ? -1 : 1;
    const rows = this.matches ? this.rows.filter((row) => this.matches[row.fn]) : this.rows;
    const keyed = rows.map((row) => ({ row, key: column.value(row, this) }));
    if (column.id === "change" && this.sort.isDown) {
      keyed.forEach((entry) => { entry.key = magnitude(entry.key); });
    }
    keyed.sort((a, b) => turn * compare(a.key, b.key) || compare(a.row.name, b.row.name));
    return keyed.map(({ row }) => row);
  }

  render() {
    const rows = this.sorted();
    this.order = rows;
    const table = element("table", { class: this.isDiff ? "functions diff" : "functions" });
    table.append(element("caption", { class: "visually-hidden" }, this.caption));
    table.append(this.head(), this.body(rows));
    const parts = [table];
    if (rows.length === 0) parts.push(element("p", { class: "empty" }, "No function matches."));
    if (rows.length > this.limit) parts.push(this.more(rows.length));
    const scrolled = this.host.scrollTop;
    this.host.replaceChildren(...parts);
    this.host.scrollTop = scrolled;
  }

  head() {
    const row = element("tr");
    for (const column of this.columns) {
      const isSorted = column.id === this.sort.id;
      const cell = element("th", { scope: "col", class: column.isNumber ? "number" : "" });
      if (isSorted) cell.setAttribute("aria-sort", this.sort.isDown ? "descending" : "ascending");
      const button = element("button", { type: "button", title: column.help || "" }, column.title);
      button.addEventListener("click", () => this.sortBy(column));
      cell.append(button);
      row.append(cell);
    }
    const head = element("thead");
    head.append(row);
    return head;
  }

  sortBy(column) {
    const isDown = this.sort.id === column.id ? !this.sort.isDown : Boolean(column.isNumber);
    this.sort = { id: column.id, isDown };
    this.render();
    this.host.querySelector("th[aria-sort] button").focus();
  }

  body(rows) {
    const body = element("tbody");
    for (const row of rows.slice(0, this.limit)) body.append(this.line(row));
    return body;
  }

  line(row) {
    const line = element("tr", { "data-fn": row.fn });
    if (row.fn === this.selected) line.setAttribute("aria-current", "true");
    for (const column of this.columns) {
      const cell = element("td", { class: column.isNumber ? "number" : column.id });
      if (column.id === "name") this.fillName(cell, row);
      else cell.textContent = column.show(row, this);
      if (column.isShare) {
        cell.style.setProperty("--share", shareOf(column.value(row), this.whole[0]));
      }
      if (column.isChange) {
        cell.classList.add(...changeClass(pick(row, this), change(row, this)));
      }
      if (column.isNumber && !column.isShare && !column.isChange) {
        cell.title = exactly(column.value(row, this), this.unit);
      }
      line.append(cell);
    }
    line.addEventListener("click", () => this.on.select(row.fn));
    line.addEventListener("dblclick", () => this.on.open(row.fn));
    return line;
  }

  fillName(cell, row) {
    const button = element("button", { type: "button", class: "function" });
    button.append(...breakable(row.name));
    button.style.setProperty("--swatch", this.swatch(row.fn));
    button.title = row.name;
    button.addEventListener("keydown", (event) => this.key(event));
    cell.append(button);
    if (this.isDiff && this.isSlim) {
      const [before, after] = pick(row, this).map((value, side) => this.showSide(value, side));
      cell.append(element("small", {}, `${before} → ${after}`));
    }
  }

  /** Arrow keys go from row to row, Enter opens the sandwich. */
  key(event) {
    const line = event.target.closest("tr");
    const to = {
      ArrowDown: line.nextElementSibling, ArrowUp: line.previousElementSibling,
    }[event.key];
    if (event.key === "Enter") this.on.open(Number(line.dataset.fn));
    else if (to) to.querySelector("button.function").focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  more(count) {
    const left = count - this.limit;
    const button = element("button", { type: "button", class: "show-more" },
      `Show ${Math.min(left, PAGE_ROWS * 5)} more of ${left}`);
    button.addEventListener("click", () => {
      this.limit += PAGE_ROWS * 5;
      this.render();
    });
    return button;
  }

  /** Marks a function's row as selected and brings it into view. */
  select(fn) {
    this.selected = fn;
    const index = this.order.findIndex((row) => row.fn === fn);
    if (index >= this.limit) {
      this.limit = index + PAGE_ROWS;
      this.render();
    }
    for (const line of this.host.querySelectorAll("tbody tr")) {
      const isIt = Number(line.dataset.fn) === fn;
      if (isIt) line.setAttribute("aria-current", "true");
      else line.removeAttribute("aria-current");
      if (isIt) line.scrollIntoView({ block: "nearest" });
    }
  }
}

function shareOf(value, whole) {
  const share = Number(whole) === 0 ? 0 : magnitude(value) / magnitude(whole);
  return `${Math.min(100, share * 100).toFixed(1)}%`;
}

function changeClass([before, after], by) {
  const classes = [];
  if (Number(by) > 0) classes.push("more");
  if (Number(by) < 0) classes.push("less");
  if (Number(before) === 0 && Number(after) !== 0) classes.push("new");
  if (Number(after) === 0 && Number(before) !== 0) classes.push("gone");
  return classes;
}

/** A name in pieces that may stand on different lines. */
function breakable(name) {
  const pieces = name.match(/[^.:/!(,<]+[.:/!(,<]*|[.:/!(,<]+/g) || [name];
  return pieces.flatMap((piece) => [piece, element("wbr")]);
}

/** Makes an element; texts are never read as markup. */
export function element(name, attributes = {}, text = undefined) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== "" && value !== undefined) made.setAttribute(key, value);
  }
  if (text !== undefined) made.textContent = text;
  return made;
}
