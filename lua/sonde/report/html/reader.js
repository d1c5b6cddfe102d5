/*
 * The data of the page: base64 of gzip of the layout that
 * src/profile/pack.h describes.
 */
import { gunzip, unpackedSize } from "./inflate.js";
import { fitColumn } from "./values.js";

const MAGIC = "SONDEPG1";

/** What stands for the frames of a sample that has none. */
const NO_STACK = "[no stack]";

function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function decompress(bytes) {
  if (typeof DecompressionStream === "undefined") return gunzip(bytes);
  const stream = new DecompressionStream("gzip");
  const writer = stream.writable.getWriter();
  writer.write(bytes).then(() => writer.close()).catch(() => {});
  return collect(stream.readable.getReader(), unpackedSize(bytes));
}

/** All that a stream of known size gives. */
async function collect(reader, size) {
  const all = new Uint8Array(size);
  let at = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    all.set(value, at);
    at += value.length;
  }
  if (at !== size) throw new Error("the page's data are damaged");
  return all;
}

/** A cursor over the layout. */
class Cursor {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
    this.text = new TextDecoder();
  }

  int() {
    const bytes = this.bytes;
    let byte = bytes[this.at++];
    let value = byte & 127;
    let scale = 128;
    while (byte > 127) {
      byte = bytes[this.at++];
      value += (byte & 127) * scale;
      scale *= 128;
    }
    return value;
  }

  signed() {
    const value = this.int();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** A signed number of 64 bits: a BigInt when a double would lose digits. */
  wide() {
    const bytes = this.bytes;
    let low = 0;
    let shift = 0;
    let byte;
    do {
      byte = bytes[this.at++];
      low |= (byte & 127) << shift;
      shift += 7;
    } while (byte > 127 && shift < 28);
    let high = 0;
    let scale = 1;
    while (byte > 127) {
      byte = bytes[this.at++];
      high += (byte & 127) * scale;
      scale *= 128;
    }
    const isNegative = (low & 1) === 1;
    if (high < 0x2000000) {
      const half = high * 0x8000000 + (low >>> 1);
      return isNegative ? -half - 1 : half;
    }
    const half = (BigInt(high) << 27n) + BigInt(low >>> 1);
    return isNegative ? -half - 1n : half;
  }

  string(length) {
    const start = this.at;
    this.at += length;
    return this.text.decode(this.bytes.subarray(start, this.at));
  }

  /** Fills a column from a place on. Most numbers are a byte. */
  fill(column, from = 0) {
    const { bytes } = this;
    for (let i = from; i < column.length; i++) {
      const byte = bytes[this.at];
      if (byte < 128) {
        column[i] = byte;
        this.at++;
      } else {
        column[i] = this.int();
      }
    }
    return column;
  }

  column(n) {
    return this.fill(new Uint32Array(n));
  }

  /** A column of signed numbers. */
  signedColumn(n, Kind) {
    const column = new Kind(n);
    for (let i = 0; i < n; i++) column[i] = this.signed();
    return column;
  }

  texts() {
    const lengths = this.column(this.int());
    return Array.from(lengths, (length) => this.string(length));
  }
}

/** The tree: for each node its function, and the node behind all that it calls. */
function readTree(cursor, page) {
  const n = cursor.int();
  // Memory that is touched first costs more than what is done with it.
  const Narrow = page.names.length < 65536 ? Uint16Array : Uint32Array;
  const end = cursor.fill(new Uint32Array(n), 1);
  const open = [0];
  for (let i = 1; i < n; i++) {
    for (let up = end[i]; up > 0; up--) end[open.pop()] = i;
    open.push(i);
  }
  for (const node of open) end[node] = n;
  const fn = cursor.fill(new Narrow(n), 1);
  Object.assign(page, { n, end, fn });
}

/** The caller of each node; most pages are read without it. */
function parentsOf({ n, end }) {
  const parent = new Uint32Array(n);
  const open = [0];
  for (let i = 1; i < n; i++) {
    while (i >= end[open[open.length - 1]]) open.pop();
    parent[i] = open[open.length - 1];
    open.push(i);
  }
  return parent;
}

function readLabels(cursor, page) {
  const nKeys = cursor.int();
  const keys = Array.from(cursor.column(nKeys), (id) => page.texts[id]);
  const nSets = cursor.int();
  return keys.map((key) => ({ key, values: cursor.column(nSets) }));
}

function readView(cursor, page) {
  const labels = readLabels(cursor, page);
  const n = cursor.int();
  const node = addUp(cursor.column(n));
  const set = cursor.column(n);
  const columns = [];
  const nTypes = cursor.int();
  for (let k = 0; k < nTypes; k++) {
    const values = new Array(n);
    for (let i = 0; i < n; i++) values[i] = cursor.wide();
    columns.push(fitColumn(values));
  }
  return { labels, n, node, set, columns };
}

function readThread(cursor, page) {
  const name = page.texts[cursor.int()];
  const process = page.texts[cursor.int()];
  const id = cursor.int();
  const n = cursor.int();
  const start = cursor.signedColumn(n, Float64Array);
  const duration = new Float64Array(n);
  for (let i = 0; i < n; i++) duration[i] = cursor.int();
  const node = Uint32Array.from(addUp(cursor.signedColumn(n, Int32Array)));
  let end = 0;
  for (let i = 0; i < n; i++) {
    start[i] += end;
    end = start[i] + duration[i];
  }
  return { name, process, id, n, start, duration, node };
}

function readTimeline(cursor, page) {
  const quantum = cursor.int();
  const threads = [];
  for (let i = cursor.int(); i > 0; i--) threads.push(readThread(cursor, page));
  return { quantum, threads };
}

/** Turns differences from the number before into numbers. */
function addUp(column) {
  for (let i = 1; i < column.length; i++) column[i] += column[i - 1];
  return column;
}

/** Gives samples without a frame one that says so, behind all others. */
function nameBareSamples(page) {
  const columns = page.views.map((view) => view.node);
  if (page.timeline) columns.push(...page.timeline.threads.map((thread) => thread.node));
  if (!columns.some((column) => column.includes(0))) return;
  const { n } = page;
  const fn = page.names.push(NO_STACK) - 1;
  for (const name of ["file", "module", "line", "foreign"]) page[name] = append(page[name], 0);
  page.fn = append(page.fn, fn);
  page.end = append(page.end, n + 1);
  page.end[0] = page.n = n + 1;
  for (const column of columns) {
    for (let i = 0; i < column.length; i++) if (column[i] === 0) column[i] = n;
  }
  for (const view of page.views) moveBareRows(view, n);
}

/** Rows lie in the order of their nodes: those of the last node go last. */
function moveBareRows(view, node) {
  let first = 0;
  while (first < view.n && view.node[first] === node) first++;
  if (first === 0 || first === view.n) return;
  const turn = (column) => {
    const rest = column.slice(first);
    const bare = column.slice(0, first);
    if (Array.isArray(column)) return rest.concat(bare);
    column.set(rest);
    column.set(bare, rest.length);
    return column;
  };
  view.node = turn(view.node);
  view.set = turn(view.set);
  view.columns = view.columns.map(turn);
}

function append(column, value) {
  const longer = new column.constructor(column.length + 1);
  longer.set(column);
  longer[column.length] = value;
  return longer;
}

/**
 * Reads the layout.
 * @param {Uint8Array} bytes
 * @returns {object} the page: `meta names texts`, by function `file module line foreign`, by
 *   node (there are `n`, in preorder) `fn end parent`; `views`, `timeline`
 */
export function readLayout(bytes) {
  const cursor = new Cursor(bytes);
  if (cursor.string(MAGIC.length) !== MAGIC) throw new Error("the page's data are damaged");
  const page = { meta: JSON.parse(cursor.string(cursor.int())) };
  page.names = cursor.texts();
  page.texts = cursor.texts();
  const n = cursor.int();
  page.file = cursor.column(n);
  page.module = cursor.column(n);
  page.line = cursor.signedColumn(n, Float64Array);
  page.foreign = cursor.column(n);
  readTree(cursor, page);
  page.views = [];
  for (let i = cursor.int(); i > 0; i--) page.views.push(readView(cursor, page));
  page.timeline = cursor.int() === 1 ? readTimeline(cursor, page) : null;
  if (cursor.at !== bytes.length) throw new Error("the page's data are damaged");
  nameBareSamples(page);
  let parent = null;
  Object.defineProperty(page, "parent", { get: () => (parent ||= parentsOf(page)) });
  return page;
}

/**
 * Reads the data of the page.
 * @param {string} text base64
 * @returns {Promise<object>} as `readLayout`
 */
export async function readPage(text) {
  return readLayout(await decompress(bytesOfBase64(text)));
}
