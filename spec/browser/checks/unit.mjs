// The parts that need no browser.
import { deflateRawSync, gzipSync } from "node:zlib";
import { assert } from "./tools.mjs";
import { gunzip } from "../../../lua/sonde/report/html/inflate.js";
import { piecesOf, printable } from "../../../lua/sonde/report/html/labels.js";
import { packageOf } from "../../../lua/sonde/report/html/colours.js";
import { compile } from "../../../lua/sonde/report/html/search.js";
import {
  formatRange, formatState, parseRange, parseState,
} from "../../../lua/sonde/report/html/state.js";
import { exactly, format, percent } from "../../../lua/sonde/report/html/units.js";
import { fitColumn, isBig } from "../../../lua/sonde/report/html/values.js";

function samples() {
  let seed = 1;
  const noise = Uint8Array.from({ length: 70000 }, () => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return seed >>> 24;
  });
  const text = Buffer.from("Shop.Orders.List;System.Text.Json.Serialize\n".repeat(4000));
  return [Buffer.alloc(0), Buffer.from("a"), noise, text, Buffer.alloc(100000)];
}

export default [
  { name: "own inflate gives what zlib gave", check: () => {
    for (const sample of samples()) {
      for (const level of [0, 1, 6, 9]) {
        const back = gunzip(new Uint8Array(gzipSync(sample, { level })));
        assert.ok(Buffer.from(back).equals(Buffer.from(sample)), `${sample.length} ${level}`);
      }
    }
    const fixed = deflateRawSync(Buffer.from("fixed codes"), { strategy: 4 });
    const head = Buffer.from([31, 139, 8, 0, 0, 0, 0, 0, 0, 3]);
    const tail = Buffer.from([0, 0, 0, 0, 11, 0, 0, 0]);
    assert.equal(Buffer.from(gunzip(new Uint8Array(Buffer.concat([head, fixed, tail]))))
      .toString(), "fixed codes");
  } },
  { name: "own inflate refuses damaged data", check: () => {
    const good = gzipSync(Buffer.from("a text that is long enough to be worth it".repeat(20)));
    for (let i = 10; i < good.length - 8; i++) {
      const bad = Uint8Array.from(good);
      bad[i] ^= 0x55;
      try {
        gunzip(bad);
      } catch (error) {
        assert.ok(error instanceof Error);
      }
    }
    assert.throws(() => gunzip(new Uint8Array(good.subarray(0, 30))));
  } },
  { name: "values are printed in the scale that suits them", check: () => {
    assert.equal(format(1234567890, "nanoseconds"), "1.23 s");
    assert.equal(format(1500, "nanoseconds"), "1.5 µs");
    assert.equal(format(12 * 1024 * 1024, "bytes"), "12 MB");
    assert.equal(format(1234567, "count"), "1,234,567");
    assert.equal(format(-90, "count"), "\u221290");
    assert.equal(format(12, "gcs"), "12 gcs");
    assert.equal(exactly(9223372036854775807n, "count"), "9,223,372,036,854,775,807");
    assert.equal(percent(1, 3), "33.3 %");
    assert.equal(percent(1, 0), "0 %");
    assert.equal(percent(1, 100000000), "<\u202f0.0001 %");
  } },
  { name: "a column keeps 64 bits", check: () => {
    assert.equal(isBig(fitColumn([1, 2, 3])), false);
    const big = fitColumn([9007199254740991, 5n]);
    assert.equal(isBig(big), true);
    assert.equal(big[0] + big[1], 9007199254740996n);
  } },
  { name: "the address keeps the state", check: () => {
    const state = { ...parseState(""), view: "table", q: "a&b=c #", zoom: formatRange(1e-9, 0.25) };
    const back = parseState(formatState(state));
    assert.deepEqual(back, state);
    assert.deepEqual(parseRange(back.zoom), { from: 1e-9, to: 0.25 });
    assert.equal(parseRange("nonsense"), null);
    assert.equal(formatState(parseState("#unknown=1")), "");
  } },
  { name: "names of every kind are taken apart", check: () => {
    assert.deepEqual(piecesOf("net/http.(*conn).serve"), ["net/", "http.", "(*conn).", "serve"]);
    assert.equal(packageOf("net/http.(*conn).serve"), "net/http");
    assert.equal(packageOf("System.Text.Json.Write(int)"), "System.Text");
    assert.equal(packageOf("std::vector<int>::push_back"), "std");
    assert.equal(packageOf("app!main"), "app");
    assert.equal(printable("a\0b\u202e"), "a\\u0000b\\u202e");
    assert.equal(compile("a[", "").regex.test("a["), true);
    assert.notEqual(compile("a[", "").problem, "");
  } },
];
