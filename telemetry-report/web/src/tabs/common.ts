/** What several tabs need: the spans of the lanes, what losses touch, and notes. */

import type { Lane, Loss, Ns, Report, SpanType } from "../document";
import { element } from "../dom";
import { count, cut, time } from "../format";
import { endsRun, isWithin, type View } from "../view";

/** Spans of a lane with absolute times, and their self times if all spans are in the lane. */
export interface Spans {
  begin: Float64Array;
  self: Float64Array | null;
}

const known = new WeakMap<Lane, Spans>();

export function spansOf(lane: Lane): Spans {
  let spans = known.get(lane);
  if (!spans) {
    const begin = sums(lane.spans.begin);
    spans = { begin, self: lane.complete_from === 0 ? selfTimes(begin, lane.spans.duration) : null };
    known.set(lane, spans);
  }
  return spans;
}

/** Returns the sums of differences. */
export function sums(differences: number[]): Float64Array {
  const all = new Float64Array(differences.length);
  let sum = 0;
  for (let i = 0; i < all.length; i++) all[i] = sum += differences[i];
  return all;
}

/** Returns the parts of spans in which no later one was open. */
export function selfTimes(begin: ArrayLike<number>, duration: ArrayLike<number>): Float64Array {
  const n = begin.length;
  const self = new Float64Array(n);
  const isEnded = new Uint8Array(n);
  const end = (i: number) => begin[i] + duration[i];
  const ends = Uint32Array.from({ length: n }, (_, i) => i).sort((a, b) => end(a) - end(b) || b - a);
  const open: number[] = [];
  let now = 0;
  const pass = (to: number) => {
    if (open.length > 0) self[open[open.length - 1]] += to - now;
    now = to;
  };
  for (let b = 0, e = 0; e < n;) {
    if (b < n && begin[b] <= end(ends[e])) {
      pass(begin[b]);
      open.push(b++);
    } else {
      pass(end(ends[e]));
      isEnded[ends[e++]] = 1;
      while (open.length > 0 && isEnded[open[open.length - 1]]) open.pop();
    }
  }
  return self;
}

/** A span in a lane. */
export interface Place {
  lane: number;
  index: number;
}

const longest = new WeakMap<Report, Place[][]>();

/** Returns the spans of each type that the document has, the longest first. */
export function longestOf(report: Report): Place[][] {
  let all = longest.get(report);
  if (!all) {
    all = report.spans.map((): Place[] => []);
    report.lanes.forEach((lane, at) =>
      lane.spans.span.forEach((span, index) => all![span]?.push({ lane: at, index })),
    );
    const duration = ({ lane, index }: Place) => report.lanes[lane].spans.duration[index];
    for (const places of all) places.sort((a, b) => duration(b) - duration(a));
    longest.set(report, all);
  }
  return all;
}

/** Stands below figures of a filter of threads from which some are left out. */
export const PART_NOTE =
  "There are more threads than figures of single ones: what is of the others alone is left out.";

/** Tells whether the span ends in the range and belongs to the filter. Heat maps count it there, too. */
export function isShown(view: View, { lane, index }: Place): boolean {
  const of = view.report.lanes[lane];
  const end = spansOf(of).begin[index] + of.spans.duration[index];
  return (
    view.hasThread(of.thread) &&
    isWithin(view, end) &&
    hasSpan(view, of.spans.span[index])
  );
}

/** Tells whether the filter has spans of this type. */
export function hasSpan(view: View, span: number): boolean {
  const type = view.report.spans[span];
  return !type || view.has(type.begin) || view.has(type.end);
}

/** Returns those losses that may hide a begin or end of the span. */
export function lossesOfSpan(view: View, type: SpanType, losses: readonly Loss[]): Loss[] {
  const kinds = [type.begin, type.end].map((event) => view.report.events[event]?.kind);
  return losses.filter((loss) => loss.kind === null || kinds.includes(loss.kind));
}

/** Returns the causes of losses, with their numbers of events as far as they are known. */
function causesOf(losses: readonly Loss[]): string[] {
  const found = new Map<string, number>();
  const add = (cause: string, events: number) => found.set(cause, (found.get(cause) ?? 0) + events);
  for (const { cause, events } of losses) {
    // One loss with several causes has a number before each: `7 pool full, 1,200 reentrant`.
    const parts = cause.split(", ").map((part) => /^([\d,]+) (.+)$/s.exec(part));
    if (parts.includes(null)) add(cause, events ?? 0);
    else for (const part of parts) add(part![2], Number(part![1].replace(/,/g, "")));
  }
  return [...found].map(([cause, events]) => (events > 0 ? `${count(events)} ` : "") + cut(cause, 60));
}

/** Returns the sentences about losses that stand below what they touch: figures with `≥`, or others. */
export function lossNote(losses: readonly Loss[], hasMarks = true): string {
  if (losses.length === 0) return "";
  const known = losses.reduce((sum, loss) => sum + (loss.events ?? 0), 0);
  const causes = causesOf(losses);
  const part = known > 0 ? `${count(known)} events` : "Events";
  const why = causes.slice(0, 3).join("; ") + (causes.length > 3 ? "; …" : "");
  const marks = hasMarks ? " Figures with ≥ are at least what stands here." : "";
  return `${part} of this range are missing (${why}).${marks}`;
}

/** Makes a paragraph below a picture or table; null for an empty one. */
export function note(...sentences: (string | false | null | undefined)[]): HTMLElement | null {
  const text = sentences.filter(Boolean).join(" ");
  return text ? element("p", { class: "note" }, text) : null;
}

/** Tells whether a range has parts of intervals: then their counts and sums are those of a longer range. */
export function isRounded(view: View, width: Ns): boolean {
  const { from, until } = view.range;
  return from % width !== 0 || (until % width !== 0 && !endsRun(view));
}

/** Returns the sentences that say how exact figures from intervals are: percentiles, and counts and sums. */
export function heatNote(view: View, width: Ns): string {
  const sums = isRounded(view, width)
    ? `Counts and sums with ≈ are those of all intervals of ${time(width)} that the range touches.`
    : "Counts and sums are exact.";
  return `Percentiles with ≈ are within 6 %. ${sums}`;
}

/** Returns the name of a thread, with its session where there are several. */
export function threadName(report: Report, thread: number): string {
  const of = report.threads[thread];
  if (!of) return "–";
  const session = report.sessions.length > 1 && report.sessions[of.session];
  return cut(of.name, 60) + (session ? ` · ${cut(session.program, 30)} ${session.pid ?? session.id}` : "");
}

/** Makes a row of buttons of which one is pressed. */
export function choice<T extends string>(
  label: string,
  name: string,
  all: [T, string][],
  chosen: () => T,
  choose: (of: T) => void,
): { node: HTMLElement; update(): void } {
  const buttons = all.map(([of, text]) =>
    element(
      "button",
      {
        type: "button",
        "data-test": `${name}-${of}`,
        onclick: () => choose(of),
      },
      text,
    ),
  );
  const node = element("span", { class: "choice", role: "group", "aria-label": label }, ...buttons);
  const update = () =>
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(all[i][0] === chosen())));
  update();
  return { node, update };
}

/** Makes a select of numbered names. */
export function selection(
  label: string,
  name: string,
  all: [number, string][],
  chosen: number,
  choose: (of: number) => void,
): HTMLElement {
  const select = element(
    "select",
    {
      "data-test": name,
      "aria-label": label,
      onchange: () => choose(Number(select.value)),
    },
    ...all.map(([of, text]) => element("option", { value: of, selected: of === chosen }, text)),
  );
  return element("label", { class: "selection" }, `${label} `, select);
}
