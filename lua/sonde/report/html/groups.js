/*
 * The tree of calls as a picture needs it: groups of nodes that are one box,
 * opened only where somebody looks. Downwards a group's children are its
 * callees, upwards its callers; so one class draws the flame graph, its
 * inverse, and both halves of the sandwich.
 */
import { selfValues } from "./calls.js";
import { zero } from "./values.js";

/** A box: nodes with one function at the end of one path. */
class Group {
  constructor(source, parent, fn, nodes, origins) {
    this.source = source;
    this.parent = parent;
    this.depth = parent ? parent.depth + 1 : 0;
    this.fn = fn;
    this.nodes = nodes;
    this.origins = origins;   // upwards: the row or node that each path began with
    this.weight = 0;
    this.list = null;
  }

  /** Children, the heaviest first. */
  get children() {
    if (!this.list) this.list = this.source.open(this);
    return this.list;
  }

  /** The group's value for each side. */
  get values() {
    const { carried, big } = this.source;
    const nodes = this.origins || this.nodes;
    return carried.map((column) => {
      let sum = zero(big);
      for (let i = 0; i < nodes.length; i++) sum += column[nodes[i]];
      return sum;
    });
  }

  /** What it has without its callees; null where there are none below. */
  get selfValues() {
    const { calls, isUp, big } = this.source;
    if (isUp) return null;
    const sums = calls.total.map(() => zero(big));
    for (const node of this.nodes) {
      selfValues(calls, node).forEach((value, side) => { sums[side] += value; });
    }
    return sums;
  }

  /** Functions from the outermost box to this one. */
  path() {
    const names = [];
    for (let group = this; group.parent; group = group.parent) names.push(group.fn);
    return names.reverse();
  }
}

/** Sorts entries into groups by function. */
class Sorter {
  constructor(nFunctions) {
    this.slot = new Int32Array(nFunctions).fill(-1);
  }

  /** Gives, for each function among `fns`, the places it is at. */
  split(fns) {
    const order = [];
    const counts = [];
    for (let i = 0; i < fns.length; i++) {
      let slot = this.slot[fns[i]];
      if (slot < 0) {
        slot = order.push(fns[i]) - 1;
        this.slot[fns[i]] = slot;
        counts.push(0);
      }
      counts[slot]++;
    }
    const places = counts.map((count) => new Uint32Array(count));
    counts.fill(0);
    for (let i = 0; i < fns.length; i++) {
      const slot = this.slot[fns[i]];
      places[slot][counts[slot]++] = i;
    }
    for (const fn of order) this.slot[fn] = -1;
    return order.map((fn, slot) => ({ fn, places: places[slot] }));
  }
}

const byWeight = (a, b) => b.weight - a.weight || a.fn - b.fn;

/** A picture's boxes. `root` stands for all of it and has no function. */
export class Boxes {
  /**
   * @param {object} calls of `buildCalls`
   * @param {number} nFunctions
   * @param {object} start `up` (towards callers); `nodes`, where paths begin
   *   (default: the root, or for `up` the node of every row); `fn`, the
   *   function of the first box when all begin with it
   */
  constructor(calls, nFunctions, start) {
    this.calls = calls;
    this.isUp = Boolean(start.up);
    this.big = calls.big;
    this.sorter = new Sorter(nFunctions);
    const isWhole = start.nodes === undefined;
    const isByRow = this.isUp && isWhole;
    this.carried = isByRow ? calls.rows.values : calls.total;
    this.weights = isByRow ? calls.rows.weight : calls.weight;
    this.root = isWhole ? this.wholeRoot() : this.rootAt(start);
    this.total = this.root.weight;
  }

  wholeRoot() {
    const { calls } = this;
    if (!this.isUp) return this.weighed(new Group(this, null, 0, Uint32Array.of(0), null));
    const origins = Uint32Array.from(calls.rows.node.keys());
    const root = new Group(this, null, 0, calls.rows.node, origins);
    root.isEntry = true;
    return this.weighed(root);
  }

  rootAt({ nodes, fn }) {
    return this.weighed(new Group(this, null, fn, nodes, this.isUp ? nodes : null));
  }

  weighed(group) {
    const nodes = group.origins || group.nodes;
    for (let i = 0; i < nodes.length; i++) group.weight += this.weights[nodes[i]];
    return group;
  }

  open(group) {
    const list = this.isUp ? this.openUp(group) : this.openDown(group);
    return list.filter((child) => child.weight > 0).sort(byWeight);
  }

  openDown(group) {
    const { fn, first, next } = this.calls;
    const nodes = [];
    for (const node of group.nodes) {
      for (let child = first[node]; child !== 0; child = next[child]) nodes.push(child);
    }
    return this.sorter.split(nodes.map((node) => fn[node])).map(({ fn: f, places }) =>
      this.weighed(new Group(this, group, f, places.map((i) => nodes[i]), null)));
  }

  openUp(group) {
    const { fn, parent } = this.calls;
    const nodes = [];
    const origins = [];
    group.nodes.forEach((node, i) => {
      const caller = group.isEntry ? node : parent[node];
      if (caller === 0) return;
      nodes.push(caller);
      origins.push(group.origins[i]);
    });
    return this.sorter.split(nodes.map((node) => fn[node])).map(({ fn: f, places }) =>
      this.weighed(new Group(this, group, f, places.map((i) => nodes[i]),
        places.map((i) => origins[i]))));
  }

  /** The deepest level that a path from the root can reach, for scrolling. */
  get depth() {
    if (this.levels === undefined) this.levels = this.measure();
    return this.levels;
  }

  measure() {
    const { calls } = this;
    const level = new Uint16Array(calls.n);   // nobody scrolls further
    let deepest = 0;
    for (let i = 1; i < calls.n; i++) {
      if (calls.weight[i] === 0) continue;
      level[i] = level[calls.parent[i]] + 1;
      if (level[i] > deepest) deepest = level[i];
    }
    if (!this.root.nodes.length || this.root.fn === 0) return deepest;
    if (this.isUp) {
      return this.root.nodes.reduce((most, node) => Math.max(most, level[node]), 1) - 1;
    }
    return deepestBelow(calls, this.root.nodes, level);
  }

  /**
   * Visits the boxes between two places of [0, 1] that are wide enough to be
   * seen. What is narrower comes as one box for all of them.
   * @param {number} from
   * @param {number} to
   * @param {number} least width of a box that is worth its own
   * @param {function} emit gets (group or null, depth, start, end, count)
   */
  visit(from, to, least, emit) {
    if (this.total === 0) return;
    const pending = [{ group: this.root, start: 0, end: 1 }];
    while (pending.length > 0) {
      const box = pending.pop();
      if (box.end <= from || box.start >= to) continue;
      emit(box.group, box.group.depth, box.start, box.end);
      const inside = this.layOut(box, from, to, least, emit);
      for (let i = inside.length - 1; i >= 0; i--) pending.push(inside[i]);
    }
  }

  /** Places the children of a box that are wide enough. */
  layOut({ group, start }, from, to, least, emit) {
    const inside = [];
    let at = start;
    for (const child of group.children) {
      if (at >= to) break;
      const width = child.weight / this.total;
      if (width < least) {
        const { count, weight } = this.rest(group, child);
        const end = at + weight / this.total;
        if (end > from) emit(null, group.depth + 1, at, end, count);
        break;
      }
      inside.push({ group: child, start: at, end: at + width });
      at += width;
    }
    return inside;
  }

  /** A child and all its lighter siblings: how many, and their weight. */
  rest({ children }, child) {
    const first = children.indexOf(child);
    let weight = 0;
    for (let i = first; i < children.length; i++) weight += children[i].weight;
    return { count: children.length - first, weight };
  }

  /** Where a group lies in [0, 1]. */
  place(group) {
    let start = 0;
    for (let at = group; at.parent; at = at.parent) {
      for (const sibling of at.parent.children) {
        if (sibling === at) break;
        start += sibling.weight;
      }
    }
    return { start: start / this.total, end: (start + group.weight) / this.total };
  }

  /** The group at the end of a path of functions; the deepest known one. */
  follow(path) {
    let group = this.root;
    for (const fn of path) {
      const child = group.children.find((candidate) => candidate.fn === fn);
      if (!child) break;
      group = child;
    }
    return group;
  }

  /** The neighbour of a group in a direction of the keyboard, or itself. */
  neighbour(group, direction) {
    if (direction === "out") return group.parent || group;
    if (direction === "in") return group.children[0] || group;
    const siblings = group.parent ? group.parent.children : [group];
    const at = siblings.indexOf(group) + (direction === "next" ? 1 : -1);
    return siblings[at] || group;
  }
}

function deepestBelow({ n, parent, weight }, nodes, level) {
  const base = new Uint16Array(n);
  for (const node of nodes) base[node] = level[node];
  let deepest = 0;
  for (let i = 1; i < n; i++) {
    if (base[i] === 0) base[i] = base[parent[i]];
    if (base[i] !== 0 && weight[i] !== 0) deepest = Math.max(deepest, level[i] - base[i]);
  }
  return deepest;
}
