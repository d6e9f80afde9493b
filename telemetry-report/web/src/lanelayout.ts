/** Places of the lanes: one block of rows for each thread of the filter, below each other. */

import type { Model } from "./model";
import { firstAtLeast, type LaneIndex, spanFilter, type Spans } from "./spans";
import type { Range } from "./view";

export const ROW = 14;
/** The row of ticks for single events. */
export const TICKS = 6;
const GAP = 5;
/** Rows of a lane. The document has deeper spans in the last one. */
export const MOST_DEPTHS = 16;

export interface Block {
  thread: number;
  /** Number of its lane, or -1. */
  lane: number;
  /** Depths of the spans in its rows, from the top. Depths without a span in the range are left out. */
  depths: number[];
  y: number;
  height: number;
}

export interface Layout {
  blocks: Block[];
  /** Upper edges of all, for search. */
  tops: Float64Array;
  height: number;
}

/**
 * Returns the places of all threads that the filter has. `before` gives the depths that stay, so that no
 * row goes away under the pointer while the range moves.
 */
export function layout(model: Model, spans: Spans, before: Layout | null = null): Layout {
  const { report } = model;
  const blocks: Block[] = [];
  const has = spanFilter(report, model.filter);
  const kept = new Map(before?.blocks.map((block) => [block.thread, block.depths]));
  let y = 2;
  for (let thread = 0; thread < report.threads.length; thread++) {
    if (!model.hasThread(thread)) continue;
    const lane = spans.laneOf(thread);
    const depths: number[] = [];
    if (lane >= 0) {
      const index = spans.lane(lane);
      const most = Math.min(index.lane.depths, index.rows.length, MOST_DEPTHS);
      for (let depth = 0; depth < most; depth++) {
        if (kept.get(thread)?.includes(depth) || hasRow(index, depth, model.range, has)) depths.push(depth);
      }
    }
    const hasTicks = report.threads[thread].events > 0;
    const height = Math.max(depths.length * ROW + (hasTicks ? TICKS : 0), ROW) + GAP;
    blocks.push({ thread, lane, depths, y, height });
    y += height;
  }
  return { blocks, tops: Float64Array.from(blocks, (block) => block.y), height: y };
}

/** Tells whether a depth of a lane has a span of the filter in the range, or time that spans cover. */
function hasRow(index: LaneIndex, depth: number, { from, until }: Range, has: Uint8Array): boolean {
  const row = index.rows[depth];
  for (let i = index.first(depth, from); i < row.ids.length && row.begin[i] <= until; i++) {
    if (has[row.type[i]] && row.end[i] >= from) return true;
  }
  const { width, rows } = index.lane.cover;
  return (
    index.lane.complete_from > 0 &&
    rows.some((one) => {
      if (one.depth !== depth) return false;
      const last = Math.min(Math.floor(until / width) - one.first, one.ns.length - 1);
      for (let at = Math.max(Math.floor(from / width) - one.first, 0); at <= last; at++) {
        if (one.ns[at] > 0) return true;
      }
      return false;
    })
  );
}

/** Returns the place of the block at a height, or -1. */
export function blockAt(of: Layout, y: number): number {
  const at = firstAtLeast(of.tops, y + 1e-6) - 1;
  return at >= 0 && y < of.blocks[at].y + of.blocks[at].height ? at : -1;
}
