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

/** Events of one thread: their number in each bucket, and the kind with most of them. */
export interface Density {
  counts: Float64Array;
  kinds: Int16Array;
  most: number;
}

/** Rates of single threads, made for those in view. */
export class Densities {
  private readonly series = new Map<number, Report["rate"]["series"]>();
  private made = new Map<number, Density>();
  private madeFor: Filter | null = null;

  constructor(private readonly report: Report) {
    for (const one of report.rate.series) {
      const list = this.series.get(one.thread);
      if (list) list.push(one);
      else this.series.set(one.thread, [one]);
    }
  }

  of(thread: number, filter: Filter): Density | null {
    const list = this.series.get(thread);
    if (!list) return null;
    if (this.madeFor !== filter || this.made.size > 200) {
      this.madeFor = filter;
      this.made.clear();
    }
    let found = this.made.get(thread);
    if (!found) {
      found = density(this.report, filter, list);
      this.made.set(thread, found);
    }
    return found;
  }
}

function density(report: Report, filter: Filter, list: Report["rate"]["series"]): Density {
  const { buckets } = report.rate;
  const byKind = new Map<number, Float64Array>();
  const made = { counts: new Float64Array(buckets), kinds: new Int16Array(buckets).fill(-1), most: 0 };
  for (const { event, first, counts } of list) {
    if (!hasEvent(report, filter, event)) continue;
    const { kind } = report.events[event];
    const of = byKind.get(kind) ?? new Float64Array(buckets);
    byKind.set(kind, of);
    for (let i = 0; i < counts.length && first + i < buckets; i++) of[first + i] += counts[i];
  }
  const largest = new Float64Array(buckets);
  for (const [kind, of] of byKind) {
    for (let i = 0; i < buckets; i++) {
      made.counts[i] += of[i];
      if (of[i] > largest[i]) {
        largest[i] = of[i];
        made.kinds[i] = kind;
      }
    }
  }
  for (const count of made.counts) made.most = Math.max(made.most, count);
  return made;
}
