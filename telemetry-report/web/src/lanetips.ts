/** What the box at the pointer says of a thread, a span, an event, or losses in the lanes. */

import { kindColor, spanColor } from "./color";
import type { Loss } from "./document";
import { commas, cut, moment, time } from "./format";
import type { Spans } from "./spans";
import type { Line } from "./tip";
import type { Selected } from "./view";

/** Returns what is known of a thread. */
export function aboutThread(spans: Spans, thread: number): Line[] {
  const { report } = spans;
  const { name, events, others, session } = report.threads[thread];
  const lane = spans.laneOf(thread);
  const of = lane < 0 ? 0 : report.lanes[lane].total;
  return [
    { text: cut(name, 120), isStrong: true },
    { text: `${commas(events)} events, ${commas(of)} spans` },
    ...(report.sessions.length > 1 ? [{ text: `session ${report.sessions[session]?.id}` }] : []),
    ...(others > 0 ? [{ text: `stands for ${commas(others)} threads` }] : []),
    { text: "click: this thread only" },
  ];
}

/** Returns what is known of a span or an event. */
export function aboutSelected(spans: Spans, what: Selected): Line[] {
  const { report } = spans;
  const { at, duration } = spans.timeOf(what);
  if (!("lane" in what)) {
    const event = report.events[report.sample[what.sample].event];
    return [
      { text: cut(event.name, 80), isStrong: true, color: kindColor(event.kind) },
      { text: `at ${moment(at)}` },
      { text: cut(event.doc, 160) },
    ];
  }
  const list = report.lanes[what.lane].spans;
  const type = report.spans[list.span[what.index]];
  const key = list.key[what.index];
  const to = list.end_thread[what.index];
  return [
    {
      text: `${cut(type.name, 80)}: ${time(duration)}`,
      isStrong: true,
      color: spanColor(report, list.span[what.index]),
    },
    ...(key >= 0 ? [{ text: `${cut(type.key ?? "key", 40)} ${cut(report.texts[key] ?? "", 100)}` }] : []),
    { text: `from ${moment(at)}` },
    ...(to >= 0 ? [{ text: `ends on ${cut(report.threads[to]?.name ?? "?", 60)}` }] : []),
    ...(list.is_uncertain[what.index] ? [{ text: "its begin or end may be missing", isLoss: true }] : []),
    { text: cut(type.doc, 160) },
  ].filter((line) => line.text);
}

/** Returns what is missing; the first losses say enough. */
export function aboutLosses(losses: readonly Loss[]): Line[] {
  return losses.slice(0, 4).map(({ events, cause }) => ({
    text: `${events === null ? "events" : `${commas(events)} events`} lost: ${cut(cause, 80)}`,
    isLoss: true,
  }));
}
