/** Rates of events by kind, of the events and threads that the filter has. */

import type { Report } from "./document";
import { type Filter, hasEvent, hasThread } from "./view";

export interface Rates {
  /** By kind, then by bucket. */
  kinds: Float64Array[];
  total: Float64Array;
}

/** Returns the number of events in each bucket of the report's `rate`. */
export function rates(report: Report, filter: Filter): Rates {
  const { buckets, series } = report.rate;
  const kinds = report.kinds.map(() => new Float64Array(buckets));
  const total = new Float64Array(buckets);
  const has = report.events.map((_, event) => hasEvent(report, filter, event));
  for (const { thread, event, first, counts } of series) {
    if (!has[event] || !hasThread(report, filter, thread)) continue;
    const of = kinds[report.events[event].kind];
    for (let i = 0; i < counts.length && first + i < buckets; i++) {
      of[first + i] += counts[i];
      total[first + i] += counts[i];
    }
  }
  return { kinds, total };
}

/** Returns how many buckets each bar stands for, so that a bar is at least a pixel wide. */
export function perBar(buckets: number, width: number): number {
  return Math.max(1, Math.ceil(buckets / Math.max(width, 1)));
}

/** Returns the sum of a list's part. */
export function sum(list: Float64Array, from: number, until: number): number {
  let all = 0;
  for (let i = Math.max(0, from); i < until && i < list.length; i++) all += list[i];
  return all;
}
