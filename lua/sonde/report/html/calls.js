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

/**
 * Rebuilds the tree without hidden frames, with runs of foreign frames shown
 * as their outermost one, and with recursion as one frame. Siblings with one
 * function may come out of it; whoever draws joins them.
 * @returns {object} `parent fn n of`; `of` is the new node of each old one
 */
function reshape(page, { hide, foreign, collapse }) {
  const n = page.parent.length;
  if (!hide && !foreign && !collapse) return { parent: page.parent, fn: page.fn, n, of: null };
  const parent = new Uint32Array(n);
  const fns = new Uint32Array(n);
  const of = new Uint32Array(n);
  const isForeign = new Uint8Array(n);
  let made = 1;
  for (let i = 1; i < n; i++) {
    const caller = page.parent[i];
    const fn = page.fn[i];
    const isHidden = hide !== null && hide[fn] === 1;
    isForeign[i] = isHidden || !foreign ? isForeign[caller] : foreign[fn];
    of[i] = of[caller];
    if (isHidden || (foreign && foreign[fn] && isForeign[caller])) continue;
    if (collapse && of[caller] !== 0 && fns[of[caller]] === fn) continue;
    parent[made] = of[caller];
    fns[made] = fn;
    of[i] = made++;
  }
  return { parent: parent.subarray(0, made), fn: fns.subarray(0, made), n: made, of };
}

/** How many of a side's rows are left. */
function countRows({ node, wanted }, kept) {
  if (!wanted && !kept) return node.length;
  let n = 0;
  for (let i = 0; i < node.length; i++) {
    if ((!wanted || wanted[i]) && (!kept || kept[node[i]])) n++;
  }
  return n;
}

/**
 * The rows that are left, of all sides one after the other.
 * @returns {object} `node` in the tree on display, `values` with a column for
 *   each side (0 in the rows of others), `weight` of each row on the canvas
 */
function gatherRows(sides, values, big, of, spec) {
  const counts = sides.map((side) => countRows(side, spec.kept));
  const n = counts.reduce((sum, count) => sum + count, 0);
  const rows = { n, node: new Uint32Array(n), weight: new Float64Array(n),
    values: sides.map(() => zeros(n, big)) };
  let at = 0;
  sides.forEach(({ node, wanted }, side) => {
    const column = values[side];
    for (let i = 0; i < node.length; i++) {
      if ((wanted && !wanted[i]) || (spec.kept && !spec.kept[node[i]])) continue;
      rows.node[at] = of ? of[node[i]] : node[i];
      rows.values[side][at] = column[i];
      rows.weight[at] = magnitude(column[i]) * spec.factors[side];
      at++;
    }
  });
  return rows;
}

function sumColumn(column, big) {
  let sum = zero(big);
  for (let i = 0; i < column.length; i++) sum += column[i];
  return sum;
}

/** What each node has with its callees. */
function sumUp(parent, rowNode, column, sums) {
  for (let i = 0; i < column.length; i++) sums[rowNode[i]] += column[i];
  for (let i = sums.length - 1; i > 0; i--) sums[parent[i]] += sums[i];
  return sums;
}

const hasNegative = (column) => column.some((value) => value < 0);

/**
 * Builds the tree on display.
 * @param {object} page
 * @param {object} spec `sides`: for each side `{ node, value, wanted }`
 *   (`wanted` a byte for each row, or null); `factors`: what a side's value
 *   is multiplied by for widths; `kept`: of `keptStacks`; `hide foreign`:
 *   a byte for each function, or null; `collapse`
 * @returns {object} `n parent fn of first next rows total weight whole
 *   isSigned big`; `total` has a column for each side, `weight` is what a node
 *   and its callees weigh, `whole` the sum of the rows by side before any
 *   filter, `isSigned` whether a value is negative
 */
export function buildCalls(page, spec) {
  const values = alike(spec.sides.map((side) => side.value));
  const big = values.some(isBig);
  const { parent, fn, n, of } = reshape(page, spec);
  const rows = gatherRows(spec.sides, values, big, of, spec);
  const total = rows.values.map((column) => sumUp(parent, rows.node, column, zeros(n, big)));
  const isSigned = rows.values.some(hasNegative);
  const isPlain = total.length === 1 && !big && !isSigned;
  const calls = {
    n, parent, fn, of, rows, total, big, isSigned,
    whole: values.map((value) => sumColumn(value, big)),
    weight: isPlain ? total[0] : sumUp(parent, rows.node, rows.weight, new Float64Array(n)),
  };
  return Object.assign(calls, linkChildren(calls));
}

/** What a node has without its callees, for each side. */
export function selfValues({ total, first, next }, node) {
  return total.map((column) => {
    let self = column[node];
    for (let child = first[node]; child !== 0; child = next[child]) self -= column[child];
    return self;
  });
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

/** Values of their own by function. */
function sumSelf({ fn, rows, big }, nFunctions) {
  const self = rows.values.map(() => zeros(nFunctions, big));
  const own = new Float64Array(nFunctions);
  for (let i = 0; i < rows.n; i++) {
    const f = fn[rows.node[i]];
    own[f] += rows.weight[i];
    for (let side = 0; side < self.length; side++) self[side][f] += rows.values[side][i];
  }
  return { self, own };
}

/** The nodes that no node of the same function is above: a byte each. */
function markOutermost({ n, fn, first, next }, nFunctions) {
  const outermost = new Uint8Array(n);
  const open = new Uint32Array(nFunctions);
  const path = [];
  let node = first[0];
  while (node !== 0 || path.length > 0) {
    if (node !== 0) {
      if (open[fn[node]]++ === 0) outermost[node] = 1;
      path.push(node);
      node = first[node];
    } else {
      const done = path.pop();
      open[fn[done]]--;
      node = next[done];
    }
  }
  return outermost;
}

/**
 * Sums by function; in a total a stack counts once however often a function
 * recurs in it.
 * @returns {object} `self total` by side and function, `own weight` by
 *   function, `outermost`: a byte for each node
 */
export function sumFunctions(calls, nFunctions) {
  const { n, fn, weight, total, big } = calls;
  const outermost = markOutermost(calls, nFunctions);
  const sums = total.map(() => zeros(nFunctions, big));
  const weights = new Float64Array(nFunctions);
  for (let i = 1; i < n; i++) {
    if (outermost[i] === 0) continue;
    weights[fn[i]] += weight[i];
    for (let side = 0; side < sums.length; side++) sums[side][fn[i]] += total[side][i];
  }
  return { ...sumSelf(calls, nFunctions), total: sums, weight: weights, outermost };
}

/**
 * What the samples weigh that have a function of the mask in their stack.
 * @returns {number} by `calls.weight`
 */
export function weighMatches({ n, parent, fn, rows }, mask) {
  const marks = new Uint8Array(n);
  for (let i = 1; i < n; i++) marks[i] = marks[parent[i]] | mask[fn[i]];
  let sum = 0;
  for (let i = 0; i < rows.n; i++) if (marks[rows.node[i]] === 1) sum += rows.weight[i];
  return sum;
}
