/** Figures of the sample documents, as the Rust side computes them. */

import type { Summary } from "../src/document";

/** The bucket of a number; see `Heat` in document.ts. */
export function bucketOf(x: number): number {
  if (x === 0) return 0;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, Math.abs(x));
  const upper = (view.getUint32(0) >>> 17) + 1;
  return x < 0 ? -upper : upper;
}

/** Random numbers that are the same in each run. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export function trim(counts: number[]): { first: number; counts: number[] } {
  const first = Math.max(
    0,
    counts.findIndex((count) => count > 0),
  );
  let last = counts.length;
  while (last > first && counts[last - 1] === 0) last--;
  return { first, counts: counts.slice(first, last) };
}

export function summary(values: number[]): Summary {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? null;
  return {
    count: sorted.length,
    min: sorted[0] ?? null,
    max: sorted.at(-1) ?? null,
    mean: sorted.length ? sorted.reduce((a, b) => a + b, 0) / sorted.length : null,
    p50: at(0.5),
    p90: at(0.9),
    p99: at(0.99),
    p999: at(0.999),
  };
}

export function top(values: unknown[]): { value: unknown; count: number; share: number }[] {
  const counts = new Map<unknown, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 10)
    .map(([value, count]) => ({ value, count, share: count / values.length }));
}
