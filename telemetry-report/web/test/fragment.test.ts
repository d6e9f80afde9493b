/** The state in the URL's fragment, and the indexes that find spans. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Report } from "../src/document";
import { clampRange, FIRST, fromFragment, SHORTEST, type State, toFragment } from "../src/fragment";
import { firstAtLeast, LaneIndex, Spans } from "../src/spans";
import { lossesOf, NO_FILTER } from "../src/view";
import { random } from "./figures";
import { hostile, losses, SAMPLES } from "./sample";

const report = SAMPLES.losses();

function there(of: Report, state: Partial<State>): State {
  const text = toFragment(of, { ...FIRST, ...state });
  assert.ok(!/[\s<>"]/.test(text), text);
  return fromFragment(of, `#${text}`);
}

test("each state comes back from its fragment", () => {
  const states: Partial<State>[] = [
    {},
    { range: { from: 1, until: 1_200_000_001 } },
    { filter: { ...NO_FILTER, kinds: new Set([1]) }, tab: "durations" },
    { filter: { ...NO_FILTER, events: new Set([0, 1, 2, 3, 4, 5, 7, 8]), threads: new Set([1]) } },
    { filter: { ...NO_FILTER, kinds: new Set() } },
    { selected: { lane: 0, index: 3 }, second: { sample: 1, row: 2 } },
  ];
  for (const of of [report, hostile().report()]) {
    for (const state of states) assert.deepEqual(there(of, state), { ...FIRST, ...state });
  }
});

test("a fragment is readable", () => {
  const state = {
    ...FIRST,
    range: { from: 1_200_000_000, until: 1_222_000_000 },
    filter: {
      ...NO_FILTER,
      kinds: new Set([1]),
      threads: new Set([1]),
      events: new Set([0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11]),
    },
    tab: "pauses",
  };
  assert.equal(
    toFragment(report, state),
    "from=1.2s&until=1.222s&kind=alloc&event=!Alloc&thread=gc+%231&tab=pauses",
  );
});

test("what a fragment cannot mean is left out", () => {
  const whole = { ...FIRST };
  for (const text of [
    "#",
    "#%",
    "#from=x&until=y",
    "#selected=span.9.9",
    "#selected=event.0.99999999",
    "#selected=span.-1.0",
    "#from=9s",
  ]) {
    const state = fromFragment(report, text);
    assert.deepEqual({ ...state, range: null }, whole, text);
  }
  assert.deepEqual(fromFragment(report, "#from=10ms&until=2000000000ns").range, { from: 1e7, until: 2e9 });
  assert.deepEqual(fromFragment(report, "#kind=alloc%ZZ,bench").filter.kinds, new Set([2]));
});

test("a range stays inside of the run and has a length", () => {
  const { duration } = report;
  assert.equal(clampRange(report, { from: -5, until: duration + 5 }), null);
  assert.deepEqual(clampRange(report, { from: 20, until: 10 }), { from: 10, until: 20 });
  assert.deepEqual(clampRange(report, { from: 50, until: 50 }), { from: 50, until: 50 + SHORTEST });
  assert.deepEqual(clampRange(report, { from: duration + 7, until: duration + 9 }), {
    from: duration - 10,
    until: duration,
  });
  assert.equal(clampRange(report, { from: NaN, until: 3 }), null);
});

test("losses obey range and filter", () => {
  const all = { from: 0, until: report.duration };
  assert.equal(lossesOf(report, NO_FILTER, all).length, 3);
  assert.equal(lossesOf(report, NO_FILTER, { from: 0, until: 1e9 }).length, 0);
  assert.equal(lossesOf(report, { ...NO_FILTER, kinds: new Set([2]) }, all).length, 2);
  assert.equal(lossesOf(report, { ...NO_FILTER, threads: new Set([0]) }, all).length, 2);
  assert.equal(lossesOf(report, { ...NO_FILTER, events: new Set([6]) }, all).length, 3);
});

test("the first span of a range is that of a search through all", () => {
  const rnd = random(9);
  const lane = losses().report().lanes[0];
  const index = new LaneIndex(lane);
  for (let i = 0; i < 200; i++) {
    const from = rnd() * report.duration;
    for (let depth = 0; depth < lane.depths; depth++) {
      const row = index.rows[depth];
      const wanted = [...row.ids].findIndex((id) => index.end[id] >= from);
      const found = index.first(depth, from);
      assert.equal(found, wanted < 0 ? row.ids.length : wanted);
    }
  }
  assert.equal(firstAtLeast([1, 2, 2, 3], 2), 1);
  assert.equal(firstAtLeast([], 2), 0);
});

test("inner spans, outer spans and self times agree", () => {
  const index = new LaneIndex(report.lanes[0]);
  for (let i = 0; i < index.begin.length; i += 7) {
    const outer = index.outer(i);
    assert.equal(outer >= 0, index.lane.spans.depth[i] > 0);
    if (outer < 0) continue;
    assert.ok(index.begin[outer] <= index.begin[i] && index.end[outer] >= index.end[i]);
    assert.ok(index.self(outer)! <= index.end[outer] - index.begin[outer] - index.lane.spans.duration[i]);
  }
});

test("longest spans are in order, and those of the filter", () => {
  const spans = new Spans(report);
  const all = spans.longest(NO_FILTER).map(({ lane, index }) => report.lanes[lane].spans.duration[index]);
  assert.deepEqual(
    all,
    [...all].sort((a, b) => b - a),
  );
  assert.equal(all[0], report.paired.longest[0].duration_ns);
  const found = spans.longest({ ...NO_FILTER, events: new Set([7]) });
  assert.ok(
    found.length > 0 && found.every(({ lane, index }) => report.lanes[lane].spans.span[index] === 3),
  );
});

test("events and their spans lead to each other", () => {
  const spans = new Spans(report);
  const sample = report.sample.findIndex((one) => one.event === 1);
  const row = 3;
  const { at, thread } = spans.timeOf({ sample, row });
  assert.deepEqual(spans.eventAt(1, thread, at), { sample, row });
  const span = spans.spanOf(1, thread, at);
  assert.ok(span && "lane" in span);
  const found = spans.timeOf(span);
  assert.equal(found.at + found.duration, at);
});
