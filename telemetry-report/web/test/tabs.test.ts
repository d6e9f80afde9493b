import assert from "node:assert/strict";
import { test } from "node:test";
import type { Report } from "../src/document";
import { barsOf, spreadOfNumbers } from "../src/heat";
import { barAxis, logAxis, roundSizes, tidy, upAxis } from "../src/tabs/axes";
import { partsOf } from "../src/tabs/census";
import { lossNote, selfTimes } from "../src/tabs/common";
import { courseOf, growthOf, sameOf } from "../src/tabs/counters";
import { foundRows, rowsOf } from "../src/tabs/rows";
import { heatsOf, spanRows } from "../src/tabs/spans";
import { curveOf, levels, totalsOf } from "../src/tabs/totals";
import { addsUp, hasFrequent } from "../src/tabs/values";
import {
  type Filter,
  hasEvent,
  hasThread,
  lossesOf,
  NO_FILTER,
  type Range,
  type View,
  wholeRange,
} from "../src/view";
import { random } from "./figures";
import { SAMPLES } from "./sample";

function viewOf(report: Report, range: Range | null = null, filter: Partial<Filter> = {}): View {
  const all = { ...NO_FILTER, ...filter };
  const chosen = range ?? wholeRange(report);
  return {
    report,
    range: chosen,
    selected: null,
    filter: all,
    isWhole: !range && Object.keys(filter).length === 0,
    setRange() {},
    setFilter() {},
    select() {},
    showSpan() {},
    has: (event) => hasEvent(report, all, event),
    hasThread: (thread) => hasThread(report, all, thread),
    losses: () => lossesOf(report, all, chosen),
  };
}

const near = (found: number | null, expected: number, share: number, what: string) =>
  assert.ok(Math.abs(found! - expected) <= share * Math.abs(expected), `${what}: ${found}, not ${expected}`);

test("self time is that in which no later span was open", () => {
  const next = random(5);
  for (let round = 0; round < 200; round++) {
    const spans = Array.from({ length: Math.floor(next() * 12) }, () => [
      Math.floor(next() * 50),
      Math.floor(next() * 20),
    ]);
    spans.sort((a, b) => a[0] - b[0]);
    const expected = spans.map(() => 0);
    for (let at = 0; at < 100; at++) {
      for (let i = spans.length - 1; i >= 0; i--) {
        if (spans[i][0] > at || spans[i][0] + spans[i][1] <= at) continue;
        expected[i]++;
        break;
      }
    }
    const found = selfTimes(
      spans.map((span) => span[0]),
      spans.map((span) => span[1]),
    );
    assert.deepEqual([...found], expected);
  }
});

test("durations of the whole run are those of spans, and the lanes give the same", () => {
  const report = SAMPLES.gcbench();
  const whole = spanRows(viewOf(report));
  const fromLanes = spanRows(viewOf(report, { from: 0, until: report.duration }));
  for (const [i, row] of whole.entries()) {
    assert.ok(row.isExact && fromLanes[i].isExact);
    const paired = report.paired.spans.find((one) => one.span === row.name)!;
    for (const { duration, self } of [row, fromLanes[i]]) {
      const { count, p50, p99, max } = paired.duration_ns;
      assert.deepEqual([duration.count, duration.max], [count, max]);
      near(duration.p50, Number(p50), 0.06, `p50 of ${row.name}`);
      near(duration.p99, Number(p99), 0.06, `p99 of ${row.name}`);
      assert.equal(duration.total, paired.total_ns);
      near(self.total, paired.total_self_ns, 1e-9, `self of ${row.name}`);
    }
  }
});

test("durations of a range are exact from the lanes, and within 6 % from heat maps", () => {
  const report = SAMPLES.gcbench();
  const { width } = report.durations[0].duration;
  const range = { from: 20 * width, until: 120 * width - 1 };
  const exact = spanRows(viewOf(report, range));
  for (const lane of report.lanes) lane.complete_from = 1;
  const rows = spanRows(viewOf(report, range));
  for (const [i, row] of rows.entries()) {
    assert.ok(!row.isExact && exact[i].isExact);
    assert.equal(row.duration.count, exact[i].duration.count);
    near(row.duration.total, exact[i].duration.total!, 1e-9, "total");
    for (const figure of ["p50", "p90", "p99"] as const) {
      near(row.duration[figure], exact[i].duration[figure]!, 0.06, `${figure} of ${row.name}`);
    }
    assert.equal(row.duration.max, exact[i].duration.max);
  }
});

test("a filter of threads takes the spans of those alone", () => {
  const report = SAMPLES.gcbench();
  const rows = spanRows(viewOf(report, null, { threads: new Set([1]) }));
  assert.deepEqual(
    rows.filter((row) => row.duration.count > 0).map((row) => row.name),
    ["Trace"],
  );
  const kinds = spanRows(viewOf(report, null, { kinds: new Set([2]) }));
  assert.deepEqual(
    kinds.map((row) => row.name),
    ["Tree"],
  );
});

test("heat maps of single threads and of all others are added up", () => {
  const report = SAMPLES.gcbench();
  const entries = [0, 1, null].map((thread) => ({ thread }));
  assert.deepEqual(heatsOf(viewOf(report), entries), { heats: entries, isPart: false });
  const chosen = viewOf(report, null, { threads: new Set([1]) });
  assert.deepEqual(heatsOf(chosen, entries), { heats: [{ thread: 1 }], isPart: true });
  assert.deepEqual(heatsOf(chosen, entries.slice(0, 2)), { heats: [{ thread: 1 }], isPart: false });
});

test("only spans whose kind lost events are marked", () => {
  const report = SAMPLES.losses();
  report.losses = report.losses.slice(0, 1);
  assert.ok(spanRows(viewOf(report)).every((row) => !row.isLossy));
  report.losses[0].kind = report.events[report.spans[3].begin].kind;
  assert.deepEqual(
    spanRows(viewOf(report))
      .filter((row) => row.isLossy)
      .map((row) => row.name),
    ["Tree"],
  );
  assert.match(
    lossNote(report.losses),
    /^1,230 events of this range are missing \(1,230 pool full\)\. Figures with ≥/,
  );
});

test("the parts of a census add up to the whole", () => {
  for (const census of SAMPLES.census().censuses) {
    const parts = partsOf(census);
    assert.ok(parts.length <= 9 && new Set(parts.map((part) => part.color)).size === parts.length);
    const sums = census.at.map((_, i) => parts.reduce((sum, part) => sum + part.values[i], 0));
    assert.equal(Math.max(...sums), census.total.most);
    assert.equal(sums.at(-1), census.total.last);
    assert.equal(parts.at(-1)!.name === "others", census.classes.length > 8);
  }
});

test("a counter has its last value in each interval, and grows evenly between two", () => {
  const [of] = SAMPLES.counters().counters;
  const at = (times: number[], values: number[]) => ({
    ...of,
    at: times.map((time, i) => time - (times[i - 1] ?? 0)),
    values,
  });
  const of10 = at([12, 18, 40], [5, 7, 18]);
  assert.deepEqual([...courseOf(of10, 10, 49)], [5, 7, 7, 7, 18]);
  const growth = [...growthOf(of10, 10, 49)].map((one) => one / 1e8);
  assert.deepEqual(growth, [0, 3, 5, 5, 0]);
  assert.deepEqual([...growthOf(at([0], [9]), 10, 15)], [0, 0]);
  const all = SAMPLES.counters().counters;
  for (const one of all) {
    assert.ok(sameOf(all, one).includes(one));
    const whole = [...growthOf(one, 1e6, SAMPLES.counters().duration)].reduce((a, b) => a + b * 1e-3, 0);
    assert.ok(Math.abs(whole - (one.values.at(-1)! - one.values[0])) < 1e-3 * Math.max(1, Math.abs(one.max)));
  }
});

test("an axis has numbers below zero where there are some", () => {
  const marksOf = (most: number, least: number) => upAxis(most, 200, 0, String, false, least).marks.map(({ at }) => at);
  assert.deepEqual(marksOf(0, 0), upAxis(1, 200, 0, String).marks.map(({ at }) => at));
  for (const [most, least] of [[10, -10], [3, -40], [0, -5], [1000, -1]]) {
    const axis = upAxis(most, 200, 0, String, false, least);
    assert.deepEqual([axis.place(least), axis.place(most)], [200, 0]);
    const all = marksOf(most, least);
    assert.ok(all.includes(0) && all.length >= 2, `${all}`);
    assert.ok(all.every((at, i) => at >= least && at <= most && (i === 0 || at > all[i - 1])), `${all}`);
  }
  // A damaged log may have any number.
  for (const [most, least] of [[5e-324, 0], [0, -5e-324], [1e308, -1e308], [Infinity, 0]]) {
    assert.ok(marksOf(most, least).includes(0), `${most}`);
  }
});

test("values that occur once are frequent only among few", () => {
  const figures = (counts: number[], of: number) => ({
    param: "bytes",
    unit: "bytes",
    distribution: null,
    top: counts.map((count, value) => ({ value, count, share: count / of })),
    top_error: 0,
  });
  assert.ok(!hasFrequent(figures([1, 1, 1], 239)));
  assert.ok(hasFrequent(figures([2, 1, 1], 239)));
  assert.ok(hasFrequent(figures([1, 1], 2)));
});

test("causes of several losses are added up", () => {
  const loss = SAMPLES.losses().losses[0];
  const several = { ...loss, cause: "7 pool full, 1,200 reentrant", events: 1_207 };
  assert.match(
    lossNote([several, several, { ...loss, cause: "pool full", events: 5 }]),
    /^2,419 events of this range are missing \(19 pool full; 2,400 reentrant\)\./,
  );
  assert.match(lossNote([{ ...loss, cause: "damaged", events: null }]), /^Events .* missing \(damaged\)\./);
});

test("rows of samples are by time, and a search finds each of its words", () => {
  const report = SAMPLES.gcbench();
  const { time, sample } = rowsOf(report);
  assert.equal(
    time.length,
    report.sample.reduce((sum, one) => sum + one.rows.length, 0),
  );
  assert.ok(time.every((at, i) => i === 0 || at >= time[i - 1]));
  const view = viewOf(report, { from: 1e9, until: 2e9 });
  const found = foundRows(view, "collectbegin HEAPFULL");
  assert.ok(found.length > 3);
  for (const i of found) {
    assert.ok(time[i] >= 1e9 && time[i] <= 2e9);
    assert.equal(report.events[report.sample[sample[i]].event].name, "CollectBegin");
  }
  assert.equal(foundRows(view, "nothing has this").length, 0);
  const filtered = viewOf(report, null, { events: new Set([6]) });
  assert.equal(foundRows(filtered, "").length, report.sample.find((one) => one.event === 6)!.rows.length);
});

test("sums have a meaning where the unit adds up", () => {
  for (const unit of ["bytes", "ns", "pages", "objects"]) assert.ok(addsUp(unit, "u64"), unit);
  for (const unit of ["", "%", "MHz", "bytes/s", "events per second", "°C"])
    assert.ok(!addsUp(unit, "u64"), unit);
  assert.ok(!addsUp("bytes", "pointer"));
});

test("a counter is one curve of all threads", () => {
  const of = (rows: [number, number, unknown][]) =>
    curveOf({ ...SAMPLES.slow(), sample: [{ event: 0, every: 1, total: rows.length, rows }] }, 0, 0);
  const curve = of([
    [5, 0, 7],
    [10, 1, "9007199254740993"],
    [1, 0, null],
    [4, 0, "NaN"],
    [5, 1, 3],
  ])!;
  assert.deepEqual(curve.at, [5, 15, 25]);
  assert.deepEqual([...levels(curve, 10, 39)], [7, 2 ** 53, 3, 3]);
  assert.equal(of([[5, 0, 7], [5, 0, -1]]), null);
  assert.equal(of([]), null);
});

test("a running total is told by values that never fall on a thread", () => {
  const report = SAMPLES.slow();
  const of = (rows: [number, number, unknown][]) => {
    const made = { ...report, sample: [{ event: 0, every: 1, total: rows.length, rows }] };
    return totalsOf(made, 0, 0);
  };
  const rows = [10, 5, 20, 5, 30, 40, 41].map((value, i): [number, number, unknown] => [i, i % 2, value]);
  const found = of(rows)!;
  assert.deepEqual(
    found.map(({ values }) => values),
    [
      [10, 20, 30, 41],
      [5, 5, 40],
    ],
  );
  assert.deepEqual([...levels(found[0], 5, 25)], [20, 20, 30, 30, 41, 41]);
  // Equal sizes, sizes that fall, too few, and what is no number.
  assert.equal(of(rows.map(([at, thread]) => [at, thread, 64])), null);
  assert.equal(of([...rows, [1, 0, 40]]), null);
  assert.equal(of(rows.slice(0, 5)), null);
  assert.equal(of([...rows, [1, 0, "NaN"]]), null);
});

test("axes have round marks in order, at most as many as fit", () => {
  assert.equal(tidy("1.00 µs"), "1 µs");
  assert.equal(tidy("1.50 MiB"), "1.5 MiB");
  assert.equal(tidy("100 ns"), "100 ns");
  assert.deepEqual(roundSizes(3, 600, 8, false), [5, 10, 20, 50, 100, 200, 500]);
  assert.deepEqual(roundSizes(16, 2048, 4, true), [16, 64, 256, 1024]);
  assert.deepEqual(roundSizes(5.6, 8, 4, false), [6, 7, 8]);
  const axis = logAxis(10, 1e6, 0, 600, String);
  near(axis.value(axis.place(12345)), 12345, 1e-9, "there and back");
  const bars = barsOf(spreadOfNumbers([-40, -3, 0, 0, 5, 90, 1e4]), 40);
  const bar = barAxis(bars, 0, 500, String, false, 50);
  const places = [-40, -3, 0, 5, 90, 1e4].map(bar.place);
  places.slice(1).forEach((place, i) => assert.ok(place > places[i], `${places}`));
  bar.marks.slice(1).forEach((mark, i) => assert.ok(mark.at > bar.marks[i].at, JSON.stringify(bar.marks)));
});
