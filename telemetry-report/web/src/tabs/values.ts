/** The tab of values: the distribution of a parameter, over time too, and its frequent values. */

import { color, eventColor } from "../color";
import type { Heat, Param, Report, Stats } from "../document";
import { element, replace, table } from "../dom";
import { count, cut, escape, percent, time, value as valueText } from "../format";
import { percentile, spreadOf } from "../heat";
import { statsOf } from "../names";
import type { Tab, View } from "../view";
import { isBinary, reader, tidy } from "./axes";
import { heatNote, isRounded, lossNote, note, PART_NOTE, threadName } from "./common";
import { heatMap } from "./heatmap";
import { histogram } from "./histogram";
import { picker } from "./picker";
import { heatsOf } from "./spans";
import { timeline } from "./timeline";
import { curveOf, levels, totalsOf } from "./totals";

/** Threads with a line in the picture of a running total. */
const MOST_LINES = 8;

type Figures = Stats["events"][number]["params"][number];

/** Units of which a sum says nothing. */
const NO_SUM =
  /^(%|percent|permille|ratio|factor|hz|[kmg]hz|°?[ckf]|db|x|.*\/.*|.* per .*|index|id|level|address)$/i;

/** Tells whether sums of the parameter have a meaning. */
export function addsUp(unit: string, type: string): boolean {
  return unit !== "" && !NO_SUM.test(unit) && !/^(pointer|addr)/.test(type);
}

function isSum({ unit, type, is_counter }: Param): boolean {
  return !is_counter && addsUp(unit, type);
}

function figuresOf(report: Report, event: number, param: number): Figures | undefined {
  const type = report.events[event];
  return statsOf(report, type)?.params.find((one) => one.param === type.params[param]?.name);
}

/** Returns sums per second by interval. */
function sumsPerSecond(heats: Heat[]): Float64Array {
  const width = heats[0]?.width ?? 1;
  const last = heats.reduce(
    (most, heat) => heat.columns.reduce((a, column) => Math.max(a, column.at), most),
    -1,
  );
  const sums = new Float64Array(last + 1);
  for (const heat of heats) {
    for (const column of heat.columns) {
      const at = Math.min(last, Math.floor((column.at * heat.width) / width));
      sums[at] += (column.sum / width) * 1e9;
    }
  }
  return sums;
}

function frequentTable(figures: Figures, unit: string): HTMLElement {
  const most = Math.max(...figures.top.map((row) => row.share), 1e-9);
  return table<Figures["top"][number]>(
    [
      {
        title: "value",
        text: (row) => valueText(row.value, unit),
        full: (row) =>
          escape(typeof row.value === "string" ? row.value.slice(0, 2000) : JSON.stringify(row.value)),
      },
      { title: "count", text: (row) => count(row.count), value: (row) => row.count },
      { title: "share", text: (row) => percent(row.share), value: (row) => row.share },
      {
        title: "",
        text: () => "",
        cell: (row) => {
          const bar = element("span", { class: "share" });
          bar.style.width = `${(row.share / most) * 120}px`;
          return bar;
        },
      },
    ],
    figures.top,
    {
      name: "frequent",
      caption: "Frequent values",
      footnote:
        "Of the whole run." +
        (figures.top_error > 0 ? ` Each count may be up to ${count(figures.top_error)} too low.` : ""),
    },
  );
}

/** Tells whether any of the most frequent values is frequent, and does not merely occur. */
export function hasFrequent({ top, top_error }: Figures): boolean {
  return top.some(({ count, share }) => (share > 0.001 || count > top_error) && (count > 1 || share > 0.1));
}

/** Chooses what is shown first: a parameter that is a counter or adds up, of a frequent event. */
function firstOf(view: View): [number, number] {
  let best: [number, number] = [-1, -1];
  let most = -1;
  view.report.events.forEach((type, event) =>
    type.params.forEach((param, at) => {
      const of = statsOf(view.report, type)?.count ?? 0;
      const hasHeat = view.report.values.some((heat) => heat.event === event && heat.param === at);
      const score =
        (view.report.kinds[type.kind]?.is_runtime ? 0 : 4) +
        (hasHeat ? 2 : 0) +
        (param.is_counter || isSum(param) ? 1 : 0) +
        of / (of + 1e6) -
        (view.has(event) ? 0 : 8);
      if (score > most) [most, best] = [score, [event, at]];
    }),
  );
  return best;
}

export const values: Tab = {
  id: "values",
  title: "Values",
  empty: (report) =>
    report.events.some((event) => event.params.length > 0)
      ? null
      : report.events.length === 0
        ? "No event was recorded. Switch kinds on with TELEMETRY_CONTROL, as in TELEMETRY_CONTROL=all."
        : "No event of this run has a parameter. Add `params` to an event in events.toml.",
  make(root, view) {
    const { report } = view;
    let [event, param] = firstOf(view);
    const type = () => report.events[event];
    const of = () => type().params[param];
    const all = () =>
      heatsOf(
        view,
        report.values.filter((heat) => heat.event === event && heat.param === param),
      );
    const heats = () => all().heats.map((one) => one.heat);
    const losses = () => view.losses().filter((loss) => loss.kind === null || loss.kind === type().kind);
    const totals = () => (isSum(of()) ? totalsOf(report, event, param) : null);
    const curve = () => (of().is_counter ? curveOf(report, event, param) : null);
    const isSummed = () => isSum(of()) && !totals();
    const spread = () => spreadOf(heats(), view.range.from, view.range.until);
    const data = () => ({
      heats: heats(),
      range: view.range,
      unit: of().unit,
      color: eventColor(report, event),
      losses: losses(),
      isSummed: isSummed(),
    });
    const map = heatMap("value-heat", "Over time", data);
    const bars = histogram(
      "value-histogram",
      "Distribution",
      () => {
        const summary = view.isWhole ? figuresOf(report, event, param)?.distribution : null;
        const now = spread();
        const text = (q: number, name: string, exact: unknown): [string, number | null] => {
          const at = exact === null || exact === undefined ? percentile(now, q) : Number(exact);
          return [at === null ? name : `${name} ${tidy(reader(of().unit)(at))}`, at];
        };
        return {
          spread: now,
          unit: of().unit,
          color: eventColor(report, event),
          numbers: null,
          things: "values",
          marked: [
            text(0.5, "p50", summary?.p50),
            text(0.9, "p90", summary?.p90),
            text(0.99, "p99", summary?.p99),
          ],
        };
      },
      200,
    );
    const perSecond = timeline(
      "value-sum",
      "Sum per second",
      () => ({
        width: heats()[0]?.width ?? 1,
        range: view.range,
        isStacked: false,
        losses: losses(),
        marks: report.marks,
        isBinary: isBinary(of().unit),
        read: (value) => `${reader(of().unit)(value)}/s`,
        series: [
          {
            name: cut(of().name, 40),
            color: eventColor(report, event),
            values: sumsPerSecond(heats()),
            isArea: true,
          },
        ],
      }),
      140,
    );
    const total = timeline(
      "value-total",
      "Running total",
      () => ({
        width: heats()[0]?.width ?? 1,
        range: view.range,
        isStacked: false,
        losses: losses(),
        marks: report.marks,
        isBinary: isBinary(of().unit),
        read: reader(of().unit),
        series: (totals() ?? [])
          .filter(({ thread }) => view.hasThread(thread))
          .sort((a, b) => b.values.at(-1)! - a.values.at(-1)!)
          .slice(0, MOST_LINES)
          .map((one, i) => ({
            name: threadName(report, one.thread),
            color: color(i),
            values: levels(one, heats()[0]?.width ?? 1, report.duration),
          })),
      }),
      140,
    );
    const course = timeline(
      "value-curve",
      "Counter",
      () => ({
        width: heats()[0]?.width ?? 1,
        range: view.range,
        isStacked: false,
        losses: losses(),
        marks: report.marks,
        isBinary: isBinary(of().unit),
        read: reader(of().unit),
        series: [curve()].flatMap((one) =>
          one
            ? [
                {
                  name: cut(of().name, 40),
                  color: eventColor(report, event),
                  values: levels(one, heats()[0]?.width ?? 1, report.duration),
                  isArea: true,
                },
              ]
            : [],
        ),
      }),
      140,
    );
    const head = element("h3", { "data-test": "chosen-value" });
    const summary = element("p", { "data-test": "value-summary" });
    const frequent = element("div");
    const feet = element("div");
    const choose = (...what: [number, number]) => {
      [event, param] = what;
      update();
    };
    const list = picker(view, choose, () => [event, param]);
    const update = () => {
      if (!view.has(event)) [event, param] = firstOf(view);
      list.update();
      const { unit, doc, name, is_counter } = of();
      replace(
        head,
        `${cut(type().name, 60)} · ${cut(name, 60)}`,
        element(
          "span",
          { class: "note" },
          ` ${[is_counter && "counter", unit && `in ${cut(unit, 40)}`, cut(doc, 200)].filter(Boolean).join(", ")}`,
        ),
      );
      const now = spread();
      const figures = figuresOf(report, event, param);
      const whole = view.isWhole ? figures?.distribution : null;
      const text = (value: unknown) => valueText(value, unit);
      const missing = losses();
      const least = missing.length > 0 ? "≥ " : "";
      const width = heats()[0]?.width ?? 1;
      const near = !view.isWhole && isRounded(view, width) ? "≈ " : "";
      const isNumber = now.count > 0 || !!figures?.distribution;
      const label = whole
        ? `${least}${count(whole.count)} values from ${text(whole.min)} to ${text(whole.max)}, ` +
          `mean ${text(whole.mean)}, p50 ${text(whole.p50)}, p99 ${text(whole.p99)}` +
          (whole.nans ? `, ${count(whole.nans)} are no numbers` : "")
        : `${least}${near}${count(now.count)} values, p50 ≈ ${reader(unit)(percentile(now, 0.5) ?? NaN)}, ` +
          `p99 ≈ ${reader(unit)(percentile(now, 0.99) ?? NaN)}`;
      const sum =
        isSummed() && now.count > 0
          ? `; sum ${least}${near}${reader(unit)(now.sum)}`
          : "";
      summary.textContent =
        now.count > 0 || whole?.count
          ? `${label}${sum}.`
          : isNumber
            ? "No value in this range and filter."
            : figures?.top.length
              ? "These values are no sizes, so only the frequent ones are shown."
              : "No value of it was recorded.";
      for (const one of [map, bars]) {
        one.node.hidden = now.count === 0;
        if (now.count > 0) one.update(label, one === map ? "color: log of the count; line: p50" : "");
      }
      const lines = totals()?.length ?? 0;
      total.node.hidden = now.count === 0 || lines === 0;
      if (!total.node.hidden) {
        total.update(
          `the last values of ${count(lines)} ${lines === 1 ? "thread" : "threads"}`,
          "the last value of each thread",
        );
      }
      course.node.hidden = now.count === 0 || !curve();
      if (!course.node.hidden) {
        const { every } = report.sample.find((one) => one.event === event)!;
        course.update(
          `the last value of each ${time(width)}`,
          every > 1 ? `of 1 of ${count(every)} events` : "the last value of each interval",
        );
      }
      perSecond.node.hidden = now.count === 0 || !isSummed();
      if (!perSecond.node.hidden)
        perSecond.update(
          `${reader(unit)((now.sum / (view.range.until - view.range.from)) * 1e9)}/s on average`,
        );
      replace(
        frequent,
        figures && figures.top.length > 0
          ? hasFrequent(figures)
            ? frequentTable(figures, unit)
            : note("No value is frequent: there are too many different ones.")
          : null,
      );
      replace(
        feet,
        note(
          !view.isWhole && now.count > 0 && heatNote(view, width),
          all().isPart && PART_NOTE,
          !!totals() && "The values of a thread never fall: they are a running total, and their sum means nothing.",
          lossNote(missing),
        ),
      );
    };
    root.append(
      element(
        "div",
        { class: "split" },
        list.node,
        element(
          "div",
          {},
          head,
          summary,
          course.node,
          map.node,
          element("div", { class: "pair" }, bars.node, frequent),
          perSecond.node,
          total.node,
          feet,
        ),
      ),
    );
    update();
    return { update };
  },
};
