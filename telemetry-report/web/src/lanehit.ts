/** Finds what is under a point of the lanes, and outlines what is selected. */

import { AXIS, gutter } from "./axis";
import { type Block, blockAt, type Layout, ROW, TICKS } from "./lanelayout";
import type { Model } from "./model";
import { firstAtLeast, spanFilter, type Spans } from "./spans";
import type { Selected } from "./view";

/** Outlines a span or event, and draws an arrow to the thread on which it ends. */
export function mark(
  model: Model,
  spans: Spans,
  context: CanvasRenderingContext2D,
  width: number,
  of: Layout,
  top: number,
  what: Selected,
  color: string,
): void {
  const { from, until } = model.range;
  const left = gutter(width);
  const scale = (width - left) / (until - from);
  const { at, duration, thread } = spans.timeOf(what);
  const place = of.blocks.find((block) => block.thread === thread);
  if (!place) return;
  const isSpan = "lane" in what;
  const lane = isSpan ? spans.lane(what.lane).lane : null;
  const depth = lane ? lane.spans.depth[(what as { index: number }).index] : 0;
  const row = place.depths.indexOf(depth);
  if (isSpan && row < 0) return;
  const y = AXIS + place.y - top + (isSpan ? row * ROW : place.height - 5 - TICKS);
  const x1 = left + (Math.max(at, from) - from) * scale;
  const x2 = left + (Math.min(at + duration, until) - from) * scale;
  context.save();
  context.beginPath();
  context.rect(left, AXIS, width - left, 1e5);
  context.clip();
  context.strokeStyle = color;
  context.fillStyle = color;
  context.lineWidth = 2;
  if (at <= until && at + duration >= from) {
    context.strokeRect(x1 - 1, y - 0.5, Math.max(x2 - x1, 1) + 2, (isSpan ? ROW : TICKS) - 0.5);
  }
  const endThread = lane ? lane.spans.end_thread[(what as { index: number }).index] : -1;
  const to = endThread >= 0 ? of.blocks.find((block) => block.thread === endThread) : undefined;
  if (to) {
    const xe = left + (at + duration - from) * scale;
    const ye = AXIS + to.y - top + (to.y > place.y ? 0 : to.height - 6);
    const ys = to.y > place.y ? y + ROW - 1 : y;
    const sign = ye > ys ? 1 : -1;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(left + (at - from) * scale, ys);
    context.bezierCurveTo(
      left + (at - from) * scale,
      ys + sign * 14,
      xe,
      ye - sign * 18,
      xe,
      ye - sign * 2,
    );
    context.stroke();
    context.beginPath();
    context.moveTo(xe, ye);
    context.lineTo(xe - 4, ye - sign * 7);
    context.lineTo(xe + 4, ye - sign * 7);
    context.fill();
  }
  context.restore();
}

/** Returns the span or event at a point of the picture, or null. */
export function hit(
  model: Model,
  spans: Spans,
  width: number,
  of: Layout,
  top: number,
  x: number,
  y: number,
): Selected | null {
  const left = gutter(width);
  if (x < left || y < AXIS) return null;
  const at = blockAt(of, y - AXIS + top);
  if (at < 0) return null;
  const block = of.blocks[at];
  const { from, until } = model.range;
  const perPixel = (until - from) / (width - left);
  const time = from + (x - left) * perPixel;
  const inBlock = y - AXIS + top - block.y;
  if (inBlock >= block.height - 5 - TICKS && spans.ticksOf(block.thread)) {
    const event = hitTick(model, spans, block, time, perPixel);
    if (event) return event;
  }
  const depth = block.depths[Math.floor(inBlock / ROW)];
  if (block.lane < 0 || depth === undefined) return null;
  const index = spans.lane(block.lane);
  const row = index.rows[depth];
  let best = -1;
  let distance = 3 * perPixel;
  const has = spanFilter(model.report, model.filter);
  for (let i = index.first(depth, time - distance); row && i < row.ids.length; i++) {
    const id = row.ids[i];
    if (index.begin[id] > time + distance) break;
    if (!has[index.lane.spans.span[id]]) continue;
    const off = Math.max(index.begin[id] - time, time - index.end[id], 0);
    if (off < distance || (off === 0 && best < 0)) {
      distance = off;
      best = id;
    }
  }
  return best < 0 ? null : { lane: block.lane, index: best };
}

function hitTick(
  model: Model,
  spans: Spans,
  block: Block,
  time: number,
  perPixel: number,
): Selected | null {
  const ticks = spans.ticksOf(block.thread);
  if (!ticks) return null;
  let best = -1;
  let distance = 4 * perPixel;
  for (
    let i = firstAtLeast(ticks.at, time - distance);
    i < ticks.at.length && ticks.at[i] <= time + distance;
    i++
  ) {
    const off = Math.abs(ticks.at[i] - time);
    if (off > distance || !model.has(model.report.sample[ticks.sample[i]].event)) continue;
    distance = off;
    best = i;
  }
  return best < 0 ? null : { sample: ticks.sample[best], row: ticks.row[best] };
}
