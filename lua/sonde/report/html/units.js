/*
 * Values as people read them. The same scales as in sonde's text reports:
 * bytes go by 1024, time from nanoseconds to hours.
 */

const TIME = [
  { name: "h", worth: 3600e9, words: ["h", "hr", "hrs", "hour"] },
  { name: "s", worth: 1e9, words: ["s", "sec", "second"] },
  { name: "ms", worth: 1e6, words: ["ms", "msec", "millisecond"] },
  { name: "µs", worth: 1e3, words: ["us", "usec", "µs", "microsecond"] },
  { name: "ns", worth: 1, words: ["ns", "nsec", "nanosecond"] },
];
const BYTES = [
  { name: "PB", worth: 2 ** 50, words: ["pb", "petabyte"] },
  { name: "TB", worth: 2 ** 40, words: ["tb", "terabyte"] },
  { name: "GB", worth: 2 ** 30, words: ["gb", "gigabyte"] },
  { name: "MB", worth: 2 ** 20, words: ["mb", "megabyte"] },
  { name: "kB", worth: 2 ** 10, words: ["kb", "kilobyte"] },
  { name: "B", worth: 1, words: ["b", "byte"] },
];
const BARE = new Set(["", "count", "sample", "unit", "minimum"]);

const MINUS = "\u2212";

function find(unit) {
  const lower = unit.toLowerCase();
  const word = lower.length > 2 ? lower.replace(/s$/, "") : lower;
  for (const family of [TIME, BYTES]) {
    const member = family.find(({ words }) => words.includes(word));
    if (member) return { family, member };
  }
  return null;
}

/** Digits with their thousands marked; exact for BigInt. */
export function digits(value) {
  const text = typeof value === "bigint" ? value.toString() : String(Math.round(value));
  return text.replace("-", MINUS).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

function short(number) {
  const text = number.toFixed(2).replace(/\.?0+$/, "").replace("-", MINUS);
  const [whole, fraction] = text.split(".");
  const marked = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return fraction === undefined ? marked : `${marked}.${fraction}`;
}

/** The unit's name behind a count: nothing for units that only say "how many". */
function suffix(unit) {
  const word = unit.toLowerCase().replace(/s$/, "");
  return BARE.has(word) ? "" : ` ${unit}`;
}

/** A value in the scale that suits it: "1.23 s", "12.5 MB", "4,096". */
export function format(value, unit) {
  const found = find(unit);
  if (!found) return digits(value) + suffix(unit);
  const base = Number(value) * found.member.worth;
  const scale = found.family.find(({ worth }) => Math.abs(base) >= worth)
    || found.family[found.family.length - 1];
  return `${short(base / scale.worth)} ${scale.name}`;
}

/** A value in its own unit, every digit: "1,234,567,890 nanoseconds". */
export function exactly(value, unit) {
  return digits(value) + suffix(unit);
}

/** A change with its sign: "+1.23 s". */
export function signed(value, unit) {
  const text = format(value, unit);
  return value > 0 ? `+${text}` : text;
}

/** A share of a whole: "12.5 %", "0.023 %". */
export function percent(part, whole) {
  const share = Number(whole) === 0 ? 0 : (Number(part) / Math.abs(Number(whole))) * 100;
  const size = Math.abs(share);
  let text;
  if (size >= 99.95 && size < 100.05) text = share < 0 ? "-100" : "100";
  else if (size >= 100) text = share.toFixed(0);
  else if (size >= 10) text = share.toFixed(1);
  else if (size >= 1) text = share.toFixed(2);
  else if (size === 0) text = "0";
  else text = size < 0.0001 ? "0.0001" : String(Number(share.toPrecision(2)));
  if (size > 0 && size < 0.0001) return "<\u202f0.0001 %";
  return `${text.replace("-", MINUS)} %`;
}

/** Nanoseconds since the recording began: "1.234567 s" as far as needed. */
export function moment(ns, step) {
  const seconds = ns / 1e9;
  const places = Math.min(9, Math.max(0, Math.ceil(-Math.log10((step || 1e6) / 1e9))));
  return `${seconds.toFixed(places)} s`;
}

/** A time span in ns. */
export function duration(ns) {
  return format(ns, "ns");
}

/** A round step of at least a size: 1, 2 or 5 times a power of ten. */
export function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least);
}
