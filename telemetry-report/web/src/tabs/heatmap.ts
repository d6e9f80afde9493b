/** A heat map of numbers over time on a log axis, with the counts over time and by size beside it. */

import { hatch, theme } from "../canvas";
import type { Heat, Loss, Ns } from "../document";
import { type Column, table } from "../dom";
import { count, moment, time } from "../format";
import { type Bar, barsOf, intervals, middleOf, percentile, type Spread, spreadOf } from "../heat";
import type { Range } from "../view";
import { barAxis, barText, drawAxis, isBinary, reader, tidy, timeAxis } from "./axes";
import { type Box, type Figure, figure } from "./figure";

const TOP = 46;
const RIGHT = 84;

export interface HeatMapData {
  heats: Heat[];
  range: Range;
  unit: string;
  color: string;
  losses: Loss[];
  isSummed: boolean;
}

interface Interval {
  at: number;
  spread: Spread;
  /** By bar. */
  counts: number[];
}

/** Makes the picture. `data` is read at each update. */
export function heatMap(name: string, title: string, data: () => HeatMapData, height = 320): Figure {
  let now: HeatMapData;
  let bars: Bar[] = [];
  let cells: Interval[] = [];
  let width: Ns = 1;
  const read = () => {
    now = data();
    const { from, until } = now.range;
    width = now.heats[0]?.width ?? 1;
    bars = barsOf(spreadOf(now.heats, from, until), 48);
    const [first, last] = intervals(width, from, until);
    const present = new Set(
      now.heats.flatMap((heat) => heat.columns.map((column) => Math.floor((column.at * heat.width) / width))),
    );
    cells = [...present]
      .filter((at) => at >= first && at <= last)
      .sort((a, b) => a - b)
      .map((at) => {
        const spread = spreadOf(now.heats, at * width, (at + 1) * width);
        const counts = bars.map(() => 0);
        spread.buckets.forEach((bucket, i) => {
          const middle = middleOf(bucket);
          const bar = bars.findIndex((one) => middle < one.high || middle === one.low);
          if (bar >= 0) counts[bar] += spread.counts[i];
        });
        return { at, spread, counts };
      });
  };
  read();
  const boxOf = (wide: number): Box => ({
    left: 72,
    right: wide - (wide > 500 ? RIGHT : 46),
    top: TOP,
    bottom: height - 22,
  });
  const text = (value: number) => tidy(reader(now.unit)(value));
  const range = (bar: Bar) => barText(bar, now.unit);
  const made = figure({
    name,
    title,
    height,
    paint(context, wide) {
      const box = boxOf(wide);
      const x = timeAxis(now.range.from, now.range.until, box.left, box.right);
      const y = barAxis(bars, box.bottom, box.top, reader(now.unit), isBinary(now.unit), 30);
      const high = (box.bottom - box.top) / Math.max(1, bars.length);
      drawAxis(context, x, "bottom", box);
      drawAxis(context, y, "left", box);
      const most = Math.max(1, ...cells.flatMap((cell) => cell.counts));
      const mostAt = Math.max(1, ...cells.map((cell) => cell.spread.count));
      const mostOf = Math.max(1, ...bars.map((bar) => bar.count));
      context.save();
      context.beginPath();
      context.rect(box.left, 0, box.right - box.left, height);
      context.clip();
      context.fillStyle = now.color;
      for (const { at, counts, spread } of cells) {
        const left = x.place(at * width);
        const right = Math.max(left + 1, x.place((at + 1) * width));
        counts.forEach((number, bar) => {
          if (number === 0) return;
          context.globalAlpha = 0.18 + (0.82 * Math.log1p(number)) / Math.log1p(most);
          const bottom = box.bottom - bar * high;
          context.fillRect(left, bottom - high, right - left + 0.3, high + 0.3);
        });
        context.globalAlpha = 0.55;
        const tall = Math.max(1, (spread.count / mostAt) * (TOP - 14));
        context.fillRect(left, box.top - 6 - tall, right - left, tall);
        context.globalAlpha = 1;
      }
      context.fillStyle = theme().text;
      for (const { at, spread } of cells) {
        const left = x.place(at * width);
        context.fillRect(
          left,
          y.place(percentile(spread, 0.5)!) - 0.75,
          Math.max(2, x.place((at + 1) * width) - left),
          1.5,
        );
      }
      for (const loss of now.losses) {
        const left = x.place(loss.from);
        hatch(context, left, box.top, x.place(loss.until) - left, box.bottom - box.top);
      }
      context.restore();
      context.globalAlpha = 0.55;
      context.fillStyle = now.color;
      bars.forEach((bar, i) => {
        if (bar.count === 0) return;
        const long = Math.max(1, (bar.count / mostOf) * (wide - box.right - 12));
        context.fillRect(box.right + 6, box.bottom - (i + 1) * high, long, Math.max(1, high - 0.5));
      });
      context.globalAlpha = 1;
    },
    hover(px, py) {
      const box = boxOf(made.canvas.width);
      const x = timeAxis(now.range.from, now.range.until, box.left, box.right);
      const bar = bars[Math.floor(((box.bottom - py) / (box.bottom - box.top)) * bars.length)];
      const at = Math.floor(x.value(px) / width);
      const cell = cells.find((one) => one.at === at);
      if (px > box.right) return bar ? [range(bar), `${count(bar.count)} in the range`] : null;
      if (px < box.left || !cell) return null;
      const number = bar && cell.counts[bars.indexOf(bar)];
      return [
        `${moment(at * width)} to ${moment((at + 1) * width)}`,
        ...(bar ? [`${range(bar)}: ${count(number)}`] : []),
        `${count(cell.spread.count)} in this interval, p50 ≈ ${text(percentile(cell.spread, 0.5)!)}`,
      ];
    },
    table() {
      const figureOf = (title: string, of: (cell: Interval) => number): Column<Interval> => ({
        title,
        text: (cell) => reader(now.unit)(of(cell)),
        value: of,
      });
      return table<Interval>(
        [
          { title: "from", text: (cell) => moment(cell.at * width), value: (cell) => cell.at },
          { title: "count", text: (cell) => count(cell.spread.count), value: (cell) => cell.spread.count },
          figureOf("p50 ≈", (cell) => percentile(cell.spread, 0.5)!),
          figureOf("p99 ≈", (cell) => percentile(cell.spread, 0.99)!),
          ...(now.isSummed ? [figureOf("sum", (cell) => cell.spread.sum)] : []),
        ],
        cells,
        { name: `${name}-table`, most: 40, footnote: `Each row stands for ${time(width)}.` },
      );
    },
  });
  return {
    ...made,
    update(label, ...legend) {
      read();
      made.update(label, ...legend);
    },
  };
}
