/*
 * What stands above the pictures: views, pickers of profile, metric and
 * thread, filters, and the chips that say what is left out.
 */
import { printable } from "./labels.js";
import { element } from "./table.js";
import { moment, percent } from "./units.js";
import { parseRange } from "./state.js";

const VIEWS = [
  ["flame", "Flame graph", "left heavy"],
  ["time", "Time order", "one thread over time"],
  ["inverted", "Inverted", "from leaves to callers"],
  ["sandwich", "Sandwich", "callers and callees"],
  ["table", "Table", "functions"],
];

const FILTERS = [
  ["focus", "Focus", "only stacks with a function that matches"],
  ["ignore", "Ignore", "no stacks with a function that matches"],
  ["hide", "Hide", "leave out functions that match, keep their time"],
];

const SCALES = [
  ["none", "as measured"], ["total", "by total (shares)"], ["time", "by time (per second)"],
];

/** Labels with more values than this are no filter for people. */
const MOST_VALUES = 400;

/** The controls above the pictures. */
export class Toolbar {
  /**
   * @param {object} model
   * @param {object} parts elements by name
   * @param {object} on `change(changes)`, `threads()`
   */
  constructor(model, parts, on) {
    this.model = model;
    this.parts = parts;
    this.on = on;
    this.makeTabs();
    this.makeFilters();
    parts.filter.addEventListener("click", () => this.toggleFilters());
    parts.filters.addEventListener("submit", (event) => event.preventDefault());
  }

  get views() {
    return VIEWS.filter(([id]) => id !== "time" || this.model.page.timeline);
  }

  makeTabs() {
    for (const [id, title, help] of this.views) {
      const tab = element("button", { type: "button", role: "tab", id: `tab-${id}`, title: help,
        "aria-controls": "view" }, title);
      tab.addEventListener("click", () => this.on.change({ view: id }));
      this.parts.views.append(tab);
    }
    this.parts.views.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const tabs = [...this.parts.views.children];
      const next = tabs[tabs.indexOf(event.target) + step];
      if (!step || !next) return;
      next.focus();
      next.click();
      event.preventDefault();
      event.stopPropagation();
    });
  }

  makeFilters() {
    const { filters } = this.parts;
    for (const [id, title, help] of FILTERS) filters.append(this.field(id, title, help));
    if (this.model.foreign({ mine: "" }) || this.model.meta.mine) {
      filters.append(this.field("mine", "Own code",
        this.model.meta.mine || "all but the framework"));
    } else {
      filters.append(this.field("mine", "Own code", "name, file or module of what is yours"));
    }
    filters.append(this.check("own", "Foreign code as one frame"),
      this.check("fold", "Recursion as one frame"));
    this.labelHost = element("div", { style: "display: contents" });
    filters.append(this.labelHost);
  }

  field(id, title, help) {
    const label = element("label", {}, title);
    const input = element("input", { type: "text", id: `filter-${id}`, placeholder: help,
      autocomplete: "off", spellcheck: "false" });
    input.addEventListener("change", () => {
      const changes = { [id]: input.value };
      if (id === "mine" && input.value) changes.own = "1";
      this.on.change(changes);
    });
    label.append(input);
    return label;
  }

  check(id, title) {
    const label = element("label", { class: "check" });
    const input = element("input", { type: "checkbox", id: `filter-${id}` });
    input.addEventListener("change", () => this.on.change({ [id]: input.checked ? "1" : "" }));
    label.append(input, title);
    return label;
  }

  toggleFilters() {
    const { filter, filters } = this.parts;
    filters.hidden = !filters.hidden;
    filter.setAttribute("aria-expanded", String(!filters.hidden));
    if (!filters.hidden) filters.querySelector("input").focus();
    this.on.resized();
  }

  /** Shows a state. */
  show(state) {
    for (const tab of this.parts.views.children) {
      const isIt = tab.id === `tab-${state.view}`;
      tab.setAttribute("aria-selected", String(isIt));
      tab.tabIndex = isIt ? 0 : -1;
    }
    for (const id of ["focus", "ignore", "hide", "mine"]) {
      document.getElementById(`filter-${id}`).value = state[id];
    }
    for (const id of ["own", "fold"]) {
      document.getElementById(`filter-${id}`).checked = state[id] === "1";
    }
    document.getElementById("filter-own").disabled = this.model.foreign(state) === null;
    this.showPickers(state);
    this.showLabels(state);
    this.showChips(state);
  }

  showPickers(state) {
    const { pickers } = this.parts;
    const hadFocus = pickers.contains(document.activeElement) ? document.activeElement.id : "";
    pickers.replaceChildren(...this.pickersFor(state));
    if (hadFocus) document.getElementById(hadFocus)?.focus();
  }

  pickersFor(state) {
    const { model } = this;
    const made = [];
    if (model.isDiff) {
      made.push(this.scalePicker(state));
      if (state.view === "table" || state.view === "sandwich") made.push(this.countsPicker(state));
      return made;
    }
    if (model.meta.views.length > 1) {
      made.push(this.picker("pick-profile", "Profile", model.viewMeta(state).name,
        model.meta.views.map(({ name, label }) => [name, label || name]),
        (profile) => this.on.change({ profile, type: "", labels: "", range: "" })));
    }
    const { types } = model.viewMeta(state);
    if (types.length > 1 && !state.range) {
      made.push(this.picker("pick-type", "Metric", types[model.typeIndex(state)].type,
        types.map(({ type }) => [type, type]), (type) => this.on.change({ type })));
    }
    const thread = this.threadPicker(state);
    if (thread) made.push(thread);
    return made;
  }

  threadPicker(state) {
    const { model } = this;
    let name;
    if (state.view === "time") {
      name = model.page.timeline.threads[model.threadIndex(state)]?.name;
      if (model.threads.length < 2) return null;
    } else {
      if (model.labelValues(state, "thread").length < 2) return null;
      name = new URLSearchParams(state.labels).get("thread");
    }
    const button = element("button",
      { type: "button", id: "pick-thread", "aria-haspopup": "dialog" },
      name ? printable(name) : "All threads");
    button.addEventListener("click", () => this.on.threads());
    return button;
  }

  scalePicker(state) {
    const { before, after, scale } = this.model.meta.diff;
    const hasTime = before.duration_ns > 0 && after.duration_ns > 0;
    return this.picker("pick-scale", "Scaled", state.scale || scale,
      SCALES.filter(([id]) => id !== "time" || hasTime),
      (chosen) => this.on.change({ scale: chosen }));
  }

  countsPicker(state) {
    return this.picker("pick-counts", "Compare", state.counts || "total",
      [["total", "total values"], ["self", "self values"]],
      (counts) => this.on.change({ counts: counts === "self" ? "self" : "" }));
  }

  picker(id, title, chosen, options, use) {
    const label = element("label", {}, title);
    const select = element("select", { id });
    for (const [value, text] of options) {
      const option = element("option", {}, printable(text));
      option.value = value;
      option.selected = value === chosen;
      select.append(option);
    }
    select.addEventListener("change", () => use(select.value));
    label.append(select);
    return label;
  }

  /** A picker in the filters for each label but the thread, which has its own. */
  showLabels(state) {
    const { model } = this;
    const chosen = new URLSearchParams(state.labels);
    const made = [];
    for (const key of model.isDiff ? [] : model.labelKeys(state)) {
      const values = model.labelValues(state, key);
      if (key === "thread" || values.length < 2 || values.length > MOST_VALUES) continue;
      made.push(this.picker(`label-${key}`, printable(key), chosen.get(key) || "",
        [["", "all"], ...values.map(({ text }) => [text, text])],
        (value) => this.chooseLabel(state, key, value)));
    }
    this.labelHost.replaceChildren(...made);
  }

  chooseLabel(state, key, value) {
    const chosen = new URLSearchParams(state.labels);
    if (value === "") chosen.delete(key);
    else chosen.set(key, value);
    this.on.change({ labels: chosen.toString() });
  }

  showChips(state) {
    const chips = [];
    const add = (text, changes) => {
      const chip = element("button", { type: "button", title: "Remove" }, `${text} ✕`);
      chip.addEventListener("click", () => this.on.change(changes));
      chips.push(chip);
    };
    for (const [id, title] of FILTERS) {
      if (state[id]) add(`${title}: ${printable(state[id])}`, { [id]: "" });
    }
    if (state.own) add("Own code", { own: "" });
    if (state.fold) add("Recursion folded", { fold: "" });
    for (const [key, value] of new URLSearchParams(state.labels)) {
      const rest = new URLSearchParams(state.labels);
      rest.delete(key);
      add(`${printable(key)}: ${printable(value)}`, { labels: rest.toString() });
    }
    const range = parseRange(state.range);
    if (range) {
      const step = (range.to - range.from) / 100;
      add(`${moment(range.from, step)} to ${moment(range.to, step)}`, { range: "" });
    }
    if (chips.length > 0) chips.push(element("span", {}, this.leftOver(state)));
    this.parts.chips.replaceChildren(...chips);
    this.parts.chips.hidden = chips.length === 0;
  }

  /** What share of the profile the filters leave. */
  leftOver(state) {
    const calls = this.model.calls(state);
    if (this.model.isDiff || Number(calls.whole[0]) === 0) return "";
    const [left] = calls.total;
    return left === calls.whole[0] ? "" : `${percent(left, calls.whole[0])} of all is shown`;
  }
}
