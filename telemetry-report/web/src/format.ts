/** Numbers, times and texts as people read them. */

import type { Whole } from "./document";

const UNITS: [number, string][] = [
  [1, "ns"],
  [1e3, "µs"],
  [1e6, "ms"],
  [1e9, "s"],
  [6e10, "min"],
  [3.6e12, "h"],
  [8.64e13, "days"],
];

/** Returns a number with three significant digits, and commas in a long whole part. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 999.5) return commas(Math.round(value));
  if (size > 0 && size < 0.001) return value.toExponential(2);
  const text = size === 0 ? "0" : value.toPrecision(3);
  return text.includes("e") ? String(Number(text)) : text;
}

/** Returns whole digits with commas. */
export function commas(value: Whole): string {
  const text = typeof value === "number" ? wholeDigits(value) : value;
  return text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

function wholeDigits(value: number): string {
  if (Number.isSafeInteger(value)) return String(value);
  return Number.isFinite(value) ? BigInt(Math.round(value)).toString() : String(value);
}

/** Returns a duration with three significant digits: `1.23 ms`. */
export function time(ns: Whole | null | undefined): string {
  if (ns === null || ns === undefined) return "–";
  const value = Number(ns);
  if (!Number.isFinite(value)) return String(ns);
  if (value === 0) return "0 s";
  if (Math.abs(value) < 999.5) {
    return `${Number.isInteger(value) ? value : digits(value)} ns`;
  }
  const [divisor, unit] = timeUnit(Math.abs(value));
  return `${digits(value / divisor)} ${unit}`;
}

/** Returns the divisor and name of the unit in which a duration is read. Minutes begin at 10. */
function timeUnit(size: number): [number, string] {
  let at = 0;
  while (at < 3 && size >= UNITS[at][0] * 999.5) at++;
  if (size >= 6e11) at = size >= 2 * 8.64e13 ? 6 : size >= 2 * 3.6e12 ? 5 : 4;
  return UNITS[at];
}

/** Returns a duration with all its nanoseconds, for titles and tables. */
export function exactTime(ns: Whole | null | undefined): string {
  return ns === null || ns === undefined ? "–" : `${commas(ns)} ns`;
}

/** The moment of the page's axis that is shown as zero. */
let zero = 0;

/** Sets the moment that is shown as zero: the session's start, as in `telemetry print`. */
export function setZero(at: number): void {
  zero = at;
}

/** Returns a moment as it is shown, in nanoseconds. */
export function shown(at: number): number {
  return at - zero;
}

/** Returns the moment that is shown like this. */
export function unshown(ns: number): number {
  return ns + zero;
}

/** Returns a moment of the page's axis with three significant digits. */
export function moment(at: number): string {
  return time(shown(at));
}

/** Returns a moment of the page's axis with all its nanoseconds. */
export function exactAt(at: number): string {
  return exactTime(shown(at));
}

/** Returns a count with commas. */
export function count(value: Whole | null | undefined): string {
  return value === null || value === undefined ? "–" : commas(value);
}

/** Returns a count with three significant digits: `56.7 M`. */
export function short(value: number): string {
  const size = Math.abs(value);
  const scale = [1e12, 1e9, 1e6, 1e4].find((least) => size >= (least === 1e4 ? least : least * 0.9995));
  if (scale) {
    const unit = { 1e12: "T", 1e9: "G", 1e6: "M", 1e4: "k" }[scale];
    return `${digits(value / (scale === 1e4 ? 1e3 : scale))} ${unit}`;
  }
  return Number.isInteger(value) ? commas(value) : digits(value);
}

/** Returns a rate by the second, or by a longer time if it is low: `20.0 events/min`. */
export function rate(perSecond: number, what = "events"): string {
  const times: [number, string][] = [
    [1, "s"],
    [60, "min"],
    [3600, "h"],
    [86_400, "day"],
  ];
  const [scale, unit] = times.find(([scale]) => perSecond * scale >= 1) ?? times[perSecond > 0 ? 3 : 0];
  return `${short(perSecond * scale)} ${what}/${unit}`.replace(" /", "/");
}

/** Returns a range of time with as many digits as its length needs: `1.200–1.222 s`. */
export function between(from: number, until: number): string {
  if (!(until > from)) return `at ${moment(from)}`;
  [from, until] = [shown(from), shown(until)];
  const [divisor, unit] = timeUnit(Math.max(Math.abs(from), Math.abs(until)));
  const fraction = Math.max(0, Math.min(12, 1 - Math.floor(Math.log10((until - from) / divisor))));
  const text = (at: number) => {
    const [whole, rest] = (at / divisor).toFixed(unit === "ns" ? 0 : fraction).split(".");
    return commas(whole) + (rest ? `.${rest}` : "");
  };
  return `${text(from)}–${text(until)} ${unit}`;
}

/** Returns a number of bytes: `1.50 MiB`. */
export function bytes(value: Whole | null | undefined): string {
  if (value === null || value === undefined) return "–";
  let size = Number(value);
  if (!Number.isFinite(size)) return String(value);
  let at = 0;
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
  while (Math.abs(size) >= 1024 && at < 5) {
    size /= 1024;
    at++;
  }
  return at === 0 ? `${commas(size)} ${size === 1 ? "byte" : "bytes"}` : `${digits(size)} ${units[at]}`;
}

/** Returns a number with its unit from the registry, scaled where the unit is of time or bytes. */
export function quantity(value: Whole | null | undefined, unit: string): string {
  if (value === null || value === undefined) return "–";
  const number = Number(value);
  if (Number.isFinite(number)) {
    const scale = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9 }[unit];
    if (scale) return time(number * scale);
    if (unit === "bytes" || unit === "B" || unit === "byte") return bytes(value);
  }
  const text = typeof value === "number" && !Number.isInteger(value) ? digits(value) : commas(value);
  return unit ? `${text} ${unit}` : text;
}

/** Returns a share as a percentage. */
export function percent(share: number): string {
  if (!Number.isFinite(share)) return "–";
  const value = share * 100;
  return `${value === 0 || value === 100 ? value : value < 0.01 ? "< 0.01" : digits(value)} %`;
}

// Also what reverses text, hides it, or breaks lines: a name must not change how its row reads.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]/gu;

/** Returns text whose control characters are visible: `\n`, `\u{1b}`. */
export function escape(text: string): string {
  return text.replace(CONTROL, (c) => {
    const named = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0" }[c];
    return named ?? `\\u{${c.codePointAt(0)!.toString(16)}}`;
  });
}

/** Returns text that is fit to be shown: escaped, and cut with its length if it is long. */
export function cut(text: string, most = 200): string {
  if (text.length <= most) return escape(text);
  return `${escape(text.slice(0, most))}… (${commas(text.length)} characters)`;
}

/** Returns the first letters of a name, escaped, where there is little space. */
export function brief(text: string, most = 24): string {
  return text.length <= most ? escape(text) : `${escape(text.slice(0, most - 1))}…`;
}

/** Returns a value of a parameter as text; see "An event" in docs/json.md. */
export function value(of: unknown, unit = ""): string {
  if (of === null || of === undefined) return "–";
  if (typeof of === "number") return quantity(of, unit);
  if (typeof of === "string") return /^-?\d+$/.test(of) && unit ? quantity(of, unit) : cut(of);
  if (typeof of === "boolean") return String(of);
  return cut(JSON.stringify(of));
}

/** Returns marks of a time axis: at most `most`, at round numbers, with labels of one unit. */
export function ticks(from: number, until: number, most: number): { at: number; label: string }[] {
  const length = until - from;
  if (!(length > 0) || most < 1) return [];
  [from, until] = [shown(from), shown(until)];
  // A nanosecond is the least that differs.
  const least = Math.max(length / most, 1);
  const [divisor, unit] = timeUnit(Math.max(Math.abs(from), Math.abs(until), 1));
  let step = 10 ** Math.ceil(Math.log10(least / divisor)) * divisor;
  for (const part of [5, 4, 2]) {
    if (step / part >= least) {
      step /= part;
      break;
    }
  }
  // Neighbors differ in the last digit, however far the axis is zoomed in.
  const fraction = Math.max(0, Math.min(12, -Math.floor(Math.log10(step / divisor) + 1e-9)));
  const more = (step / divisor / 10 ** -fraction) % 1 > 1e-6 ? 1 : 0;
  const all = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= until && all.length <= most + 1; i++) {
    const [whole, rest] = ((i * step) / divisor).toFixed(fraction + more).split(".");
    all.push({ at: unshown(i * step), label: `${commas(whole)}${rest ? `.${rest}` : ""} ${unit}` });
  }
  return all;
}

/** Returns round marks from 0 to `most` for an axis of numbers. */
export function marks(most: number, number: number): number[] {
  // A part of the least numbers would be zero.
  if (!(most > 1e-300 && most < Infinity)) return [0];
  const least = most / number;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].find((part) => part * power >= least)! * power;
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}

/** Before this, nanoseconds since 1970, a clock counted from the program's start, and knew no date. */
const FIRST_DATE = 31_536_000_000_000_000n;

/** Returns a moment of the page's axis exactly, and in UTC if its date is known. */
export function exactMoment(origin: string, at: number): string {
  const date = utc(origin, at);
  return exactAt(at) + (date && `; ${date} UTC`);
}

/**
 * Returns a moment of the page's axis in UTC, with its nanoseconds: `2026-11-22 12:04:31.000000001`. Empty if
 * the date is not known.
 */
export function utc(origin: string, at: number): string {
  try {
    const ns = BigInt(origin) + BigInt(Math.round(at));
    if (ns < FIRST_DATE) return "";
    const rest = ((ns % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
    const text = new Date(Number((ns - rest) / 1_000_000n)).toISOString();
    return `${text.slice(0, 10)} ${text.slice(11, 19)}.${String(rest).padStart(9, "0")}`;
  } catch {
    return "";
  }
}
