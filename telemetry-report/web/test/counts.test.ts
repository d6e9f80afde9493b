import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsIn } from "../src/counts";
import type { Report } from "../src/document";
import { Spans } from "../src/spans";
import { hasEvent, hasThread, NO_FILTER, type View, wholeRange } from "../src/view";
import { SAMPLES } from "./sample";

function count(report: Report, range = wholeRange(report), filter = {}) {
  const all = { ...NO_FILTER, ...filter };
  const has = (event: number) => hasEvent(report, all, event);
  const of = (thread: number) => hasThread(report, all, thread);
  return eventsIn({ report, range, has, hasThread: of } as View, new Spans(report));
}

/** Returns a report of one event type, at these times, all of which are in the sample. */
function events(times: number[]): Report {
  const report = SAMPLES.slow();
  const width = 10;
  const counts = Array.from({ length: 10 }, (_, i) => times.filter((at) => Math.floor(at / width) === i).length);
  const rows = times.map((at, i): [number, number] => [at - (times[i - 1] ?? 0), 0]);
  return {
    ...report,
    duration: times.at(-1)!,
    rate: { width, buckets: 10, series: [{ thread: 0, event: 0, first: 0, counts }] },
    sample: [{ event: 0, every: 1, total: times.length, rows }],
  };
}

test("the number of events in a range is exact where all are in the document", () => {
  const report = events([0, 5, 20, 21, 30, 60]);
  const exact = (number: number) => ({ count: number, least: number, most: number });
  assert.deepEqual(count(report), exact(6));
  // The end is not in the range, as for `--until`.
  assert.deepEqual(count(report, { from: 5, until: 30 }), exact(3));
  assert.deepEqual(count(report, { from: 5, until: 31 }), exact(4));
  assert.deepEqual(count(report, { from: 30, until: 60 }), exact(2));
  assert.deepEqual(count(report, { from: 0, until: 60 }, { events: new Set([1]) }), exact(0));
});

test("the number of events in a range is exact for whole intervals, and has limits for parts of them", () => {
  const report = events([0, 5, 20, 21, 30, 60]);
  report.sample[0].rows.length = 3;
  assert.deepEqual(count(report), { count: 6, least: 6, most: 6 });
  assert.deepEqual(count(report, { from: 20, until: 40 }), { count: 3, least: 3, most: 3 });
  assert.deepEqual(count(report, { from: 5, until: 30 }), { count: 3, least: 2, most: 4 });
  assert.deepEqual(count(report, { from: 55, until: 60 }), { count: 1, least: 1, most: 1 });
});

test("a sample says how many events are in a part of an interval, within its limits", () => {
  // Two thousand events at the begin of the third interval, and one at the end of the run.
  const report = events([...Array.from({ length: 2000 }, (_, i) => 20 + i / 1000), 60]);
  const rows = report.sample[0].rows.filter((_, i) => i % 10 === 0).map((): [number, number] => [0.01, 0]);
  rows[0] = [20, 0];
  rows[rows.length - 1] = [38.01, 0];
  report.sample = [{ event: 0, every: 10, total: 2001, rows }];
  assert.deepEqual(count(report), { count: 2001, least: 2001, most: 2001 });
  assert.deepEqual(count(report, { from: 0, until: 25 }), { count: 2000, least: 0, most: 2000 });
  assert.deepEqual(count(report, { from: 25, until: 40 }), { count: 0, least: 0, most: 2000 });
  assert.deepEqual(count(report, { from: 10, until: 30 }), { count: 2000, least: 2000, most: 2000 });
});

test("the number of events of each half of a run is between its limits", () => {
  const report = SAMPLES.gcbench();
  const { until } = wholeRange(report);
  const middle = Math.round(until / 2) + 1;
  const [first, second] = [count(report, { from: 0, until: middle }), count(report, { from: middle, until })];
  assert.ok(Math.abs(first.count + second.count - report.stats.count) <= 1);
  assert.ok(first.least <= first.count && first.count <= first.most);
});
