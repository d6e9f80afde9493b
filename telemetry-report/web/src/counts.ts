/** Numbers of events in a range: exact where the document has every event, or whole intervals. */

import type { Sample } from "./document";
import { intervals } from "./heat";
import { firstAtLeast, type Spans } from "./spans";
import { endsRun, isWithin, type View } from "./view";

/** A number of events, and the limits between which it is. They are equal if it is exact. */
export interface Counted {
  count: number;
  least: number;
  most: number;
}

/** What of a view says which events are in it. */
type Part = Pick<View, "report" | "range" | "hasThread">;

/** Fewer rows of a sample say little of an interval. */
const LEAST_ROWS = 8;

/** Counts the events in range and filter. */
export function eventsIn(view: View, spans: Spans): Counted {
  const { report } = view;
  const samples = new Map(report.sample.map((sample, at) => [sample.event, at]));
  const isWhole = new Set<number>();
  const byEvent = new Map<number, Counted>();
  const all: Counted = { count: 0, least: 0, most: 0 };
  for (const [event, at] of samples) {
    const { rows, total } = report.sample[at];
    if (rows.length < total) continue;
    isWhole.add(event);
    const listed = view.has(event) ? rowsIn(view, spans, at) : 0;
    add(all, { count: listed, least: listed, most: listed });
  }
  for (const { thread, event, first, counts } of report.rate.series) {
    if (isWhole.has(event) || !view.has(event) || !view.hasThread(thread)) continue;
    let of = byEvent.get(event);
    if (!of) byEvent.set(event, (of = { count: 0, least: 0, most: 0 }));
    addIntervals(of, view, first, counts);
  }
  for (const [event, of] of byEvent) {
    const at = samples.get(event);
    if (at !== undefined && saysMore(report.sample[at], of)) {
      const near = of.least + rowsInParts(view, spans, at) * report.sample[at].every;
      of.count = Math.min(near, of.most);
    }
    add(all, of);
  }
  all.count = Math.round(all.count);
  return all;
}

function add(to: Counted, { count, least, most }: Counted): void {
  to.count += count;
  to.least += least;
  to.most += most;
}

/**
 * Tells whether a sample says better than the lengths of cut intervals how many events are in their parts:
 * each row stands for as many events, and for much fewer than these intervals have.
 */
function saysMore({ rows, every, total }: Sample, { least, most }: Counted): boolean {
  return Math.abs(rows.length * every - total) <= every && most - least >= LEAST_ROWS * every;
}

/** Returns the number of a sample's rows in those parts of the range that are no whole intervals. */
function rowsInParts(view: View, spans: Spans, sample: number): number {
  const { width } = view.report.rate;
  const { from, until } = view.range;
  const hasThread = (thread: number) => view.hasThread(thread);
  const first = Math.ceil(from / width) * width;
  const last = endsRun(view) ? until : Math.floor(until / width) * width;
  const rows = (from: number, until: number) =>
    rowsIn({ report: view.report, range: { from, until }, hasThread }, spans, sample);
  return first >= last ? rows(from, until) : rows(from, first) + (last < until ? rows(last, until) : 0);
}

/** Returns the number of a sample's rows in range and filter. */
function rowsIn(view: Part, spans: Spans, sample: number): number {
  const { rows } = view.report.sample[sample];
  const times = spans.timesOf(sample);
  let number = 0;
  for (let i = firstAtLeast(times, view.range.from); i < rows.length && isWithin(view, times[i]); i++) {
    if (view.hasThread(rows[i][1])) number++;
  }
  return number;
}

/** Adds intervals that the range touches; of one that it cuts, a part that fits. */
function addIntervals(counted: Counted, view: View, first: number, counts: number[]): void {
  const { width } = view.report.rate;
  const { from, until } = view.range;
  const [start, end] = intervals(width, from, until);
  // The last event of the run may be the first of an interval.
  const last = Math.min(endsRun(view) ? Infinity : end - first, counts.length - 1);
  for (let i = Math.max(start - first, 0); i <= last; i++) {
    const begin = (first + i) * width;
    const inside = (endsRun(view) ? begin + width : Math.min(until, begin + width)) - Math.max(from, begin);
    const share = Math.max(inside, 0) / width;
    counted.count += counts[i] * share;
    counted.most += counts[i];
    if (share === 1) counted.least += counts[i];
  }
}
