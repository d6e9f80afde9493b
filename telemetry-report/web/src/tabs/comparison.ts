/** The tab that shows the run before beside this one: tables of `telemetry diff`, and durations of both. */

import type { Against, Pair, Report, Tested } from "../document";
import { type Column, element, replace, table } from "../dom";
import { count, cut, percent, rate, time } from "../format";
import type { Tab } from "../view";
import { selection } from "./common";
import { overlay, overlaySpark } from "./overlay";
import { ratesOf, type RunRates } from "./overtime";

export type SpanPair = Against["spans"][number] & { at: number };
type EventPair = Against["events"][number];
type GroupPair = Against["groups"][number];
type Text = (value: number) => string;

const number = (value: Pair["a"]) => (value === null || value === undefined ? null : Number(value));

/** Returns a figure of both runs: `255 µs → 318 µs`. */
export function both({ a, b }: Pair, text: Text): string {
  const of = (value: Pair["a"]) => (number(value) === null ? "–" : text(Number(value)));
  return `${of(a)} → ${of(b)}`;
}

/** Returns a change with its sign: `+24.7 %`. What has no figure before, or none now, has no change. */
export function change({ change }: Pair): string {
  if (change === null || !Number.isFinite(change)) return "–";
  const size = Math.abs(change);
  if (size >= 10) return `× ${count(Math.round(change + 1))}`;
  return `${change > 0 ? "+" : change < 0 ? "−" : ""}${(size * 100).toFixed(1)} %`;
}

/** Says how many differences are more than noise. */
export function summary({ events, spans, tests, level }: Against): string {
  const stars = [...events, ...spans].filter((one) => one.significant).length;
  if (tests === 0) return "No test: the runs are too short to say which differences are more than noise.";
  const are = stars === 1 ? "difference is" : "differences are";
  return (
    `${stars === 0 ? "No" : count(stars)} ${stars === 0 ? "difference is" : are} more than noise ` +
    `(★), by ${count(tests)} ${tests === 1 ? "test" : "tests"}. A star needs a probability below ` +
    `${percent(level)}, and a change of at least 1 %. The tests take values as independent.`
  );
}

/** Returns the columns of a figure: both runs, and the change. */
function figure<Row>(title: string, doc: string, of: (row: Row) => Pair, text: Text, exact: Text): Column<Row>[] {
  return [
    {
      title,
      doc: `${doc}: before → now`,
      text: (row) => both(of(row), text),
      full: (row) => both(of(row), exact),
      value: (row) => number(of(row).b) ?? number(of(row).a),
    },
    { title: "change", doc: `${doc}: change`, text: (row) => change(of(row)), value: (row) => of(row).change },
  ];
}

const exactNs: Text = (value) => `${count(Math.round(value))} ns`;
const exactNumber: Text = (value) => count(Number.isInteger(value) ? value : Math.round(value * 1000) / 1000);
const number3: Text = (value) => count(Math.round(value));
const perSecond: Text = (value) => rate(value, "").replace(/^(\S+) (\S*)\//, "$1 $2/");

function star<Row extends Tested>(): Column<Row> {
  return {
    title: "noise",
    doc: "★: the difference is more than noise, as chance alone rarely makes it",
    text: (row) => (row.significant ? "★ more" : row.probability === null ? "too few" : "within"),
    full: (row) =>
      row.probability === null
        ? "Too few values for a test"
        : `Chance makes such a difference with a probability of ${row.probability.toPrecision(2)}`,
    value: (row) => (row.significant ? 1 : 0),
  };
}

/** Returns the names of rows. Where several registries have a name, the registry is in front. */
function namesOf<Row extends { registry: string }>(of: (row: Row) => string, rows: Row[]): (row: Row) => string {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(of(row), (counts.get(of(row)) ?? 0) + 1);
  return (row) => cut(counts.get(of(row))! > 1 ? `${row.registry}:${of(row)}` : of(row), 60);
}

/** Names the rows. Where several registries have a name, the registry is in front. */
function named<Row extends { registry: string }>(title: string, of: (row: Row) => string, rows: Row[]): Column<Row> {
  return {
    title,
    text: namesOf(of, rows),
    full: (row) => `registry ${cut(row.registry, 80)}`,
  };
}

function leftOut(number: number, what: string): string {
  return number > 0 ? `${count(number)} more ${what} are not on the page.` : "";
}

/** Makes the table of what ran. */
function runsTable({ names, runs }: Against): HTMLElement {
  return table(
    [
      { title: "run", text: (at) => ["before (A)", "now (B)"][at] },
      { title: "input", text: (at) => cut(names[at], 120) },
      { title: "events", text: (at) => count(runs[at].events), value: (at) => runs[at].events },
      {
        title: "length",
        text: (at) => (runs[at].seconds === null ? "–" : time(Math.round(runs[at].seconds! * 1e9))),
        value: (at) => runs[at].seconds,
      },
    ],
    [0, 1],
    { name: "compared-runs", caption: "Runs", sort: -1 },
  );
}

/** Makes the verdicts on both runs, as the command prints them. */
function verdicts({ says, runs }: Against): HTMLElement {
  const lines = [0, 1].map((at) => {
    const isGood = runs[at].completeness.complete;
    const text = `${["A", "B"][at]}: ${isGood ? "✔" : "✖"} ${cut(says[at].join("; "), 600)}`;
    return element("p", { class: isGood ? "good" : "loss" }, text);
  });
  return element("div", { "data-test": "compared-verdicts" }, ...lines);
}

function spansTable(against: Against, rows: SpanPair[]): HTMLElement {
  return table<SpanPair>(
    [
      named("span", (row) => row.span, rows),
      star(),
      {
        title: "distribution",
        doc: "Number of spans by duration, on a log axis: bars now, the line before",
        text: () => "",
        cell: (row) => overlaySpark(against.durations[row.at], `durations of ${cut(row.span, 60)}, before and now`),
      },
      ...figure<SpanPair>("p50", "Half of the spans are at most this long", (row) => row.p50_ns, time, exactNs),
      ...figure<SpanPair>("p90", "90 % of the spans are at most this long", (row) => row.p90_ns, time, exactNs),
      ...figure<SpanPair>("p99", "99 % of the spans are at most this long", (row) => row.p99_ns, time, exactNs),
      ...figure<SpanPair>("max", "The longest span", (row) => row.max_ns, time, exactNs),
      ...figure<SpanPair>("total", "Sum of the durations", (row) => row.total_ns, time, exactNs),
      ...figure<SpanPair>("count", "Number of spans that ended", (row) => row.count, number3, exactNumber),
    ],
    rows,
    {
      name: "compared-spans",
      caption: "Spans",
      empty: "No span ended in either run.",
      footnote: leftOut(against.left_out.spans, "spans"),
    },
  );
}

function eventsTable(against: Against): HTMLElement {
  return table<EventPair>(
    [
      named("event", (row) => row.event, against.events),
      star(),
      ...figure<EventPair>("per second", "Events per second of the run", (row) => row.per_second, perSecond, exactNumber),
      ...figure<EventPair>("count", "Number of events", (row) => row.count, number3, exactNumber),
      ...figure<EventPair>("bytes", "Bytes in the input", (row) => row.bytes, number3, exactNumber),
    ],
    against.events,
    {
      name: "compared-events",
      caption: "Events",
      empty: "There is no event in either run.",
      footnote: leftOut(against.left_out.events, "types of events"),
    },
  );
}

/** Makes the picture of rates, and what chooses the event. */
function ratesPart({ events, counts, width_ns }: Against): HTMLElement[] {
  if (counts.every((of) => of.length === 0)) return [];
  const name = namesOf((row: EventPair) => row.event, events);
  let chosen = -1;
  const picture = ratesOf(() => ({ widths: width_ns, counts: events[chosen]?.counts ?? counts }) satisfies RunRates);
  const update = () => {
    const row = events[chosen];
    const mean = row ? `, per second ${both(row.per_second, perSecond)}` : "";
    picture.update(
      `Rates of ${row ? name(row) : "all events"}${mean}`,
      element("span", {}, "filled: now (B); line: before (A)"),
    );
  };
  const choose = (at: number) => {
    chosen = at;
    update();
  };
  const names = events.map((row, at): [number, string] => [at, (row.significant ? "★ " : "") + name(row)]);
  const picker = element("div", { class: "controls" });
  replace(picker, selection("event", "compared-event", [[-1, "all events"], ...names], chosen, choose));
  update();
  return [picker, picture.node];
}

function groupsTable(against: Against): HTMLElement | null {
  if (against.by.length === 0) return null;
  const { by, groups, dropped_groups: dropped, left_out } = against;
  const notes = dropped.map((of, at) => of > 0 && `${count(of)} rare groups of run ${"AB"[at]} were dropped.`);
  return table<GroupPair>(
    [
      ...by.map((name, at): Column<GroupPair> => ({ title: cut(name, 40), text: (row) => cut(row.values[at], 80) })),
      ...figure<GroupPair>("events", "Number of events", (row) => row.events, number3, exactNumber),
      ...(groups[0]?.sums ?? []).flatMap(({ param }, at) =>
        figure<GroupPair>(`sum of ${cut(param, 40)}`, "Sum", (row) => row.sums[at], number3, exactNumber),
      ),
    ],
    groups,
    {
      name: "compared-groups",
      caption: `Groups by ${cut(by.join(", "), 80)}`,
      empty: "No event has these parameters.",
      footnote: [...notes, leftOut(left_out.groups, "groups")].filter(Boolean).join(" "),
    },
  );
}

/** Says what keeps the runs from being compared; nothing if they can be. */
export function hindrance({ runs, events, names }: Against): string {
  const without = [0, 1].filter((at) => runs[at].events === 0);
  if (without.length === 2) return "Both runs have no event.";
  if (without.length === 1) {
    return `There is no event in ${cut(names[without[0]], 100)}, so there is nothing to compare with.`;
  }
  const isShared = events.some(({ count }) => Number(count.a) > 0 && Number(count.b) > 0);
  return isShared ? "" : "The runs have no type of event in common: names and registries differ.";
}

/** Makes the section with both runs. */
export function comparisonOf(root: HTMLElement, report: Report): { update(): void } {
  const against = report.against!;
  const rows = against.spans.map((span, at) => ({ ...span, at }));
  const shown = rows.filter((row) => against.durations[row.at].every((of) => of.counts.length > 0));
  let chosen = Math.max(
    shown.findIndex((row) => row.significant),
    0,
  );
  const why = hindrance(against);
  const picture = shown.length > 0 ? overlay(() => against.durations[shown[chosen].at]) : null;
  const picker = element("div", { class: "controls" });
  const update = () => {
    if (!picture) return;
    const { span, p50_ns, p99_ns } = shown[chosen];
    picture.update(
      `${cut(span, 60)}: p50 ${both(p50_ns, time)}, p99 ${both(p99_ns, time)}`,
      element("span", {}, "bars: now (B); line: before (A)"),
    );
  };
  const choose = (at: number) => {
    chosen = at;
    update();
  };
  const rates = ratesPart(against);
  const names = shown.map((row, at): [number, string] => [at, (row.significant ? "★ " : "") + cut(row.span, 60)]);
  if (names.length > 0) replace(picker, selection("span", "compared-span", names, chosen, choose));
  root.classList.add("compared");
  root.append(
    ...[
      runsTable(against),
      verdicts(against),
      element("p", { "data-test": "compared-summary" }, why || summary(against)),
      element("p", { class: "note" }, "Figures are of the whole runs: range and filters of the page do not apply."),
      spansTable(against, rows),
      picture && picker,
      picture?.node,
      eventsTable(against),
      ...rates,
      groupsTable(against),
    ].filter((part): part is HTMLElement => !!part),
  );
  update();
  return { update };
}

export const comparison: Tab = {
  id: "comparison",
  title: "Comparison",
  empty: (report) => (report.against ? null : "There is no other run: `telemetry report --against FILE` adds one."),
  make: (root, view) => comparisonOf(root, view.report),
};
