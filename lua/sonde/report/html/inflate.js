/*
 * gzip without DecompressionStream, for browsers older than 2023 (Firefox
 * before 113, Safari before 16.4). RFC 1951 and 1952; one member.
 */

const LENGTH_BASE = [
  3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115,
  131, 163, 195, 227, 258,
];
const LENGTH_BITS = [
  0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
];
const DISTANCE_BASE = [
  1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537,
  2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577,
];
const CODE_LENGTH_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const MAX_BITS = 15;

/** Bits of a byte array, the lowest of each byte first. */
class BitReader {
  constructor(bytes, at) {
    this.bytes = bytes;
    this.at = at;
    this.hold = 0;
    this.count = 0;
  }

  bits(n) {
    while (this.count < n) {
      if (this.at >= this.bytes.length) throw new Error("compressed data end too early");
      this.hold |= this.bytes[this.at++] << this.count;
      this.count += 8;
    }
    const value = this.hold & ((1 << n) - 1);
    this.hold >>>= n;
    this.count -= n;
    return value;
  }

  /** Drops the rest of a byte. */
  align() {
    this.at -= this.count >> 3;
    this.hold = 0;
    this.count = 0;
  }

  /** Reads a symbol of a canonical Huffman code. */
  symbol(code) {
    let value = 0;
    let first = 0;
    let index = 0;
    for (let length = 1; length <= MAX_BITS; length++) {
      value |= this.bits(1);
      const count = code.counts[length];
      if (value - count < first) return code.symbols[index + value - first];
      index += count;
      first = (first + count) << 1;
      value <<= 1;
    }
    throw new Error("compressed data hold an impossible code");
  }
}

/** A canonical Huffman code from the length of each symbol's code. */
function makeCode(lengths) {
  const counts = new Uint16Array(MAX_BITS + 1);
  const offsets = new Uint16Array(MAX_BITS + 2);
  for (const length of lengths) counts[length]++;
  counts[0] = 0;
  for (let i = 1; i <= MAX_BITS; i++) offsets[i + 1] = offsets[i] + counts[i];
  const symbols = new Uint16Array(lengths.length);
  lengths.forEach((length, symbol) => {
    if (length !== 0) symbols[offsets[length]++] = symbol;
  });
  return { counts, symbols };
}

function fixedCodes() {
  const lengths = new Array(288);
  lengths.fill(8, 0, 144).fill(9, 144, 256).fill(7, 256, 280).fill(8, 280);
  return [makeCode(lengths), makeCode(new Array(30).fill(5))];
}

function dynamicCodes(reader) {
  const literals = reader.bits(5) + 257;
  const distances = reader.bits(5) + 1;
  const used = reader.bits(4) + 4;
  const order = new Array(19).fill(0);
  for (let i = 0; i < used; i++) order[CODE_LENGTH_ORDER[i]] = reader.bits(3);
  const code = makeCode(order);
  const lengths = [];
  while (lengths.length < literals + distances) {
    const symbol = reader.symbol(code);
    if (symbol < 16) lengths.push(symbol);
    else if (symbol === 16) repeat(lengths, lengths[lengths.length - 1], 3 + reader.bits(2));
    else if (symbol === 17) repeat(lengths, 0, 3 + reader.bits(3));
    else repeat(lengths, 0, 11 + reader.bits(7));
  }
  return [makeCode(lengths.slice(0, literals)), makeCode(lengths.slice(literals))];
}

function repeat(list, value, times) {
  for (let i = 0; i < times; i++) list.push(value);
}

function inflateBlock(reader, [literals, distances], out, at) {
  for (;;) {
    const symbol = reader.symbol(literals);
    if (symbol < 256) {
      out[at++] = symbol;
    } else if (symbol === 256) {
      return at;
    } else {
      const length = LENGTH_BASE[symbol - 257] + reader.bits(LENGTH_BITS[symbol - 257]);
      const code = reader.symbol(distances);
      const extra = code < 2 ? 0 : (code >> 1) - 1;
      const from = at - DISTANCE_BASE[code] - reader.bits(extra);
      if (from < 0) throw new Error("compressed data refer to what is not there");
      for (let i = 0; i < length; i++) out[at++] = out[from + i];
    }
  }
}

function copyStored(reader, out, at) {
  reader.align();
  const length = reader.bytes[reader.at] | (reader.bytes[reader.at + 1] << 8);
  const start = reader.at + 4;
  out.set(reader.bytes.subarray(start, start + length), at);
  reader.at = start + length;
  return at + length;
}

/** Where the compressed data of a gzip member begin. */
function skipHeader(bytes) {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b || bytes[2] !== 8) throw new Error("not gzip data");
  const flags = bytes[3];
  let at = 10;
  if (flags & 4) at += 2 + (bytes[at] | (bytes[at + 1] << 8));
  for (const flag of [8, 16]) {
    if (flags & flag) while (bytes[at++] !== 0);
  }
  return flags & 2 ? at + 2 : at;
}

/** The size of what a gzip member holds: its last four bytes. */
export function unpackedSize(bytes) {
  const end = new DataView(bytes.buffer, bytes.byteOffset + bytes.length - 4, 4);
  return end.getUint32(0, true);
}

/**
 * Decompresses one gzip member.
 * @param {Uint8Array} bytes
 * @returns {Uint8Array}
 */
export function gunzip(bytes) {
  const out = new Uint8Array(unpackedSize(bytes));
  const reader = new BitReader(bytes, skipHeader(bytes));
  let at = 0;
  let isLast = false;
  while (!isLast) {
    isLast = reader.bits(1) === 1;
    const kind = reader.bits(2);
    if (kind === 0) at = copyStored(reader, out, at);
    else if (kind === 1) at = inflateBlock(reader, fixedCodes(), out, at);
    else if (kind === 2) at = inflateBlock(reader, dynamicCodes(reader), out, at);
    else throw new Error("compressed data hold an unknown block");
  }
  if (at !== out.length) throw new Error("compressed data end too early");
  return out;
}
