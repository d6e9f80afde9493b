/** Two distributions in one picture: bars for the run now, a line for the run before. */

import { theme } from "../canvas";
import { element, table } from "../dom";
import { count, percent } from "../format";
import { type Bar, barsOf, middleOf, type Spread } from "../heat";
import { barAxis, barText, drawAxis, reader, upAxis } from "./axes";
import { boxOf, type Figure, figure } from "./figure";

/** Buckets of `Heat` and their counts, of the run before and the run now. */
export type Both = [Buckets, Buckets];

interface Buckets {
  buckets: number[];
  counts: number[];
}

/** A bar with the shares of both runs. */
export interface Beside extends Bar {
  counts: [number, number];
  shares: [number, number];
}

/** Returns bars of the same widths for both runs. */
export function besides(both: Both, most: number): Beside[] {
  const all = new Map<number, number>();
  for (const of of both) of.buckets.forEach((bucket, i) => all.set(bucket, (all.get(bucket) ?? 0) + of.counts[i]));
  const buckets = [...all.keys()].sort((a, b) => a - b);
  const counts = buckets.map((bucket) => all.get(bucket)!);
  const spread: Spread = { buckets, counts, count: counts.reduce((a, b) => a + b, 0), sum: 0 };
  const totals = both.map((of) => of.counts.reduce((a, b) => a + b, 0));
  const sums = both.map(() => new Map<Bar, number>());
  const bars = barsOf(spread, most);
  const barAt = (x: number) => bars.find((bar) => x >= bar.low && (x < bar.high || bar.low === bar.high));
  both.forEach((of, run) =>
    of.buckets.forEach((bucket, i) => {
      const bar = barAt(middleOf(bucket));
      if (bar) sums[run].set(bar, (sums[run].get(bar) ?? 0) + of.counts[i]);
    }),
  );
  return bars.map((bar) => {
    const counts = [0, 1].map((run) => sums[run].get(bar) ?? 0) as [number, number];
    const shares = counts.map((of, run) => of / Math.max(1, totals[run])) as [number, number];
    return { ...bar, counts, shares };
  });
}

/** Draws bars for the run now, and a line in steps for the run before. */
function draw(
  context: CanvasRenderingContext2D,
  bars: Beside[],
  box: { left: number; right: number; bottom: number },
  place: (share: number) => number,
): void {
  const step = (box.right - box.left) / Math.max(1, bars.length);
  context.fillStyle = theme().accent;
  context.globalAlpha = 0.55;
  bars.forEach(({ shares }, i) => {
    if (shares[1] === 0) return;
    const high = Math.max(1.5, box.bottom - place(shares[1]));
    context.fillRect(box.left + i * step, box.bottom - high, Math.max(0.8, step - (step > 4 ? 1 : 0)), high);
  });
  context.globalAlpha = 1;
  context.strokeStyle = theme().text;
  context.lineWidth = 1.25;
  context.beginPath();
  context.moveTo(box.left, box.bottom);
  bars.forEach(({ shares }, i) => {
    const y = shares[0] > 0 ? Math.min(place(shares[0]), box.bottom - 1.5) : box.bottom;
    context.lineTo(box.left + i * step, y);
    context.lineTo(box.left + (i + 1) * step, y);
  });
  context.lineTo(box.right, box.bottom);
  context.stroke();
}

const most = (bars: Beside[]) => Math.max(1e-9, ...bars.flatMap(({ shares }) => shares));

/** Makes a large picture of durations. `data` is read at each update. */
export function overlay(data: () => Both): Figure {
  let bars: Beside[] = [];
  const height = 200;
  const read = () => (bars = besides(data(), 64));
  read();
  const says = ({ counts, shares }: Beside, run: number) => `${count(counts[run])} spans, ${percent(shares[run])}`;
  const made = figure({
    name: "compared-durations",
    title: "Durations of both runs",
    height,
    paint(context, width) {
      const box = boxOf(width, height);
      drawAxis(context, barAxis(bars, box.left, box.right, reader("ns"), false), "bottom", box);
      const y = upAxis(most(bars), box.bottom, box.top, percent);
      drawAxis(context, y, "left", box);
      draw(context, bars, box, (share) => y.place(share));
    },
    hover(x) {
      const { left, right } = boxOf(made.canvas.width, height);
      const bar = bars[Math.floor(((x - left) / (right - left)) * bars.length)];
      return bar ? [barText(bar, "ns"), `before: ${says(bar, 0)}`, `now: ${says(bar, 1)}`] : null;
    },
    table: () =>
      table<Beside>(
        [
          { title: "duration", text: (bar) => barText(bar, "ns"), value: (bar) => bar.low },
          ...["before", "now"].map((title, run) => ({
            title,
            text: (bar: Beside) => says(bar, run),
            value: (bar: Beside) => bar.counts[run],
          })),
        ],
        bars.filter(({ counts }) => counts[0] + counts[1] > 0),
        { most: 100, name: "compared-durations-table" },
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

/** Makes a small picture for a row of a table. */
export function overlaySpark(both: Both, label: string): HTMLCanvasElement {
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
  const bars = besides(both, 36);
  const top = most(bars);
  draw(context, bars, { left: 0, right: width, bottom: height }, (share) => height - (share / top) * (height - 1));
  return node;
}
