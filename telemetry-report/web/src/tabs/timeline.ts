/** Numbers over time as steps: lines, or areas on top of each other. */

import { hatch } from "../canvas";
import type { Loss, Mark, Ns } from "../document";
import { type Column, table } from "../dom";
import { exactAt, moment, time } from "../format";
import { intervals } from "../heat";
import { aboutMarks, drawMarks } from "../marks";
import type { Range } from "../view";
import { drawAxis, logAxis, timeAxis, upAxis } from "./axes";
import { boxOf, type Figure, figure, named } from "./figure";

export interface Series {
  name: string;
  color: string;
  /** By interval. */
  values: ArrayLike<number>;
  /** Drawn as an area under the lines. */
  isArea?: boolean;
}

export interface TimelineData {
  width: Ns;
  range: Range;
  series: Series[];
  /** On top of each other, the first at the bottom. */
  isStacked: boolean;
  /** The axis of values is a log axis. Zero is at its low end. */
  isLog?: boolean;
  read(value: number): string;
  isBinary: boolean;
  /** All digits of a value. */
  exact?(value: number): string;
  losses: Loss[];
  marks: Mark[];
}

/** Makes the picture. `data` is read at each update. */
export function timeline(name: string, title: string, data: () => TimelineData, height = 180): Figure {
  let now = data();
  const plot = (width: number) => {
    const box = boxOf(width, height);
    const { from, until } = now.range;
    const [first, last] = intervals(now.width, from, until);
    let [least, low, most] = [Infinity, 0, 0];
    for (let at = Math.max(0, first); at <= last; at++) {
      const values = now.series.map((one) => one.values[at] ?? 0);
      most = Math.max(most, now.isStacked ? values.reduce((a, b) => a + b, 0) : Math.max(0, ...values));
      for (const value of values) {
        if (value > 0) least = Math.min(least, value);
        else low = Math.min(low, value);
      }
    }
    // The least value has a height, too.
    const y =
      now.isLog && most > 0
        ? logAxis(least / 2, most, box.bottom, box.top, now.read, now.isBinary, 30)
        : upAxis(most, box.bottom, box.top, now.read, now.isBinary, low);
    return {
      box,
      first: Math.max(0, first),
      last,
      x: timeAxis(from, until, box.left, box.right),
      y,
    };
  };
  const made = figure({
    name,
    title,
    height,
    paint(context, width) {
      const { box, first, last, x, y } = plot(width);
      drawAxis(context, x, "bottom", box);
      drawAxis(context, y, "left", box);
      context.save();
      context.beginPath();
      context.rect(box.left, 0, box.right - box.left, height);
      context.clip();
      const steps = (of: (at: number) => number, isBack: boolean) => {
        for (let i = 0; i <= last - first; i++) {
          const at = isBack ? last - i : first + i;
          const edges = [x.place(at * now.width), x.place((at + 1) * now.width)];
          if (isBack) edges.reverse();
          for (const edge of edges) context.lineTo(edge, y.place(of(at)));
        }
      };
      let below: (at: number) => number = () => 0;
      for (const { values, color, isArea } of now.series) {
        const base = below;
        const top = now.isStacked
          ? (at: number) => base(at) + (values[at] ?? 0)
          : (at: number) => values[at] ?? 0;
        context.beginPath();
        steps(top, false);
        if (now.isStacked || isArea) {
          steps(base, true);
          context.fillStyle = color;
          context.globalAlpha = now.isStacked ? 0.9 : 0.55;
          context.fill();
          context.globalAlpha = 1;
        } else {
          context.strokeStyle = color;
          context.lineWidth = 1.6;
          context.stroke();
        }
        if (now.isStacked) {
          // Sums are kept, or each series would add up all below it again.
          const sums = new Map<number, number>();
          for (let at = first; at <= last; at++) sums.set(at, top(at));
          below = (at) => sums.get(at) ?? 0;
        }
      }
      for (const loss of now.losses) {
        const left = x.place(loss.from);
        hatch(context, left, box.top, x.place(loss.until) - left, box.bottom - box.top);
      }
      drawMarks(context, now.marks, now.range, { ...box, x: (at) => x.place(at) });
      context.restore();
    },
    hover(px) {
      const { box, first, last, x } = plot(made.canvas.width);
      if (px < box.left || px > box.right) return null;
      const at = Math.floor(x.value(px) / now.width);
      if (at < first || at > last) return null;
      const lines = now.series
        .filter((one) => !now.isStacked || one.values[at] > 0)
        .map((one) => `${one.name}: ${now.read(one.values[at] ?? 0)}`);
      if (now.isStacked) lines.reverse();
      const isLost = now.losses.some(
        (loss) => loss.from <= (at + 1) * now.width && loss.until >= at * now.width,
      );
      return [
        `${moment(at * now.width)} to ${moment((at + 1) * now.width)}`,
        ...aboutMarks(now.marks, x.value(px), Math.abs(x.value(px + 4) - x.value(px))).map(({ text }) => text),
        ...lines.slice(0, 14),
        ...(isLost ? ["events are missing here"] : []),
      ];
    },
    table() {
      const { first, last } = plot(Math.max(made.canvas.width, 1));
      const shown = now.series.slice(0, 12);
      const rows = Array.from({ length: last - first + 1 }, (_, i) => first + i);
      return table<number>(
        [
          {
            title: "from",
            text: (at) => moment(at * now.width),
            full: (at) => exactAt(at * now.width),
            value: (at) => at,
          },
          ...shown.map((one): Column<number> => ({
            title: one.name,
            text: (at) => now.read(one.values[at] ?? 0),
            full: (at) => now.exact?.(one.values[at] ?? 0) ?? "",
            value: (at) => one.values[at] ?? 0,
          })),
        ],
        rows,
        {
          name: `${name}-table`,
          most: 40,
          footnote: `Each row stands for ${time(now.width)}.`,
        },
      );
    },
  });
  return {
    ...made,
    update(label, ...legend) {
      now = data();
      const names = now.series.length > 1 ? now.series.map((one) => named(one.color, one.name)) : [];
      made.update(label, ...legend, ...names);
    },
  };
}
