/** Draws the lanes: spans, the time that reduced spans cover, ticks of events, losses. */

import { AXIS, drawAxis, gutter } from "./axis";
import { fit, hatch, theme } from "./canvas";
import { kindColor, spanColor, textOn } from "./color";
import type { Loss, Report } from "./document";
import { cut } from "./format";
import { type Block, type Layout, MOST_DEPTHS, ROW, TICKS } from "./lanelayout";
import type { Model } from "./model";
import { Densities } from "./rates";
import { firstAtLeast, spanFilter, type Spans } from "./spans";
import type { Filter } from "./view";

/** What was drawn: the line below the picture says how much of all this is. */
export interface Drawn {
  /** Spans in view that the document has, and all of them; the latter is about right at the edges. */
  shown: number;
  all: number;
  /** The largest `every` of events that have ticks in view. */
  every: number;
  hasDeeper: boolean;
}

/** Returns the name of a thread, with its process if there are several. */
export function threadLabel(report: Report, thread: number): string {
  const { name, session } = report.threads[thread];
  const of = report.sessions.length > 1 ? report.sessions[session] : undefined;
  return cut(name, 60) + (of ? ` · ${of.pid ?? of.id.slice(0, 6)}` : "");
}

export class Painter {
  private has: Uint8Array = new Uint8Array(0);
  private hasFor: Filter | null = null;
  private readonly densities: Densities;
  private readonly colors: string[];
  private readonly textColors: string[];
  private readonly names: string[];
  /** The pixel with short spans that is drawn next, the type of its longest, and the time they cover. */
  private pixel = -1;
  private pixelType = -1;
  private covered = 0;
  private longest = 0;
  /** Pixels of one height and color. */
  private bar = { from: 0, until: -1, type: -1, high: 0 };
  private widths = new Map<string, number>();
  /** How long the last picture took to draw, in milliseconds. */
  ms = 0;
  drawn: Drawn = { shown: 0, all: 0, every: 1, hasDeeper: false };

  constructor(
    private readonly model: Model,
    private readonly spans: Spans,
  ) {
    const { report } = model;
    this.densities = new Densities(report);
    this.colors = report.spans.map((_, i) => spanColor(report, i));
    this.textColors = this.colors.map(textOn);
    this.names = report.spans.map((type) => cut(type.name, 60));
  }

  filter(): Uint8Array {
    if (this.hasFor !== this.model.filter) {
      this.hasFor = this.model.filter;
      this.has = spanFilter(this.model.report, this.model.filter);
    }
    return this.has;
  }

  /** Draws the part of `of` from `top`. */
  paint(context: CanvasRenderingContext2D, width: number, height: number, of: Layout, top: number): void {
    const start = performance.now();
    const { range } = this.model;
    const left = gutter(width);
    const plot = width - left;
    const scale = plot / (range.until - range.from);
    this.drawn = { shown: 0, all: 0, every: 1, hasDeeper: false };
    const has = this.filter();
    drawAxis(context, range, left, plot, AXIS / 2, AXIS, height);
    context.save();
    context.beginPath();
    context.rect(0, AXIS, width, height - AXIS);
    context.clip();
    const losses = this.model.losses();
    const first = Math.max(0, firstAtLeast(of.tops, top + 1e-6) - 1);
    for (let i = first; i < of.blocks.length && of.blocks[i].y < top + height; i++) {
      this.block(context, of.blocks[i], AXIS + of.blocks[i].y - top, left, plot, scale, has);
      this.losses(context, losses, of.blocks[i], AXIS + of.blocks[i].y - top, left, width, scale);
    }
    context.restore();
    // The labels stand still; what reaches under them is covered.
    context.fillStyle = theme().background;
    context.fillRect(0, 0, left, height);
    context.save();
    context.beginPath();
    context.rect(0, AXIS, left, height - AXIS);
    context.clip();
    for (let i = first; i < of.blocks.length && of.blocks[i].y < top + height; i++) {
      this.label(context, of.blocks[i], AXIS + of.blocks[i].y - top, left, height);
    }
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
    context.fillText(fit(context, threadLabel(this.model.report, block.thread), left - 10), 0, at);
  }

  private block(
    context: CanvasRenderingContext2D,
    block: Block,
    y: number,
    left: number,
    plot: number,
    scale: number,
    has: Uint8Array,
  ): void {
    const { from, until } = this.model.range;
    const bottom = y + block.height - 5;
    if (block.lane >= 0) {
      const index = this.spans.lane(block.lane);
      const { spans, cover, depths, complete_from } = index.lane;
      this.drawn.hasDeeper ||= depths > MOST_DEPTHS;
      if (complete_from > 0) this.cover(context, block, cover, y, left, scale);
      const shownBefore = this.drawn.shown;
      const hasUncertain = this.model.report.losses.length > 0;
      for (let depth = 0; depth < block.depths && depth < index.rows.length; depth++) {
        const row = index.rows[depth];
        const rowY = y + depth * ROW;
        let filled = -1;
        // Type, key, place and width of each text.
        const texts: number[] = [];
        for (let i = index.first(depth, from); i < row.ids.length; i++) {
          const begin = row.begin[i];
          if (begin > until) break;
          const type = row.type[i];
          if (!has[type]) continue;
          this.drawn.shown++;
          const end = row.end[i];
          if (end < from) continue;
          const x1 = left + ((begin < from ? from : begin) - from) * scale;
          const x2 = left + ((end > until ? until : end) - from) * scale;
          if (x2 - x1 < 1) {
            this.short(context, x1, x2 - x1, rowY, type, end - begin);
            if (hasUncertain && spans.is_uncertain[row.ids[i]]) this.uncertain(context, x1, rowY, 1);
            continue;
          }
          this.flush(context, rowY);
          // Spans that overlap in one row, as pairs of messages may, do not hide each other's begin.
          const start = x1 < filled ? Math.min(filled, x2 - 1) : x1;
          const wide = x2 - start - (x2 - start > 4 ? 0.6 : 0);
          context.fillStyle = this.colors[type];
          context.fillRect(start, rowY, wide, ROW - 1.5);
          if (hasUncertain && spans.is_uncertain[row.ids[i]]) this.uncertain(context, start, rowY, wide);
          filled = start + wide;
          if (wide > 24) texts.push(type, spans.key[row.ids[i]], start, wide);
        }
        this.flush(context, rowY);
        // Above the spans, which may overlap where a lane has no room for more rows.
        for (let i = 0; i < texts.length; i += 4) {
          this.text(context, texts[i], texts[i + 1], texts[i + 2], rowY, texts[i + 3]);
        }
      }
      if (complete_from > 0) {
        const [first, last] = [Math.floor(from / cover.width), Math.floor(until / cover.width)];
        let all = 0;
        for (const row of cover.rows) {
          for (
            let at = Math.max(first - row.first, 0);
            at <= last - row.first && at < row.spans.length;
            at++
          ) {
            all += row.spans[at];
          }
        }
        this.drawn.all += Math.max(all, this.drawn.shown - shownBefore);
      } else {
        this.drawn.all += this.drawn.shown - shownBefore;
      }
    }
    this.ticks(context, block, bottom - TICKS + 1, left, plot, scale);
    context.fillStyle = theme().grid;
    context.fillRect(left, bottom + 2, plot, 1);
  }

  /** Adds a span that is shorter than a pixel to its pixel. */
  private short(
    context: CanvasRenderingContext2D,
    x: number,
    wide: number,
    y: number,
    type: number,
    duration: number,
  ): void {
    const at = Math.floor(x);
    if (at !== this.pixel) this.nextPixel(context, y, at);
    this.covered += wide;
    if (duration >= this.longest) {
      this.longest = duration;
      this.pixelType = type;
    }
  }

  /** Ends a pixel: it joins the bar of those before it, or begins a bar. */
  private nextPixel(context: CanvasRenderingContext2D, y: number, next: number): void {
    if (this.pixel >= 0) {
      const high = Math.max(6, Math.round(Math.min(this.covered, 1) * (ROW - 2)));
      const { bar } = this;
      if (bar.until !== this.pixel || bar.type !== this.pixelType || bar.high !== high) {
        this.drawBar(context, y);
        bar.from = this.pixel;
        bar.type = this.pixelType;
        bar.high = high;
      }
      bar.until = this.pixel + 1;
    }
    this.pixel = next;
    this.covered = 0;
    this.longest = 0;
  }

  /** Draws what short spans left: as high as the part of its time that they cover. */
  private flush(context: CanvasRenderingContext2D, y: number): void {
    if (this.pixel < 0) return;
    this.nextPixel(context, y, -1);
    this.drawBar(context, y);
    this.bar.type = -1;
  }

  private drawBar(context: CanvasRenderingContext2D, y: number): void {
    const { from, until, type, high } = this.bar;
    if (type < 0) return;
    context.fillStyle = this.colors[type];
    context.fillRect(from, y + ROW - 1.5 - high, until - from, high);
  }

  private text(
    context: CanvasRenderingContext2D,
    type: number,
    key: number,
    x: number,
    y: number,
    wide: number,
  ): void {
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

  /** Draws how much of each interval spans cover, in gray, where the document has not all of them. */
  private cover(
    context: CanvasRenderingContext2D,
    block: Block,
    cover: { width: number; rows: { depth: number; first: number; ns: number[] }[] },
    y: number,
    left: number,
    scale: number,
  ): void {
    const { from, until } = this.model.range;
    context.fillStyle = theme().faint;
    context.globalAlpha = 0.45;
    for (const { depth, first, ns } of cover.rows) {
      if (depth >= block.depths) continue;
      const last = Math.min(Math.floor(until / cover.width) - first, ns.length - 1);
      for (let at = Math.max(Math.floor(from / cover.width) - first, 0); at <= last; at++) {
        if (ns[at] <= 0) continue;
        const high = Math.max(1, Math.min(ns[at] / cover.width, 1) * (ROW - 1.5));
        const begin = Math.max((first + at) * cover.width, from);
        const end = Math.min((first + at + 1) * cover.width, until);
        context.fillRect(
          left + (begin - from) * scale,
          y + depth * ROW + ROW - 1.5 - high,
          Math.max((end - begin) * scale, 0.5),
          high,
        );
      }
    }
    context.globalAlpha = 1;
  }

  /** Marks a span whose begin or end may be among missing events. */
  private uncertain(context: CanvasRenderingContext2D, x: number, y: number, wide: number): void {
    context.fillStyle = theme().loss;
    context.fillRect(x, y + ROW - 3, wide, 1.5);
  }

  private ticks(
    context: CanvasRenderingContext2D,
    block: Block,
    y: number,
    left: number,
    plot: number,
    scale: number,
  ): void {
    const ticks = this.spans.ticksOf(block.thread);
    if (!ticks) return;
    const { from, until } = this.model.range;
    const { report } = this.model;
    const first = firstAtLeast(ticks.at, from);
    const last = firstAtLeast(ticks.at, until + 1);
    // From afar they would be one bar: then the rates, which count all events, say more.
    if (last - first > plot / 2) return this.density(context, block, y, left, plot, scale);
    let filled = -1;
    for (let i = first; i < last; i++) {
      const x = Math.floor(left + (ticks.at[i] - from) * scale);
      if (x <= filled) continue;
      const sample = report.sample[ticks.sample[i]];
      if (!this.model.has(sample.event)) continue;
      if (sample.every > this.drawn.every) this.drawn.every = sample.every;
      context.fillStyle = kindColor(report.events[sample.event]?.kind ?? -1);
      context.fillRect(x, y, 1.5, TICKS - 1);
      filled = x;
    }
  }

  /** Draws the rate of the thread's events as a strip: the darker, the more. */
  private density(
    context: CanvasRenderingContext2D,
    block: Block,
    y: number,
    left: number,
    plot: number,
    scale: number,
  ): void {
    const { report, filter, range } = this.model;
    const of = this.densities.of(block.thread, filter);
    if (!of) return;
    const { width } = report.rate;
    const last = Math.min(Math.floor(range.until / width), of.counts.length - 1);
    for (let i = Math.floor(range.from / width); i <= last; i++) {
      if (of.counts[i] === 0) continue;
      const x1 = Math.max(Math.round(left + (i * width - range.from) * scale), left);
      const x2 = Math.min(Math.round(left + ((i + 1) * width - range.from) * scale), left + plot);
      if (x2 <= x1) continue;
      context.fillStyle = kindColor(of.kinds[i]);
      context.globalAlpha = 0.2 + 0.8 * (of.counts[i] / of.most);
      context.fillRect(x1, y, x2 - x1, TICKS - 1);
    }
    context.globalAlpha = 1;
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
      const x1 = left + (Math.max(loss.from, from) - from) * scale;
      const x2 = left + (Math.min(loss.until, until) - from) * scale;
      if (x2 < filled || x1 > width) continue;
      hatch(context, x1, y, x2 - x1, block.height - 5);
      filled = x2 + 3;
    }
  }
}
