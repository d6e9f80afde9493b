/** The tab of pauses: their histogram, the longest with causes, and the minimum mutator utilization. */

import type { Pauses } from "../document";
import { element, replace, table } from "../dom";
import { spanColor } from "../color";
import { count, cut, exactAt, exactTime, moment, percent, time } from "../format";
import { spreadOfNumbers } from "../heat";
import type { Tab, View } from "../view";
import { lossNote, lossesOfSpan, note, selection, spansOf, sums, threadName } from "./common";
import { histogram } from "./histogram";
import { type Stops, unite } from "./mmu";
import { utilization } from "./utilization";

/** Numbers of the pauses in range and filter, and the times of all. */
interface Chosen {
  begin: Float64Array;
  all: Pauses;
  which: number[];
  session: number;
}

function choose(view: View, begin: Float64Array, session: number): Chosen {
  const { report, range } = view;
  const all = report.pauses!;
  const which: number[] = [];
  for (let i = 0; i < begin.length; i++) {
    const type = report.spans[all.span[i]];
    if (
      begin[i] <= range.until &&
      begin[i] + all.duration[i] >= range.from &&
      view.hasThread(all.thread[i]) &&
      report.threads[all.thread[i]]?.session === session &&
      (!type || view.has(type.begin) || view.has(type.end))
    )
      which.push(i);
  }
  return { begin, all, which, session };
}

/** Returns when the session stood still, and the part of the run in which it was there. */
function stopsOf(view: View, { begin, all, which, session }: Chosen): Stops {
  const from = Math.max(view.range.from, view.report.sessions[session]?.start ?? 0, 0);
  return unite(
    which.map((i) => [begin[i], begin[i] + all.duration[i]]),
    from,
    Math.max(view.range.until, from),
  );
}

/** Shows the span of a pause, if the document has it, or else its time. */
function show(view: View, begin: number, duration: number, thread: number): void {
  const lane = view.report.lanes.findIndex((of) => of.thread === thread);
  const of = view.report.lanes[lane];
  const index = of
    ? spansOf(of).begin.findIndex((at, i) => at === begin && of.spans.duration[i] === duration)
    : -1;
  if (index >= 0) view.showSpan(lane, index);
  else view.setRange({ from: begin - duration / 3, until: begin + duration * (4 / 3) });
}

function longestTable(view: View, { begin, all, which }: Chosen): HTMLElement {
  const { report } = view;
  const longest = [...which].sort((a, b) => all.duration[b] - all.duration[a]).slice(0, 10);
  return table<number>(
    [
      {
        title: "duration",
        text: (i) => time(all.duration[i]),
        full: (i) => exactTime(all.duration[i]),
        value: (i) => all.duration[i],
        onclick: (i) => show(view, begin[i], all.duration[i], all.thread[i]),
      },
      { title: "pause", text: (i) => cut(report.spans[all.span[i]]?.name ?? "–", 60) },
      {
        title: "cause",
        doc: "The parameters of the begin",
        text: (i) => cut(report.texts[all.cause[i]] ?? "–", 120),
      },
      {
        title: "begins at",
        text: (i) => moment(begin[i]),
        full: (i) => exactAt(begin[i]),
        value: (i) => begin[i],
      },
      { title: "thread", text: (i) => threadName(report, all.thread[i]) },
    ],
    longest,
    {
      name: "longest-pauses",
      sort: 0,
      caption: longest.length === 1 ? "The longest pause" : `The ${longest.length} longest pauses`,
      empty: "No pause in this range.",
    },
  );
}

export const pauses: Tab = {
  id: "pauses",
  title: "Pauses and MMU",
  empty: (report) => {
    if (report.pauses && report.pauses.begin.length > 0) return null;
    const marked = report.spans.filter((span) => span.is_pause);
    if (marked.length > 0) {
      return (
        `No pause was recorded: ${marked
          .map((span) => cut(span.name, 40))
          .slice(0, 5)
          .join(", ")} ` + "would be one. Switch its kind on with TELEMETRY_CONTROL."
      );
    }
    return "No span of this registry is a pause. Mark one with `pause = true`.";
  },
  make(root, view) {
    const { report } = view;
    const all = report.pauses!;
    const begin = sums(all.begin);
    const sessions = [...new Set(all.thread.map((thread) => report.threads[thread]?.session ?? 0))].sort(
      (a, b) => a - b,
    );
    let session = sessions[0];
    let chosen = choose(view, begin, session);
    let stops = stopsOf(view, chosen);
    const name = (of: number) => {
      const { program, pid, id } = report.sessions[of];
      return `${cut(program, 40)} ${pid ?? id}`;
    };
    const durations = () => chosen.which.map((i) => all.duration[i]);
    const color = () => spanColor(report, all.span[chosen.which[0] ?? 0]);
    const spread = histogram(
      "pause-histogram",
      "Pauses by duration",
      () => ({
        spread: spreadOfNumbers(durations()),
        unit: "ns",
        color: color(),
        marked: [],
        things: "pauses",
        numbers: durations(),
      }),
      260,
    );
    const curve = utilization(() => ({
      stops,
      isLowerBound: all.is_joined,
      shortest: durations().reduce((a, b) => Math.min(a, b), Infinity),
    }));
    const summary = element("p", { "data-test": "pause-summary" });
    const longest = element("div");
    const feet = element("div");
    const update = () => {
      if (view.filter.sessions && !view.filter.sessions.has(session)) {
        session = sessions.find((of) => view.filter.sessions!.has(of)) ?? session;
      }
      chosen = choose(view, begin, session);
      stops = stopsOf(view, chosen);
      const stopped = stops.before[stops.before.length - 1];
      const most = durations().reduce((a, b) => Math.max(a, b), 0);
      const losses = view.losses();
      const lossy = [
        ...new Set(
          report.spans.filter((type) => type.is_pause).flatMap((type) => lossesOfSpan(view, type, losses)),
        ),
      ];
      const least = lossy.length > 0 ? "≥ " : "";
      summary.textContent =
        chosen.which.length === 0
          ? "No pause in this range and filter."
          : `${least}${count(chosen.which.length)} pauses${all.is_joined ? ", some joined," : ""} ` +
            `stop the program for ${all.is_joined ? "at most " : least}${time(stopped)} ` +
            `of ${time(stops.length)} ` +
            `(${percent(stopped / stops.length)}); the longest takes ${time(most)}.`;
      const label = `${count(chosen.which.length)} pauses, ${time(stopped)} in all, longest ${time(most)}`;
      spread.update(label);
      curve.update();
      spread.node.hidden = curve.node.hidden = chosen.which.length === 0;
      replace(longest, longestTable(view, chosen));
      replace(
        feet,
        note(
          all.is_joined &&
            "There were many pauses, so neighbors were joined: the utilization is a lower bound.",
          lossy.length > 0 && "A pause may be missing too, so the utilization may be lower than shown.",
          lossNote(lossy),
          !view.isWhole && "Pauses at the edges count with their part in the range.",
        ),
      );
    };
    root.append(
      ...(sessions.length > 1
        ? [
            element(
              "div",
              { class: "controls" },
              selection(
                "Session",
                "pause-session",
                sessions.map((of) => [of, name(of)]),
                session,
                (of) => {
                  session = of;
                  update();
                },
              ),
            ),
          ]
        : []),
      summary,
      element("div", { class: "pair" }, curve.node, spread.node),
      longest,
      feet,
    );
    update();
    return { update };
  },
};
