import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pair } from "../src/document";
import { both, change, hindrance, summary } from "../src/tabs/comparison";
import { besides } from "../src/tabs/overlay";
import { perSecond } from "../src/tabs/overtime";
import { time } from "../src/format";
import { SAMPLES } from "./sample";

const pair = (a: number | null, b: number | null, change: number | null): Pair => ({ a, b, change });

test("changes have a sign, and none without a figure before", () => {
  const table: [Pair, string, string][] = [
    [pair(255_340, 318_370, 0.2468), "255 µs → 318 µs", "+24.7 %"],
    [pair(100, 50, -0.5), "100 ns → 50 ns", "−50.0 %"],
    [pair(100, 100, 0), "100 ns → 100 ns", "0.0 %"],
    [pair(1, 5000, 4999), "1 ns → 5.00 µs", "× 5,000"],
    [pair(null, 7, null), "– → 7 ns", "–"],
    [pair(0, 7, null), "0 s → 7 ns", "–"],
    [pair(null, null, null), "– → –", "–"],
  ];
  for (const [of, shown, expected] of table) {
    assert.equal(both(of, time), shown);
    assert.equal(change(of), expected);
  }
});

test("the summary counts stars, and says what keeps runs apart", () => {
  const against = SAMPLES.compared().against!;
  assert.match(summary(against), /^1 difference is more than noise \(★\), by 5 tests. .* below 0.200 %,/);
  assert.match(summary({ ...against, tests: 1, spans: [] }), /^No difference is more than noise \(★\), by 1 test\./);
  assert.match(summary({ ...against, tests: 0 }), /^No test: the runs are too short/);
  assert.equal(hindrance(against), "");
  assert.match(hindrance(SAMPLES.compared_apart().against!), /no type of event in common/);
  assert.match(hindrance(SAMPLES.compared_empty().against!), /^There is no event in empty.tel,/);
});

test("rates are the counts of intervals by their length", () => {
  const both = { widths: [500_000_000, 2_000_000_000], counts: [[3, 0], [8, 1, 2]] };
  assert.deepEqual([0, 1].map((run) => perSecond(both as Parameters<typeof perSecond>[0], run)), [[6, 0], [4, 0.5, 1]]);
});

test("both runs have the same bars, with each span in one of them", () => {
  for (const name of ["compared", "compared_hostile"]) {
    for (const both of SAMPLES[name]().against!.durations) {
      for (const most of [4, 36, 64]) {
        const bars = besides(both, most);
        for (const run of [0, 1]) {
          const total = both[run].counts.reduce((a, b) => a + b, 0);
          assert.equal(bars.reduce((sum, bar) => sum + bar.counts[run], 0), total);
          const shares = bars.reduce((sum, bar) => sum + bar.shares[run], 0);
          assert.ok(total === 0 || Math.abs(shares - 1) < 1e-9);
        }
      }
    }
  }
});
