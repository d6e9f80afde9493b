/** Spans and sampled events by thread and time, so that a picture finds those in a range at once. */

import type { Lane, Report } from "./document";
import type { Filter, Selected } from "./view";
import { hasEvent, hasThread } from "./view";

/** Spans of one depth, by begin. */
interface Row {
  /** Indexes into the lane's lists. What follows is in the same order, to be read fast. */
  ids: Int32Array;
  begin: Float64Array;
  end: Float64Array;
  type: Int32Array;
  /** The latest end of all up to each, for spans that overlap. */
  latest: Float64Array;
}

/** A lane with absolute times. */
export class LaneIndex {
  readonly begin: Float64Array;
  readonly end: Float64Array;
  readonly rows: Row[];

  constructor(readonly lane: Lane) {
    const { spans } = lane;
    const length = spans.begin.length;
    this.begin = new Float64Array(length);
    this.end = new Float64Array(length);
    const counts: number[] = [];
    let at = 0;
    for (let i = 0; i < length; i++) {
      at += spans.begin[i];
      this.begin[i] = at;
      this.end[i] = at + spans.duration[i];
      counts[spans.depth[i]] = (counts[spans.depth[i]] ?? 0) + 1;
    }
    this.rows = Array.from({ length: Math.max(lane.depths, counts.length, 1) }, (_, depth) => ({
      ids: new Int32Array(counts[depth] ?? 0),
      begin: new Float64Array(counts[depth] ?? 0),
      end: new Float64Array(counts[depth] ?? 0),
      type: new Int32Array(counts[depth] ?? 0),
      latest: new Float64Array(counts[depth] ?? 0),
    }));
    const filled = this.rows.map(() => 0);
    for (let i = 0; i < length; i++) {
      const row = this.rows[spans.depth[i]];
      const to = filled[spans.depth[i]]++;
      row.ids[to] = i;
      row.begin[to] = this.begin[i];
      row.end[to] = this.end[i];
      row.type[to] = spans.span[i];
      row.latest[to] = Math.max(this.end[i], to > 0 ? row.latest[to - 1] : 0);
    }
  }

  /** Returns the place in a row of the first span that ends at `from` or later. */
  first(depth: number, from: number): number {
    return firstAtLeast(this.rows[depth].latest, from);
  }

  /** Returns the innermost span around another, or -1. */
  outer(index: number): number {
    const depth = this.lane.spans.depth[index] - 1;
    if (depth < 0) return -1;
    const row = this.rows[depth];
    for (let i = this.first(depth, this.end[index]); i < row.ids.length; i++) {
      const id = row.ids[i];
      if (this.begin[id] > this.begin[index]) return -1;
      if (this.end[id] >= this.end[index]) return id;
    }
    return -1;
  }

  /** Returns the time in a span without inner ones, or null if inner ones may be left out. */
  self(index: number): number | null {
    if (this.lane.complete_from > 0) return null;
    const depth = this.lane.spans.depth[index] + 1;
    let self = this.end[index] - this.begin[index];
    const row = this.rows[depth];
    if (!row) return self;
    for (let i = this.first(depth, this.begin[index]); i < row.ids.length; i++) {
      const id = row.ids[i];
      if (this.begin[id] >= this.end[index]) break;
      if (this.begin[id] >= this.begin[index]) self -= this.lane.spans.duration[id];
    }
    return Math.max(self, 0);
  }
}

/** Returns the first place in an ascending list whose value is at least `least`. */
export function firstAtLeast(list: ArrayLike<number>, least: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Sampled events of a thread, by time. */
export interface Ticks {
  at: Float64Array;
  sample: Int32Array;
  row: Int32Array;
}

/** Makes the indexes when they are needed first. */
export class Spans {
  private lanes: (LaneIndex | undefined)[] = [];
  private ofThread: Int32Array | null = null;
  private ticks: Map<number, Ticks> | null = null;
  private times: (Float64Array | undefined)[] = [];
  private longestFor: { filter: Filter; found: { lane: number; index: number }[] } | null = null;

  constructor(readonly report: Report) {}

  lane(number: number): LaneIndex {
    return (this.lanes[number] ??= new LaneIndex(this.report.lanes[number]));
  }

  /** Returns the number of a thread's lane, or -1. */
  laneOf(thread: number): number {
    if (!this.ofThread) {
      this.ofThread = new Int32Array(this.report.threads.length).fill(-1);
      this.report.lanes.forEach((lane, i) => (this.ofThread![lane.thread] = i));
    }
    return this.ofThread[thread] ?? -1;
  }

  /** Returns the times of a sample's rows. */
  timesOf(sample: number): Float64Array {
    let made = this.times[sample];
    if (!made) {
      const { rows } = this.report.sample[sample];
      made = this.times[sample] = new Float64Array(rows.length);
      let at = 0;
      for (let i = 0; i < rows.length; i++) made[i] = at += rows[i][0];
    }
    return made;
  }

  ticksOf(thread: number): Ticks | undefined {
    if (!this.ticks) {
      const found = new Map<number, [number, number, number][]>();
      this.report.sample.forEach((sample, number) => {
        const times = this.timesOf(number);
        sample.rows.forEach((row, i) => {
          const list = found.get(row[1]);
          if (list) list.push([times[i], number, i]);
          else found.set(row[1], [[times[i], number, i]]);
        });
      });
      this.ticks = new Map();
      for (const [of, list] of found) {
        list.sort((a, b) => a[0] - b[0]);
        this.ticks.set(of, {
          at: Float64Array.from(list, (tick) => tick[0]),
          sample: Int32Array.from(list, (tick) => tick[1]),
          row: Int32Array.from(list, (tick) => tick[2]),
        });
      }
    }
    return this.ticks.get(thread);
  }

  /** Returns the time and duration of a span or event. */
  timeOf(what: Selected): { at: number; duration: number; thread: number } {
    if ("lane" in what) {
      const of = this.lane(what.lane);
      const at = of.begin[what.index];
      return { at, duration: of.end[what.index] - at, thread: of.lane.thread };
    }
    const row = this.report.sample[what.sample].rows[what.row];
    return { at: this.timesOf(what.sample)[what.row], duration: 0, thread: row[1] };
  }

  /** Returns the sampled event of a type and thread at a time, or null. */
  eventAt(event: number, thread: number, at: number): Selected | null {
    const sample = this.report.sample.findIndex((one) => one.event === event);
    if (sample < 0) return null;
    const times = this.timesOf(sample);
    for (let row = firstAtLeast(times, at); row < times.length && times[row] === at; row++) {
      if (this.report.sample[sample].rows[row][1] === thread) return { sample, row };
    }
    return null;
  }

  /** Returns the span that an event begins or ends, or null. */
  spanOf(event: number, thread: number, at: number): Selected | null {
    const { report } = this;
    const types = new Set(
      report.spans.flatMap((type, i) => (type.begin === event || type.end === event ? [i] : [])),
    );
    if (types.size === 0) return null;
    for (const lane of new Set([this.laneOf(thread), ...report.lanes.keys()])) {
      if (lane < 0) continue;
      const of = this.lane(lane);
      // A span may end on another thread, but few do: look at their own thread first.
      const isOwn = of.lane.thread === thread;
      for (let i = 0; i < of.begin.length; i++) {
        if (of.begin[i] > at) break;
        const type = of.lane.spans.span[i];
        if (!types.has(type)) continue;
        const endThread = of.lane.spans.end_thread[i];
        const begins = report.spans[type].begin === event && isOwn && of.begin[i] === at;
        const isThere = endThread < 0 ? isOwn : endThread === thread;
        if (begins || (report.spans[type].end === event && isThere && of.end[i] === at))
          return { lane, index: i };
      }
    }
    return null;
  }

  /** Returns the longest spans of the filter, at most 1,000. */
  longest(filter: Filter): { lane: number; index: number }[] {
    if (this.longestFor?.filter === filter) return this.longestFor.found;
    const has = spanFilter(this.report, filter);
    const found: { lane: number; index: number; duration: number }[] = [];
    let least = 0;
    const shrink = () => {
      found.sort((a, b) => b.duration - a.duration);
      found.length = Math.min(found.length, 1_000);
      if (found.length === 1_000) least = found[999].duration;
    };
    this.report.lanes.forEach((of, lane) => {
      if (!hasThread(this.report, filter, of.thread)) return;
      of.spans.duration.forEach((duration, index) => {
        if (duration < least || !has[of.spans.span[index]]) return;
        found.push({ lane, index, duration });
        if (found.length > 20_000) shrink();
      });
    });
    shrink();
    this.longestFor = { filter, found };
    return found;
  }

  /** Returns spans that touch a range, longest first, at most `most`. */
  inRange(filter: Filter, from: number, until: number, most: number): { lane: number; index: number }[] {
    const has = spanFilter(this.report, filter);
    const found: { lane: number; index: number; duration: number }[] = [];
    const shrink = () => {
      found.sort((a, b) => b.duration - a.duration);
      found.length = Math.min(found.length, most);
    };
    this.report.lanes.forEach((of, lane) => {
      if (!hasThread(this.report, filter, of.thread)) return;
      const index = this.lane(lane);
      for (let i = 0; i < index.begin.length; i++) {
        if (index.begin[i] > until) break;
        if (index.end[i] < from || !has[of.spans.span[i]]) continue;
        found.push({ lane, index: i, duration: of.spans.duration[i] });
        if (found.length > 50 * most) shrink();
      }
    });
    shrink();
    return found;
  }
}

/** Returns for each type of spans whether the filter has its begin or end. */
export function spanFilter(report: Report, filter: Filter): Uint8Array {
  return Uint8Array.from(report.spans, (type) =>
    Number(hasEvent(report, filter, type.begin) || hasEvent(report, filter, type.end)),
  );
}
