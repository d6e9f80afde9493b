/** The tab of counters: the values of each over time. */

import { color } from "../color";
import type { Counter, Report } from "../document";
import { element, replace, table } from "../dom";
import { brief, commas, count, cut, digits, quantity } from "../format";
import { isWithin, type Tab, wholeRange } from "../view";
import { isBinary } from "./axes";
import { lossNote, note, sums } from "./common";
import { timeline } from "./timeline";
import { levels } from "./totals";

/** Counters with a line in the picture. */
const MOST_LINES = 8;

/** Intervals of the whole run. */
const INTERVALS = 1000;

const intervalOf = (report: Report) => Math.ceil(wholeRange(report).until / INTERVALS);

/** Returns the counters that are the same number of several threads or sessions, those with most first. */
export function sameOf(all: readonly Counter[], of: Counter): Counter[] {
  const same = all.filter(({ counter, registry }) => counter === of.counter && registry === of.registry);
  return same.sort((a, b) => b.max - a.max);
}

/** Returns by how much a counter grew per second, by interval. Between two values it grew evenly. */
export function growthOf(of: Counter, width: number, until: number): Float64Array {
  const at = sums(of.at);
  const { values } = of;
  let next = 0;
  const value = (time: number) => {
    while (next < at.length && at[next] <= time) next++;
    if (next === 0 || next === at.length) return values[Math.max(0, next - 1)];
    const share = (time - at[next - 1]) / (at[next] - at[next - 1]);
    return values[next - 1] + (values[next] - values[next - 1]) * share;
  };
  let before = value(0);
  return Float64Array.from({ length: Math.floor(until / width) + 1 }, (_, i) => {
    const now = value((i + 1) * width);
    const grown = now - before;
    before = now;
    return (grown / width) * 1e9;
  });
}

/** Returns the values of a counter at the end of each interval. Before the first one, that one holds. */
export function courseOf({ at, values }: Counter, width: number, until: number): Float64Array {
  const times = Array.from(sums(at));
  return levels({ thread: 0, at: [-Infinity, ...times], values: [values[0], ...values] }, width, until);
}

export const counters: Tab = {
  id: "counters",
  title: "Counters",
  empty: () => null,
  make(root, view) {
    const { report } = view;
    const all = report.counters;
    const isRuntime = ({ registry }: Counter) => registry.startsWith("telemetry");
    let chosen = all.find((one) => !isRuntime(one)) ?? all[0];
    const width = intervalOf(report);
    const holder = ({ thread, session }: Counter) => {
      const of = report.sessions[session];
      return [
        thread && `thread ${thread}`,
        report.sessions.length > 1 && `${cut(of?.program || of?.id || "", 30)} ${of?.pid ?? ""}`,
      ]
        .filter(Boolean)
        .join(" of ");
    };
    const shown = () => sameOf(all, chosen).slice(0, MOST_LINES);
    const picture = (name: string, title: string, unit: string, read: typeof courseOf) =>
      timeline(
        name,
        title,
        () => ({
          width,
          range: view.range,
          isStacked: false,
          losses: view.losses(),
          marks: report.marks,
          isBinary: isBinary(chosen.unit),
          read: (value) => quantity(value, chosen.unit) + unit,
          series: shown().map((one, i) => ({
            name: brief(holder(one) || one.counter, 40),
            color: color(i),
            values: read(one, width, report.duration),
          })),
        }),
        200,
      );
    const course = picture("counter-values", "Over time", "", courseOf);
    const grown = picture("counter-growth", "Per second", "/s", growthOf);
    const head = element("h3", { "data-test": "chosen-counter" });
    const list = element("div");
    const feet = element("div");
    const exact = (value: number, unit: string) =>
      `${Number.isInteger(value) ? commas(value) : value} ${unit}`.trim();
    const column = (title: string, of: (row: Counter) => number, doc?: string) => ({
      title,
      doc,
      text: (row: Counter) => quantity(of(row), row.unit),
      full: (row: Counter) => exact(of(row), row.unit),
      value: of,
    });
    replace(
      list,
      table<Counter>(
        [
          {
            title: "counter",
            text: (row) => cut(row.counter, 60),
            full: (row) => [`registry ${row.registry}`, row.doc].filter(Boolean).join("\n"),
            onclick: (row) => {
              chosen = row;
              update();
            },
          },
          ...(all.some(holder) ? [{ title: "of", text: holder }] : []),
          { title: "values", text: (row) => count(row.count), value: (row) => row.count },
          column("first", (row) => row.first),
          column("last", (row) => row.last),
          column("least", (row) => row.min),
          column("most", (row) => row.max),
        ],
        all,
        { name: "counters", most: 30, caption: "All counters, in the whole run" },
      ),
    );
    const update = () => {
      const same = sameOf(all, chosen);
      const { unit, doc, counter, registry } = chosen;
      const inRange = same.reduce((sum, { at }) => sum + sums(at).filter((one) => isWithin(view, one)).length, 0);
      replace(
        head,
        cut(counter, 80),
        element("span", { class: "note" }, ` ${[unit && `in ${cut(unit, 40)}`, cut(doc || registry, 200)].filter(Boolean).join(", ")}`),
      );
      const ends = same.length === 1 ? `, ${quantity(chosen.last, unit)} at the end` : "";
      // Of a long series not all values are kept.
      const shown = same.some((one) => one.every > 1) ? "some values" : `${count(inRange)} values`;
      course.update(`${shown} in this range${ends}`);
      const last = same.reduce((sum, one) => sum + one.last - one.first, 0);
      grown.node.hidden = same.some((one) => one.falls) || !(last > 0);
      const seconds = report.duration / 1e9;
      if (!grown.node.hidden) grown.update(seconds > 0 ? `${quantity(Number(digits(last / seconds).replace(/,/g, "")), unit)}/s on average` : "");
      const { kinds, events, threads, sessions } = view.filter;
      const every = Math.max(...same.map((one) => one.every));
      replace(
        feet,
        note(
          same.length > MOST_LINES && `The picture has ${MOST_LINES} of ${count(same.length)}: those with most.`,
          every > 1 && `The picture has 1 of ${count(every)} values. The table is of all of them.`,
          !!(kinds || events || threads || sessions) &&
            "Counters are those of the whole program: the filter does not apply.",
          lossNote(view.losses(), false),
        ),
      );
    };
    root.append(head, course.node, grown.node, list, feet);
    update();
    return { update };
  },
};
