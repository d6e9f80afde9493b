/** What the shell of the page and its tabs know of each other. */

import type { Loss, Ns, Report } from "./document";

export interface Range {
  from: Ns;
  until: Ns;
}

/** Numbers of what is shown, by index in the report; null: all. */
export interface Filter {
  kinds: Set<number> | null;
  events: Set<number> | null;
  threads: Set<number> | null;
  sessions: Set<number> | null;
}

/** A span of a lane, or a row of a sample. */
export type Selected = { lane: number; index: number } | { sample: number; row: number };

export interface View {
  report: Report;
  /** The chosen one, or the whole run. */
  range: Range;
  /** No range and no filter: figures are exact. Otherwise they come from heat maps ("≈"). */
  isWhole: boolean;
  filter: Filter;
  /** What the details show. */
  selected: Selected | null;
  setRange(range: Range | null): void;
  setFilter(filter: Partial<Filter>): void;
  /** Shows a span or an event in the details. */
  select(what: Selected | null): void;
  /** Chooses a range around a span, and selects it. */
  showSpan(lane: number, index: number): void;
  /** Whether the filter has events of this type. */
  has(event: number): boolean;
  hasThread(thread: number): boolean;
  /** Losses in range and filter. Sums that they touch say "≥" and have a footnote. */
  losses(): Loss[];
}

export interface Tab {
  /** Stands in the fragment. */
  id: string;
  title: string;
  /** Why there is nothing to show, or null. */
  empty(report: Report): string | null;
  /** `update` is called after each change of range, filter, selection, theme or width. */
  make(root: HTMLElement, view: View): { update(): void };
}

export const NO_FILTER: Filter = { kinds: null, events: null, threads: null, sessions: null };

/** Returns the whole run as a range that is never empty. */
export function wholeRange(report: Report): Range {
  return { from: 0, until: Math.max(report.duration, 1) };
}

/** Tells whether the range reaches to the end of the run. */
export function endsRun({ report, range }: Pick<View, "report" | "range">): boolean {
  return range.until >= wholeRange(report).until;
}

/** Tells whether a moment is in the range. Its end is not, as with `--until`; the run's end is. */
export function isWithin(view: Pick<View, "report" | "range">, at: number): boolean {
  const { from, until } = view.range;
  return at >= from && (at < until || (at === until && endsRun(view)));
}

export function hasEvent(report: Report, filter: Filter, event: number): boolean {
  const type = report.events[event];
  if (!type) return !filter.events && !filter.kinds;
  return (!filter.events || filter.events.has(event)) && (!filter.kinds || filter.kinds.has(type.kind));
}

export function hasThread(report: Report, filter: Filter, thread: number): boolean {
  const session = report.threads[thread]?.session ?? -1;
  return (
    (!filter.threads || filter.threads.has(thread)) && (!filter.sessions || filter.sessions.has(session))
  );
}

/** Returns the losses that touch the range and the filter. */
export function lossesOf(report: Report, filter: Filter, range: Range): Loss[] {
  const kinds = filter.events
    ? new Set([...filter.events].map((event) => report.events[event]?.kind))
    : null;
  return report.losses.filter(
    (loss) =>
      loss.from <= range.until &&
      loss.until >= range.from &&
      (loss.thread === null || hasThread(report, filter, loss.thread)) &&
      (loss.kind === null ||
        ((!filter.kinds || filter.kinds.has(loss.kind)) && (!kinds || kinds.has(loss.kind)))),
  );
}

/** Returns what stands before a sum that losses touch. */
export function atLeast(losses: readonly Loss[]): string {
  return losses.length > 0 ? "≥ " : "";
}
