/** Places of the lanes: one block of rows for each thread of the filter, below each other. */

import type { Spans } from "./spans";
import { firstAtLeast } from "./spans";
import type { Model } from "./model";

export const ROW = 14;
/** The row of ticks for single events. */
export const TICKS = 6;
const GAP = 5;
/** Deeper spans are not drawn: their number is said. */
export const MOST_DEPTHS = 40;

export interface Block {
  thread: number;
  /** Number of its lane, or -1. */
  lane: number;
  /** Rows of spans that are drawn. */
  depths: number;
  y: number;
  height: number;
}

export interface Layout {
  blocks: Block[];
  /** Upper edges of all, for search. */
  tops: Float64Array;
  height: number;
}

/** Returns the places of all threads that the filter has. */
export function layout(model: Model, spans: Spans): Layout {
  const { report } = model;
  const blocks: Block[] = [];
  const hasTicks = new Uint8Array(report.threads.length);
  for (const sample of report.sample) for (const row of sample.rows) hasTicks[row[1]] = 1;
  let y = 2;
  for (let thread = 0; thread < report.threads.length; thread++) {
    if (!model.hasThread(thread)) continue;
    const lane = spans.laneOf(thread);
    const depths = lane < 0 ? 0 : Math.min(report.lanes[lane].depths, MOST_DEPTHS);
    const height = Math.max(depths * ROW + hasTicks[thread] * TICKS, ROW) + GAP;
    blocks.push({ thread, lane, depths, y, height });
    y += height;
  }
  return { blocks, tops: Float64Array.from(blocks, (block) => block.y), height: y };
}

/** Returns the place of the block at a height, or -1. */
export function blockAt(of: Layout, y: number): number {
  const at = firstAtLeast(of.tops, y + 1e-6) - 1;
  return at >= 0 && y < of.blocks[at].y + of.blocks[at].height ? at : -1;
}
