/** Names of kinds, events and spans: unique on the page, and the same in the figures of the command. */

import type { EventType, Report, SpanType, Stats, PairedSpans } from "./document";

/**
 * Puts the registry before names that occur twice, as in `gc:Pool`. Several registries may share a
 * name, and so do the versions of one.
 */
export function nameApart(report: Report): void {
  const { kinds, events, spans, stats, paired } = report;
  for (const type of spans) type.plain = type.name;
  apart([kinds, events, spans]);
  for (const one of stats.events) one.event = eventOf(report, one)?.name ?? one.event;
  for (const one of paired.spans) {
    const type = spans.find((type) => type.plain === one.span && type.fingerprint === one.fingerprint);
    one.span = type?.name ?? one.span;
  }
}

function apart(lists: { name: string; registry: string }[][]): void {
  for (const list of lists) {
    const counts = new Map<string, number>();
    for (const { name } of list) counts.set(name, (counts.get(name) ?? 0) + 1);
    for (const one of list) if (counts.get(one.name)! > 1) one.name = `${one.registry}:${one.name}`;
  }
}

function eventOf(report: Report, { code, fingerprint }: Stats["events"][number]): EventType | undefined {
  return report.events.find((type) => type.code === code && type.fingerprint === fingerprint);
}

/** Returns the figures of an event type of the whole run. */
export function statsOf(report: Report, type: EventType): Stats["events"][number] | undefined {
  return report.stats.events.find((one) => one.code === type.code && one.fingerprint === type.fingerprint);
}

/** Returns the figures of a type of spans of the whole run. */
export function pairedOf(report: Report, type: SpanType): PairedSpans["spans"][number] | undefined {
  return report.paired.spans.find((one) => one.span === type.name && one.fingerprint === type.fingerprint);
}
