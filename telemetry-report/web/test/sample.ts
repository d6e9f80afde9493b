/** Sample documents: reports of several programs. `npm run sample NAME` makes pages of them. */

import type { Report } from "../src/document";
import { against } from "./against";
import { counterOf } from "./counter";
import { random } from "./figures";
import { grown } from "./grown";
import { censusOf } from "./heap";
import { Run } from "./run";

const MS = 1e6;
const S = 1e9;

function gcTypes(run: Run): void {
  const gc = { registry: "gc", fingerprint: "6".repeat(16) };
  const own = { registry: "telemetry", fingerprint: "7".repeat(16) };
  run.kinds = [
    { ...gc, name: "phase", doc: "Phases of the collector.", is_runtime: false },
    { ...gc, name: "alloc", doc: "Each allocation.", is_runtime: false },
    { ...gc, name: "bench", doc: "The benchmark itself.", is_runtime: false },
    { ...own, name: "runtime", doc: "The framework's own events.", is_runtime: true },
  ];
  const param = (name: string, type: string, unit: string, doc: string) => ({
    name,
    type,
    unit,
    is_counter: false,
    doc,
  });
  const add = (name: string, kind: number, doc: string, ...params: Report["events"][number]["params"]) =>
    run.events.push({
      name,
      ...(kind === 3 ? own : gc),
      code: run.events.length + 1,
      kind,
      doc,
      params,
    });
  add("CollectBegin", 0, "A collection begins; the program stands still.", param("why", "Why", "", "What made the collector begin."));
  add("CollectEnd", 0, "The collection ends.");
  add("TraceBegin", 0, "The collector begins to follow references.");
  add("TraceEnd", 0, "All reachable objects are marked.");
  add("SweepBegin", 0, "The collector begins to free what is not marked.");
  add("SweepEnd", 0, "Everything unmarked is free.");
  const size = param("size", "u32", "bytes", "Size of the object.");
  add("Alloc", 1, "An object is allocated.", size, param("at", "pointer", "", "Its address."));
  add("TreeBegin", 2, "A tree is built.", param("depth", "u8", "", "Depth of the tree."));
  add("TreeEnd", 2, "The tree is complete.");
  add("Drained", 3, "The drain wrote what was recorded.", param("bytes", "u64", "bytes", "Written."));
  add("HelpBegin", 0, "A helper is asked for help.");
  add("HelpEnd", 0, "A helper has done its part.");
  const span = (name: string, begin: number, doc: string, key: string | null, is_pause = false) =>
    run.spanTypes.push({ ...gc, name, doc, message: null, key, is_pause, begin, end: begin + 1 });
  span("Collect", 0, "The program stands still while the collector works.", "why", true);
  span("Trace", 2, "The collector follows references.", null);
  span("Sweep", 4, "The collector frees what is not marked.", null);
  span("Tree", 7, "A tree is built.", "depth");
  span("Help", 10, "From the request to its answer on another thread.", null);
}

/** A benchmark of collectors: two threads, nested spans, pauses and many allocations. */
export function gcbench(scale = 1): Run {
  const run = new Run(2.41 * S);
  gcTypes(run);
  const rnd = random(1);
  run.threads = [
    { session: 0, thread: 1, name: "main", events: 0, others: 0 },
    { session: 0, thread: 2, name: "gc #1", events: 0, others: 0 },
  ];
  for (let at = 5 * MS, i = 0; at < 2380 * MS; i++) {
    const pause = (0.4 + 4 * rnd() ** 4) * MS;
    const key = i % 7 === 6 ? "HeapFull" : "NurseryFull";
    const long = key === "HeapFull" ? pause * 3 : pause;
    run.spans.push({ thread: 0, type: 0, begin: at, duration: long, key });
    run.spans.push({ thread: 0, type: 1, begin: at + long * 0.05, duration: long * 0.55 });
    run.spans.push({ thread: 0, type: 2, begin: at + long * 0.62, duration: long * 0.33 });
    run.spans.push({ thread: 0, type: 4, begin: at + long * 0.1, duration: long * 0.3, endThread: 1 });
    run.spans.push({ thread: 1, type: 1, begin: at + long * 0.1, duration: long * 0.45 });
    const gap = (14 + 8 * rnd()) * MS;
    run.bulk(6, 0, at + long, at + long + gap, Math.round(600_000 * scale * (0.5 + rnd())));
    for (let j = 0; j < 12; j++) {
      run.event(
        6,
        0,
        at + long + gap * rnd(),
        2 ** (4 + Math.floor(8 * rnd() ** 2)),
        `0x${(rnd() * 2 ** 40).toString(16)}`,
      );
    }
    for (let tree = at + long + 0.2 * MS; tree < at + long + gap - 1.5 * MS;) {
      const duration = (0.05 + rnd() ** 3) * MS;
      run.spans.push({
        thread: 0,
        type: 3,
        begin: tree,
        duration,
        key: String(4 + 2 * Math.floor(rnd() * 6)),
      });
      tree += duration + rnd() * 0.2 * MS;
    }
    if (i % 8 === 0) run.event(9, 1, at + long + gap / 2, Math.round(2 ** 20 * rnd()));
    at += long + gap;
  }
  run.marks = [
    { at: 400 * MS, thread: 0, text: "warm-up done" },
    { at: 1500 * MS, thread: 1, text: "deploy 17" },
  ];
  for (const span of run.spans) {
    span.begin = Math.round(span.begin);
    span.duration = Math.round(span.duration);
    span.params = span.key === undefined ? [] : [span.type === 3 ? Number(span.key) : span.key];
  }
  return run;
}

/** The same with events lost in two places. */
export function losses(): Run {
  const run = gcbench();
  run.sessions[0].ended = false;
  run.losses = [
    { thread: 0, kind: 1, from: 1200 * MS, until: 1222 * MS, events: 1230, cause: "1,230 pool full" },
    { thread: 1, kind: null, from: 1805 * MS, until: 1806 * MS, events: null, cause: "damaged block" },
    {
      thread: null,
      kind: null,
      from: 2050 * MS,
      until: 2100 * MS,
      events: 411_000,
      cause: "411,000 sink failed",
    },
  ];
  for (const span of run.spans) {
    const end = span.begin + span.duration;
    span.isUncertain = run.losses.some((loss) => span.begin < loss.until && end > loss.from);
  }
  return run;
}

/** Ten thousand threads with a dozen spans each. */
export function threads(): Run {
  const run = new Run(8 * S);
  gcTypes(run);
  const rnd = random(2);
  run.inputs = ["server.tel"];
  run.sessions[0].program = "server";
  for (let thread = 0; thread < 10_000; thread++) {
    run.threads.push({ session: 0, thread: thread + 1, name: `worker ${thread}`, events: 0, others: 0 });
    let at = Math.round(rnd() * 4 * S);
    for (let i = 0; i < 4; i++) {
      const duration = Math.round((1 + 400 * rnd() ** 3) * MS);
      run.spans.push({ thread, type: 0, begin: at, duration, key: "NurseryFull" });
      run.spans.push({
        thread,
        type: 1,
        begin: at + Math.round(duration / 10),
        duration: Math.round(duration / 2),
      });
      run.spans.push({
        thread,
        type: 2,
        begin: at + Math.round(duration * 0.7),
        duration: Math.round(duration / 4),
      });
      at += duration + Math.round(rnd() * 300 * MS);
    }
  }
  return run;
}

/** A program that does something once in a while: 100 events in an hour. */
export function slow(): Run {
  const run = new Run(3600 * S);
  gcTypes(run);
  const rnd = random(3);
  run.threads = [{ session: 0, thread: 1, name: "", events: 0, others: 0 }];
  run.threads[0].name = "#1";
  for (let i = 0; i < 20; i++) {
    const begin = Math.round((i * 180 + rnd() * 100) * S);
    run.spans.push({
      thread: 0,
      type: 0,
      begin,
      duration: Math.round((1 + rnd() * 40) * S),
      key: "HeapFull",
    });
    for (let j = 0; j < 3; j++) run.event(6, 0, Math.round(begin + 50 * S * rnd()), 64, "0x7f001000");
  }
  return run;
}

/** No event at all. */
export function empty(): Run {
  const run = new Run(0);
  run.sessions = [];
  run.inputs = ["empty.tel"];
  return run;
}

/** Names and texts that try to be markup, to hide, or to be very long. */
export function hostile(): Run {
  const bad = "</script><img src=x onerror=alert(1)><!--";
  const run = gcbench();
  run.inputs = [bad, "a".repeat(1_000_000)];
  run.sessions[0].program = bad;
  run.sessions[0].args = [bad, "\u001b[31mred\u0007", "x".repeat(1_000_000)];
  run.sessions[0].facts.push([bad, "\u202eright to left"], ["long", "y".repeat(1_000_000)]);
  run.threads[0].name = `${bad}\n\u001b[2J`;
  run.threads[1].name = "n".repeat(1_000_000);
  run.kinds[0].name = `${bad}\u0000`;
  run.kinds[1].name = "k".repeat(5_000);
  run.events[0].name = bad;
  run.events[6].name = "E".repeat(100_000);
  run.events[6].doc = bad;
  run.spanTypes[0].name = bad;
  run.spanTypes[3].name = "constructor";
  run.spans[0].key = "z".repeat(1_000_000);
  run.spans[5].key = bad;
  run.losses = [{ thread: 0, kind: 0, from: 1 * S, until: 1.1 * S, events: 7, cause: `${bad} \u0001` }];
  run.marks = [{ at: 2 * S, thread: 0, text: bad }];
  run.notes = [bad];
  return run;
}

/** Spans in the numbers that a report has at most. */
export function many(): Run {
  const run = new Run(60 * S);
  gcTypes(run);
  const rnd = random(4);
  run.mostSpans = 15_000;
  for (let thread = 0; thread < 8; thread++) {
    run.threads.push({ session: 0, thread: thread + 1, name: `worker ${thread}`, events: 0, others: 0 });
    for (let at = 0; at < 59 * S;) {
      const duration = Math.round((0.1 + 12 * rnd() ** 6) * MS);
      run.spans.push({ thread, type: 0, begin: at, duration, key: "NurseryFull" });
      run.spans.push({
        thread,
        type: 1,
        begin: at + Math.round(duration / 10),
        duration: Math.round(duration / 2),
      });
      at += duration + Math.round(rnd() * 8 * MS);
    }
    run.bulk(6, thread, 0, 59 * S, 4_000_000);
  }
  return run;
}

/** One event. */
export function one(): Run {
  const run = new Run(0);
  gcTypes(run);
  run.threads = [{ session: 0, thread: 1, name: "main", events: 0, others: 0 }];
  run.event(6, 0, 0, 64, "0x7f001000");
  return run;
}

/** Three sessions over three years, one with a span that never ends in between. */
export function years(): Run {
  const run = new Run(3 * 365 * 86_400 * S);
  gcTypes(run);
  const [first] = run.sessions;
  run.sessions = [0, 1, 2].map((year) => ({
    ...first,
    id: `00c0ffee0000000${year}`,
    pid: 4711 + year,
    start: year * 365 * 86_400 * S,
  }));
  for (let session = 0; session < 3; session++) {
    run.threads.push({ session, thread: 1, name: "main", events: 0, others: 0 });
    const at = run.sessions[session].start;
    for (let i = 0; i < 10; i++) {
      run.spans.push({
        thread: session,
        type: 0,
        begin: at + i * 7200 * S,
        duration: (i + 1) * 600 * S,
        key: "HeapFull",
      });
    }
  }
  return run;
}

/** A log of another system: no date, no end mark, and several stacks; one thread is not in the sample. */
export function log(): Run {
  const run = gcbench(0.2);
  run.sessions[0] = { ...run.sessions[0], program: "", pid: null, host: null, start: 0 };
  run.inputs = ["logs/vm.log"];
  run.threads.push({ session: 0, thread: 9, name: "unsampled", events: 0, others: 0 });
  run.bulk(6, 2, 0, run.duration, 4_000);
  return run;
}

function logReport(): Report {
  const report = grown(log().report());
  report.origin = "0";
  Object.assign(report.stats.completeness, { complete: false, may_be_truncated: true });
  const stacks = report.flames.at(-1)!;
  for (const name of ["AllocTraced", "ThrowTraced", "MonitorContentionTraced"]) {
    report.flames.push({ ...stacks, name });
  }
  for (const sample of report.sample) sample.rows = sample.rows.filter((row) => row[1] !== 2);
  return report;
}

export const SAMPLES: Record<string, () => Report> = Object.fromEntries(
  Object.entries({ gcbench, losses, threads, slow, empty, hostile, many, one, years }).map(
    ([name, make]) => [name, () => grown(make().report())],
  ),
);
SAMPLES.log = logReport;
Object.assign(SAMPLES, {
  compared: () => ({ ...SAMPLES.gcbench(), against: against(SAMPLES.gcbench(), 1.3) }),
  compared_hostile: () => ({ ...SAMPLES.hostile(), against: against(SAMPLES.hostile(), 0.5) }),
  compared_apart: () => ({ ...SAMPLES.gcbench(), against: against(SAMPLES.gcbench(), 0) }),
  compared_empty: () => ({ ...SAMPLES.empty(), against: against(SAMPLES.slow(), 2, true) }),
});
SAMPLES.census = () => {
  const report = SAMPLES.gcbench();
  const censuses = [
    censusOf(report, 200, 120, "heap", 2),
    censusOf(report, 3, 3, "entries"),
    censusOf(report, 4, 1, "once"),
  ];
  return { ...report, censuses };
};
SAMPLES.counters = () => {
  const report = SAMPLES.gcbench();
  const threads = Array.from({ length: 10 }, (_, i) => counterOf(report, "ThreadHits", "rising", String(4000 + i)));
  const counters = [
    counterOf(report, "Process.resident", "wave", null, "bytes"),
    counterOf(report, "CacheHits", "rising"),
    counterOf(report, "Balance", "below"),
    ...threads,
    counterOf(report, "Once", "once"),
  ];
  counters[0].registry = "telemetry";
  const spans = [
    { span: "Collect", periods: 900, share: 0.9, self_periods: 500, self_share: 0.5 },
    { span: "Sweep", periods: 400, share: 0.4, self_periods: 400, self_share: 0.4 },
    { span: "(no span)", periods: 100, share: 0.1, self_periods: 100, self_share: 0.1 },
  ];
  return { ...report, counters, sampled: { samples: 990, periods: 1000, spans } };
};
