import assert from "node:assert/strict";
import { test } from "node:test";
import { bmu, mmu, unite, windowFor, windows } from "../src/tabs/mmu";
import { random } from "./figures";

/** Tells of each whole nanosecond whether the program stood still in it. */
function still(intervals: [number, number][], from: number, until: number): number[] {
  return Array.from({ length: until - from }, (_, at) =>
    intervals.some(([begin, end]) => begin <= at + from && at + from < end) ? 1 : 0,
  );
}

function brute(still: number[], size: number): number {
  let worst = 1;
  for (let at = 0; at + size <= still.length; at++) {
    const stopped = still.slice(at, at + size).reduce((a, b) => a + b, 0);
    worst = Math.min(worst, 1 - stopped / size);
  }
  return worst;
}

test("the utilization is that of all windows tried one by one", () => {
  const next = random(7);
  const whole = (most: number) => Math.floor(next() * most);
  for (let round = 0; round < 400; round++) {
    const length = 5 + whole(60);
    const intervals = Array.from({ length: whole(9) }, (): [number, number] => {
      const begin = whole(length + 20) - 10;
      return [begin, begin + whole(12)];
    });
    const from = whole(4);
    const stops = unite(intervals, from, length);
    const each = still(intervals, from, length);
    const all = Array.from({ length: each.length }, (_, i) => brute(each, i + 1));
    all.forEach((expected, i) => {
      const found = mmu(stops, i + 1);
      assert.ok(
        Math.abs(found - expected) < 1e-9,
        `round ${round}, window ${i + 1}: ${found}, not ${expected}`,
      );
      const bounded = Math.min(...all.slice(i));
      const foundBounded = bmu(stops, i + 1);
      assert.ok(
        Math.abs(foundBounded - bounded) < 1e-9,
        `round ${round}, bounded ${i + 1}: ${foundBounded}, not ${bounded}`,
      );
    });
  }
});

test("windows up to the longest stop have no utilization at all", () => {
  const next = random(9);
  for (let round = 0; round < 50; round++) {
    const begin = Math.floor(next() * 2e12);
    const longest = 1e6 + Math.floor(next() * 1e9);
    const stops = unite([[3, 8_005], [begin + 1e5, begin + 1e5 + longest]], 0, 5e12);
    for (const size of windows(stops, 8_002, 60).filter((size) => size <= longest)) {
      assert.equal(mmu(stops, size), 0, `${size} of ${longest} at ${begin}`);
      assert.equal(bmu(stops, size), 0, `bounded, ${size} of ${longest} at ${begin}`);
    }
  }
});

test("the bounded utilization never falls, and the window for it is the smallest", () => {
  const next = random(8);
  const intervals = Array.from({ length: 300 }, (): [number, number] => {
    const begin = next() * 1e9;
    return [begin, begin + 10 ** (3 + 3 * next())];
  });
  const stops = unite(intervals, 0, 1e9);
  const sizes = windows(stops, 1000, 100);
  assert.equal(sizes.length, 100);
  assert.ok(Math.abs(sizes[99] - 1e9) < 1);
  sizes.slice(1).forEach((size, i) => assert.ok(bmu(stops, size) >= bmu(stops, sizes[i]) - 1e-9));
  const window = windowFor(stops, 0.5)!;
  assert.ok(bmu(stops, window) >= 0.5 - 1e-9);
  assert.ok(bmu(stops, window * 0.999) < 0.5);
  assert.equal(windowFor(stops, 1), null);
});

test("runs without pauses, or of nothing else", () => {
  const free = unite([], 0, 100);
  assert.deepEqual([mmu(free, 10), bmu(free, 10), windowFor(free, 1)], [1, 1, 1]);
  const full = unite(
    [
      [0, 60],
      [50, 200],
    ],
    0,
    100,
  );
  assert.deepEqual([mmu(full, 10), bmu(full, 10), windowFor(full, 0.1)], [0, 0, null]);
  assert.deepEqual(windows(unite([], 5, 5), 1, 10), []);
});
