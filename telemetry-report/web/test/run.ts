/** Makes a document from spans and events, as the Rust side does from a stream. For samples and tests. */

import type {
  EventType,
  Heat,
  Kind,
  Lane,
  Loss,
  Mark,
  Ns,
  Report,
  Session,
  SpanType,
  Thread,
} from "../src/document";
import { bucketOf, summary, top, trim } from "./figures";

export interface Span {
  thread: number;
  type: number;
  begin: Ns;
  duration: Ns;
  key?: string;
  endThread?: number;
  isUncertain?: boolean;
  /** Parameters of the begin event. */
  params?: unknown[];
}

interface Found extends Span {
  depth: number;
  self: Ns;
}

const BUCKETS = 400;
const COLUMNS = 200;

export class Run {
  origin = "1795694671000000000";
  sessions: Session[] = [
    {
      id: "00c0ffee00c0ffee",
      program: "gcbench",
      args: ["--depth", "16"],
      pid: 4711,
      host: "a1",
      start: 0,
      ended: true,
      endings: [],
      facts: [
        ["os", "linux"],
        ["cores", "2"],
        ["version", "0.1.0"],
      ],
    },
  ];
  threads: Thread[] = [];
  kinds: Kind[] = [];
  events: EventType[] = [];
  spanTypes: SpanType[] = [];
  losses: Loss[] = [];
  marks: Mark[] = [];
  spans: Span[] = [];
  notes: string[] = [];
  inputs = ["gcbench.tel"];
  /** Spans of at most this number are in a lane. */
  mostSpans = 120_000;
  mostRows = 2_000;
  private rows: { event: number; thread: number; at: Ns; params: unknown[] }[] = [];
  private bulks: { event: number; thread: number; from: Ns; until: Ns; count: number }[] = [];

  constructor(
    public duration: Ns,
    public texts: string[] = [],
  ) {}

  event(event: number, thread: number, at: Ns, ...params: unknown[]): void {
    this.rows.push({ event, thread, at, params });
  }

  /** Adds many events, spread evenly, without rows in the sample. */
  bulk(event: number, thread: number, from: Ns, until: Ns, count: number): void {
    this.bulks.push({ event, thread, from, until, count });
  }

  private text(text: string): number {
    const at = this.texts.indexOf(text);
    return at >= 0 ? at : this.texts.push(text) - 1;
  }

  /** Finds depths and self times. */
  private nest(): Found[][] {
    const all: Found[][] = this.threads.map(() => []);
    for (const span of this.spans) all[span.thread].push({ ...span, depth: 0, self: span.duration });
    for (const spans of all) {
      spans.sort((a, b) => a.begin - b.begin || b.duration - a.duration);
      const outer: Found[] = [];
      for (const span of spans) {
        while (outer.length && outer.at(-1)!.begin + outer.at(-1)!.duration <= span.begin) outer.pop();
        span.depth = outer.length;
        if (outer.length) outer.at(-1)!.self -= span.duration;
        outer.push(span);
      }
    }
    return all;
  }

  private heat(values: [Ns, number][]): Heat {
    const width = Math.max(1, Math.ceil((this.duration + 1) / COLUMNS));
    const columns = new Map<number, Map<number, number>>();
    const sums = new Map<number, number>();
    for (const [at, value] of values) {
      const column = Math.floor(at / width);
      if (!columns.has(column)) columns.set(column, new Map());
      const of = columns.get(column)!;
      of.set(bucketOf(value), (of.get(bucketOf(value)) ?? 0) + 1);
      sums.set(column, (sums.get(column) ?? 0) + value);
    }
    return {
      width,
      columns: [...columns]
        .sort((a, b) => a[0] - b[0])
        .map(([at, of]) => {
          const sorted = [...of].sort((a, b) => a[0] - b[0]);
          return {
            at,
            buckets: sorted.map((b) => b[0]),
            counts: sorted.map((b) => b[1]),
            sum: sums.get(at)!,
          };
        }),
    };
  }

  private lane(thread: number, spans: Found[]): Lane {
    let kept = spans;
    let complete = 0;
    if (spans.length > this.mostSpans) {
      complete = spans.map((span) => span.duration).sort((a, b) => b - a)[this.mostSpans - 1];
      kept = spans.filter((span) => span.duration >= complete);
    }
    // Many lanes share the room of the page.
    const buckets = this.threads.length > 100 ? 40 : BUCKETS;
    const width = Math.max(1, Math.ceil((this.duration + 1) / buckets));
    const depths = spans.reduce((most, span) => Math.max(most, span.depth + 1), 1);
    const rows = Array.from({ length: depths }, (_, depth) => {
      const ns: number[] = Array(buckets).fill(0);
      const numbers: number[] = Array(buckets).fill(0);
      for (const span of spans.filter((span) => span.depth === depth)) {
        const end = span.begin + span.duration;
        const first = Math.floor(span.begin / width);
        numbers[first]++;
        for (let at = first; at < buckets && at * width < end; at++) {
          ns[at] += Math.min(end, (at + 1) * width) - Math.max(span.begin, at * width);
        }
      }
      return { depth, first: 0, ns, spans: numbers };
    });
    return {
      thread,
      depths,
      total: spans.length,
      complete_from: complete,
      spans: {
        begin: kept.map((span, i) => (i === 0 ? span.begin : span.begin - kept[i - 1].begin)),
        duration: kept.map((span) => span.duration),
        span: kept.map((span) => span.type),
        depth: kept.map((span) => span.depth),
        key: kept.map((span) => (span.key === undefined ? -1 : this.text(span.key))),
        end_thread: kept.map((span) => span.endThread ?? -1),
        is_uncertain: kept.map((span) => (span.isUncertain ? 1 : 0)),
      },
      cover: { width, rows },
    };
  }

  /** Returns the document of all that was added. */
  report(): Report {
    const lanes = this.nest();
    for (const span of lanes.flat()) {
      const { begin, end } = this.spanTypes[span.type];
      if (begin >= 0)
        this.event(begin, span.thread, span.begin, ...(span.params ?? (span.key ? [span.key] : [])));
      if (end >= 0) this.event(end, span.endThread ?? span.thread, span.begin + span.duration);
    }
    this.rows.sort((a, b) => a.at - b.at);
    const width = Math.max(1, Math.ceil((this.duration + 1) / BUCKETS));
    const series = new Map<string, { thread: number; event: number; counts: number[] }>();
    const add = (thread: number, event: number, at: Ns, count: number) => {
      const key = `${thread} ${event}`;
      if (!series.has(key)) series.set(key, { thread, event, counts: Array(BUCKETS).fill(0) });
      series.get(key)!.counts[Math.floor(at / width)] += count;
    };
    for (const row of this.rows) add(row.thread, row.event, row.at, 1);
    for (const bulk of this.bulks) {
      const steps = Math.max(1, Math.floor((bulk.until - bulk.from) / width));
      for (let i = 0; i < steps; i++) {
        const count = Math.floor((bulk.count * (i + 1)) / steps) - Math.floor((bulk.count * i) / steps);
        add(bulk.thread, bulk.event, bulk.from + i * width, count);
      }
    }
    const totals = [...series.values()].map((one) => ({
      ...one,
      total: one.counts.reduce((a, b) => a + b, 0),
    }));
    const sum = (test: (one: { thread: number; event: number }) => boolean) =>
      totals.filter(test).reduce((all, one) => all + one.total, 0);
    const all = sum(() => true);
    const measured = (count: number) => ({
      count,
      bytes: count * 9,
      per_second: this.duration ? (count * 1e9) / this.duration : null,
      first_ns: count ? 0 : null,
      last_ns: count ? this.duration : null,
    });
    const perThread = this.threads.map(() => 0);
    const perEvent = this.events.map(() => 0);
    for (const one of totals) {
      perThread[one.thread] += one.total;
      perEvent[one.event] += one.total;
    }
    this.threads.forEach((thread, i) => (thread.events = perThread[i]));
    const lost = this.losses.reduce((total, loss) => total + (loss.events ?? 0), 0);
    const found = lanes.flat();
    const starts = new Map<number, [Ns, number][]>();
    for (const row of this.rows) {
      const times = starts.get(row.event) ?? [];
      starts.set(row.event, times);
      times.push([row.at, row.thread]);
    }
    const made: Report = {
      version: 1,
      made_by: "telemetry 0.1.0",
      inputs: this.inputs,
      origin: this.origin,
      duration: this.duration,
      sessions: this.sessions,
      threads: this.threads,
      kinds: this.kinds,
      events: this.events,
      spans: this.spanTypes,
      texts: this.texts,
      stats: {
        version: 1,
        ...measured(all),
        events: this.events.map((event, i) => ({
          ...measured(perEvent[i]),
          event: event.name,
          code: event.code,
          registry: event.registry,
          fingerprint: event.fingerprint,
          kind: this.kinds[event.kind].name,
          intervals_ns: summary((starts.get(i) ?? []).slice(1).map(([at], j) => at - starts.get(i)![j][0])),
          params: event.params.map((param, p) => {
            const values = this.rows.filter((row) => row.event === i).map((row) => row.params[p]);
            const numbers = values.filter((v): v is number => typeof v === "number");
            return {
              param: param.name,
              unit: param.unit,
              distribution: numbers.length ? summary(numbers) : null,
              top: top(values),
              top_error: 0,
            };
          }),
        })),
        kinds: this.kinds.map((kind, i) => ({
          ...measured(sum((one) => this.events[one.event].kind === i)),
          kind: kind.name,
          registry: kind.registry,
          fingerprint: kind.fingerprint,
        })),
        threads: this.threads.map((thread, i) => ({
          ...measured(perThread[i]),
          session: this.sessions[thread.session].id,
          thread: thread.thread,
          name: thread.name,
        })),
        completeness: {
          complete: this.losses.length === 0,
          events: all,
          blocks: Math.ceil(all / 1000),
          bytes: 192 + all * 9,
          filtered: 0,
          missing: 0,
          excluded: 0,
          lost: { pool: lost, reentrant: 0, sink: 0, truncated: 0 },
          losses: this.losses.map((loss) => ({
            session: this.sessions[0].id,
            thread: this.threads[loss.thread ?? 0]?.thread ?? 0,
            thread_name: this.threads[loss.thread ?? 0]?.name ?? "",
            kind: this.kinds[loss.kind ?? 0]?.name ?? "",
            lost: { pool: loss.events ?? 0, reentrant: 0, sink: 0, truncated: 0 },
            missing: 0,
            from_ns: loss.from,
            until_ns: loss.until,
          })),
          damaged_ranges: 0,
          may_be_truncated: false,
          unended_sessions: this.sessions.filter((session) => !session.ended).map((session) => session.id),
        },
      },
      paired: { version: 1, spans: [], longest: [], unmatched_count: 0 },
      losses: this.losses,
      more_losses: 0,
      marks: this.marks,
      more_marks: 0,
      rate: {
        width,
        buckets: Math.floor(this.duration / width) + 1,
        series: totals.map(({ thread, event, counts }) => ({ thread, event, ...trim(counts) })),
      },
      lanes: lanes.map((spans, thread) => this.lane(thread, spans)).filter((lane) => lane.total > 0),
      durations: [],
      values: [],
      memory: null,
      censuses: [],
      counters: [],
      sampled: null,
      pauses: null,
      flames: [],
      sample: [],
      against: null,
      notes: this.notes,
    };
    this.spanTypes.forEach((type, i) => {
      const of = found.filter((span) => span.type === i);
      if (of.length === 0) return;
      made.durations.push({
        span: i,
        thread: null,
        duration: this.heat(of.map((span) => [span.begin + span.duration, span.duration])),
        self: this.heat(of.map((span) => [span.begin + span.duration, span.self])),
      });
      const add = (of: number[]) => of.reduce((a, b) => a + b, 0);
      made.paired.spans.push({
        span: type.name,
        registry: type.registry,
        fingerprint: type.fingerprint,
        ...(type.message ? { message: type.message } : {}),
        key: type.key,
        duration_ns: summary(of.map((span) => span.duration)),
        total_ns: add(of.map((span) => span.duration)),
        self_ns: summary(of.map((span) => span.self)),
        total_self_ns: add(of.map((span) => span.self)),
        uncertain: of.filter((span) => span.isUncertain).length,
        begins_without_end: 0,
        ends_without_begin: 0,
        begins_dropped: 0,
      });
    });
    made.paired.spans.sort((a, b) => b.total_ns - a.total_ns);
    made.paired.longest = [...found]
      .sort((a, b) => b.duration - a.duration)
      .slice(0, 20)
      .map((span) => ({
        span: this.spanTypes[span.type].name,
        registry: this.spanTypes[span.type].registry,
        session: this.sessions[0].id,
        thread: this.threads[span.thread].thread,
        thread_name: this.threads[span.thread].name,
        key: span.key ?? null,
        begin_ns: span.begin,
        end_ns: span.begin + span.duration,
        duration_ns: span.duration,
        self_ns: span.self,
        certain: !span.isUncertain,
      }));
    const pauses = found
      .filter((span) => this.spanTypes[span.type].is_pause)
      .sort((a, b) => a.begin - b.begin);
    if (pauses.length > 0) {
      made.pauses = {
        begin: pauses.map((span, i) => span.begin - (i ? pauses[i - 1].begin : 0)),
        duration: pauses.map((span) => span.duration),
        span: pauses.map((span) => span.type),
        thread: pauses.map((span) => span.thread),
        cause: pauses.map((span) => (span.key ? this.text(span.key) : -1)),
        is_joined: false,
      };
    }
    this.events.forEach((event, i) => {
      event.params.forEach((_, param) => {
        const values = this.rows.filter((row) => row.event === i && typeof row.params[param] === "number");
        if (values.length === 0) return;
        const heat = this.heat(values.map((row) => [row.at, row.params[param] as number]));
        made.values.push({ event: i, param, thread: null, heat });
      });
      const rows = this.rows.filter((row) => row.event === i);
      if (rows.length === 0) return;
      const every = 2 ** Math.max(0, Math.ceil(Math.log2(rows.length / this.mostRows)));
      const kept = rows.filter((_, at) => at % every === 0);
      made.sample.push({
        event: i,
        every,
        total: perEvent[i],
        rows: kept.map((row, at) => [row.at - (at ? kept[at - 1].at : 0), row.thread, ...row.params]),
      });
    });
    return made;
  }
}
