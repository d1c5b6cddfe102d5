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
  const found = [];
  calls.outermost(mask, (node) => {
    const weight = calls.weight(node);
    if (weight > 0) found.push({ node, weight });
  });
  found.sort((a, b) => b.weight - a.weight);
  return found.slice(0, MOST_MATCHES).map(({ node }) =>
    calls.path(node).map((at) => calls.fn[at]));
}

/** Functions that match, those with the largest values first. */
export function matchingFunctions(mask, weight) {
  const fns = [];
  for (let fn = 1; fn < mask.length; fn++) if (mask[fn] && weight[fn] > 0) fns.push(fn);
  return fns.sort((a, b) => weight[b] - weight[a]).slice(0, MOST_MATCHES);
}
