/*
 * Numbers of 64 bits. A column is a Float64Array as long as every sum over it
 * is exact there, which is nearly always, and an array of BigInt otherwise.
 * Both kinds are added with `+=`, so one code serves both.
 */

/** Two to the 53rd: up to here a double holds every whole number. */
const EXACT = 9007199254740992;

const isWide = (value) => typeof value === "bigint";

/** Whether a column holds BigInt. */
export function isBig(column) {
  return Array.isArray(column);
}

/**
 * A column of values, numbers and BigInt mixed, in the kind that keeps them
 * and their sums exact.
 */
export function fitColumn(values) {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += Math.abs(Number(values[i]));
  if (sum < EXACT) return Float64Array.from(values);
  return values.map(BigInt);
}

/** Makes columns of one kind. */
export function alike(columns) {
  if (!columns.some(isBig)) return columns;
  return columns.map((column) => (isBig(column) ? column : Array.from(column, BigInt)));
}

/** An empty sum of a column's kind, for `n` places. */
export function zeros(n, big) {
  return big ? new Array(n).fill(0n) : new Float64Array(n);
}

/** Zero of a column's kind. */
export function zero(big) {
  return big ? 0n : 0;
}

/** A magnitude as a double, for widths and shares. */
export function magnitude(value) {
  return Math.abs(Number(value));
}

/** The difference of two values, exact when both are whole. */
export function minus(a, b) {
  if (isWide(a) === isWide(b)) return a - b;
  return Number(a) - Number(b);
}

/** Orders values of any kind. */
export function compare(a, b) {
  if (a < b) return -1;
  return a > b ? 1 : 0;
}
