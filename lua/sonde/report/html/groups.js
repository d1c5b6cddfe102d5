/*
 * The tree of calls as a picture needs it: groups of nodes that are one box,
 * opened only where somebody looks. Downwards a group's children are its
 * callees, upwards its callers; so one class draws the flame graph, its
 * inverse, and both halves of the sandwich.
 */
import { minus, zero } from "./values.js";

/** A box: nodes with one function at the end of one path. */
class Group {
  /**
   * @param {Boxes} source
   * @param {?Group} parent
   * @param {number} fn
   * @param {Uint32Array|number[]} nodes
   * @param {?Uint32Array|number[]} origins upwards: the row or node each path began with
   */
  constructor(source, parent, fn, nodes, origins) {
    this.source = source;
    this.parent = parent;
    this.depth = parent ? parent.depth + 1 : 0;
    this.fn = fn;
    this.nodes = nodes;
    this.origins = origins;
    this.weight = source.weigh(origins || nodes);
    this.list = null;
  }

  /** Children, the heaviest first. */
  get children() {
    if (!this.list) this.list = this.source.open(this);
    return this.list;
  }

  /** The group's value for each side. */
  get values() {
    return this.source.sum(this.origins || this.nodes);
  }

  /** What it has without its callees; null where those are not below. */
  get selfValues() {
    if (this.source.isUp) return null;
    return this.children.reduce((left, child) =>
      child.values.map((value, side) => minus(left[side], value)), this.values);
  }

  /** Functions from the outermost box to this one. */
  path() {
    const names = [];
    for (let group = this; group.parent; group = group.parent) names.push(group.fn);
    return names.reverse();
  }
}

/** Sorts places into groups by function. */
class Sorter {
  constructor(nFunctions) {
    this.slot = new Int32Array(nFunctions).fill(-1);
  }

  /** Gives, for each function among those of nodes, the places it is at. */
  split(nodes, fn) {
    const order = [];
    const counts = [];
    for (const node of nodes) {
      let slot = this.slot[fn[node]];
      if (slot < 0) {
        slot = order.push(fn[node]) - 1;
        this.slot[fn[node]] = slot;
        counts.push(0);
      }
      counts[slot]++;
    }
    const groups = order.map((f, slot) => ({ fn: f, places: new Uint32Array(counts[slot]), n: 0 }));
    nodes.forEach((node, i) => {
      const group = groups[this.slot[fn[node]]];
      group.places[group.n++] = i;
    });
    for (const f of order) this.slot[f] = -1;
    return groups;
  }
}

const byWeight = (a, b) => b.weight - a.weight || a.fn - b.fn;

/** A picture's boxes. `root` stands for all of it, or for one function. */
export class Boxes {
  /**
   * @param {Calls} calls
   * @param {number} nFunctions
   * @param {object} start `up` (towards callers); `nodes`, where paths begin
   *   (default: the root, or for `up` the node of every row); `fn`, the
   *   function of the first box when all begin with it
   */
  constructor(calls, nFunctions, { up, nodes, fn }) {
    this.calls = calls;
    this.isUp = Boolean(up);
    this.big = calls.big;
    this.sorter = new Sorter(nFunctions);
    this.isByRow = this.isUp && nodes === undefined;
    this.root = nodes === undefined ? this.wholeRoot()
      : new Group(this, null, fn, nodes, this.isUp ? nodes : null);
    this.total = this.root.weight;
  }

  wholeRoot() {
    if (!this.isUp) return new Group(this, null, 0, [0], null);
    const origins = this.calls.rows.node.map((_, row) => row);
    const nodes = this.calls.rows.node.map((node) => this.calls.shown(node));
    return new Group(this, null, 0, nodes, origins);
  }

  /** The weight of nodes, or of rows where paths begin with rows. */
  weigh(places) {
    const { calls, isByRow } = this;
    let sum = 0;
    for (const place of places) sum += isByRow ? calls.rows.weight[place] : calls.weight(place);
    return sum;
  }

  /** Their value for each side. */
  sum(places) {
    const { calls, isByRow } = this;
    const sums = calls.sums.map(() => zero(this.big));
    for (const place of places) {
      const values = isByRow ? calls.rows.values.map((column) => column[place])
        : calls.values(place);
      for (let side = 0; side < sums.length; side++) sums[side] += values[side];
    }
    return sums;
  }

  open(group) {
    const list = this.isUp ? this.openUp(group) : this.openDown(group);
    return list.filter((child) => child.weight > 0).sort(byWeight);
  }

  openDown(group) {
    const { calls } = this;
    const nodes = [];
    for (const node of group.nodes) calls.callees(node, (child) => nodes.push(child));
    return this.sorter.split(nodes, calls.fn).map(({ fn, places }) =>
      new Group(this, group, fn, places.map((i) => nodes[i]), null));
  }

  openUp(group) {
    const { calls } = this;
    const isEntry = this.isByRow && group.parent === null;
    const nodes = [];
    const origins = [];
    group.nodes.forEach((node, i) => {
      const caller = isEntry ? node : calls.caller(node);
      if (caller === 0) return;
      nodes.push(caller);
      origins.push(group.origins[i]);
    });
    return this.sorter.split(nodes, calls.fn).map(({ fn, places }) =>
      new Group(this, group, fn, places.map((i) => nodes[i]), places.map((i) => origins[i])));
  }

  /** The number of levels under the root, for scrolling. */
  get depth() {
    if (this.deepest === undefined) this.deepest = this.measure();
    return this.deepest;
  }

  measure() {
    const { calls, root } = this;
    if (root.fn === 0) return calls.levels().most;
    const above = (node) => calls.path(node).length;
    if (this.isUp) return root.nodes.reduce((most, node) => Math.max(most, above(node)), 1) - 1;
    const { levels } = calls.levels();
    let most = 0;
    for (const node of root.nodes) {
      const top = above(node);
      const stop = calls.rowsBefore(calls.end[node]);
      for (let row = calls.rowsBefore(node); row < stop; row++) {
        most = Math.max(most, levels[row] - top);
      }
    }
    return most;
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
