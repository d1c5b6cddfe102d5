/*
 * The page: reads its data, then connects state, controls and pictures.
 */
import { Details } from "./details.js";
import { pickOne, showHelp } from "./dialogs.js";
import { Palette } from "./colours.js";
import { listenToKeys } from "./keys.js";
import { printable } from "./labels.js";
import { Model } from "./model.js";
import { Pictures } from "./pictures.js";
import { readPage } from "./reader.js";
import { exactPattern } from "./search.js";
import { formatRange, formatState, parseRange, parseState } from "./state.js";
import { Strip, describeTracks } from "./strip.js";
import { element } from "./table.js";
import { Toolbar } from "./toolbar.js";
import { format, percent } from "./units.js";

/** How the later side of a difference is made comparable. */
const SCALED = {
  none: "Not scaled: values are as measured.",
  total: "Scaled by total: the later side is multiplied until both sides weigh the same.",
  time: "Scaled by time: the later side is worth as much as in a recording as long as the earlier one.",
};

const byId = (id) => document.getElementById(id);

/** Writing the address at every movement would be too much for browsers. */
const ADDRESS_DELAY = 150;

class App {
  constructor(page) {
    this.page = page;
    this.model = new Model(page);
    this.state = this.checked(parseState(location.hash));
    this.search = null;
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.toolbar = new Toolbar(this.model, {
      views: byId("views"), pickers: byId("pickers"), filter: byId("filter"),
      filters: byId("filters"), chips: byId("chips"),
    }, {
      change: (changes) => this.change(changes),
      threads: () => this.pickThread(),
      resized: () => this.strip?.resize(),
    });
    this.details = new Details(byId("details"), page, this.boxActions());
    this.pictures = new Pictures(byId("view"), this.model, {
      hover: (box, flame) => this.showDetails(box || flame.selected, flame, !box || box === flame.selected),
      select: (box, flame) => this.selected(box, flame),
      zoomed: (from, to) => this.zoomed(from, to),
      chose: (fn) => this.chose(fn),
      open: (fn) => this.change({ view: "sandwich", fn: String(fn) }),
    });
    this.makeStrip();
    this.connect();
  }

  /** A state that this page can show. */
  checked(state) {
    const { timeline } = this.page;
    if (state.view === "time" && !timeline) state.view = "flame";
    if (state.view === "time") state.profile = this.model.meta.views[this.model.meta.timeline.view].name;
    if (this.model.isDiff || !timeline) state.range = "";
    if (!["light", "dark", ""].includes(state.theme)) state.theme = "";
    return state;
  }

  makeStrip() {
    const host = byId("strip");
    const { extent } = this.model;
    if (!extent) return;
    host.hidden = false;
    host.setAttribute("aria-label", `When things happened. ${describeTracks(this.page.meta.tracks || [])} `
      + "Left and right arrow keys go through the events.");
    this.strip = new Strip(host, this.page, extent, {
      hover: (text) => this.noteTime(text),
      tell: (text) => this.tell(text),
      range: (range) => this.chooseRange(range),
    });
  }

  chooseRange(range) {
    const { from, to } = this.model.extent;
    if (this.state.view === "time" && range) {
      const place = (ns) => (ns - from) / (to - from);
      this.pictures.flame.setView(place(range.from), place(range.to));
    } else {
      this.change({ range: range && this.page.timeline ? formatRange(range.from, range.to) : "" });
    }
  }

  connect() {
    byId("theme").addEventListener("click", () =>
      this.change({ theme: this.theme === "dark" ? "light" : "dark" }));
    byId("help").addEventListener("click", () => showHelp(byId("dialog")));
    byId("to-table").addEventListener("click", () => {
      this.change({ view: "table" });
      byId("view").querySelector("button.function")?.focus();
    });
    byId("zoom-in").addEventListener("click", () => this.zoomBy(1.6));
    byId("zoom-out").addEventListener("click", () => this.zoomBy(1 / 1.6));
    byId("zoom-all").addEventListener("click", () => this.pictures.active?.reset());
    this.dark.addEventListener("change", () => this.render());
    window.addEventListener("hashchange", () => {
      if (location.hash === formatState(this.state)) return;
      this.state = this.checked(parseState(location.hash));
      this.pictures.become("");
      this.render();
    });
    this.connectSearch();
    this.connectFindings();
    listenToKeys(this.keys());
  }

  connectSearch() {
    const query = byId("query");
    byId("search").addEventListener("submit", (event) => event.preventDefault());
    query.value = this.state.q;
    query.addEventListener("input", () => this.change({ q: query.value }));
    query.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.goToMatch(event.shiftKey ? -1 : 1);
    });
    byId("next").addEventListener("click", () => this.goToMatch(1));
    byId("previous").addEventListener("click", () => this.goToMatch(-1));
  }

  connectFindings() {
    const section = document.querySelector(".findings");
    if (!section) return;
    section.addEventListener("click", (event) => {
      const { show, findings } = event.target.dataset;
      if (show) this.change({ ...parseState(""), theme: this.state.theme, ...JSON.parse(show) });
      if (findings) section.classList.toggle(findings);
      if (findings) {
        const isOpen = !section.classList.contains(findings);
        event.target.setAttribute("aria-expanded", String(isOpen));
        event.target.textContent = event.target.getAttribute(isOpen ? "data-close" : "data-open");
      }
    });
  }

  get theme() {
    return this.state.theme || (this.dark.matches ? "dark" : "light");
  }

  /** Changes parts of the state and shows the result. */
  change(changes) {
    const before = this.state;
    const state = this.checked({ ...before, ...changes });
    if (state.view === "time" && before.view !== "time") this.alignThread(state);
    const isSamePicture = ["view", "profile", "type", "labels", "focus", "ignore", "hide", "own", "mine",
      "fold", "range", "scale"].every((key) => state[key] === before[key])
      || (state.view === "time" && before.view === "time");
    if (!isSamePicture && !("zoom" in changes)) state.zoom = "";
    this.state = state;
    byId("query").value = state.q;
    this.render();
    this.writeAddress("view" in changes || "profile" in changes);
  }

  /** Time order begins with the thread that was chosen before. */
  alignThread(state) {
    const name = new URLSearchParams(state.labels).get("thread");
    const index = this.page.timeline.threads.findIndex((thread) => thread.name === name);
    if (index >= 0) state.thread = String(index);
  }

  writeAddress(isStep) {
    const write = () => {
      const hash = formatState(this.state);
      if (hash === location.hash) return;
      const address = hash || location.pathname + location.search;
      history[isStep ? "pushState" : "replaceState"](null, "", address);
    };
    clearTimeout(this.addressTimer);
    if (isStep) write();
    else this.addressTimer = setTimeout(write, ADDRESS_DELAY);
  }

  render() {
    const { state, theme } = this;
    document.documentElement.dataset.theme = theme;
    byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
    this.colours = this.readColours(theme);
    this.showControls();
    this.search = state.q === "" ? null : this.model.search(state);
    this.showSearch();
    byId("view").setAttribute("aria-labelledby", `tab-${state.view}`);
    this.showLegend();
    this.pictures.show(state, this.colours, this.search);
    if (this.strip) {
      this.strip.show(this.colours);
      this.showRange();
    }
    this.showDetails(this.pictures.active?.selected, this.pictures.active, true);
  }

  /** What is searched and where one looks changes nothing above the pictures. */
  showControls() {
    const shown = formatState({ ...this.state, q: "", zoom: "", fn: "" });
    if (this.shownControls === shown) return;
    this.shownControls = shown;
    this.toolbar.show(this.state);
  }

  readColours(theme) {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(`--${name}`).trim();
    const foreign = this.model.foreign(this.state);
    if (!this.palette || this.palette.theme !== theme || this.palette.foreign !== foreign) {
      this.palette = new Palette(theme, this.page, foreign);
    }
    return {
      palette: this.palette, plain: this.palette.plain, text: this.palette.text,
      strong: read("text"), quiet: read("quiet"), accent: read("accent"),
      surface: read("surface"), line: read("grid"), busy: read("busy"),
      tracks: [1, 2, 3, 4].map((i) => read(`track-${i}`)),
    };
  }

  showSearch() {
    const { search } = this;
    const query = byId("query");
    this.places = null;
    this.place = -1;
    for (const id of ["next", "previous"]) byId(id).hidden = !search;
    query.toggleAttribute("aria-invalid", Boolean(search?.problem));
    if (search?.problem) query.setAttribute("aria-invalid", "true");
    query.title = search?.problem ? `${search.problem}; taken as plain text` : "";
    byId("matched").textContent = search
      ? `${percent(search.share, 1)} in ${search.count} function${search.count === 1 ? "" : "s"}` : "";
  }

  goToMatch(step) {
    if (!this.search) return;
    if (!this.places) this.places = this.pictures.matchPlaces();
    const n = this.places.length;
    if (n === 0) return;
    this.place = this.place < 0 && step < 0 ? n - 1 : (this.place + step + n) % n;
    this.places[this.place]();
    byId("matched").textContent = `${this.place + 1} of ${n} · ${percent(this.search.share, 1)}`;
  }

  zoomed(from, to) {
    this.state.zoom = from === 0 && to === 1 ? "" : formatRange(from, to);
    this.writeAddress(false);
    this.showRange();
    const flame = this.pictures.active;
    if (flame?.selected) this.showDetails(flame.selected, flame, true);
  }

  showRange() {
    if (!this.strip) return;
    const isTime = this.state.view === "time";
    const { from, to } = isTime ? this.pictures.zoom : { from: 0, to: 1 };
    this.strip.setView(from, to, parseRange(this.state.range));
  }

  zoomBy(factor) {
    const flame = this.pictures.active;
    if (!flame) return false;
    const { selected } = flame;
    flame.zoom(factor, selected ? this.centreOf(flame, selected) : 0.5);
    return true;
  }

  centreOf(flame, box) {
    const { start, end } = flame.source.place(box);
    const centre = ((start + end) / 2 - flame.from) / (flame.to - flame.from);
    return Math.min(1, Math.max(0, centre));
  }

  context(flame) {
    const { model, state } = this;
    const { unit, type } = model.measure(state);
    const calls = model.calls(state);
    const isZoomed = flame && (flame.from > 0 || flame.to < 1);
    return {
      unit, whole: calls.whole, isDiff: model.isDiff, factor: model.factor(state),
      title: `All ${printable(type)}`, length: flame?.source?.length,
      zoomed: isZoomed ? flame.source.total * (flame.to - flame.from) : 0,
      fill: (box) => this.pictures.fill(box, model.factor(state)),
    };
  }

  showDetails(box, flame, isChosen) {
    if (box && flame?.source) return this.details.show(box, this.context(flame), isChosen);
    this.details.note(...this.summary());
    return "";
  }

  /** What the bar says when nothing is pointed at. */
  summary() {
    const { model, state } = this;
    const calls = model.calls(state);
    const { unit, type } = model.measure(state);
    if (model.isDiff) return this.diffSummary(calls, unit);
    const view = model.viewMeta(state);
    const label = view.label || view.name;
    const value = format(calls.total[0][0], unit);
    const what = label === type ? `${label}: ${value}` : `${label}: ${value} (${type})`;
    const { quantum } = this.page.timeline || {};
    const steps = state.view === "time" && quantum > 0
      ? ` Shown in steps of ${format(quantum, "ns")}; shorter calls are joined.` : "";
    return [what, (view.note || "Point at a box or choose one; ? shows the keys.") + steps];
  }

  diffSummary(calls, unit) {
    const { before, after } = this.model.meta.diff;
    return [`Before: ${before.label}, ${format(calls.total[0][0], unit)}. `
      + `After: ${after.label}, ${format(calls.total[1][0], unit)}.`,
    "Point at a box or choose one; ? shows the keys."];
  }

  /** What the colours of a difference mean, and how the sides are scaled. */
  showLegend() {
    const { model, state } = this;
    const host = byId("legend");
    host.hidden = !model.isDiff;
    if (!model.isDiff) return;
    const { palette } = this.colours;
    const stops = [-1, -0.5, -0.1, 0, 0.1, 0.5, 1].map((share) => palette.change(share));
    const ramp = element("span", { class: "ramp" });
    ramp.style.background = `linear-gradient(90deg, ${stops.join(",")})`;
    const scale = element("span", { class: "scale" });
    scale.append("▼ less", ramp, "more ▲");
    const width = state.view === "table" ? "" : "A box is as wide as both sides together.";
    host.replaceChildren(scale, element("span", {}, SCALED[state.scale || model.meta.diff.scale]),
      element("span", {}, width));
  }

  selected(box, flame) {
    const text = this.showDetails(box, flame, true);
    if (text) this.tell(text);
    if (box && box.fn !== 0) {
      this.state.fn = String(box.fn);
      this.writeAddress(false);
    }
  }

  chose(fn) {
    if (this.state.view === "sandwich") this.change({ fn: String(fn) });
    else {
      this.state.fn = String(fn);
      this.writeAddress(false);
    }
  }

  noteTime(text) {
    if (text === "") this.showDetails(this.pictures.active?.selected, this.pictures.active, true);
    else this.details.note(text, "Drag to choose a range of time.");
  }

  tell(text) {
    byId("live").textContent = text;
  }

  boxActions() {
    const name = (box) => exactPattern(this.page.names[box.fn]);
    return {
      Zoom: { help: "As wide as the canvas (Enter, double click)", run: (box) => this.pictures.active.fit(box) },
      Sandwich: { help: "Callers and callees (3)", run: (box) =>
        this.change({ view: "sandwich", fn: String(box.fn) }) },
      Focus: { help: "Only stacks with this function", run: (box) => this.change({ focus: name(box) }) },
      Ignore: { help: "No stacks with this function", run: (box) => this.change({ ignore: name(box) }) },
      Hide: { help: "Leave this function out, keep its time", run: (box) => this.change({ hide: name(box) }) },
      Copy: { help: "Copy the stack as text", run: (box) => this.copyStack(box) },
    };
  }

  async copyStack(box) {
    const names = box.path().map((fn) => this.page.names[fn]);
    try {
      await navigator.clipboard.writeText(names.join("\n"));
      this.tell("Copied");
    } catch {
      this.tell("The browser does not let this page copy");
    }
  }

  /** Threads of time order, or values of the label "thread". */
  threadOptions() {
    if (this.state.view === "time") {
      return this.model.threads.map(({ index, name, weight }) =>
        ({ index, name: name || `thread ${index + 1}`, weight }));
    }
    const values = this.model.labelValues(this.state, "thread");
    return [{ index: -1, name: "All threads" },
      ...values.map(({ text, weight }, index) => ({ index, name: text, weight }))];
  }

  currentThread(options) {
    if (this.state.view === "time") return this.model.threadIndex(this.state);
    const name = new URLSearchParams(this.state.labels).get("thread");
    const option = options.find((entry) => entry.index >= 0 && entry.name === name);
    return option ? option.index : -1;
  }

  useThread(index, options) {
    if (this.state.view === "time") {
      this.change({ thread: String(index) });
      return;
    }
    const labels = new URLSearchParams(this.state.labels);
    if (index < 0) labels.delete("thread");
    else labels.set("thread", options.find((entry) => entry.index === index).name);
    this.change({ labels: labels.toString() });
  }

  pickThread() {
    if (this.model.isDiff) return false;
    const options = this.threadOptions();
    if (options.length < 2) return false;
    pickOne(byId("dialog"), { title: "Thread", options, chosen: this.currentThread(options) },
      (index) => this.useThread(index, options));
    return true;
  }

  stepThread(step) {
    if (this.model.isDiff) return false;
    const options = this.threadOptions();
    const at = options.findIndex(({ index }) => index === this.currentThread(options));
    const next = options[(at + step + options.length) % options.length];
    if (next) {
      this.useThread(next.index, options);
      this.tell(`Thread ${next.name}`);
    }
    return Boolean(next);
  }

  giveUp() {
    const flame = this.pictures.active;
    if (this.state.q !== "" || document.activeElement === byId("query")) {
      byId("query").blur();
      this.change({ q: "" });
    } else if (flame?.selected) {
      flame.select(null);
    } else if (this.state.range !== "") {
      this.change({ range: "" });
    } else {
      return false;
    }
    return true;
  }

  move(direction) {
    const flame = this.pictures.active;
    if (!flame?.source) return false;
    const isFlipped = flame.look.isUp;
    const to = { ArrowUp: isFlipped ? "in" : "out", ArrowDown: isFlipped ? "out" : "in",
      ArrowLeft: "prev", ArrowRight: "next" }[direction];
    flame.move(to);
    return true;
  }

  keys() {
    const go = (view) => () => {
      if (view === "time" && !this.page.timeline) return false;
      this.change({ view });
      return true;
    };
    const pan = (share) => () => this.pictures.active && this.pictures.active.pan(share);
    const move = ({ key }) => this.move(key);
    return {
      1: go("time"), 2: go("flame"), 3: go("sandwich"), 4: go("inverted"), 5: go("table"),
      "+": () => this.zoomBy(1.6), "=": () => this.zoomBy(1.6), "-": () => this.zoomBy(1 / 1.6),
      0: () => this.pictures.active && this.pictures.active.reset(),
      w: () => this.zoomBy(1.3), s: () => this.zoomBy(1 / 1.3), a: pan(-0.1), d: pan(0.1),
      ArrowUp: move, ArrowDown: move, ArrowLeft: move, ArrowRight: move,
      Enter: () => {
        const flame = this.pictures.active;
        if (!flame?.selected) return false;
        flame.fit(flame.selected);
        return true;
      },
      r: () => this.change({ fold: this.state.fold ? "" : "1" }),
      m: () => (this.model.foreign(this.state) ? this.change({ own: this.state.own ? "" : "1" }) : false),
      n: () => this.stepThread(1), p: () => this.stepThread(-1), t: () => this.pickThread(),
      "/": () => this.focusSearch(), "Ctrl+f": () => this.focusSearch(),
      Escape: () => this.giveUp(), "?": () => showHelp(byId("dialog")),
    };
  }

  /** A second Ctrl-F is the browser's own search. */
  focusSearch() {
    if (document.activeElement === byId("query")) return false;
    byId("query").focus();
    byId("query").select();
    return true;
  }
}

function fail(error) {
  document.documentElement.classList.add("has-failed");
  const box = document.createElement("p");
  box.className = "failure";
  box.setAttribute("role", "alert");
  box.textContent = `This page cannot show its pictures: ${error.message}. The table below still holds.`;
  byId("static").before(box);
}

async function start() {
  const data = byId("data");
  const page = await readPage(data.textContent.trim());
  data.remove();
  for (const id of ["app", "theme", "help"]) byId(id).hidden = false;
  document.body.classList.add("has-app");
  const app = new App(page);
  app.render();
  document.documentElement.dataset.ready = "true";
}

document.documentElement.classList.add("has-script");
start().catch(fail);
