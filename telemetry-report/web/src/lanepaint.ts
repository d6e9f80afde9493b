/** Draws the lanes: bars, the texts on them, losses, and the labels of threads. */

import { AXIS, drawAxis, gutter } from "./axis";
import { fitEnds, hatch, theme } from "./canvas";
import { spanColor, textOn } from "./color";
import type { Loss, Report } from "./document";
import { cut } from "./format";
import { Bars, type Drawn, type Text } from "./lanebars";
import { type Block, type Layout, ROW } from "./lanelayout";
import { drawMarks } from "./marks";
import type { Model } from "./model";
import { Raster } from "./raster";
import { firstAtLeast, type Spans } from "./spans";

/** Returns the name of a thread, with its process if there are several. */
export function threadLabel(report: Report, thread: number): string {
  const { name, session } = report.threads[thread];
  const of = report.sessions.length > 1 ? report.sessions[session] : undefined;
  return cut(name, 60) + (of ? ` · ${of.pid ?? of.id.slice(-6)}` : "");
}

export class Painter {
  private readonly raster = new Raster();
  private readonly bars: Bars;
  private readonly textColors: string[];
  private readonly names: string[];
  private widths = new Map<string, number>();
  /** How long the last picture took to draw, in milliseconds. */
  ms = 0;

  constructor(
    private readonly model: Model,
    spans: Spans,
  ) {
    const { report } = model;
    this.bars = new Bars(model, spans, this.raster);
    this.textColors = report.spans.map((_, i) => textOn(spanColor(report, i)));
    this.names = report.spans.map((type) => cut(type.name, 60));
  }

  get drawn(): Drawn {
    return this.bars.drawn;
  }

  /** Draws the part of `of` from `top`. */
  paint(context: CanvasRenderingContext2D, width: number, height: number, of: Layout, top: number): void {
    const start = performance.now();
    const { range } = this.model;
    const left = gutter(width);
    const plot = width - left;
    const scale = plot / (range.until - range.from);
    drawAxis(context, range, left, plot, AXIS / 2, AXIS, height);
    const first = Math.max(0, firstAtLeast(of.tops, top + 1e-6) - 1);
    const blocks: Block[] = [];
    for (let i = first; i < of.blocks.length && of.blocks[i].y < top + height; i++)
      blocks.push(of.blocks[i]);
    const texts: Text[] = [];
    this.bars.begin({ left, plot, height, scale });
    this.raster.begin(width, height, context.getTransform().a, left, AXIS);
    for (const block of blocks) this.bars.lane(block, AXIS + block.y - top, texts);
    this.raster.end(context);

    context.save();
    context.beginPath();
    context.rect(0, AXIS, width, height - AXIS);
    context.clip();
    for (const text of texts) this.text(context, text);
    const losses = this.model.losses();
    for (const block of blocks) {
      const y = AXIS + block.y - top;
      this.losses(context, losses, block, y, left, width, scale);
      context.fillStyle = theme().grid;
      context.fillRect(left, y + block.height - 3, plot, 1);
      this.label(context, block, y, left, height);
    }
    drawMarks(context, this.model.report.marks, range, {
      left,
      right: width,
      top: AXIS,
      bottom: height,
      x: (at) => left + (at - range.from) * scale,
    });
    context.restore();
    this.ms = performance.now() - start;
  }

  private label(
    context: CanvasRenderingContext2D,
    block: Block,
    y: number,
    left: number,
    height: number,
  ): void {
    const bottom = y + block.height - 5;
    // A label stays in view while any row of its lane is.
    const at = Math.min(Math.max(y, AXIS) + ROW / 2, bottom - ROW / 2);
    if (at > height) return;
    context.fillStyle = theme().text;
    context.textAlign = "left";
    context.fillText(fitEnds(context, threadLabel(this.model.report, block.thread), left - 10), 0, at);
  }

  private text(context: CanvasRenderingContext2D, { type, key, x, y, width: wide }: Text): void {
    let text = this.names[type];
    if (key >= 0) text += ` ${cut(this.model.report.texts[key] ?? "", 40)}`;
    let full = this.widths.get(text);
    if (full === undefined) {
      if (this.widths.size > 5_000) this.widths.clear();
      full = context.measureText(text).width;
      this.widths.set(text, full);
    }
    if (full > wide - 6) {
      const letters = Math.floor((text.length * (wide - 16)) / full);
      if (letters < 2) return;
      text = `${text.slice(0, letters)}…`;
    }
    context.fillStyle = this.textColors[type];
    context.textAlign = "left";
    context.fillText(text, x + 3, y + ROW / 2 - 0.5);
  }

  private losses(
    context: CanvasRenderingContext2D,
    losses: Loss[],
    block: Block,
    y: number,
    left: number,
    width: number,
    scale: number,
  ): void {
    const { from, until } = this.model.range;
    let filled = -1;
    for (const loss of losses) {
      if (loss.thread !== null && loss.thread !== block.thread) continue;
      const x1 = Math.max(left + (Math.max(loss.from, from) - from) * scale, filled);
      const x2 = left + (Math.min(loss.until, until) - from) * scale;
      if (x2 < filled || x1 > width) continue;
      hatch(context, x1, y, x2 - x1, block.height - 5);
      filled = Math.max(x2, x1 + 3);
    }
  }
}
