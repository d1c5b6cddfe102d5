/*
 * The area under the toolbar: one picture, the table, or the sandwich.
 */
import { printable } from "./labels.js";
import { Flame } from "./flame.js";
import { FunctionTable, changeBy, element, relativeText, rowsOf } from "./table.js";
import { matchingFunctions, matchingPaths } from "./search.js";
import { format, percent } from "./units.js";
import { parseRange } from "./state.js";

/** Widths in pixels under which the table has fewer columns. */
const NARROW = 700;
const SLIM = 520;

/** What each picture is called where nobody sees it. */
const DESCRIPTIONS = {
  flame: "Flame graph, callers above callees, heaviest on the left.",
  inverted: "Inverted flame graph, from functions with a value of their own to their callers.",
  time: "Calls of one thread in time order.",
  callers: "Callers of the chosen function.",
  callees: "Callees of the chosen function.",
};

const HOW = "Arrow keys go from box to box, Enter zooms, 5 shows the table instead.";

/** The function with the largest value of its own, among those that match; 0 for none. */
function heaviest(own, matches) {
  let best = 0;
  for (let fn = 1; fn < own.length; fn++) {
    if ((matches === null || matches[fn] === 1) && own[fn] > own[best]) best = fn;
  }
  return best;
}

/** The pictures. */
export class Pictures {
  /**
   * @param {HTMLElement} host
   * @param {object} model
   * @param {object} on `hover(box, picture)`, `select(box, picture)`,
   *   `zoomed(from, to)`, `chose(fn)`, `open(fn)`
   */
  constructor(host, model, on) {
    this.host = host;
    this.model = model;
    this.on = on;
    this.kind = "";
    this.active = null;
  }

  /** Shows a state in the colours of a theme. */
  show(state, colours, search) {
    this.state = state;
    this.colours = colours;
    this.matches = search ? search.mask : null;
    this.calls = this.model.calls(state);
    if (this.calls.totalWeight === 0) {
      this.showMessage();
      return;
    }
    if (state.view === "table") this.showTable();
    else if (state.view === "sandwich") this.showSandwich();
    else this.showPicture();
  }

  /** Prepares the area for a kind of content; true when it was another. */
  become(kind) {
    if (this.kind === kind) return false;
    this.kind = kind;
    this.active = null;
    this.host.replaceChildren();
    return true;
  }

  showMessage() {
    this.become("message");
    const message = element("p", { class: "message" });
    const isEmpty = this.calls.whole.every((value) => Number(value) === 0);
    const why = this.model.viewMeta(this.state).note || "";
    message.append(element("strong", {}, isEmpty ? "No samples" : "Nothing is left"),
      isEmpty ? why : "The filters leave no sample. Remove one of them above.");
    this.host.replaceChildren(message);
  }

  makeFlame(kind) {
    const host = element("div", { class: "flame", tabindex: "0", role: "application",
      "aria-roledescription": "flame graph", "aria-label": `${DESCRIPTIONS[kind]} ${HOW}` });
    const isMain = kind !== "callers" && kind !== "callees";
    const flame = new Flame(host, {
      hover: (box) => this.on.hover(box, flame),
      select: (box) => this.on.select(box, flame),
      view: (from, to) => isMain && this.on.zoomed(from, to),
    });
    host.addEventListener("focus", () => { this.active = flame; });
    host.addEventListener("pointerdown", () => { this.active = flame; });
    return flame;
  }

  showPicture() {
    const { view } = this.state;
    if (this.become(view)) {
      this.flame = this.makeFlame(view);
      this.host.append(this.flame.host);
      const zoom = parseRange(this.state.zoom);
      if (zoom) Object.assign(this.flame, zoom);
    }
    this.active = this.flame;
    const source = view === "time" ? this.model.spans(this.state)
      : this.model.tree(this.state, view === "inverted");
    this.keepPlace(this.flame, source);
    this.flame.show(source, this.look());
  }

  /** Another tree is shown from its beginning, unless the address says where. */
  keepPlace(flame, source) {
    if (!flame.source || flame.source === source) return;
    const isSameTime = flame.source.extent && flame.source.extent === source.extent;
    if (!isSameTime) Object.assign(flame, { from: 0, to: 1 });
  }

  look(extra = {}) {
    const { model, state, calls, colours } = this;
    const { unit, type } = model.measure(state);
    const factor = model.factor(state);
    return {
      names: model.page.names,
      fill: (box) => this.fill(box, factor),
      ...colours,
      matches: this.matches,
      rootLabel: `${printable(type)}: `
        + calls.total.map((value) => format(value, unit)).join(" → "),
      note: model.isDiff ? (box) => this.diffNote(box, factor) : null,
      ...extra,
    };
  }

  /** The colour of a box. */
  fill(box, factor) {
    const { palette } = this.colours;
    if (box.fn === 0) return palette.plain;
    if (this.model.isDiff) {
      const [before, after] = box.values.map(Number);
      const sum = Math.abs(before) + Math.abs(after * factor);
      return palette.change(sum === 0 ? 0 : (after * factor - before) / sum);
    }
    if (this.calls.isSigned && box.weight > 0 && box.from === undefined) {
      return palette.change(Number(box.values[0]) / box.weight);
    }
    return palette.box(box.fn);
  }

  diffNote(box, factor) {
    if (box.fn === 0) return "";
    const change = changeBy(factor);
    const text = relativeText(box.values, { change });
    const by = change(...box.values);
    return `${by > 0 ? "▲" : by < 0 ? "▼" : "="} ${text === "0 %" ? "" : text}`.trim();
  }

  showTable() {
    if (this.become("table")) {
      const host = element("div", { class: "table-view" });
      this.table = this.makeTable(host);
      this.host.append(host);
    }
    this.fillTable();
  }

  makeTable(host) {
    return new FunctionTable(host, {
      select: (fn) => this.chooseFunction(fn),
      open: (fn) => this.on.open(fn),
    });
  }

  chooseFunction(fn) {
    this.table.select(fn);
    this.on.chose(fn);
  }

  fillTable() {
    const { model, state } = this;
    const sums = model.functions(state);
    const { unit, type } = model.measure(state);
    if (this.rowsFrom !== sums) {
      this.rowsFrom = sums;
      this.rows = rowsOf(model.page, sums);
    }
    this.table.show({
      rows: this.rows, unit, whole: this.calls.whole, isDiff: model.isDiff,
      factor: model.factor(state), scale: state.scale || model.meta.diff?.scale,
      counts: state.counts || "total", matches: this.matches,
      selected: this.chosenFunction(),
      isNarrow: this.host.clientWidth < NARROW || state.view === "sandwich",
      isSlim: this.host.clientWidth < SLIM,
      caption: `Functions by ${printable(type)} in ${unit}`,
      swatch: (fn) => this.swatch(fn, sums),
    });
  }

  swatch(fn, sums) {
    const { palette } = this.colours;
    if (!this.model.isDiff) return palette.box(fn);
    const [before, after] = sums.total.map((column) => Number(column[fn]));
    const scaled = after * this.model.factor(this.state);
    const sum = Math.abs(before) + Math.abs(scaled);
    return palette.change(sum === 0 ? 0 : (scaled - before) / sum);
  }

  showSandwich() {
    if (this.become("sandwich")) this.makeSandwich();
    this.fillTable();
    const fn = this.chosenFunction();
    this.name.textContent = fn === 0 ? "Choose a function in the table" : this.title(fn);
    if (fn === 0) return;
    this.callers.show(this.model.around(this.state, fn, true), this.look({ isUp: true,
      rootLabel: undefined }));
    this.callees.show(this.model.around(this.state, fn, false),
      this.look({ rootLabel: undefined }));
    this.active ||= this.callees;
  }

  title(fn) {
    const { unit } = this.model.measure(this.state);
    const sums = this.model.functions(this.state);
    const name = printable(this.model.page.names[fn]);
    if (this.model.isDiff) {
      const [before, after] = sums.total.map((column) => format(column[fn], unit));
      return `${name}  ·  ${before} → ${after}`;
    }
    const total = sums.total[0][fn];
    return `${name}  ·  ${format(total, unit)}, ${percent(total, this.calls.whole[0])}`;
  }

  makeSandwich() {
    const box = element("div", { class: "sandwich" });
    const side = element("div", { class: "table-view" });
    this.table = this.makeTable(side);
    this.callers = this.makeFlame("callers");
    this.callees = this.makeFlame("callees");
    this.name = element("div", { class: "middle" });
    const halves = element("div", { class: "halves" });
    halves.append(element("h2", {}, "Callers"), this.callers.host, this.name,
      element("h2", {}, "Callees"), this.callees.host);
    box.append(side, halves);
    this.host.append(box);
  }

  /** The chosen function; a sandwich takes the heaviest one when none is. */
  chosenFunction() {
    const sums = this.model.functions(this.state);
    const chosen = Number(this.state.fn);
    if (this.state.fn !== "" && sums.weight[chosen] > 0) return chosen;
    if (this.state.view !== "sandwich") return 0;
    return heaviest(sums.own, this.matches) || heaviest(sums.own, null);
  }

  /** What part of the whole is in view: [0, 1]. */
  get zoom() {
    return this.active ? { from: this.active.from, to: this.active.to } : { from: 0, to: 1 };
  }

  /** Where Enter in the search field goes: how many places there are. */
  matchPlaces() {
    const { state, matches } = this;
    if (!matches) return [];
    if (this.table && (state.view === "table" || state.view === "sandwich")) {
      return this.table.order.map(({ fn }) => () => this.goToRow(fn));
    }
    if (!this.flame || !this.flame.source) return [];
    const { source } = this.flame;
    if (state.view === "time") {
      return source.matching(matches).map((span) => () => this.flame.select(span));
    }
    const paths = state.view === "flame" ? matchingPaths(this.calls, matches)
      : matchingFunctions(matches, this.model.functions(state).own).map((fn) => [fn]);
    return paths.map((path) => () => this.flame.select(source.follow(path)));
  }

  goToRow(fn) {
    this.table.select(fn);
    this.on.chose(fn);
  }
}
