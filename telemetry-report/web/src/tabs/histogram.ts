/** A histogram on a log axis, large with percentiles, or small in a row of a table. */

import { theme } from "../canvas";
import { element, table } from "../dom";
import { count, percent, short } from "../format";
import { type Bar, barsOf, type Spread } from "../heat";
import { type Axis, barAxis, barText, drawAxis, isBinary, reader, upAxis } from "./axes";
import { boxOf, type Figure, figure } from "./figure";

export interface HistogramData {
  spread: Spread;
  unit: string;
  color: string;
  /** Numbers to mark, such as percentiles, with their names. */
  marked: [string, number | null][];
  /** All numbers, whose sum by bar is drawn as a second row of bars; null: not drawn. */
  numbers: number[] | null;
  /** What is counted: `spans`. */
  things: string;
}

/** Makes a large histogram. `data` is read at each update. */
export function histogram(name: string, title: string, data: () => HistogramData, height = 220): Figure {
  let bars: Bar[] = [];
  let now: HistogramData;
  let sums = new Map<Bar, number>();
  const read = () => {
    now = data();
    bars = barsOf(now.spread, 64);
    sums = new Map(bars.map((bar) => [bar, 0]));
    for (const x of now.numbers ?? []) {
      let [first, last] = [0, bars.length - 1];
      while (first < last) {
        const middle = (first + last) >> 1;
        if (bars[middle].high > x) last = middle;
        else first = middle + 1;
      }
      sums.set(bars[first], sums.get(bars[first])! + x);
    }
  };
  const sumOf = (bar: Bar) => sums.get(bar) ?? 0;
  read();
  const box = (width: number) => boxOf(width, height);
  const barAt = (x: number, width: number) => {
    const { left, right } = box(width);
    return bars[Math.floor(((x - left) / (right - left)) * bars.length)];
  };
  /** Finds places for the names of marked numbers, in rows so that none lies on another. */
  const placeLabels = (context: CanvasRenderingContext2D, x: Axis, right: number) => {
    const free: number[] = [];
    return now.marked.flatMap(([text, value]) => {
      if (value === null || !Number.isFinite(value)) return [];
      const at = Math.round(x.place(value)) + 0.5;
      const wide = context.measureText(text).width;
      const left = Math.max(0, Math.min(at - wide / 2, right - wide));
      let row = 0;
      while ((free[row] ?? -Infinity) > left) row++;
      free[row] = left + wide + 8;
      return [{ text, at, left, row }];
    });
  };
  const range = (bar: Bar) => barText(bar, now.unit);
  const made = figure({
    name,
    title,
    height,
    paint(context, width) {
      const plot = box(width);
      const middle = now.numbers ? (plot.top + plot.bottom) / 2 : plot.bottom;
      const x = barAxis(bars, plot.left, plot.right, reader(now.unit), isBinary(now.unit));
      drawAxis(context, x, "bottom", plot);
      const rows = (
        of: (bar: Bar) => number,
        label: (value: number) => string,
        top: number,
        bottom: number,
      ) => {
        const y = upAxis(Math.max(0, ...bars.map(of)), bottom, top, label);
        drawAxis(context, y, "left", { ...plot, top, bottom });
        context.fillStyle = now.color;
        const step = (plot.right - plot.left) / bars.length;
        const gap = step > 4 ? 1 : 0;
        bars.forEach((bar, i) => {
          if (of(bar) <= 0) return;
          const high = Math.max(1, bottom - y.place(of(bar)));
          context.fillRect(plot.left + i * step, bottom - high, Math.max(1, step - gap), high);
        });
      };
      const labels = placeLabels(context, x, plot.right);
      const top = plot.top + 14 * (1 + Math.max(-1, ...labels.map((one) => one.row)));
      const title = (text: string, y: number) => {
        context.fillStyle = theme().faint;
        context.fillText(text, plot.left + 2, y);
      };
      rows(
        (bar) => bar.count,
        (value) => (Number.isInteger(value) ? short(value) : ""),
        now.numbers ? top + 16 : top,
        middle,
      );
      if (now.numbers) {
        title(`number of ${now.things}`, top + 6);
        rows(sumOf, reader(now.unit), middle + 22, plot.bottom);
        title("total time", middle + 13);
      }
      for (const { text, at, left, row } of labels) {
        context.strokeStyle = theme().text;
        context.setLineDash([3, 3]);
        context.beginPath();
        context.moveTo(at, plot.top + 14 * row + 8);
        context.lineTo(at, plot.bottom);
        context.stroke();
        context.setLineDash([]);
        context.fillStyle = theme().background;
        context.fillRect(left - 3, plot.top - 6 + 14 * row, context.measureText(text).width + 6, 14);
        context.fillStyle = theme().text;
        context.fillText(text, left, plot.top + 2 + 14 * row);
      }
    },
    hover(x) {
      const bar = barAt(x, made.canvas.width);
      if (!bar) return null;
      return [
        range(bar),
        `${count(bar.count)} ${now.things}, ${percent(bar.count / now.spread.count)}`,
        ...(now.numbers ? [`total ${reader(now.unit)(sumOf(bar))}`] : []),
      ];
    },
    table: () =>
      table<Bar>(
        [
          { title: now.unit ? `size in ${now.unit}` : "size", text: range, value: (bar) => bar.low },
          { title: now.things, text: (bar) => count(bar.count), value: (bar) => bar.count },
          { title: "share", text: (bar) => percent(bar.count / now.spread.count), value: (bar) => bar.count },
          ...(now.numbers
            ? [
                {
                  title: "total",
                  text: (bar: Bar) => reader(now.unit)(sumOf(bar)),
                  value: (bar: Bar) => sumOf(bar),
                },
              ]
            : []),
        ],
        bars.filter((bar) => bar.count > 0),
        { most: 100, name: `${name}-table` },
      ),
  });
  return {
    ...made,
    update(label, ...legend) {
      read();
      made.update(label, ...legend);
    },
  };
}

/** Makes a small histogram for a row of a table. */
export function spark(spread: Spread, color: string, label: string): HTMLCanvasElement {
  const bars = barsOf(spread, 36);
  const scale = Math.min(devicePixelRatio || 1, 3);
  const [width, height] = [108, 18];
  const node = element("canvas", {
    class: "spark",
    role: "img",
    "aria-label": label,
    width: width * scale,
    height: height * scale,
  });
  const context = node.getContext("2d")!;
  context.scale(scale, scale);
  context.fillStyle = color;
  const most = Math.max(...bars.map((bar) => bar.count));
  const step = Math.min(6, width / Math.max(1, bars.length));
  bars.forEach((bar, i) => {
    // Few at the edge matter as much as many in the middle: at least one pixel is seen.
    const high = bar.count > 0 ? Math.max(1.5, (bar.count / most) * height) : 0;
    context.fillRect(i * step, height - high, Math.max(0.8, step - (step > 2.5 ? 0.6 : 0)), high);
  });
  return node;
}
