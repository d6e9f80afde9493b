/** The head of the page: what ran, and whether the record of it is complete. */

import type { Against, Loss, Report, Session } from "./document";
import { button, type Child, element, replace, table } from "./dom";
import { between, bytes, commas, count, cut, exactAt, exactTime, short, time, utc } from "./format";
import { marksTable } from "./marks";
import { type Range, type View } from "./view";

const plural = (number: number, one: string, more = `${one}s`) =>
  `${number < 1e6 ? commas(number) : short(number)} ${number === 1 ? one : more}`;

/** Returns the number of all threads, of which some may stand in one row for many. */
export function threadCount(report: Report): number {
  return report.threads.reduce((sum, thread) => sum + Math.max(thread.others, 1), 0);
}

/** Returns why the record is not complete, as sentences; none if it is complete. */
export function verdict(report: Report): string[] {
  if (report.stats.completeness.bytes === 0) return ["the recording is empty"];
  const said: string[] = [];
  const { lost, missing, damaged_ranges, unended_sessions } = report.stats.completeness;
  const all = lost.pool + lost.reentrant + lost.sink;
  const total = short(all + report.stats.count);
  if (all > 0) {
    const causes = [
      [lost.pool, "pool full"],
      [lost.reentrant, "reentrant"],
      [lost.sink, "not written"],
    ] as [number, string][];
    const named = causes.filter(([number]) => number > 0);
    const list =
      named.length === 1 ? named[0][1] : named.map(([n, cause]) => `${commas(n)} ${cause}`).join(", ");
    const times = report.losses.filter((loss) => loss.events !== 0);
    const from = times.reduce((least, loss) => Math.min(least, loss.from), Infinity);
    const until = times.reduce((most, loss) => Math.max(most, loss.until), -Infinity);
    const when = times.length > 0 ? `, ${between(Math.max(from, 0), until)}` : "";
    said.push(`${commas(all)} of ${total} events lost: ${list}${when}`);
  }
  if (missing > 0) said.push(`${commas(missing)} events missing from this input`);
  if (damaged_ranges > 0) said.push(`${plural(damaged_ranges, "damaged range")} in the input`);
  if (unended_sessions.length > 0) {
    said.push(
      unended_sessions.length > 1 || report.sessions.length > 1
        ? `${plural(unended_sessions.length, "session")} without an end`
        : hasSignal(report.sessions[0])
          ? "the session has no end: a signal ended it"
          : "the session has no end: it was killed, or is running",
    );
  }
  const { complete, may_be_truncated } = report.stats.completeness;
  if (said.length === 0 && !complete && !may_be_truncated) said.push("the record is not complete");
  return said;
}

const hasSignal = (session?: Session) => !!session?.endings.some(([what]) => what === "signal");

/** Returns how the programs ended, as sentences; none if the record does not say. */
function endings({ sessions }: Report): string[] {
  if (sessions.length === 1) return sessions[0].endings.map(([what, text]) => `${what}: ${cut(text, 200)}`);
  return ["panic", "signal", "exit code"].flatMap((what) => {
    const number = sessions.filter((session) => session.endings.some(([name]) => name === what)).length;
    return number > 0 ? [`${plural(number, "session")} with ${what === "exit code" ? "an" : "a"} ${what}`] : [];
  });
}

/** Returns what a complete record may lack, too. */
function remarks(report: Report): string[] {
  const { excluded, lost, may_be_truncated } = report.stats.completeness;
  const said: string[] = [];
  if (may_be_truncated) said.push("the end may be missing, as the log's format has no end mark");
  if (excluded > 0) said.push(`${commas(excluded)} events excluded: their kind was not output`);
  if (lost.truncated > 0) said.push(`${plural(lost.truncated, "value")} cut to the maximum length`);
  return said;
}

/** Returns a range around losses, so that what came before and after is seen. */
function around(from: number, until: number, report: Report): Range {
  const margin = Math.max((until - from) / 4, report.duration / 200, 1000);
  return { from: from - margin, until: until + margin };
}

function lossTable(view: View): HTMLElement {
  const { report } = view;
  const thread = (loss: Loss) =>
    loss.thread === null ? "any" : (report.threads[loss.thread]?.name ?? "?");
  const show = (loss: Loss) => view.setRange(around(loss.from, loss.until, report));
  const more = report.more_losses > 0 ? `${commas(report.more_losses)} more losses are not listed.` : "";
  return table(
    [
      {
        title: "time",
        text: (loss) => between(loss.from, loss.until),
        value: (loss) => loss.from,
        onclick: show,
        full: (loss) => `${exactAt(loss.from)} – ${exactAt(loss.until)}`,
      },
      {
        title: "events",
        text: (loss) => (loss.events === null ? "unknown" : count(loss.events)),
        value: (loss) => loss.events,
      },
      { title: "cause", text: (loss) => cut(loss.cause) },
      { title: "thread", text: (loss) => cut(thread(loss), 80) },
      {
        title: "kind",
        text: (loss) => (loss.kind === null ? "any" : cut(report.kinds[loss.kind]?.name ?? "?", 80)),
      },
    ],
    report.losses,
    { name: "losses", most: 10, footnote: more },
  );
}

function facts(report: Report): HTMLElement {
  const list = element("dl", { class: "facts" });
  const add = (name: string, text: string) =>
    list.append(element("dt", {}, cut(name, 60)), element("dd", {}, cut(text, 400)));
  add(
    report.inputs.length > 1 ? "inputs" : "input",
    report.inputs
      .slice(0, 20)
      .map((input) => cut(input, 100))
      .join(", "),
  );
  for (const session of report.sessions.slice(0, 50)) {
    if (report.sessions.length > 1) add("session", `${session.id} ${cut(session.program, 80)}`);
    else add("session", session.id);
    const start = utc(report.origin, session.start);
    if (start) add("start", `${start} UTC`);
    if (session.args.length > 0) {
      add(
        "arguments",
        session.args
          .slice(0, 30)
          .map((arg) => cut(arg, 100))
          .join(" "),
      );
    }
    for (const [what, text] of session.endings) add(what, text);
    if (!session.ended) {
      add("end", hasSignal(session) ? "none: a signal ended it" : "none: it was killed, or is running");
    }
    for (const [name, text] of session.facts) add(name, text);
  }
  if (report.sessions.length > 50) add("more sessions", commas(report.sessions.length - 50));
  add(
    "stream",
    `${bytes(report.stats.completeness.bytes)} in ${count(report.stats.completeness.blocks)} blocks`,
  );
  for (const note of report.notes) add("note", note);
  add("page made by", report.made_by);
  return list;
}

/** Returns the verdict on the run before; nothing if it is complete. */
function before({ names, says, runs }: Against): HTMLElement | null {
  if (runs[0].completeness.complete) return null;
  const text = `✖ ${cut(names[0], 60)}, the run before: ${cut(says[0].join("; "), 600)}`;
  return element("p", { class: "verdict loss", "data-test": "verdict-before" }, text);
}

/** Fills the page's header. */
export function showVerdict(header: HTMLElement, view: View): void {
  const { report } = view;
  const session = report.sessions[0];
  const programs = [...new Set(report.sessions.map((one) => one.program).filter(Boolean))];
  const name =
    programs.length > 0
      ? programs
          .slice(0, 3)
          .map((one) => cut(one, 60))
          .join(", ")
      : cut((report.inputs[0] ?? "").replace(/.*[/\\]/s, ""), 60);
  const about: Child[] = [];
  const add = (text: string, title = "") => about.push(element("span", { title: title || null }, text));
  if (report.sessions.length > 1) add(`${commas(report.sessions.length)} sessions`);
  if (session && report.sessions.length === 1) {
    if (session.pid !== null) add(`pid ${session.pid}`);
    if (session.host) add(`host ${cut(session.host, 40)}`);
  }
  const start = session && utc(report.origin, session.start);
  if (start) add(`${start.slice(0, 19)} UTC`, `${start} UTC`);
  add(time(report.duration), exactTime(report.duration));
  add(plural(report.stats.count, "event"), `${commas(report.stats.count)} events`);
  add(plural(threadCount(report), "thread"));
  if (report.against) {
    const before = report.against.names[0];
    add(`compared with ${cut(before.replace(/.*[/\\]/s, ""), 30)}`, cut(before, 400));
  }

  const said = verdict(report);
  const hasLosses = report.losses.length > 0;
  const isOpen = report.stats.completeness.may_be_truncated;
  const line = element("div", {
    class: `verdict ${said.length > 0 ? "loss" : isOpen ? "" : "good"}`,
    "data-test": "verdict",
  });
  const good = isOpen ? "read without losses" : "✔ complete: nothing lost";
  const found = said.length === 0 ? good : `✖ ${said.join("; ")}`;
  const text = [found, ...remarks(report)].join("; ");
  const ends = endings(report).join("; ");
  const listed = [hasLosses && "losses", report.marks.length > 0 && "marks", "facts"].filter(Boolean);
  const more = element(
    "details",
    { class: "more", "data-test": "facts" },
    element("summary", {}, listed.length > 2 ? listed.join(", ").replace(/, facts$/, " and facts") : listed.join(" and ")),
    hasLosses ? lossTable(view) : null,
    report.marks.length > 0 ? marksTable(view) : null,
    facts(report),
  );
  line.append(element("span", {}, text));
  if (hasLosses && report.stats.count > 0) {
    const show = () => {
      const from = report.losses.reduce((least, loss) => Math.min(least, loss.from), Infinity);
      const until = report.losses.reduce((most, loss) => Math.max(most, loss.until), -Infinity);
      view.setRange(around(from, until, report));
    };
    line.append(" ", button("show", "show-losses", show, "Chooses the range in which events are missing"));
  }
  replace(
    header,
    element("div", { class: "row title" }, element("h1", {}, name), ...about),
    element("div", { class: "row" }, line, more),
    ends && element("div", { class: "verdict loss", "data-test": "verdict-end" }, `✖ ${ends}`),
    report.against && before(report.against),
  );
}
