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
import { DEFAULTS, formatRange, formatState, parseRange, parseState } from "./state.js";
import { Strip, describeTracks } from "./strip.js";
import { showLegend, summarize } from "./summary.js";
import { currentThread, threadChange, threadOptions } from "./threads.js";
import { Toolbar } from "./toolbar.js";
import { percent } from "./units.js";

const byId = (id) => document.getElementById(id);

/** Writing the address at every movement would be too much for browsers. */
const ADDRESS_DELAY = 150;

/** Parts of the state that make another picture, for which a zoom means nothing. */
const SHAPES = ["view", "profile", "type", "labels", "focus", "ignore", "hide", "own", "mine",
  "fold", "range", "scale"];

class App {
  constructor(page) {
    this.page = page;
    this.model = new Model(page);
    if (page.meta.own) DEFAULTS.own = "1";
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
      hover: (box, flame) =>
        this.showDetails(box || flame.selected, flame, !box || box === flame.selected),
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
    const { views, timeline: order } = this.model.meta;
    if (state.view === "time") state.profile = views[order.view].name;
    if (this.model.isDiff || !timeline) state.range = "";
    if (!["light", "dark", ""].includes(state.theme)) state.theme = "";
    return state;
  }

  makeStrip() {
    const host = byId("strip");
    const { extent } = this.model;
    if (!extent) return;
    host.hidden = false;
    host.setAttribute("aria-label", "When things happened. "
      + `${describeTracks(this.page.meta.tracks)} Left and right arrows go through the events.`);
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
    const isTime = state.view === "time" && before.view === "time";
    const isSamePicture = isTime || SHAPES.every((key) => state[key] === before[key]);
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
    showLegend(byId("legend"), this.model, state, this.colours.palette);
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
    const functions = search?.count === 1 ? "function" : "functions";
    byId("matched").textContent = search
      ? `${percent(search.share, 1)} in ${search.count} ${functions}` : "";
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
    const place = flame.source.place(box);
    const centre = ((place.start + place.end) / 2 - flame.from) / (flame.to - flame.from);
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
    this.details.note(...summarize(this.model, this.state));
    return "";
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
      Zoom: ["As wide as the canvas (Enter, double click)",
        (box) => this.pictures.active.fit(box)],
      Sandwich: ["Callers and callees (3)",
        (box) => this.change({ view: "sandwich", fn: String(box.fn) })],
      Focus: ["Only stacks with this function", (box) => this.change({ focus: name(box) })],
      Ignore: ["No stacks with this function", (box) => this.change({ ignore: name(box) })],
      Hide: ["Leave this function out, keep its time",
        (box) => this.change({ hide: name(box) })],
      Copy: ["Copy the stack as text", (box) => this.copyStack(box)],
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

  pickThread() {
    const options = threadOptions(this.model, this.state);
    if (options.length < 2) return false;
    const chosen = currentThread(this.model, this.state, options);
    pickOne(byId("dialog"), { title: "Thread", options, chosen }, (index) =>
      this.change(threadChange(this.state, options, index)));
    return true;
  }

  stepThread(step) {
    const options = threadOptions(this.model, this.state);
    if (options.length < 2) return false;
    const chosen = currentThread(this.model, this.state, options);
    const at = options.findIndex(({ index }) => index === chosen);
    const next = options[(at + step + options.length) % options.length];
    this.change(threadChange(this.state, options, next.index));
    this.tell(`Thread ${next.name}`);
    return true;
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
      m: () => {
        if (!this.model.foreign(this.state)) return false;
        this.change({ own: this.state.own ? "" : "1" });
        return true;
      },
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
  box.textContent = `This page cannot show its pictures: ${error.message}. `
    + "The table below still holds.";
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
  document.documentElement.dataset.ready = String(performance.now());
}

document.documentElement.classList.add("has-script");
start().catch(fail);
