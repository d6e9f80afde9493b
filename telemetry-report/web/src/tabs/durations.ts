/** The tab of durations: each type of spans with its figures, and one of them at large. */

import { type Column, element, replace, table } from "../dom";
import { spanColor } from "../color";
import type { Sampled } from "../document";
import { count, cut, exactAt, exactTime, moment, percent, short, time } from "../format";
import type { Tab, View } from "../view";
import {
  heatNote,
  longestOf,
  lossesOfSpan,
  lossNote,
  note,
  PART_NOTE,
  spansOf,
  threadName,
} from "./common";
import { named } from "./figure";
import { histogram, spark } from "./histogram";
import { type Figures, type SpanRow, spanRows } from "./spans";

/** Marks a figure: `≈` if it is from intervals and not exact, `≥` if events are missing. */
function marked(row: SpanRow, text: string, isSum = false): string {
  if (text === "–") return text;
  const isLeast = isSum && (row.isLeast || row.isLossy);
  const isNear = isSum ? row.isRounded : !row.isExact && !row.isLeast;
  return (isLeast ? "≥ " : "") + (isNear ? "≈ " : "") + text;
}

function timeColumn(
  title: string,
  doc: string,
  of: (row: SpanRow) => number | null,
  isSum = false,
): Column<SpanRow> {
  return {
    title,
    doc,
    text: (row) => marked(row, time(of(row)), isSum),
    full: (row) => exactTime(of(row)),
    value: of,
  };
}

function columns(view: View, choose: (span: number) => void, chosen: () => number): Column<SpanRow>[] {
  const { report } = view;
  return [
    {
      title: "span",
      doc: "A click shows its distribution and its longest spans.",
      text: (row) => cut(row.name, 60),
      full: (row) => report.spans[row.span].doc,
      cell: (row) =>
        element(
          "button",
          {
            type: "button",
            class: "link",
            "aria-pressed": String(row.span === chosen()),
            "data-test": `span-${row.name}`,
            onclick: () => choose(row.span),
          },
          named(spanColor(report, row.span), cut(row.name, 60)),
        ),
    },
    {
      title: "count",
      text: (row) => marked(row, count(row.duration.count), true),
      value: (row) => row.duration.count,
    },
    timeColumn("total", "Sum of the durations", (row) => row.duration.total, true),
    timeColumn("self", "Time in which no later span of the thread was open", (row) => row.self.total, true),
    timeColumn("p50", "Half of the spans are at most this long", (row) => row.duration.p50),
    timeColumn("p99", "99 % of the spans are at most this long", (row) => row.duration.p99),
    {
      ...timeColumn("max", "The longest", (row) => row.duration.max),
      text: (row) => (row.isMaxExact ? time(row.duration.max) : marked(row, time(row.duration.max))),
    },
    {
      title: "distribution",
      doc: "Number of spans by duration, on a log axis",
      text: () => "",
      cell: (row) =>
        spark(
          row.duration.spread,
          spanColor(report, row.span),
          `durations from ${time(row.duration.p50)} (p50) to ${time(row.duration.max)}`,
        ),
    },
    {
      title: "longest",
      text: () => "",
      value: (row) => row.duration.max,
      cell: (row) =>
        row.longest.length === 0
          ? document.createTextNode("–")
          : element(
              "button",
              {
                type: "button",
                class: "link",
                "data-test": `jump-${row.name}`,
                "aria-label": `Show the longest ${cut(row.name, 60)}`,
                onclick: () => view.showSpan(row.longest[0].lane, row.longest[0].index),
              },
              "show →",
            ),
    },
    {
      title: "uncertain",
      doc: "Spans whose begin or end may be among missing events",
      text: (row) => count(row.uncertain),
      value: (row) => row.uncertain ?? row.paired?.uncertain,
    },
    {
      title: "unmatched",
      doc: "Begins without an end, and ends without a begin, in the whole run",
      text: (row) => count(unmatched(row)),
      value: unmatched,
      full: (row) =>
        row.paired
          ? `${count(row.paired.begins_without_end)} begins without end, ` +
            `${count(row.paired.ends_without_begin)} ends without begin`
          : "",
    },
    {
      title: "dropped",
      doc: "Begins that were given up because too many were open, in the whole run",
      text: (row) => count(row.paired?.begins_dropped),
      value: (row) => row.paired?.begins_dropped,
    },
  ];
}

function unmatched({ paired }: SpanRow): number | null {
  return paired ? paired.begins_without_end + paired.ends_without_begin : null;
}

/** Makes the table of the longest spans of a type. */
function longestTable(view: View, row: SpanRow): HTMLElement {
  const { report } = view;
  const lane = ({ lane }: { lane: number }) => report.lanes[lane];
  const shown = row.longest.slice(0, 200);
  const hasKey = report.spans[row.span].key;
  const hasSelf = shown.some((place) => spansOf(lane(place)).self);
  return table(
    [
      {
        title: "duration",
        text: (place) => time(lane(place).spans.duration[place.index]),
        full: (place) => exactTime(lane(place).spans.duration[place.index]),
        value: (place) => lane(place).spans.duration[place.index],
        onclick: (place) => view.showSpan(place.lane, place.index),
      },
      ...(hasSelf
        ? [
            {
              title: "self",
              text: (place: { lane: number; index: number }) =>
                time(spansOf(lane(place)).self?.[place.index]),
              value: (place: { lane: number; index: number }) => spansOf(lane(place)).self?.[place.index],
            },
          ]
        : []),
      {
        title: "begins at",
        text: (place) => moment(spansOf(lane(place)).begin[place.index]),
        full: (place) => exactAt(spansOf(lane(place)).begin[place.index]),
        value: (place) => spansOf(lane(place)).begin[place.index],
      },
      { title: "thread", text: (place) => threadName(report, lane(place).thread) },
      ...(hasKey
        ? [
            {
              title: cut(hasKey, 40),
              text: (place: { lane: number; index: number }) =>
                cut(report.texts[lane(place).spans.key[place.index]] ?? "–", 80),
            },
          ]
        : []),
      { title: "", text: (place) => (lane(place).spans.is_uncertain[place.index] ? "uncertain" : "") },
    ],
    shown,
    {
      name: "longest",
      sort: 0,
      most: 10,
      caption: "Longest spans",
      empty: "No span of this type ends in this range.",
      footnote:
        row.longest.length > shown.length
          ? `The ${count(shown.length)} longest of ${count(row.longest.length)} that the page has.`
          : "",
    },
  );
}

function noteOf(view: View, rows: SpanRow[], chosen: SpanRow | undefined): HTMLElement | null {
  const { report } = view;
  const losses = view.losses();
  const least = rows.some((row) => row.isLeast);
  const heat = rows.some((row) => !row.isExact && !row.isLeast) && (report.durations[0]?.duration.width ?? 0);
  const lossy = report.spans.flatMap((type) => lossesOfSpan(view, type, losses));
  return note(
    !view.isWhole && rows.some((row) => row.isExact) && "Spans that end in the range.",
    !!heat && heatNote(view, heat),
    least &&
      `≥: the range is shorter than the intervals of ${time(report.durations[0].duration.width)}, ` +
        "so only its longest spans are known.",
    chosen && rows.some((row) => row.isPart) && PART_NOTE,
    lossNote([...new Set(lossy)]),
    report.paired.unmatched_count > 0 &&
      `${count(report.paired.unmatched_count)} begins or ends of the whole run have no partner.`,
  );
}

function sampledTable({ samples, spans }: Sampled): HTMLElement {
  const column = (title: string, of: (row: Sampled["spans"][number]) => number, text: (value: number) => string) => ({
    title,
    text: (row: Sampled["spans"][number]) => text(of(row)),
    value: of,
  });
  return table(
    [
      { title: "span", text: (row) => cut(row.span, 100) },
      column("periods", (row) => row.periods, count),
      column("share", (row) => row.share, percent),
      column("self periods", (row) => row.self_periods, count),
      column("self share", (row) => row.self_share, percent),
    ],
    spans,
    {
      name: "sampled",
      most: 30,
      caption: `${count(samples)} samples of threads by the open spans`,
      footnote: "Of the whole run. Self periods are those in which the span was the innermost one.",
    },
  );
}

export const durations: Tab = {
  id: "durations",
  title: "Durations",
  empty: (report) =>
    report.spans.length > 0 || report.paired.spans.length > 0
      ? null
      : "No registry of this run has a span, or no event of one was recorded. " +
        "Add [[span]] with a begin and an end to events.toml.",
  make(root, view) {
    let rows: SpanRow[] = [];
    let chosen = -1;
    const row = () => rows.find((one) => one.span === chosen);
    const choose = (span: number) => {
      chosen = span;
      update();
      root.querySelector<HTMLElement>(`button[aria-pressed="true"]`)?.focus({ preventScroll: true });
    };
    const place = element("div");
    const head = element("h3", { "data-test": "chosen-span" });
    const list = element("div");
    const feet = element("div");
    const empty = () => ({ buckets: [], counts: [], count: 0, sum: 0 });
    const marks = (of: Figures): [string, number | null][] => [
      [`p50 ${time(of.p50)}`, of.p50],
      [`p90 ${time(of.p90)}`, of.p90],
      [`p99 ${time(of.p99)}`, of.p99],
    ];
    const made = (["duration", "self"] as const).map((part) =>
      histogram(
        `${part}-histogram`,
        part === "self" ? "Self time" : "Duration",
        () => {
          const of = row()?.[part];
          return {
            spread: of?.spread ?? empty(),
            unit: "ns",
            color: spanColor(view.report, chosen),
            marked: of ? marks(of) : [],
            numbers: null,
            things: "spans",
          };
        },
        200,
      ),
    );
    const detail = element(
      "div",
      { class: "detail" },
      head,
      element("div", { class: "pair" }, ...made.map((one) => one.node)),
      list,
    );
    const update = () => {
      rows = spanRows(view).filter((one) => one.duration.count > 0 || (view.isWhole && unmatched(one)));
      const total = (of: SpanRow) => of.duration.total ?? 0;
      if (!row()) chosen = [...rows].sort((a, b) => total(b) - total(a))[0]?.span ?? -1;
      replace(
        place,
        table(
          columns(view, choose, () => chosen),
          rows,
          {
            name: "durations",
            sort: 2,
            empty: "No span in this range and filter.",
            most: 30,
            rowTitle: (one) => view.report.spans[one.span].doc,
          },
        ),
      );
      replace(feet, noteOf(view, rows, row()));
      const one = row();
      detail.hidden = !one;
      if (!one) return;
      const type = view.report.spans[one.span];
      replace(
        head,
        cut(type.name, 80),
        type.doc && element("span", { class: "note" }, ` ${cut(type.doc, 200)}`),
      );
      for (const [i, part] of (["duration", "self"] as const).entries()) {
        const of = one[part];
        made[i].update(
          `${count(of.count)} spans of ${cut(type.name, 60)}, total ${time(of.total)}, ` +
            `p50 ${time(of.p50)}, p99 ${time(of.p99)}`,
          `${marked(one, short(of.count), true)} spans · ` +
            `total ${marked(one, time(of.total), true)} · ` +
            `max ${part === "duration" && one.isMaxExact ? time(of.max) : marked(one, time(of.max))}`,
        );
      }
      replace(list, longestTable(view, one));
    };
    longestOf(view.report);
    const { sampled } = view.report;
    root.append(place, feet, detail, ...(sampled ? [sampledTable(sampled)] : []));
    update();
    return { update };
  },
};
