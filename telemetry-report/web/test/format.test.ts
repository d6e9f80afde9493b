/** What people read: times, counts, bytes, texts and axes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { color, spanColor, textOn } from "../src/color";
import { between, brief, bytes, commas, count, cut, digits, escape, exactTime } from "../src/format";
import { exactAt, exactMoment, moment, setZero, shown, unshown } from "../src/format";
import { marks, percent, quantity, rate, short, ticks, time, utc, value } from "../src/format";
import { SAMPLES } from "./sample";

test("times have three significant digits and the unit that fits", () => {
  const cases: [number | string | null, string][] = [
    [0, "0 s"],
    [1, "1 ns"],
    [999, "999 ns"],
    [999.6, "1.00 µs"],
    [1234, "1.23 µs"],
    [999_499, "999 µs"],
    [999_999, "1.00 ms"],
    [12_345_678, "12.3 ms"],
    [2_410_000_000, "2.41 s"],
    [599e9, "599 s"],
    [600e9, "10.0 min"],
    [3 * 3600e9, "3.00 h"],
    [10 * 86_400e9, "10.0 days"],
    [-1500, "-1.50 µs"],
    ["1500", "1.50 µs"],
    [null, "–"],
  ];
  for (const [ns, text] of cases) assert.equal(time(ns), text);
  assert.equal(exactTime(1234567), "1,234,567 ns");
  assert.equal(exactTime("12345678901234567890"), "12,345,678,901,234,567,890 ns");
});

test("a range has the digits that tell its ends apart", () => {
  assert.equal(between(1.2e9, 1.222e9), "1.200–1.222 s");
  assert.equal(between(0, 2.41e9), "0.0–2.4 s");
  assert.equal(between(688_069_432, 689_846_644), "688.1–689.8 ms");
  assert.equal(between(7, 9), "7–9 ns");
  assert.equal(between(5e6, 5e6), "at 5.00 ms");
  assert.equal(between(1e9, 1e9 + 10), "1.000000000–1.000000010 s");
});

test("counts", () => {
  assert.equal(count(1234567), "1,234,567");
  assert.equal(commas("98765432109876543210"), "98,765,432,109,876,543,210");
  assert.equal(commas(1e21), "1,000,000,000,000,000,000,000");
  assert.deepEqual([0, 12, 9999, 12_345, 56_700_000, 3e9, 0.333].map(short), [
    "0",
    "12",
    "9,999",
    "12.3 k",
    "56.7 M",
    "3.00 G",
    "0.333",
  ]);
  assert.deepEqual([0, 0.5, 1234.6, 0.0001, NaN].map(digits), ["0", "0.500", "1,235", "1.00e-4", "NaN"]);
  assert.deepEqual([0, 1, 0.5, 0.00001].map(percent), ["0 %", "100 %", "50.0 %", "< 0.01 %"]);
});

test("low rates are by a longer time", () => {
  assert.deepEqual(
    [0, 56_700_000, 1, 0.333, 0.01, 8.46e-5, 1e-9].map((perSecond) => rate(perSecond)),
    [
      "0 events/s",
      "56.7 M events/s",
      "1 events/s",
      "20.0 events/min",
      "36 events/h",
      "7.31 events/day",
      "8.64e-5 events/day",
    ],
  );
  assert.equal(rate(1e9 - 0.1, ""), "1.00 G/s");
});

test("bytes and quantities", () => {
  assert.deepEqual(
    [0, 1, 1023, 1536, 5 * 2 ** 30].map((size) => bytes(size)),
    ["0 bytes", "1 byte", "1,023 bytes", "1.50 KiB", "5.00 GiB"],
  );
  assert.equal(quantity(1.5, "ms"), "1.50 ms");
  assert.equal(quantity(2048, "bytes"), "2.00 KiB");
  assert.equal(quantity("18446744073709551615", ""), "18,446,744,073,709,551,615");
  assert.equal(quantity(3, "objects"), "3 objects");
});

test("hostile texts are visible and short", () => {
  assert.equal(escape("a\u0000\n\u001b[31m\u202e"), "a\\0\\n\\u{1b}[31m\\u{202e}");
  assert.equal(escape("\ud800x😀"), "\\u{d800}x😀");
  assert.equal(cut("x".repeat(1_000_000), 3), "xxx… (1,000,000 characters)");
  assert.equal(brief("abcdef", 4), "abc…");
  assert.equal(value(["Read", "Write"]), '["Read","Write"]');
  assert.equal(value(null), "–");
  assert.equal(value("1000", "ns"), "1.00 µs");
});

test("marks of an axis are round, in order, and told apart", () => {
  for (const [from, until] of [
    [0, 2.41e9],
    [0, 17],
    [687_750_935, 689_528_147],
    [1e9, 1e9 + 10],
    [0, 3.6e12],
  ]) {
    const all = ticks(from, until, 10);
    assert.ok(all.length >= 3 && all.length <= 11, `${from} ${until}: ${all.length}`);
    assert.ok(all.every(({ at }) => at >= from - 1e-6 && at <= until + 1e-6));
    assert.equal(new Set(all.map(({ label }) => label)).size, all.length, JSON.stringify(all));
  }
  assert.deepEqual(
    ticks(0, 4e6, 4).map(({ label }) => label),
    ["0 ms", "1 ms", "2 ms", "3 ms", "4 ms"],
  );
  assert.deepEqual(ticks(5, 5, 10), []);
  assert.deepEqual(marks(10, 5), [0, 2, 4, 6, 8, 10]);
});

test("moments have their nanoseconds", () => {
  assert.equal(utc("1795694671000000001", 5), "2026-11-26 12:04:31.000000006");
  assert.equal(utc("no time", 0), "");
  // A clock that counts from the program's start has no date.
  assert.equal(utc("-1", 0), "");
  assert.equal(exactMoment("0", 5), "5 ns");
  assert.equal(exactMoment("1795694671000000001", 5), "5 ns; 2026-11-26 12:04:31.000000006 UTC");
});

test("kinds have the colors of Okabe and Ito, and none of the red of losses", () => {
  assert.deepEqual([0, 1, 2].map(color), ["#e69f00", "#56b4e9", "#009e73"]);
  const all = Array.from({ length: 64 }, (_, kind) => color(kind));
  assert.ok(!all.includes("#d55e00"));
  assert.equal(textOn("#f0e442"), "#000");
  assert.equal(textOn("#0072b2"), "#fff");
  const report = SAMPLES.gcbench();
  const colors = report.spans.map((_, span) => spanColor(report, span));
  assert.equal(new Set(colors).size, colors.length, "types of one kind differ");
});

test("moments count from the session's start", () => {
  setZero(-15_000_000);
  try {
    assert.equal(moment(1_000_000), "16.0 ms");
    assert.equal(exactAt(1), "15,000,001 ns");
    assert.equal(between(0, 1_000_000), "15.0–16.0 ms");
    const marks = ticks(0, 10_000_000, 5);
    assert.deepEqual(
      marks.map(({ at, label }) => `${at} ${label}`),
      ["1000000 16 ms", "3000000 18 ms", "5000000 20 ms", "7000000 22 ms", "9000000 24 ms"],
    );
    assert.equal(unshown(shown(5)), 5);
  } finally {
    setZero(0);
  }
});
