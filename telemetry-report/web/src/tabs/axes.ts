/** Axes of the pictures: from numbers to pixels, with round marks. */

import type { Bar } from "../heat";
import { FONT, theme } from "../canvas";
import { bytes, count, digits, marks, quantity, ticks, time } from "../format";

export interface Mark {
  at: number;
  label: string;
}

export interface Axis {
  /** Returns the pixel of a number. */
  place(value: number): number;
  /** Returns the number at a pixel. */
  value(pixel: number): number;
  marks: Mark[];
}

/** Returns text of a number without zeros after the point: `1 µs`, not `1.00 µs`. */
export function tidy(text: string): string {
  return text.replace(/(\.\d*?)0+(?!\d)/, "$1").replace(/\.(?!\d)/, "");
}

function straight(from: number, until: number, a: number, b: number, all: Mark[]): Axis {
  const scale = (b - a) / (until - from || 1);
  return {
    place: (value) => a + (value - from) * scale,
    value: (pixel) => from + (pixel - a) / scale,
    marks: all,
  };
}

/** Makes an axis of moments. */
export function timeAxis(from: number, until: number, a: number, b: number): Axis {
  return straight(from, until, a, b, ticks(from, until, Math.max(1, Math.abs(b - a) / 110)));
}

/** Makes an axis from `least`, or from 0, up to `most`. Its marks are round in KiB, MiB and so on if `isBinary`. */
export function upAxis(
  most: number,
  a: number,
  b: number,
  label: (value: number) => string,
  isBinary = false,
  least = 0,
): Axis {
  least = Math.min(least, 0);
  if (least === 0) most ||= 1;
  const size = Math.max(most, -least);
  const scale = isBinary ? 1024 ** Math.max(0, Math.floor(Math.log(size) / Math.log(1024))) : 1;
  const number = Math.max(1, (Math.abs(b - a) / 36) * (size / (most - least)));
  const up = marks(size / scale, number).map((at) => at * scale);
  const down = up.filter((at) => at > 0 && at <= -least).map((at) => -at);
  const all = [...down.reverse(), ...up.filter((at) => at <= most)];
  return straight(
    least,
    most,
    a,
    b,
    all.map((at) => ({ at, label: tidy(label(at)) })),
  );
}

/** Returns round sizes from `low` to `high` on a log axis: the finest steps of which `most` suffice. */
export function roundSizes(low: number, high: number, most: number, isBinary: boolean): number[] {
  const steps: [number, number[]][] = isBinary
    ? [
        [2, [1]],
        [4, [1]],
        [32, [1]],
        [1024, [1]],
        [2 ** 20, [1]],
      ]
    : [
        [10, [1, 2, 5]],
        [10, [1]],
        [100, [1]],
        [1e3, [1]],
        [1e6, [1]],
        [1e12, [1]],
        [1e48, [1]],
      ];
  let all: number[] = [];
  for (const [base, parts] of steps) {
    all = [];
    const first = Math.floor(Math.log(low) / Math.log(base) + 1e-9);
    for (let power = first; base ** power <= high && all.length <= 200; power++) {
      for (const part of parts) {
        const size = base ** power * part;
        if (size >= low * (1 - 1e-9) && size <= high * (1 + 1e-9)) all.push(size);
      }
    }
    if (all.length <= most) break;
  }
  if (all.length > 1) return all;
  // So short a part of the axis is nearly straight.
  const [step = 1] = marks(high - low, most).slice(1);
  all = [];
  for (let at = Math.ceil(low / step) * step; at <= high && all.length <= most; at += step) all.push(at);
  return all;
}

/** Makes a log axis of sizes above 0. Marks have `space` pixels between them. */
export function logAxis(
  low: number,
  high: number,
  a: number,
  b: number,
  label: (value: number) => string,
  isBinary = false,
  space = 72,
): Axis {
  const most = Math.max(2, Math.abs(b - a) / space);
  const inner = straight(Math.log(low), Math.log(high), a, b, []);
  return {
    place: (value) => inner.place(Math.log(Math.max(value, low))),
    value: (pixel) => Math.exp(inner.value(pixel)),
    marks: roundSizes(low, high, most, isBinary).map((at) => ({ at, label: tidy(label(at)) })),
  };
}

/** Makes an axis on which bars of a histogram are equally wide. It has zero and numbers below it, too. */
export function barAxis(
  bars: Bar[],
  a: number,
  b: number,
  label: (value: number) => string,
  isBinary: boolean,
  space = 72,
): Axis {
  const step = (b - a) / Math.max(1, bars.length);
  const place = (value: number) => {
    // The edge of a bar far from zero belongs to the next one. Zero is a bar of its own.
    const at = bars.findIndex(
      ({ low, high }) => value < high || (value === high && (high < 0 || low === high)),
    );
    if (at < 0) return b;
    const { low, high } = bars[at];
    if (value <= low) return a + step * (low === high ? at + 0.5 : at);
    return a + step * (at + Math.log(value / low) / Math.log(high / low));
  };
  const most = Math.max(2, Math.abs(b - a) / space);
  const above = bars.filter((bar) => bar.low > 0);
  const below = bars.filter((bar) => bar.high < 0);
  const share = (side: Bar[]) => (most * side.length) / Math.max(1, bars.length);
  const sizes =
    above.length > 0
      ? roundSizes(above[0].low, above[above.length - 1].high, Math.max(2, share(above)), isBinary)
      : [];
  const minus =
    below.length > 0
      ? roundSizes(-below[below.length - 1].high, -below[0].low, Math.max(1, share(below)), isBinary)
      : [];
  const all = [
    ...minus.reverse().map((size) => -size),
    ...(bars.some((bar) => bar.low === bar.high) ? [0] : []),
    ...sizes,
  ];
  return {
    place,
    value: (pixel) => {
      const at = Math.min(bars.length - 1, Math.max(0, Math.floor((pixel - a) / step)));
      return bars[at]?.low ?? 0;
    },
    marks: all.map((at) => ({ at, label: tidy(label(at)) })),
  };
}

/** Draws the axis below or at the left, with its lines over the plot, and leaves out labels that collide. */
export function drawAxis(
  context: CanvasRenderingContext2D,
  axis: Axis,
  side: "bottom" | "left",
  box: { left: number; right: number; top: number; bottom: number },
  hasLines = true,
): void {
  context.font = FONT;
  context.lineWidth = 1;
  let last = -Infinity;
  for (const { at, label } of axis.marks) {
    const pixel = Math.round(axis.place(at)) + 0.5;
    context.strokeStyle = theme().grid;
    if (hasLines) {
      context.beginPath();
      if (side === "bottom") {
        context.moveTo(pixel, box.top);
        context.lineTo(pixel, box.bottom);
      } else {
        context.moveTo(box.left, pixel);
        context.lineTo(box.right, pixel);
      }
      context.stroke();
    }
    context.fillStyle = theme().faint;
    if (side === "bottom") {
      const width = context.measureText(label).width;
      const left = Math.max(0, Math.min(pixel - width / 2, context.canvas.clientWidth - width));
      if (left < last + 8) continue;
      context.textAlign = "left";
      context.fillText(label, left, box.bottom + 11);
      last = left + width;
    } else {
      context.textAlign = "right";
      context.fillText(label, box.left - 6, Math.max(box.top + 6, Math.min(pixel, box.bottom - 2)));
    }
  }
  context.textAlign = "left";
}

/** Tells whether sizes in this unit are read in powers of two. */
export function isBinary(unit: string): boolean {
  return /^(bytes?|B)$/.test(unit);
}

/** Returns the sizes of a bar as text: `16 bytes to 32 bytes`. */
export function barText({ low, high }: Bar, unit: string): string {
  const text = (value: number) => tidy(reader(unit)(value));
  return low === high ? text(low) : `${text(low)} to ${text(high)}`;
}

/** Returns how numbers of this unit are read, as on an axis. */
export function reader(unit: string): (value: number) => string {
  // Powers of ten stay round: `1,000 s`, not `16.7 min`.
  if (unit === "ns") return (ns) => (ns >= 6e11 && ns % 1e10 === 0 ? `${count(ns / 1e9)} s` : time(ns));
  if (isBinary(unit)) return bytes;
  return (value) => {
    if (Math.abs(value) >= 1e15 || (value !== 0 && Math.abs(value) < 1e-3)) {
      return `${value.toExponential(2)}${unit ? ` ${unit}` : ""}`;
    }
    return Number.isInteger(value) ? quantity(value, unit) : `${digits(value)}${unit ? ` ${unit}` : ""}`;
  };
}
