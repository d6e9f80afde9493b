/** Buckets of numbers, and what a `Heat` says about a part of the run. */
import type { Heat, Ns } from "./document";

const view = new DataView(new ArrayBuffer(8));

/** Returns the bucket of a number: see `Heat`. */
export function bucketOf(x: number): number {
  if (x === 0) return 0;
  view.setFloat64(0, Math.abs(x));
  const bucket = (view.getUint32(0) >>> 17) + 1;
  return x < 0 ? -bucket : bucket;
}

/** Returns the smallest size in the bucket of a number above 0. */
function edge(bucket: number): number {
  view.setUint32(0, (bucket - 1) * 0x20000);
  view.setUint32(4, 0);
  return view.getFloat64(0);
}

/** Returns the bucket's edges: the lower one is at most a number in it, the upper one at least. */
export function edgesOf(bucket: number): [number, number] {
  if (bucket === 0) return [0, 0];
  if (bucket < 0) return [-edge(1 - bucket), -edge(-bucket)];
  return [edge(bucket), edge(bucket + 1)];
}

/** Returns the number that stands for the bucket: at most 6 % from each number in it. */
export function middleOf(bucket: number): number {
  const [low, high] = edgesOf(bucket);
  return low + high === 0 ? 0 : (2 * low * high) / (low + high);
}

/** A distribution: numbers by bucket, in order. */
export interface Spread {
  buckets: number[];
  counts: number[];
  count: number;
  sum: number;
}

/** Returns the first and the last interval that a range touches. */
export function intervals(width: Ns, from: Ns, until: Ns): [number, number] {
  const first = Math.floor(from / width);
  return [first, Math.max(first, Math.ceil(until / width) - 1)];
}

/** Adds up the intervals of heat maps that a range touches. */
export function spreadOf(heats: Heat[], from: Ns, until: Ns): Spread {
  const counts = new Map<number, number>();
  let sum = 0;
  for (const heat of heats) {
    const [first, last] = intervals(heat.width, from, until);
    for (const column of heat.columns) {
      if (column.at < first || column.at > last) continue;
      sum += column.sum;
      column.buckets.forEach((bucket, i) => counts.set(bucket, (counts.get(bucket) ?? 0) + column.counts[i]));
    }
  }
  return spreadFrom(counts, sum);
}

/** Makes a distribution of single numbers. */
export function spreadOfNumbers(numbers: Iterable<number>): Spread {
  const counts = new Map<number, number>();
  let sum = 0;
  for (const x of numbers) {
    const bucket = bucketOf(x);
    counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
    sum += x;
  }
  return spreadFrom(counts, sum);
}

function spreadFrom(map: Map<number, number>, sum: number): Spread {
  const buckets = [...map.keys()].sort((a, b) => a - b);
  const counts = buckets.map((bucket) => map.get(bucket)!);
  return { buckets, counts, count: counts.reduce((a, b) => a + b, 0), sum };
}

/** Returns the bucket that has the number of this rank, as `q` of 1; null if there is none. */
function bucketAt(spread: Spread, q: number): number | null {
  let left = Math.max(1, Math.ceil(q * spread.count));
  for (let i = 0; i < spread.buckets.length; i++) {
    left -= spread.counts[i];
    if (left <= 0) return spread.buckets[i];
  }
  return null;
}

/** Returns a percentile, at most 6 % wrong: `percentile(spread, 0.99)`. */
export function percentile(spread: Spread, q: number): number | null {
  const bucket = bucketAt(spread, q);
  return bucket === null ? null : middleOf(bucket);
}

/** Returns the percentile of numbers in order, by nearest rank. */
export function exactPercentile(sorted: ArrayLike<number>, q: number): number | null {
  if (sorted.length === 0) return null;
  return sorted[Math.max(1, Math.ceil(q * sorted.length)) - 1];
}

const LEAST_BARS = 9;

/** A bar of a histogram on a log axis. */
export interface Bar {
  low: number;
  high: number;
  count: number;
}

/**
 * Joins buckets, so that there are at most about `most` bars over the numbers that occur. They follow
 * each other but at zero, which is a bar of its own.
 */
export function barsOf(spread: Spread, most: number): Bar[] {
  const { buckets, counts } = spread;
  const sides = [buckets.filter((bucket) => bucket < 0), buckets.filter((bucket) => bucket > 0)];
  const lengths = sides.map((side) => (side.length > 0 ? side[side.length - 1] - side[0] + 1 : 0));
  let step = 1;
  while ((lengths[0] + lengths[1]) / step > most) step *= 2;
  const place = (bucket: number) => (bucket > 0 ? Math.ceil(bucket / step) : Math.floor(bucket / step));
  const sums = new Map<number, number>();
  buckets.forEach((bucket, i) => {
    const at = place(bucket);
    sums.set(at, (sums.get(at) ?? 0) + counts[i]);
  });
  const bars: Bar[] = [];
  const add = (first: number, last: number) => {
    for (let at = first; at <= last; at++) {
      const [inner, outer] = [(Math.abs(at) - 1) * step + 1, Math.abs(at) * step];
      const [low, high] =
        at === 0
          ? [0, 0]
          : at > 0
            ? [edgesOf(inner)[0], edgesOf(outer)[1]]
            : [edgesOf(-outer)[0], edgesOf(-inner)[1]];
      bars.push({ low, high, count: sums.get(at) ?? 0 });
    }
  };
  const [below, above] = sides;
  // A single number is a bar among empty ones, not a wall.
  const pad =
    below.length > 0 || sums.has(0) ? 0 : Math.max(0, Math.ceil((LEAST_BARS - lengths[1] / step) / 2));
  if (below.length > 0) add(place(below[0]), place(below[below.length - 1]));
  if (sums.has(0)) add(0, 0);
  if (above.length > 0) add(Math.max(1, place(above[0]) - pad), place(above[above.length - 1]) + pad);
  return bars;
}
