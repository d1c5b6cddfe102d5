/*
 * What the state means for the data: the rows that are on display, the tree
 * they make, the boxes of each picture. Every part is computed when it is
 * first asked for, and again only when what it depends on has changed.
 */
import { Calls, keptStacks, sumFunctions } from "./calls.js";
import { Boxes } from "./groups.js";
import { matchFunctions } from "./search.js";
import { Spans } from "./spans.js";
import { parseRange } from "./state.js";
import { magnitude } from "./values.js";

/** Remembers the last results of a function of strings. */
function memo(make, most = 8) {
  const known = new Map();
  return (...key) => {
    const text = key.join("\u0000");
    if (!known.has(text)) {
      if (known.size >= most) known.delete(known.keys().next().value);
      known.set(text, make(...key));
    }
    return known.get(text);
  };
}

/** Numbers of a byte mask turned round. */
function inverse(mask) {
  return mask.map((byte) => 1 - byte);
}

/** The data as the state wants them. */
export class Model {
  constructor(page) {
    this.page = page;
    this.meta = page.meta;
    this.isDiff = Boolean(page.meta.diff);
    this.extent = extentOf(page);
    this.match = memo((pattern, flags) =>
      matchFunctions(page, pattern, { ignoreCase: flags === "i" }), 24);
    this.callsOf = memo((key) => this.makeCalls(JSON.parse(key)), 4);
    this.sums = new WeakMap();
    this.boxes = new WeakMap();
  }

  /** The number of the profile on display. */
  viewIndex(state) {
    if (this.isDiff) return 0;
    if (state.range && this.page.timeline) return this.meta.timeline.view;
    return Math.max(0, this.meta.views.findIndex(({ name }) => name === state.profile));
  }

  viewMeta(state) {
    return this.meta.views[this.viewIndex(state)];
  }

  typeIndex(state) {
    const { types, type } = this.viewMeta(state);
    const wanted = types.findIndex((entry) => entry.type === state.type);
    return wanted >= 0 ? wanted : type;
  }

  /** Name and unit of what is measured. */
  measure(state) {
    if (this.isDiff) return this.meta.diff;
    if (state.range && this.page.timeline) return { type: "time in range", unit: "nanoseconds" };
    return this.viewMeta(state).types[this.typeIndex(state)];
  }

  /** What the values of the second side are multiplied by. */
  factor(state) {
    if (!this.isDiff) return 1;
    const { before, after, scale } = this.meta.diff;
    const how = state.scale || scale;
    if (how === "time" && before.duration_ns > 0 && after.duration_ns > 0) {
      return before.duration_ns / after.duration_ns;
    }
    if (how !== "total") return 1;
    const [a, b] = [0, 1].map((side) => this.sideTotal(side));
    return b === 0 ? 1 : a / b;
  }

  sideTotal(side) {
    const column = this.sideColumn(side);
    let sum = 0;
    for (let i = 0; i < column.length; i++) sum += magnitude(column[i]);
    return sum;
  }

  sideColumn(side) {
    return this.page.views[side].columns[this.meta.views[side].type];
  }

  /** A byte for each function that is not the reader's own; null when unknown. */
  foreign(state) {
    if (state.mine) return inverse(this.match(state.mine, "").mask);
    if (this.meta.mine) return inverse(this.match(this.meta.mine, "").mask);
    return this.page.foreign.includes(1) ? this.page.foreign : null;
  }

  /** The tree on display. */
  calls(state) {
    const { labels, focus, ignore, hide, own, mine, fold, range, scale } = state;
    return this.callsOf(JSON.stringify({
      view: this.viewIndex(state), type: this.typeIndex(state),
      labels, focus, ignore, hide, own, mine, fold, range, scale,
    }));
  }

  makeCalls(key) {
    const state = { ...key, profile: this.meta.views[key.view].name };
    const kept = this.kept(key);
    return new Calls(this.page, {
      sides: this.sides(key),
      factors: this.isDiff ? [1, this.factor(key)] : [1],
      kept,
      hide: key.hide ? this.match(key.hide, "").mask : null,
      foreign: key.own ? this.foreign(state) : null,
      collapse: key.fold === "1",
    });
  }

  kept({ focus, ignore }) {
    return keptStacks(this.page, {
      focus: focus ? this.match(focus, "").mask : null,
      ignore: ignore ? this.match(ignore, "").mask : null,
    });
  }

  sides(key) {
    if (this.isDiff) {
      return [0, 1].map((side) => ({
        node: this.page.views[side].node, value: this.sideColumn(side),
        wanted: this.wantedRows(side, key.labels),
      }));
    }
    const range = parseRange(key.range);
    if (range && this.page.timeline) return [this.rangeRows(range, key.labels)];
    const view = this.page.views[key.view];
    return [{ node: view.node, value: view.columns[key.type],
      wanted: this.wantedRows(key.view, key.labels) }];
  }

  /** Which rows have the chosen labels; null for all. */
  wantedRows(index, labels) {
    const view = this.page.views[index];
    const chosen = [...new URLSearchParams(labels)];
    const columns = chosen.map(([key, value]) => ({
      label: view.labels.find((label) => label.key === key), value: this.page.texts.indexOf(value),
    })).filter(({ label }) => label);
    if (columns.length === 0) return null;
    const wanted = new Uint8Array(view.n);
    for (let i = 0; i < view.n; i++) {
      const set = view.set[i];
      wanted[i] = columns.every(({ label, value }) => label.values[set] === value) ? 1 : 0;
    }
    return wanted;
  }

  /** Samples in a range of time, each with the part of it that lies inside. */
  rangeRows({ from, to }, labels) {
    const thread = new URLSearchParams(labels).get("thread");
    const node = [];
    const value = [];
    const wanted = [];
    for (const { name, n, start, duration, node: nodes } of this.page.timeline.threads) {
      for (let i = 0; i < n; i++) {
        const inside = Math.min(start[i] + duration[i], to) - Math.max(start[i], from);
        if (inside <= 0) continue;
        node.push(nodes[i]);
        value.push(inside);
        wanted.push(thread === null || thread === name ? 1 : 0);
      }
    }
    return { node, value: Float64Array.from(value), wanted };
  }

  /** Values of a label with what each is worth, the largest first. */
  labelValues(state, key) {
    const index = this.viewIndex(state);
    const view = this.page.views[index];
    const label = view.labels.find((entry) => entry.key === key);
    if (!label) return [];
    const column = view.columns[this.typeIndex(state)];
    const sums = new Map();
    for (let i = 0; i < view.n; i++) {
      const text = label.values[view.set[i]];
      sums.set(text, (sums.get(text) || 0) + magnitude(column[i]));
    }
    sums.delete(0);
    return [...sums].map(([text, weight]) => ({ text: this.page.texts[text], weight }))
      .sort((a, b) => b.weight - a.weight);
  }

  /** Label keys that samples of the profile can be chosen by. */
  labelKeys(state) {
    return this.page.views[this.viewIndex(state)].labels.map(({ key }) => key);
  }

  functions(state) {
    const calls = this.calls(state);
    if (!this.sums.has(calls)) {
      this.sums.set(calls, sumFunctions(calls, this.page.names.length));
    }
    return this.sums.get(calls);
  }

  boxesOf(calls, name, make) {
    if (!this.boxes.has(calls)) this.boxes.set(calls, new Map());
    const known = this.boxes.get(calls);
    if (!known.has(name)) known.set(name, make());
    return known.get(name);
  }

  /** The whole tree, from its root or from its leaves. */
  tree(state, isInverted) {
    const calls = this.calls(state);
    return this.boxesOf(calls, isInverted ? "up" : "down", () =>
      new Boxes(calls, this.page.names.length, { up: isInverted }));
  }

  /** Callers (up) or callees of a function. */
  around(state, fn, up) {
    const calls = this.calls(state);
    return this.boxesOf(calls, `${up ? "callers" : "callees"} ${fn}`, () => {
      const mask = new Uint8Array(this.page.names.length);
      mask[fn] = 1;
      const nodes = [];
      calls.outermost(mask, (node) => nodes.push(node));
      return new Boxes(calls, mask.length, { up, fn, nodes });
    });
  }

  /** Threads of the timeline by what they have, the busiest first. */
  get threads() {
    if (!this.threadList) {
      const { threads } = this.page.timeline;
      this.threadList = threads.map((thread, index) => ({
        index, name: thread.name, weight: thread.duration.reduce((a, b) => a + b, 0),
      })).sort((a, b) => b.weight - a.weight);
    }
    return this.threadList;
  }

  /** The number of the thread whose time order is shown. */
  threadIndex(state) {
    const { threads } = this.page.timeline;
    const index = Number(state.thread);
    if (state.thread !== "" && threads[index]) return index;
    return this.threads.length > 0 ? this.threads[0].index : -1;
  }

  spans(state) {
    const calls = this.calls(state);
    const index = this.threadIndex(state);
    return this.boxesOf(calls, `thread ${index}`, () =>
      new Spans(this.page.timeline.threads[index], calls, this.kept(state), this.extent));
  }

  /** What a search found. */
  search(state) {
    const { mask, count, problem } = this.match(state.q, "i");
    const calls = this.calls(state);
    const whole = calls.totalWeight;
    return { mask, count, problem, share: whole === 0 ? 0 : calls.weighMatches(mask) / whole };
  }
}

/** From the first to the last thing that the page knows the time of. */
function extentOf(page) {
  let from = Infinity;
  let to = -Infinity;
  const add = (start, end) => {
    from = Math.min(from, start);
    to = Math.max(to, end);
  };
  for (const { n, start, duration } of page.timeline ? page.timeline.threads : []) {
    if (n > 0) add(start[0], start[n - 1] + duration[n - 1]);
  }
  for (const { rows } of page.meta.tracks || []) {
    for (const [start, length] of rows) add(start, start + length);
  }
  return from < to ? { from: Math.min(0, from), to } : null;
}
