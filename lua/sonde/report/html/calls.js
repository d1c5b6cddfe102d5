/*
 * The tree of calls that is on display: the page's tree with the rows of a
 * view (one, or two sides of a difference) put on it, after filters. Nodes
 * are numbers; a caller's is always smaller than its callees', so one sweep
 * from the end sums everything.
 */
import { alike, isBig, magnitude, zero, zeros } from "./values.js";

/** Marks the stacks that a focus or an ignore pattern decides on. */
function markPaths(page, mask) {
  const marks = new Uint8Array(page.parent.length);
  for (let i = 1; i < marks.length; i++) marks[i] = marks[page.parent[i]] | mask[page.fn[i]];
  return marks;
}

/** The stacks that focus and ignore leave, a byte each; null for all. */
export function keptStacks(page, filters) {
  if (!filters.focus && !filters.ignore) return null;
  const kept = new Uint8Array(page.parent.length).fill(1);
  if (filters.focus) {
    const marks = markPaths(page, filters.focus);
    for (let i = 0; i < kept.length; i++) kept[i] &= marks[i];
  }
  if (filters.ignore) {
    const marks = markPaths(page, filters.ignore);
    for (let i = 0; i < kept.length; i++) if (marks[i]) kept[i] = 0;
  }
  return kept;
}

/** Finds and makes nodes by (caller, function): an open hash table. */
class NodeTable {
  constructor(limit) {
    let size = 64;
    while (size < limit * 2) size *= 2;
    this.slots = new Int32Array(size);
    this.parent = new Uint32Array(limit);
    this.fn = new Uint32Array(limit);
    this.n = 1;
  }

  child(parent, fn) {
    const mask = this.slots.length - 1;
    let at = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(fn, 0x85ebca6b)) & mask;
    for (;;) {
      const node = this.slots[at];
      if (node === 0) break;
      if (this.parent[node] === parent && this.fn[node] === fn) return node;
      at = (at + 1) & mask;
    }
    this.parent[this.n] = parent;
    this.fn[this.n] = fn;
    this.slots[at] = this.n;
    return this.n++;
  }
}

/**
 * Rebuilds the tree without hidden frames, with runs of foreign frames shown
 * as their outermost one, and with recursion as one frame.
 * @returns {object} `parent fn n of`; `of` is the new node of each old one
 */
function reshape(page, { hide, foreign, collapse }) {
  const n = page.parent.length;
  if (!hide && !foreign && !collapse) return { parent: page.parent, fn: page.fn, n, of: null };
  const table = new NodeTable(n);
  const of = new Uint32Array(n);
  const isForeign = new Uint8Array(n);
  for (let i = 1; i < n; i++) {
    const caller = page.parent[i];
    const fn = page.fn[i];
    const at = of[caller];
    isForeign[i] = isForeign[caller];
    if (hide && hide[fn]) {
      of[i] = at;
      continue;
    }
    if (foreign) isForeign[i] = foreign[fn];
    const joins = foreign && foreign[fn] && isForeign[caller];
    of[i] = joins || (collapse && table.fn[at] === fn && at !== 0) ? at : table.child(at, fn);
  }
  return { parent: table.parent.subarray(0, table.n), fn: table.fn.subarray(0, table.n),
    n: table.n, of };
}

/** Adds a view's rows to the nodes they belong to. */
function addRows(self, rows, of, kept) {
  const { node, value, wanted } = rows;
  for (let i = 0; i < node.length; i++) {
    if (wanted && !wanted[i]) continue;
    const at = node[i];
    if (kept && !kept[at]) continue;
    self[of ? of[at] : at] += value[i];
  }
}

function sumColumn(column, big) {
  let sum = zero(big);
  for (let i = 0; i < column.length; i++) sum += column[i];
  return sum;
}

function sumUp(parent, self) {
  const total = self.slice();
  for (let i = total.length - 1; i > 0; i--) total[parent[i]] += total[i];
  return total;
}

/** What a node's own samples weigh on the canvas: the sum of magnitudes. */
function weigh(sides, factors, n) {
  const weight = new Float64Array(n);
  sides.forEach((self, side) => {
    for (let i = 0; i < n; i++) weight[i] += magnitude(self[i]) * factors[side];
  });
  return weight;
}

const hasNegative = (column) => column.some((value) => value < 0);

/**
 * Builds the tree on display.
 * @param {object} page
 * @param {object} spec `sides`: for each side `{ node, value, wanted }`
 *   (`wanted` a byte for each row, or null); `factors`: what a side's value
 *   is multiplied by for widths; `kept`: of `keptStacks`; `hide foreign`:
 *   a byte for each function, or null; `collapse`
 * @returns {object} `n parent fn of first next self total weight own whole`;
 *   `self` and `total` have a column for each side, `weight` is what a node
 *   and its callees weigh, `own` the node alone, `whole` the sum of the rows
 *   by side before any filter, `isSigned` whether a value is negative
 */
export function buildCalls(page, spec) {
  const values = alike(spec.sides.map((side) => side.value));
  const big = values.some(isBig);
  const { parent, fn, n, of } = reshape(page, spec);
  const self = spec.sides.map((side, k) => {
    const column = zeros(n, big);
    addRows(column, { ...side, value: values[k] }, of, spec.kept);
    return column;
  });
  const own = weigh(self, spec.factors, n);
  const calls = {
    n, parent, fn, of, self, own, big,
    factors: spec.factors,
    whole: values.map((value) => sumColumn(value, big)),
    total: self.map((column) => sumUp(parent, column)),
    weight: sumUp(parent, own),
    isSigned: self.some(hasNegative),
  };
  return Object.assign(calls, linkChildren(calls));
}

/** First child and next sibling of each node that weighs something. */
function linkChildren({ n, parent, weight }) {
  const first = new Uint32Array(n);
  const next = new Uint32Array(n);
  for (let i = n - 1; i > 0; i--) {
    if (weight[i] === 0) continue;
    next[i] = first[parent[i]];
    first[parent[i]] = i;
  }
  return { first, next };
}

/**
 * Sums by function; in a total a stack counts once however often a function
 * recurs in it.
 * @returns {object} `self total` by side and function, `weight own` by
 *   function, `outermost`: a byte for each node
 */
export function sumFunctions(calls, nFunctions) {
  const { fn, first, next, own, weight } = calls;
  const sums = {
    self: calls.self.map(() => zeros(nFunctions, calls.big)),
    total: calls.self.map(() => zeros(nFunctions, calls.big)),
    own: new Float64Array(nFunctions),
    weight: new Float64Array(nFunctions),
    outermost: new Uint8Array(calls.n),
  };
  const open = new Uint32Array(nFunctions);
  const path = [];
  let node = first[0];
  while (node !== 0 || path.length > 0) {
    if (node === 0) {
      const done = path.pop();
      open[fn[done]]--;
      node = next[done];
      continue;
    }
    const f = fn[node];
    sums.own[f] += own[node];
    calls.self.forEach((column, side) => { sums.self[side][f] += column[node]; });
    if (open[f]++ === 0) {
      sums.outermost[node] = 1;
      sums.weight[f] += weight[node];
      calls.total.forEach((column, side) => { sums.total[side][f] += column[node]; });
    }
    path.push(node);
    node = first[node];
  }
  return sums;
}

/**
 * What the samples weigh that have a function of the mask in their stack.
 * @returns {number} by `calls.weight`
 */
export function weighMatches(calls, mask) {
  const marks = new Uint8Array(calls.n);
  let sum = 0;
  for (let i = 1; i < calls.n; i++) {
    marks[i] = marks[calls.parent[i]] | mask[calls.fn[i]];
    if (marks[i]) sum += calls.own[i];
  }
  return sum;
}
