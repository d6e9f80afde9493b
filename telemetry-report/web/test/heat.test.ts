import assert from "node:assert/strict";
import { test } from "node:test";
import {
  barsOf,
  bucketOf,
  edgesOf,
  exactPercentile,
  intervals,
  middleOf,
  percentile,
  spreadOf,
  spreadOfNumbers,
} from "../src/heat";
import { random } from "./figures";

test("a bucket is the upper bits of a float, plus 1", () => {
  assert.equal(bucketOf(0), 0);
  assert.equal(bucketOf(1), 0x3ff * 8 + 1);
  assert.equal(bucketOf(1.124), bucketOf(1));
  assert.equal(bucketOf(1.125), bucketOf(1) + 1);
  assert.equal(bucketOf(2), bucketOf(1) + 8);
  assert.equal(bucketOf(-2), -bucketOf(2));
  assert.equal(bucketOf(5e-324), 1);
});

test("each number lies within its bucket, and at most 6 % from what stands for it", () => {
  const next = random(1);
  for (let i = 0; i < 20_000; i++) {
    const x = (next() < 0.3 ? -1 : 1) * 2 ** (next() * 200 - 60);
    const [low, high] = edgesOf(bucketOf(x));
    assert.ok(low <= x && x <= high, `${x} in ${low}..${high}`);
    assert.ok(Math.abs(middleOf(bucketOf(x)) - x) <= 0.06 * Math.abs(x), `${x}`);
  }
  assert.equal(middleOf(0), 0);
});

test("percentiles of a heat map are within 6 % of the exact ones", () => {
  const next = random(2);
  const numbers = Array.from({ length: 3000 }, () => Math.exp(next() * 12));
  const columns = [0, 1, 2].map((at) => {
    const spread = spreadOfNumbers(numbers.slice(at * 1000, (at + 1) * 1000));
    return { at: at + 5, buckets: spread.buckets, counts: spread.counts, sum: spread.sum };
  });
  const part = numbers.slice(1000, 3000).sort((a, b) => a - b);
  const spread = spreadOf([{ width: 10, columns }], 60, 80);
  assert.equal(spread.count, 2000);
  assert.ok(Math.abs(spread.sum - part.reduce((a, b) => a + b, 0)) < 1e-6 * spread.sum);
  for (const q of [0, 0.01, 0.5, 0.9, 0.99, 1]) {
    const exact = exactPercentile(part, q)!;
    assert.ok(Math.abs(percentile(spread, q)! - exact) <= 0.06 * exact, `${q}`);
  }
  assert.equal(percentile(spreadOf([], 0, 1), 0.5), null);
});

test("a range touches the intervals in which it has a moment", () => {
  assert.deepEqual(intervals(10, 0, 10), [0, 0]);
  assert.deepEqual(intervals(10, 9, 11), [0, 1]);
  assert.deepEqual(intervals(10, 20, 20), [2, 2]);
  assert.deepEqual(intervals(10, 25, 40), [2, 3]);
});

test("bars have each number once, and follow each other", () => {
  const next = random(3);
  const numbers = Array.from({ length: 5000 }, () =>
    next() < 0.1 ? 0 : (next() - 0.3) * 2 ** (next() * 40),
  );
  const bars = barsOf(spreadOfNumbers(numbers), 40);
  assert.ok(bars.length <= 44);
  assert.equal(
    bars.reduce((sum, bar) => sum + bar.count, 0),
    5000,
  );
  for (const { low, high, count } of bars) {
    const inside = numbers.filter((x) =>
      low === high ? x === low : x < 0 ? x > low && x <= high : x >= low && x < high,
    );
    assert.equal(inside.length, count);
  }
  assert.equal(barsOf(spreadOfNumbers([64, 64]), 40).filter((bar) => bar.count === 0).length, 8);
  const positive = barsOf(spreadOfNumbers([1, 3, 100, 1e6]), 10);
  positive.slice(1).forEach((bar, i) => assert.equal(bar.low, positive[i].high));
});
