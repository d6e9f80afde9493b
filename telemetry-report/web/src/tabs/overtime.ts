/** Rates of two runs over time in one picture: an area for the run now, a line for the run before. */

import { theme } from "../canvas";
import { element, table } from "../dom";
import { count, rate, time } from "../format";
import { drawAxis, timeAxis, upAxis } from "./axes";
import { boxOf, type Figure, figure } from "./figure";

/** Numbers of events in equal intervals, of the run before and the run now. */
export interface RunRates {
  /** Nanoseconds. */
  widths: [number, number];
  counts: [number[], number[]];
}

/** Returns the events per second in each interval of a run. */
export function perSecond({ widths, counts }: RunRates, run: number): number[] {
  return counts[run].map((of) => (of * 1e9) / Math.max(1, widths[run]));
}

const HEIGHT = 180;

/** Makes the picture. Both runs begin at the left. `data` is read at each update. */
export function ratesOf(data: () => RunRates): Figure {
  let now = data();
  let rates: number[][] = [];
  let until = 1;
  const read = () => {
    now = data();
    rates = [0, 1].map((run) => perSecond(now, run));
    until = Math.max(1, ...rates.map((of, run) => of.length * now.widths[run]));
  };
  read();
  /** Says what a run has at a time. */
  const says = (run: number, at: number) => {
    if (now.counts[run].length === 0) return "no event";
    const interval = Math.floor(at / now.widths[run]);
    const of = now.counts[run][interval];
    return of === undefined ? "the run is over" : `${rate(rates[run][interval])}, ${count(of)} events`;
  };
  const made = figure({
    name: "compared-rates",
    title: "Rates of both runs",
    height: HEIGHT,
    paint(context, width) {
      const box = boxOf(width, HEIGHT);
      const x = timeAxis(0, until, box.left, box.right);
      const y = upAxis(Math.max(1e-9, ...rates.flat()), box.bottom, box.top, (value) => rate(value, "").trim());
      drawAxis(context, x, "bottom", box);
      drawAxis(context, y, "left", box);
      for (const run of [1, 0]) {
        const of = rates[run];
        if (of.length === 0) continue;
        context.beginPath();
        context.moveTo(box.left, box.bottom);
        of.forEach((value, i) => {
          context.lineTo(x.place(i * now.widths[run]), y.place(value));
          context.lineTo(x.place((i + 1) * now.widths[run]), y.place(value));
        });
        context.lineTo(x.place(of.length * now.widths[run]), box.bottom);
        if (run === 1) {
          context.fillStyle = theme().accent;
          context.globalAlpha = 0.55;
          context.fill();
          context.globalAlpha = 1;
        } else {
          context.strokeStyle = theme().text;
          context.lineWidth = 1.25;
          context.stroke();
        }
      }
    },
    hover(x) {
      const { left, right } = boxOf(made.canvas.width, HEIGHT);
      const at = ((x - left) / (right - left)) * until;
      if (!(at >= 0 && at < until)) return null;
      return [`${time(Math.round(at))} after the begin`, `before: ${says(0, at)}`, `now: ${says(1, at)}`];
    },
    table: () =>
      element(
        "div",
        {},
        ...[0, 1].map((run) =>
          table<number>(
            [
              { title: "from", text: (i) => time(i * now.widths[run]), value: (i) => i },
              { title: "events", text: (i) => count(now.counts[run][i]), value: (i) => now.counts[run][i] },
              { title: "per second", text: (i) => rate(rates[run][i]), value: (i) => rates[run][i] },
            ],
            now.counts[run].map((_, i) => i),
            { most: 100, name: `compared-rates-${"ab"[run]}`, caption: ["Before (A)", "Now (B)"][run], sort: -1 },
          ),
        ),
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
