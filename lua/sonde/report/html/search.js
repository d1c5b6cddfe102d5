/*
 * Patterns of people over the functions of a page. A pattern is a JavaScript
 * regular expression; what is none is taken as plain text, and said so.
 */

/** The expression of a pattern: `{ regex, problem }`. */
export function compile(pattern, flags) {
  try {
    return { regex: new RegExp(pattern, flags), problem: "" };
  } catch (error) {
    const literal = pattern.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return { regex: new RegExp(literal, flags), problem: error.message };
  }
}

/** A pattern that matches one name and nothing else. */
export function exactPattern(name) {
  return `^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
}

/**
 * The functions whose name, file or module a pattern matches.
 * @param {object} page
 * @param {string} pattern
 * @param {{ignoreCase?: boolean, namesOnly?: boolean}} how
 * @returns {{mask: Uint8Array, count: number, problem: string}} a byte for each function
 */
export function matchFunctions(page, pattern, how = {}) {
  const { regex, problem } = compile(pattern, how.ignoreCase ? "i" : "");
  const texts = how.namesOnly ? null : page.texts.map((text) => text !== "" && regex.test(text));
  const mask = new Uint8Array(page.names.length);
  let count = 0;
  for (let fn = 1; fn < mask.length; fn++) {
    const hit = regex.test(page.names[fn])
      || (texts !== null && (texts[page.module[fn]] || texts[page.file[fn]]));
    mask[fn] = hit ? 1 : 0;
    count += mask[fn];
  }
  return { mask, count, problem };
}

const MOST_MATCHES = 1000;

/** Paths of the heaviest boxes that match, none below another match. */
export function matchingPaths(calls, mask) {
  const below = new Uint8Array(calls.n);
  const nodes = [];
  for (let i = 1; i < calls.n; i++) {
    const caller = calls.parent[i];
    below[i] = below[caller] | mask[calls.fn[i]];
    if (below[i] && !below[caller] && calls.weight[i] > 0) nodes.push(i);
  }
  nodes.sort((a, b) => calls.weight[b] - calls.weight[a]);
  return nodes.slice(0, MOST_MATCHES).map((node) => {
    const path = [];
    for (let at = node; at !== 0; at = calls.parent[at]) path.push(calls.fn[at]);
    return path.reverse();
  });
}

/** Functions that match, those with the largest values first. */
export function matchingFunctions(mask, weight) {
  const fns = [];
  for (let fn = 1; fn < mask.length; fn++) if (mask[fn] && weight[fn] > 0) fns.push(fn);
  return fns.sort((a, b) => weight[b] - weight[a]).slice(0, MOST_MATCHES);
}
