/** Fills the lanes: spans, the time that reduced spans cover, ticks of events, or their rate. */

import { AXIS } from "./axis";
import { theme } from "./canvas";
import { kindColor, spanColor } from "./color";
import { type Block, MOST_DEPTHS, ROW, TICKS } from "./lanelayout";
import type { Model } from "./model";
import { pixel, type Raster } from "./raster";
import { Densities } from "./rates";
import { firstAtLeast, spanFilter, type LaneIndex, type Spans } from "./spans";
import type { Filter } from "./view";

/** What was drawn: the line above the picture says how much of all this is. */
export interface Drawn {
  /** Spans in view that the document has, and all of them; the latter is about right at the edges. */
  shown: number;
  all: number;
  /** The largest `every` of events that have ticks in view. */
  every: number;
  /** Spans cover each other in a last row, which has all deeper ones, too. */
  hasDeeper: boolean;
}

/** A text on a span. */
export interface Text {
  type: number;
  key: number;
  x: number;
  y: number;
  width: number;
}

/** Where a picture has which time. */
export interface Place {
  left: number;
  /** Width of what is right of the labels. */
  plot: number;
  height: number;
  /** Pixels for each nanosecond. */
  scale: number;
}

const HIGH = ROW - 1.5;

/** Ends the texts of a row where the next span covers theirs. */
function shorten(texts: Text[], y: number, end: number): void {
  for (let i = texts.length - 1; i >= 0 && texts[i].y === y; i--) {
    texts[i].width = Math.min(texts[i].width, end - texts[i].x);
  }
}

export class Bars {
  private has: Uint8Array = new Uint8Array(0);
  private hasFor: Filter | null = null;
  private readonly densities: Densities;
  private readonly colors: number[];
  private readonly kinds: number[];
  private place: Place = { left: 0, plot: 0, height: 0, scale: 1 };
  private hasLosses = false;
  /** The pixel with short spans that is filled next, the type of its longest, and the part they cover. */
  private pixel = -1;
  private pixelType = -1;
  private covered = 0;
  private longest = 0;
  drawn: Drawn = { shown: 0, all: 0, every: 1, hasDeeper: false };

  constructor(
    private readonly model: Model,
    private readonly spans: Spans,
    private readonly raster: Raster,
  ) {
    const { report } = model;
    this.densities = new Densities(report);
    this.colors = report.spans.map((_, i) => pixel(spanColor(report, i)));
    this.kinds = report.kinds.map((_, i) => pixel(kindColor(i)));
  }

  /** Begins a picture. */
  begin(place: Place): void {
    this.place = place;
    this.drawn = { shown: 0, all: 0, every: 1, hasDeeper: false };
    this.hasLosses = this.model.report.losses.length > 0;
    if (this.hasFor !== this.model.filter) {
      this.hasFor = this.model.filter;
      this.has = spanFilter(this.model.report, this.model.filter);
    }
  }

  /** Fills a lane whose upper edge is at `y`; adds the texts of its spans. */
  lane(block: Block, y: number, texts: Text[]): void {
    if (block.lane >= 0) {
      const index = this.spans.lane(block.lane);
      for (const [place, depth] of block.depths.entries()) {
        const rowY = y + place * ROW;
        if (rowY + ROW < AXIS || rowY > this.place.height) continue;
        const before = this.drawn.shown;
        const all = index.lane.complete_from > 0 ? this.cover(index, depth, rowY) : 0;
        this.row(index, depth, rowY, texts);
        this.drawn.all += Math.max(all, this.drawn.shown - before);
      }
    }
    this.ticks(block, y + block.height - 5 - TICKS + 1);
  }

  private row(index: LaneIndex, depth: number, y: number, texts: Text[]): void {
    const { from, until } = this.model.range;
    const { left, scale } = this.place;
    const { spans } = index.lane;
    const row = index.rows[depth];
    const { has, raster } = this;
    let filled = -1;
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
      const isUncertain = this.hasLosses && spans.is_uncertain[row.ids[i]];
      if (x2 - x1 < 1) {
        this.short(x1, x2 - x1, y, type, end - begin);
        if (isUncertain) this.uncertain(x1, y, 1);
        continue;
      }
      this.flush(y, -1);
      // Spans that overlap in one row, as pairs of messages may, do not hide each other's begin.
      const start = x1 < filled ? Math.min(filled, x2 - 1) : x1;
      if (x1 < filled) {
        this.drawn.hasDeeper ||= depth === MOST_DEPTHS - 1;
        shorten(texts, y, start);
      }
      const wide = x2 - start - (x2 - start > 4 ? 1 : 0);
      raster.rect(start, y, wide, HIGH, this.colors[type]);
      if (isUncertain) this.uncertain(start, y, wide);
      filled = start + wide;
      if (wide > 24) texts.push({ type, key: spans.key[row.ids[i]], x: start, y, width: wide });
    }
    this.flush(y, -1);
  }

  /** Adds a span that is shorter than a pixel to its pixel. */
  private short(x: number, wide: number, y: number, type: number, duration: number): void {
    const at = Math.floor(x);
    if (at !== this.pixel) this.flush(y, at);
    this.covered += wide;
    if (duration >= this.longest) {
      this.longest = duration;
      this.pixelType = type;
    }
  }

  /** Fills a pixel of short spans, as high as the part of its time that they cover. */
  private flush(y: number, next: number): void {
    if (this.pixel >= 0) {
      const high = Math.max(6, Math.min(this.covered, 1) * HIGH);
      this.raster.rect(this.pixel, y + HIGH - high, 1, high, this.colors[this.pixelType]);
    }
    this.pixel = next;
    this.covered = 0;
    this.longest = 0;
  }

  /**
   * Fills how much of each interval spans cover, in gray, where the document has not all of them. Returns
   * the number of all in view.
   */
  private cover(index: LaneIndex, depth: number, y: number): number {
    const { from, until } = this.model.range;
    const { left, scale } = this.place;
    const { width, rows } = index.lane.cover;
    const color = pixel(theme().faint, 0.45);
    let all = 0;
    for (const { first, ns, spans } of rows.filter((row) => row.depth === depth)) {
      const last = Math.min(Math.floor(until / width) - first, ns.length - 1);
      for (let at = Math.max(Math.floor(from / width) - first, 0); at <= last; at++) {
        all += spans[at];
        if (ns[at] <= 0) continue;
        const high = Math.max(1, Math.min(ns[at] / width, 1) * HIGH);
        const begin = Math.max((first + at) * width, from);
        const end = Math.min((first + at + 1) * width, until);
        this.raster.rect(
          left + (begin - from) * scale,
          y + HIGH - high,
          (end - begin) * scale,
          high,
          color,
        );
      }
    }
    return all;
  }

  /** Marks a span whose begin or end may be among missing events. */
  private uncertain(x: number, y: number, wide: number): void {
    this.raster.rect(x, y + ROW - 3, wide, 1.5, pixel(theme().loss));
  }

  private ticks(block: Block, y: number): void {
    if (y + TICKS < AXIS || y > this.place.height) return;
    const ticks = this.spans.ticksOf(block.thread);
    // Its events may all be outside of the samples.
    if (!ticks) return this.density(block, y);
    const { from, until } = this.model.range;
    const { report } = this.model;
    const { left, plot, scale } = this.place;
    const first = firstAtLeast(ticks.at, from);
    const last = firstAtLeast(ticks.at, until + 1);
    // From afar they would be one bar: then the rates, which count all events, say more.
    if (last === first || last - first > plot / 2) return this.density(block, y);
    for (let i = first; i < last; i++) {
      const sample = report.sample[ticks.sample[i]];
      if (!this.model.has(sample.event)) continue;
      if (sample.every > this.drawn.every) this.drawn.every = sample.every;
      const color = this.kinds[report.events[sample.event]?.kind ?? -1] ?? pixel(theme().faint);
      this.raster.rect(left + (ticks.at[i] - from) * scale, y, 2, TICKS - 1, color);
    }
  }

  /** Fills the rate of the thread's events as a strip: the stronger, the more. */
  private density(block: Block, y: number): void {
    const { report, filter, range } = this.model;
    const of = this.densities.of(block.thread, filter);
    if (!of) return;
    const { width } = report.rate;
    const { left, plot, scale } = this.place;
    const last = Math.min(Math.floor(range.until / width), of.counts.length - 1);
    for (let i = Math.floor(range.from / width); i <= last; i++) {
      if (of.counts[i] === 0) continue;
      const x1 = Math.max(Math.round(left + (i * width - range.from) * scale), left);
      const x2 = Math.min(Math.round(left + ((i + 1) * width - range.from) * scale), left + plot);
      if (x2 <= x1) continue;
      const alpha = Math.round((0.2 + 0.8 * (of.counts[i] / of.most)) * 255);
      const color = ((this.kinds[of.kinds[i]] & 0xffffff) | (alpha << 24)) >>> 0;
      this.raster.rect(x1, y, x2 - x1, TICKS - 1, color);
    }
  }
}
