/*
 * The calls that are on display: the page's tree with the rows of a view (one,
 * or two sides of a difference) on it, after filters.
 *
 * The tree is in preorder: a call and all that it calls are the nodes from its
 * own to `end[node]`, and their rows lie side by side. So what a call is worth
 * is a difference of two running sums over the rows, found by bisection, and
 * nothing is computed for nodes that nobody looks at. (100,000 stacks have
 * millions of nodes; touching fresh memory for them costs more than all else.)
 */
import { alike, isBig, magnitude, zero, zeros } from "./values.js";

/** The stacks that focus and ignore leave, a byte each; null for all. */
export function keptStacks(page, { focus, ignore }) {
  if (!focus && !ignore) return null;
  const kept = new Uint8Array(page.n).fill(focus ? 0 : 1);
  if (focus) eachOutermost(page, focus, (node, end) => kept.fill(1, node, end));
  if (ignore) eachOutermost(page, ignore, (node, end) => kept.fill(0, node, end));
  return kept;
}

/** Calls of functions of the mask that are not below another such call. */
function eachOutermost({ n, fn, end }, mask, use) {
  for (let i = 1; i < n;) {
    if (mask[fn[i]] === 1) {
      use(i, end[i]);
      i = end[i];
    } else {
      i++;
    }
  }
}

/**
 * The frames that are not shown, a byte for each node: hidden ones, foreign
 * ones called by foreign ones, and recursion. Null for none.
 */
function skippedNodes(page, { hide, foreign, collapse }) {
  if (!hide && !foreign && !collapse) return null;
  const { n, fn, end } = page;
  const skip = new Uint8Array(n);
  const open = [{ end: n, fn: 0, isForeign: 0 }];
  for (let i = 1; i < n; i++) {
    while (i >= open[open.length - 1].end) open.pop();
    const caller = open[open.length - 1];
    const f = fn[i];
    if (hide && hide[f] === 1) {
      skip[i] = 1;
      continue;
    }
    const isForeign = foreign ? foreign[f] : 0;
    if ((isForeign === 1 && caller.isForeign === 1) || (collapse && caller.fn === f)) skip[i] = 1;
    else open.push({ end: end[i], fn: f, isForeign });
  }
  return skip;
}

function isLeft({ node, value, wanted }, kept, i) {
  return (wanted === null || wanted[i] === 1) && (kept === null || kept[node[i]] === 1)
    && Number(value[i]) !== 0;
}

function countLeft(side, kept) {
  let n = 0;
  for (let i = 0; i < side.node.length; i++) if (isLeft(side, kept, i)) n++;
  return n;
}

/** The side with the lowest node that is left, from the places in `next` on. */
function nextSide(sides, kept, next) {
  let best = -1;
  sides.forEach((side, k) => {
    while (next[k] < side.node.length && !isLeft(side, kept, next[k])) next[k]++;
    if (next[k] === side.node.length) return;
    if (best < 0 || side.node[next[k]] < sides[best].node[next[best]]) best = k;
  });
  return best;
}

/**
 * The rows that are left, of all sides, in the order of their nodes.
 * @returns {object} `n node`, `values` with a column for each side (0 in the
 *   rows of others), `weight` of each row on the canvas
 */
function gatherRows(sides, big, { kept, factors }) {
  const n = sides.reduce((sum, side) => sum + countLeft(side, kept), 0);
  const rows = { n, node: new Uint32Array(n), weight: new Float64Array(n),
    values: sides.map(() => zeros(n, big)) };
  const next = sides.map(() => 0);
  for (let at = 0; at < n; at++) {
    const k = nextSide(sides, kept, next);
    const { node, value } = sides[k];
    const i = next[k]++;
    rows.node[at] = node[i];
    rows.values[k][at] = value[i];
    rows.weight[at] = magnitude(value[i]) * factors[k];
  }
  return rows;
}

/** Sums of the first 0, 1, 2, … values of a column. */
function runningSums(column, big) {
  const sums = zeros(column.length + 1, big);
  for (let i = 0; i < column.length; i++) sums[i + 1] = sums[i] + column[i];
  return sums;
}

function sumOf(column, big) {
  let sum = zero(big);
  for (let i = 0; i < column.length; i++) sum += column[i];
  return sum;
}

/** The tree on display. */
export class Calls {
  /**
   * @param {object} page
   * @param {object} spec `sides`: for each side `{ node, value, wanted }`
   *   (`wanted` a byte for each row, or null); `factors`: what a side's value
   *   is multiplied by for widths; `kept`: of `keptStacks`; `hide foreign`: a
   *   byte for each function, or null; `collapse`
   */
  constructor(page, spec) {
    const values = alike(spec.sides.map((side) => side.value));
    const sides = spec.sides.map((side, k) => ({ ...side, value: values[k] }));
    this.page = page;
    this.n = page.n;
    this.fn = page.fn;
    this.end = page.end;
    this.big = values.some(isBig);
    this.skip = skippedNodes(page, spec);
    this.rows = gatherRows(sides, this.big, spec);
    this.sums = this.rows.values.map((column) => runningSums(column, this.big));
    this.weights = runningSums(this.rows.weight, false);
    this.isSigned = this.rows.values.some((column) => column.some((value) => value < 0));
    /** The sum of all rows by side, before any filter. */
    this.whole = values.map((value) => sumOf(value, this.big));
  }

  /** The sum of the rows that are left, by side. */
  get total() {
    return this.sums.map((sums) => sums[this.rows.n]);
  }

  get totalWeight() {
    return this.weights[this.rows.n];
  }

  /** The number of rows of nodes before a node. */
  rowsBefore(node) {
    const { node: nodes, n } = this.rows;
    let low = 0;
    let high = n;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (nodes[middle] < node) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** What a call and its callees weigh. */
  weight(node) {
    const from = this.rowsBefore(node);
    const to = this.rowsBefore(this.end[node]);
    return from === to ? 0 : this.weights[to] - this.weights[from];
  }

  /** Their value for each side. */
  values(node) {
    const from = this.rowsBefore(node);
    const to = this.rowsBefore(this.end[node]);
    return this.sums.map((sums) => sums[to] - sums[from]);
  }

  /** The calls under a call that are shown. */
  callees(node, use) {
    const { end, skip } = this;
    const stop = end[node];
    for (let i = node + 1; i < stop;) {
      if (skip !== null && skip[i] === 1) {
        i++;
      } else {
        use(i);
        i = end[i];
      }
    }
  }

  /** The call that is shown above a call; 0 for none. */
  caller(node) {
    const { parent } = this.page;
    let at = parent[node];
    while (this.skip !== null && this.skip[at] === 1) at = parent[at];
    return at;
  }

  /** The call itself, or the one that is shown in its place. */
  shown(node) {
    return this.skip !== null && this.skip[node] === 1 ? this.caller(node) : node;
  }

  /** The calls that are shown above a call and itself, the outermost first. */
  path(node, path = []) {
    path.length = 0;
    for (let at = this.shown(node); at !== 0; at = this.caller(at)) path.push(at);
    return path.reverse();
  }

  /** Calls of functions of the mask that are shown and not below another one. */
  outermost(mask, use) {
    const { n, fn, end, skip } = this;
    for (let i = 1; i < n;) {
      if (mask[fn[i]] === 1 && (skip === null || skip[i] === 0)) {
        use(i);
        i = end[i];
      } else {
        i++;
      }
    }
  }

  /** What the samples weigh that have a function of the mask in their stack. */
  weighMatches(mask) {
    let sum = 0;
    this.outermost(mask, (node) => { sum += this.weight(node); });
    return sum;
  }

  /** How many boxes lie above each row, its own included; and the most. */
  levels() {
    const { n, end, skip, rows } = this;
    const open = [];
    const levels = new Uint32Array(rows.n);
    let row = 0;
    for (let i = 0; i < n && row < rows.n; i++) {
      while (open.length > 0 && i >= open[open.length - 1]) open.pop();
      if (i > 0 && (skip === null || skip[i] === 0)) open.push(end[i]);
      for (; row < rows.n && rows.node[row] === i; row++) levels[row] = open.length;
    }
    return { levels, most: levels.reduce((most, level) => Math.max(most, level), 0) };
  }
}

/** Values of their own by function. */
function sumSelf(calls, nFunctions) {
  const { fn, rows, big } = calls;
  const self = rows.values.map(() => zeros(nFunctions, big));
  const own = new Float64Array(nFunctions);
  for (let i = 0; i < rows.n; i++) {
    const f = fn[calls.shown(rows.node[i])];
    own[f] += rows.weight[i];
    for (let side = 0; side < self.length; side++) self[side][f] += rows.values[side][i];
  }
  return { self, own };
}

/**
 * Sums by function; in a total a stack counts once however often a function
 * recurs in it.
 * @returns {object} `self total` by side and function, `own weight` by function
 */
export function sumFunctions(calls, nFunctions) {
  const { n, fn, end, skip, sums, weights, rows, big } = calls;
  const total = sums.map(() => zeros(nFunctions, big));
  const weight = new Float64Array(nFunctions);
  const until = new Uint32Array(nFunctions);   // the end of an open call of the function
  let from = 0;
  for (let i = 1; i < n && from < rows.n; i++) {
    const f = fn[i];
    while (from < rows.n && rows.node[from] < i) from++;
    if (i < until[f] || (skip !== null && skip[i] === 1)) continue;
    until[f] = end[i];
    const to = calls.rowsBefore(end[i]);
    if (to === from) continue;
    weight[f] += weights[to] - weights[from];
    for (let side = 0; side < total.length; side++) {
      total[side][f] += sums[side][to] - sums[side][from];
    }
  }
  return { ...sumSelf(calls, nFunctions), total, weight };
}
