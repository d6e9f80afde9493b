/** Makes a comparison of a sample document with a run before, as the Rust side does of two streams. */

import type { Against, Pair, Report } from "../src/document";
import { spreadOfNumbers } from "../src/heat";

const NONE: Pair = { a: null, b: null, change: null };

function pair(a: number | null, b: number | null): Pair {
  return { a, b, change: a && b !== null ? (b - a) / Math.abs(a) : null };
}

/**
 * The run before lasts as long; its spans took `1 / stretch` of the time. 0: it has other names. With
 * `isEmpty`, only the run before has events.
 */
export function against(report: Report, stretch: number, isEmpty = false): Against {
  const has = (of: number) => (isEmpty ? 0 : of);
  const before = (of: number) => (stretch === 0 ? 0 : Math.round(of / stretch));
  const numbers = report.spans.map((_, span) =>
    report.lanes.filter(() => !isEmpty).flatMap((lane) => lane.spans.duration.filter((_, i) => lane.spans.span[i] === span)),
  );
  const second = (of: number) => of / Math.max(1e-9, report.duration / 1e9);
  const spread = (of: number[]) => {
    const { buckets, counts } = spreadOfNumbers(of);
    return { buckets, counts };
  };
  const at = (of: number[], q: number) => [...of].sort((a, b) => a - b)[Math.ceil(q * of.length) - 1] ?? null;
  const figure = (of: number[], get: (of: number[]) => number | null) => {
    const now = get(of);
    return stretch === 0 || now === null ? { ...NONE, b: now } : pair(before(now), now);
  };
  const complete = { complete: true };
  const interval = Math.max(1, Math.ceil(report.duration / 40));
  // More and more events until the end.
  const over = (of: number) =>
    of === 0 ? [] : Array.from({ length: 40 }, (_, i) => Math.floor((of * (i + 1)) / 820) + (i % 7 === 3 ? 2 : 0));
  return {
    names: [report.inputs[0].slice(0, 200), isEmpty ? "empty.tel" : report.inputs[0].slice(0, 200)],
    says: [
      ["incomplete: 1,230 events; 4 blocks", "`before.tel`: bytes 100..200 are damaged, 7 events: wrong checksum"],
      ["complete: 2,236 events; 4 blocks, 12,519 bytes"],
    ],
    runs: [
      { events: 123_456, seconds: 2.5, completeness: { complete: false } },
      { events: has(report.stats.count), seconds: isEmpty ? null : 2.41, completeness: complete },
    ],
    level: 0.002,
    tests: 5,
    width_ns: [interval, interval],
    counts: [over(before(report.stats.count)), over(has(report.stats.count))],
    events: report.stats.events.map((event, i) => ({
      event: event.event,
      registry: event.registry,
      count: pair(before(event.count), has(event.count)),
      per_second: pair(second(before(event.count)), second(has(event.count))),
      bytes: pair(before(event.bytes), has(event.bytes)),
      counts: [over(before(event.count)), over(has(event.count))],
      probability: i % 3 === 0 ? null : 0.2,
      significant: false,
    })),
    spans: report.spans.map((span, i) => ({
      span: span.name,
      registry: span.registry,
      count: pair(stretch === 0 ? 0 : numbers[i].length, numbers[i].length),
      total_ns: figure(numbers[i], (of) => of.reduce((a, b) => a + b, 0)),
      p50_ns: figure(numbers[i], (of) => at(of, 0.5)),
      p90_ns: figure(numbers[i], (of) => at(of, 0.9)),
      p99_ns: figure(numbers[i], (of) => at(of, 0.99)),
      max_ns: figure(numbers[i], (of) => at(of, 1)),
      probability: stretch === 0 ? null : 1e-9,
      significant: i === 1 && stretch !== 0,
    })),
    by: ["pool", "size_class"],
    groups: [8, 16, 32].map((size) => ({
      values: ["nursery", String(size)],
      events: pair(before(size * 1000), size * 1100),
      sums: [{ param: "size", ...pair(before(size * 64_000), size * 70_400) }],
    })),
    dropped_groups: [0, 12],
    durations: numbers.map((of) => [spread(stretch === 0 ? [] : of.map(before)), spread(of)]),
    left_out: { events: 0, spans: 0, groups: 41 },
  };
}
