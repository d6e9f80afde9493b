/** The state of the page as text in the URL's fragment, so that a link leads to a finding. */

import { shown, unshown } from "./format";
import type { Report } from "./document";
import { type Filter, NO_FILTER, type Range, type Selected, wholeRange } from "./view";

export interface State {
  /** Null: the whole run. */
  range: Range | null;
  filter: Filter;
  selected: Selected | null;
  /** A second one, whose difference from the first is shown. */
  second: Selected | null;
  /** Empty: the first one. */
  tab: string;
}

export const FIRST: State = { range: null, filter: NO_FILTER, selected: null, second: null, tab: "" };

const LISTS = ["kinds", "events", "threads", "sessions"] as const;

/** Returns the texts that stand for the members of each list: their names where these are unique. */
function labels(report: Report, list: (typeof LISTS)[number]): string[] {
  const names =
    list === "sessions"
      ? report.sessions.map((session) => session.id)
      : (report[list] as { name: string }[]).map((one) => one.name);
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return names.map((name, index) => {
    const isFit = counts.get(name) === 1 && /^[^~!]/.test(name) && name.length <= 60;
    return isFit ? name : `~${index}`;
  });
}

/** Returns `text` percent-encoded where a fragment needs it; a lone surrogate is no text. */
function encode(text: string): string {
  const safe = text.replace(/[\ud800-\udfff]/gu, "\ufffd");
  return encodeURIComponent(safe).replace(/%20/g, "+").replace(/%2F/g, "/");
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replace(/\+/g, " "));
  } catch {
    return text;
  }
}

/** Returns the text for a set: the members, or after `!` those that are missing, whichever are fewer. */
function setText(all: string[], set: Set<number>): string {
  const isMost = set.size > all.length / 2;
  const named = all.filter((_, index) => set.has(index) !== isMost);
  return (isMost ? "!" : "") + named.map(encode).join(",");
}

function parseSet(all: string[], text: string): Set<number> | null {
  const isMost = text.startsWith("!");
  const names = new Set(
    text
      .slice(isMost ? 1 : 0)
      .split(",")
      .map(decode),
  );
  const set = new Set<number>();
  all.forEach((name, index) => {
    if (names.has(name) !== isMost) set.add(index);
  });
  return set.size === all.length ? null : set;
}

/** Returns seconds with all their nanoseconds: `1.2s`. */
function seconds(ns: number): string {
  return `${(Math.round(ns) / 1e9).toFixed(9).replace(/\.?0+$/, "")}s`;
}

function parseMoment(text: string | undefined): number | null {
  const found = /^(-?[\d.]+)(ns|us|µs|ms|s)?$/.exec(text ?? "");
  if (!found) return null;
  const scale = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9 }[found[2] ?? "s"]!;
  const ns = Math.round(Number(found[1]) * scale);
  return Number.isFinite(ns) ? unshown(ns) : null;
}

function selectedText(what: Selected): string {
  return "lane" in what ? `span.${what.lane}.${what.index}` : `event.${what.sample}.${what.row}`;
}

function parseSelected(report: Report, text: string | undefined): Selected | null {
  const found = /^(span|event)\.(\d+)\.(\d+)$/.exec(text ?? "");
  if (!found) return null;
  const [group, at] = [Number(found[2]), Number(found[3])];
  if (found[1] === "span") {
    return at < (report.lanes[group]?.spans.begin.length ?? 0) ? { lane: group, index: at } : null;
  }
  return at < (report.sample[group]?.rows.length ?? 0) ? { sample: group, row: at } : null;
}

/** Returns the fragment without its `#`; empty for the state in which the page opens. */
export function toFragment(report: Report, state: State): string {
  const parts: string[] = [];
  if (state.range) parts.push(`from=${seconds(shown(state.range.from))}`, `until=${seconds(shown(state.range.until))}`);
  for (const list of LISTS) {
    const set = state.filter[list];
    if (set) parts.push(`${list.slice(0, -1)}=${setText(labels(report, list), set)}`);
  }
  if (state.selected) parts.push(`selected=${selectedText(state.selected)}`);
  if (state.second) parts.push(`second=${selectedText(state.second)}`);
  if (state.tab) parts.push(`tab=${encode(state.tab)}`);
  return parts.join("&");
}

/** Returns the state that a fragment stands for. What it cannot mean in this report is left out. */
export function fromFragment(report: Report, text: string): State {
  const members = new Map<string, string>();
  for (const part of text.replace(/^#/, "").split("&")) {
    const at = part.indexOf("=");
    if (at > 0) members.set(part.slice(0, at), part.slice(at + 1));
  }
  const whole = wholeRange(report);
  const from = parseMoment(members.get("from")) ?? whole.from;
  const until = parseMoment(members.get("until")) ?? whole.until;
  const filter: Filter = { ...NO_FILTER };
  for (const list of LISTS) {
    const of = members.get(list.slice(0, -1));
    if (of !== undefined) filter[list] = parseSet(labels(report, list), of);
  }
  return {
    range: clampRange(report, { from, until }),
    filter,
    selected: parseSelected(report, members.get("selected")),
    second: parseSelected(report, members.get("second")),
    tab: decode(members.get("tab") ?? ""),
  };
}

/** The shortest range: 10 ns. */
export const SHORTEST = 10;

/** Returns the range in which a span is well seen, or an event, which has no duration. */
export function rangeAround(report: Report, at: number, duration: number): Range | null {
  const margin = duration > 0 ? Math.max(duration / 3, 20) : 500;
  return clampRange(report, { from: at - margin, until: at + duration + margin });
}

/** Returns a range inside of the run, in whole nanoseconds, or null if it is all of it. */
export function clampRange(report: Report, range: Range): Range | null {
  const whole = wholeRange(report);
  let { from, until } = range;
  if (!(until >= from)) [from, until] = [until, from];
  const length = Math.min(Math.max(until - from, SHORTEST), whole.until - whole.from);
  from = Math.round(Math.min(Math.max(from, whole.from), whole.until - length));
  until = Math.round(Math.min(from + length, whole.until));
  if (!Number.isFinite(from) || !Number.isFinite(until)) return null;
  return from <= whole.from && until >= whole.until ? null : { from, until };
}
