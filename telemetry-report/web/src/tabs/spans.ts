/** Figures of a span type: exact where the document has all spans, from heat maps elsewhere. */

import type { Heat, PairedSpans, SpanHeat } from "../document";
import { exactPercentile, percentile, type Spread, spreadOf, spreadOfNumbers } from "../heat";
import { pairedOf } from "../names";
import type { View } from "../view";
import { hasSpan, isRounded, isShown, longestOf, lossesOfSpan, type Place, spansOf } from "./common";

export type Paired = PairedSpans["spans"][number];

/** A distribution and its figures. */
export interface Figures {
  spread: Spread;
  count: number;
  /** Null if it is not known. */
  total: number | null;
  p50: number | null;
  p90: number | null;
  p99: number | null;
  max: number | null;
}

export interface SpanRow {
  span: number;
  name: string;
  /** False: from heat maps. */
  isExact: boolean;
  /** The whole run, with the figures of `spans --json`. */
  paired: Paired | undefined;
  duration: Figures;
  self: Figures;
  /** Counts and sums are of whole intervals, of which the range has only a part. */
  isRounded: boolean;
  /** The longest is in the document, whatever the other figures are from. */
  isMaxExact: boolean;
  uncertain: number | null;
  /** Only the longest are known, so sums are at least this: the range is shorter than an interval. */
  isLeast: boolean;
  /** By length, those in range and filter that the document has. */
  longest: Place[];
  /** True if losses may hide some. */
  isLossy: boolean;
  /** Spans of some threads are left out, because there are no figures of these threads alone. */
  isPart: boolean;
}

/** Tells whether each span of the chosen threads is in the document. */
function isAllThere(view: View): boolean {
  return (
    view.report.lanes.every((lane) => lane.complete_from === 0 || !view.hasThread(lane.thread)) &&
    view.report.lanes.length > 0
  );
}

/**
 * Chooses the heat maps that together have each number of the chosen threads once. `isPart`: some
 * threads have none of their own, so their numbers are left out.
 */
export function heatsOf<H extends { thread: number | null }>(
  view: View,
  all: H[],
): { heats: H[]; isPart: boolean } {
  const { threads, sessions } = view.filter;
  if (!threads && !sessions) return { heats: all, isPart: false };
  return {
    heats: all.filter(({ thread }) => thread !== null && view.hasThread(thread)),
    isPart: all.some(({ thread }) => thread === null),
  };
}

function figures(spread: Spread, at: (q: number) => number | null): Figures {
  const { count, sum } = spread;
  return { spread, count, total: sum, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}

function fromNumbers(numbers: number[]): Figures {
  const sorted = Float64Array.from(numbers).sort();
  return figures(spreadOfNumbers(sorted), (q) => exactPercentile(sorted, q));
}

function fromHeats(view: View, heats: Heat[]): Figures {
  const spread = spreadOf(heats, view.range.from, view.range.until);
  return figures(spread, (q) => percentile(spread, q));
}

const number = (of: unknown) => (of === null || of === undefined ? null : Number(of));

function withSummary({ spread }: Figures, summary: Paired["duration_ns"], total: number): Figures {
  return {
    spread,
    count: summary.count,
    total,
    p50: number(summary.p50),
    p90: number(summary.p90),
    p99: number(summary.p99),
    max: number(summary.max),
  };
}

/** Returns a row for each type of spans that the filter has. */
export function spanRows(view: View): SpanRow[] {
  const { report } = view;
  const isAll = isAllThere(view);
  const losses = view.losses();
  return report.spans.flatMap((type, span): SpanRow[] => {
    if (!hasSpan(view, span)) return [];
    const paired = pairedOf(report, type);
    const longest = longestOf(report)[span].filter((place) => isShown(view, place));
    const common = {
      span,
      name: type.name,
      paired,
      longest,
      isLossy: lossesOfSpan(view, type, losses).length > 0,
    };
    if (isAll && !view.isWhole) {
      const lists = longest.map(({ lane, index }) => ({ of: report.lanes[lane], index }));
      return [
        {
          ...common,
          isExact: true,
          isRounded: false,
          isMaxExact: true,
          isPart: false,
          isLeast: false,
          duration: fromNumbers(lists.map(({ of, index }) => of.spans.duration[index])),
          self: fromNumbers(lists.map(({ of, index }) => spansOf(of).self![index])),
          uncertain: lists.filter(({ of, index }) => of.spans.is_uncertain[index]).length,
        },
      ];
    }
    const { heats, isPart } = heatsOf(
      view,
      report.durations.filter((heat: SpanHeat) => heat.span === span),
    );
    const length = view.range.until - view.range.from;
    const isLeast = !view.isWhole && heats.some((heat) => heat.duration.width > length);
    let duration = fromHeats(
      view,
      heats.map((heat) => heat.duration),
    );
    let self = fromHeats(
      view,
      heats.map((heat) => heat.self),
    );
    const isWhole = view.isWhole && !!paired;
    let isMaxExact = isWhole;
    if (isWhole) {
      duration = withSummary(duration, paired.duration_ns, paired.total_ns);
      self = withSummary(self, paired.self_ns, paired.total_self_ns);
    } else if (longest.length > 0) {
      // The longest span is in the document if all at least as long are.
      const first = longest[0];
      const length = report.lanes[first.lane].spans.duration[first.index];
      const least = Math.max(
        ...report.lanes.filter((lane) => view.hasThread(lane.thread)).map((lane) => lane.complete_from),
      );
      isMaxExact = length >= least;
      if (isMaxExact) duration.max = length;
    }
    if (isLeast) {
      // Figures of a whole interval would be many times those of the range.
      const known = longest.map(({ lane, index }) => report.lanes[lane].spans.duration[index]);
      const unknown = { p50: null, p90: null, p99: null };
      duration = { ...fromNumbers(known), ...unknown, max: isMaxExact ? duration.max : null };
      self = { ...fromNumbers([]), ...unknown, count: known.length, total: null, max: null };
    }
    return [
      {
        ...common,
        isExact: isWhole,
        isRounded: !isWhole && !isLeast && heats.some((heat) => isRounded(view, heat.duration.width)),
        isMaxExact,
        isPart,
        isLeast,
        duration,
        self,
        uncertain: isWhole ? paired.uncertain : null,
      },
    ];
  });
}
