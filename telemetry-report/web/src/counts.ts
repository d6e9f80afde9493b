/** Numbers of events in a range: exact where the document has every event, or whole intervals. */

import { intervals } from "./heat";
import { firstAtLeast, type Spans } from "./spans";
import { endsRun, isWithin, type View } from "./view";

/** A number of events, and the limits between which it is. They are equal if it is exact. */
export interface Counted {
  count: number;
  least: number;
  most: number;
}

/** Counts the events in range and filter. */
export function eventsIn(view: View, spans: Spans): Counted {
  const { report } = view;
  const isWhole = new Set<number>();
  let listed = 0;
  report.sample.forEach((sample, at) => {
    if (sample.rows.length < sample.total) return;
    isWhole.add(sample.event);
    if (view.has(sample.event)) listed += rowsIn(view, spans, at);
  });
  const counted = { count: listed, least: listed, most: listed };
  for (const { thread, event, first, counts } of report.rate.series) {
    if (isWhole.has(event) || !view.has(event) || !view.hasThread(thread)) continue;
    addIntervals(counted, view, first, counts);
  }
  counted.count = Math.round(counted.count);
  return counted;
}

/** Returns the number of a sample's rows in range and filter. */
function rowsIn(view: View, spans: Spans, sample: number): number {
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
