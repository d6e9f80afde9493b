/** Numbers at some moments, as areas on top of each other. Between two moments, the areas go straight. */

import { hatch } from "../canvas";
import type { Loss, Mark, Ns } from "../document";
import { type Column, table } from "../dom";
import { exactAt, moment } from "../format";
import { aboutMarks, drawMarks } from "../marks";
import { isWithin, type View } from "../view";
import { drawAxis, timeAxis, upAxis } from "./axes";
import { boxOf, type Figure, figure, named } from "./figure";
import type { Series } from "./timeline";

export interface AreasData {
  /** The moments, in order. */
  at: Ns[];
  /** The first at the bottom. Values are by moment. */
  series: Series[];
  read(value: number): string;
  isBinary: boolean;
  exact(value: number): string;
  losses: Loss[];
  marks: Mark[];
}

/** Half the width of a moment that stands alone, in pixels. */
const ALONE = 3;

/** Makes the picture. `data` is read at each update. */
export function areas(
  name: string,
  title: string,
  view: View,
  data: () => AreasData,
  height: number,
): Figure {
  let now = data();
  /** Returns the moments that the range has, and one before and after it. */
  const within = () => {
    const { from, until } = view.range;
    let [first, last] = [0, now.at.length - 1];
    while (first < last && now.at[first + 1] <= from) first++;
    while (last > first && now.at[last - 1] >= until) last--;
    return [first, last];
  };
  const plot = (width: number) => {
    const box = boxOf(width, height);
    const { from, until } = view.range;
    const [first, last] = within();
    let most = 0;
    for (let i = first; i <= last; i++) {
      most = Math.max(
        most,
        now.series.reduce((sum, one) => sum + one.values[i], 0),
      );
    }
    return {
      box,
      first,
      last,
      x: timeAxis(from, until, box.left, box.right),
      y: upAxis(most, box.bottom, box.top, now.read, now.isBinary),
    };
  };
  /** Returns the shown moment that is nearest to a pixel; -1 without one. */
  const nearest = (px: number) => {
    const { first, last, x } = plot(made.canvas.width);
    let best = -1;
    for (let i = first; i <= last; i++) {
      if (!isWithin(view, now.at[i])) continue;
      if (best < 0 || Math.abs(x.place(now.at[i]) - px) < Math.abs(x.place(now.at[best]) - px)) best = i;
    }
    return best;
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
      const base = new Array<number>(now.at.length).fill(0);
      const isAlone = first === last;
      for (const { values, color } of now.series) {
        context.beginPath();
        const point = (i: number, value: number, side: number) =>
          context.lineTo(x.place(now.at[i]) + (isAlone ? side * ALONE : 0), y.place(value));
        for (let i = first; i <= last; i++) {
          point(i, base[i] + values[i], -1);
          if (isAlone) point(i, base[i] + values[i], 1);
        }
        for (let i = last; i >= first; i--) {
          point(i, base[i], 1);
          if (isAlone) point(i, base[i], -1);
          base[i] += values[i];
        }
        context.fillStyle = color;
        context.globalAlpha = 0.9;
        context.fill();
        context.globalAlpha = 1;
      }
      for (const loss of now.losses) {
        const left = x.place(loss.from);
        hatch(context, left, box.top, x.place(loss.until) - left, box.bottom - box.top);
      }
      drawMarks(context, now.marks, view.range, { ...box, x: (at) => x.place(at) });
      context.restore();
    },
    hover(px) {
      const { box, x } = plot(made.canvas.width);
      const i = px < box.left || px > box.right ? -1 : nearest(px);
      if (i < 0) return null;
      const shown = now.series.filter((one) => one.values[i] > 0);
      return [
        moment(now.at[i]),
        ...aboutMarks(now.marks, x.value(px), Math.abs(x.value(px + 4) - x.value(px))).map(({ text }) => text),
        ...shown
          .map((one) => `${one.name}: ${now.read(one.values[i])}`)
          .reverse()
          .slice(0, 14),
      ];
    },
    table() {
      const [first, last] = within();
      const rows = Array.from({ length: last - first + 1 }, (_, i) => first + i);
      return table<number>(
        [
          {
            title: "time",
            text: (i) => moment(now.at[i]),
            full: (i) => exactAt(now.at[i]),
            value: (i) => now.at[i],
          },
          ...now.series.map((one): Column<number> => ({
            title: one.name,
            text: (i) => now.read(one.values[i]),
            full: (i) => now.exact(one.values[i]),
            value: (i) => one.values[i],
          })),
        ],
        rows.filter((i) => isWithin(view, now.at[i])),
        { name: `${name}-table`, most: 40 },
      );
    },
  });
  return {
    ...made,
    update(label, ...legend) {
      now = data();
      made.update(label, ...legend, ...now.series.map((one) => named(one.color, one.name)));
    },
  };
}
