/**
 * The document in the page: everything that the pictures and tables show. The Rust crate writes it
 * (`src/document/`), and this file describes it for the page.
 *
 * Members of `Stats` and `PairedSpans` are those of `telemetry stats --json` and
 * `telemetry spans --json`; see `docs/json.md`.
 */

/** Nanoseconds since `Report.origin`, or a duration. Exact up to 2^53, which is 104 days. */
export type Ns = number;

/** A whole number that may exceed 2^53 is text in decimal digits. */
export type Whole = number | string;

export interface Report {
  version: 1;
  /** The program that wrote the page, such as `telemetry 0.1.0`. */
  made_by: string;
  inputs: string[];
  /** Time 0 of the page, the time of the first event: nanoseconds since 1970 in UTC, as digits. */
  origin: string;
  /** From the first to the last event. */
  duration: Ns;
  sessions: Session[];
  /** The first that occurred; all others are the last one, whose `others` is not 0. */
  threads: Thread[];
  kinds: Kind[];
  /** Types that occurred, in the order of their registries. */
  events: EventType[];
  /** Types of spans, and of messages that are pairs. */
  spans: SpanType[];
  /** Texts that occur often, by index. */
  texts: string[];
  stats: Stats;
  paired: PairedSpans;
  losses: Loss[];
  /** Losses that are not in `losses`, because there are too many. */
  more_losses: number;
  /** By time; the first that occurred. */
  marks: Mark[];
  /** Marks that are not in `marks`, because there are too many. */
  more_marks: number;
  rate: Rate;
  lanes: Lane[];
  durations: SpanHeat[];
  values: ValueHeat[];
  memory: Memory | null;
  /** By the first of each; one for each session. */
  censuses: Census[];
  /** By the first value of each. */
  counters: Counter[];
  /** Null if no thread was sampled. */
  sampled: Sampled | null;
  /** Null if no span is a pause. */
  pauses: Pauses | null;
  flames: Flame[];
  sample: Sample[];
  /** The run before, which the page shows beside this one; null if there is none. */
  against: Against | null;
  /** What was reduced or left out, as sentences. */
  notes: string[];
}

/** A figure of the run before and of this one; null: it has none. */
export interface Pair {
  a: Whole | null;
  b: Whole | null;
  /** Of `a`; null without it. */
  change: number | null;
}

/** Whether a difference is more than noise. */
export interface Tested {
  /** That chance makes such a difference; null if there are too few values. */
  probability: number | null;
  significant: boolean;
}

/** What `telemetry diff --json` prints, with names, verdicts and durations. */
export interface Against {
  names: [string, string];
  /** The verdicts, as lines. */
  says: [string[], string[]];
  runs: { events: number; seconds: number | null; completeness: { complete: boolean } }[];
  /** A star needs a probability below this. */
  level: number;
  tests: number;
  /** The length of an interval of each run. */
  width_ns: [number, number];
  /** Number of all events in the intervals of each run. */
  counts: [number[], number[]];
  events: ({
    event: string;
    registry: string;
    count: Pair;
    per_second: Pair;
    bytes: Pair;
    /** As those of all events; empty without one. */
    counts: [number[], number[]];
  } & Tested)[];
  spans: ({
    span: string;
    registry: string;
    count: Pair;
    total_ns: Pair;
    p50_ns: Pair;
    p90_ns: Pair;
    p99_ns: Pair;
    max_ns: Pair;
  } & Tested)[];
  by: string[];
  groups: { values: string[]; events: Pair; sums: ({ param: string } & Pair)[] }[];
  /** Rare groups of each run that were dropped. */
  dropped_groups: [number, number];
  /** Of each element of `spans`, in buckets as those of `Heat`. */
  durations: [{ buckets: number[]; counts: number[] }, { buckets: number[]; counts: number[] }][];
  /** What the lists lack, because the page would be too large. */
  left_out: { events: number; spans: number; groups: number };
}

export interface Session {
  /** 16 hexadecimal digits. */
  id: string;
  program: string;
  args: string[];
  pid: number | null;
  host: string | null;
  /** The session's start on the page's axis. May be negative. Its time plus this is the page's. */
  start: Ns;
  /** False if the program was killed, or is still running. */
  ended: boolean;
  /** What the stream says of the program's end, each with a name: `panic`, `signal` or `exit code`. */
  endings: [string, string][];
  /** All other facts, as text. */
  facts: [string, string][];
}

export interface Thread {
  session: number;
  /** The session's number for it; 0 for others. */
  thread: number;
  /** Its name, or `#7`. */
  name: string;
  events: number;
  /** Number of threads that this one stands for; 0 for a single thread. */
  others: number;
}

export interface Kind {
  /** With its version if the recording has several, as in each type. */
  registry: string;
  /** 16 hexadecimal digits that only this version of the registry has. */
  fingerprint: string;
  name: string;
  doc: string;
  /** A kind of the runtime's own registry. */
  is_runtime: boolean;
}

export interface EventType {
  name: string;
  registry: string;
  fingerprint: string;
  code: number;
  kind: number;
  doc: string;
  params: Param[];
}

export interface Param {
  name: string;
  /** As in `events.toml`: `u32`, `pointer`, `Why`. */
  type: string;
  unit: string;
  /** A reading of something that changes over time. */
  is_counter: boolean;
  doc: string;
}

export interface SpanType {
  name: string;
  /** Its name in the registry. The page sets it. */
  plain?: string;
  registry: string;
  fingerprint: string;
  doc: string;
  /** Name of the message with these pairs. */
  message: string | null;
  key: string | null;
  is_pause: boolean;
  /** Events that begin and end it. -1: did not occur. */
  begin: number;
  end: number;
}

/** Where events are missing. */
export interface Loss {
  /** Null if no thread is known. */
  thread: number | null;
  /** Null: any kind. */
  kind: number | null;
  from: Ns;
  until: Ns;
  /** Events of its thread and kind that are lost; null if the number is not known. */
  events: number | null;
  /** Causes, such as `pool full`, with numbers. */
  cause: string;
}

/** A moment of the run with a text. */
export interface Mark {
  at: Ns;
  thread: number;
  /** Empty if the stream does not have it. */
  text: string;
}

/** Numbers of events over time. Bucket `i` covers `[i * width, (i + 1) * width)`. */
export interface Rate {
  width: Ns;
  buckets: number;
  series: { thread: number; event: number; /** First bucket. */ first: number; counts: number[] }[];
}

/** The spans of a thread. */
export interface Lane {
  thread: number;
  /** Depth of nesting, at least 1. */
  depths: number;
  /** The number of all spans of the thread. */
  total: number;
  /** All spans of at least this duration are in `spans`. 0: all are. */
  complete_from: Ns;
  /** By begin. Lists of equal length. */
  spans: {
    /** The first, then the difference from the one before. */
    begin: Ns[];
    duration: Ns[];
    span: number[];
    /** Row in the lane, from 0: inner spans are below outer ones, and no two overlap. */
    depth: number[];
    /** Index into `texts`, or -1. */
    key: number[];
    /** Thread on which it ends; -1: the same. */
    end_thread: number[];
    /** 1: begin or end may be among missing events. */
    is_uncertain: number[];
  };
  /** All spans, as time that they cover in each bucket, by depth. */
  cover: { width: Ns; rows: { depth: number; /** First bucket. */ first: number; ns: Ns[]; spans: number[] }[] };
}

/**
 * Numbers over time. `at` is the number of the interval of `width` nanoseconds.
 *
 * A bucket is a number from the bits of a float: 0 for zero; for a number x > 0 its upper 15 bits
 * without the sign (`bits >> 49`: 8 buckets for each power of two) plus 1; for x < 0 the negative of
 * the bucket of -x.
 */
export interface Heat {
  width: Ns;
  columns: { at: number; buckets: number[]; counts: number[]; sum: number }[];
}

export interface SpanHeat {
  span: number;
  /** Thread of the begin. Null: all threads without an entry of their own. */
  thread: number | null;
  /** In the interval in which the span ends, as `self`. */
  duration: Heat;
  self: Heat;
}

export interface ValueHeat {
  event: number;
  /** Index of the parameter. */
  param: number;
  /** Null: all threads without an entry of their own. */
  thread: number | null;
  heat: Heat;
}

/** Memory that events with a `replay` role allocated and freed. Lists are by interval of `width`. */
export interface Memory {
  width: Ns;
  /** At the end of each interval. */
  live_bytes: number[];
  live_blocks: number[];
  /** The most at once within each interval. */
  peak_bytes: number[];
  allocated_bytes: number[];
  freed_bytes: number[];
  /** By size: from a power of two up to the next. */
  classes: MemoryGroup[];
  /** By event type and its first label or enum parameter. */
  groups: MemoryGroup[];
  allocations: number;
  frees: number;
  /** Frees of memory that no event allocated. */
  unknown_frees: number;
}

export interface MemoryGroup {
  name: string;
  allocations: number;
  allocated_bytes: number;
  /** At the end of each interval. */
  live_bytes: number[];
  live_blocks: number[];
  /** Never freed. */
  left_bytes: number;
  left_blocks: number;
}

/**
 * How much there was of each class, over time: an element of `censuses` of `telemetry census --json`, with the
 * amounts.
 */
export interface Census {
  /** What is counted: `heap`. */
  census: string;
  registry: string;
  /** 16 hexadecimal digits. */
  session: string;
  /** Of the amounts; may be empty. */
  unit: string;
  /** The number of all censuses. */
  count: Whole;
  /** Those with most first. */
  classes: CensusClass[];
  /** All that are not listed. */
  others: CensusClass | null;
  total: CensusClass;
  /** One of this many is in `at`; 1: all. */
  every: number;
  /** The times of censuses, in order. */
  at: Ns[];
  /** By class, then by census. */
  amounts: number[][];
  others_amounts: number[];
}

export interface CensusClass {
  class: string;
  mean: Whole;
  /** Null of others. */
  most: Whole | null;
  /** Since the session's start. */
  most_at_ns: Whole | null;
  last: Whole;
}

/** A counter of a session, or of one of its threads. */
export interface Counter {
  /** `EVENT`, `EVENT.PARAMETER`, or `SECTION: NAME` of Mono's. */
  counter: string;
  registry: string;
  /** Index into `sessions`. */
  session: number;
  /** The system's number of the thread whose value it is; null: the process has one value. */
  thread: string | null;
  unit: string;
  doc: string;
  /** The number of all values, which the next five are of. */
  count: number;
  first: number;
  last: number;
  min: number;
  max: number;
  /** Whether a value was less than the one before. */
  falls: boolean;
  /** One of this many is in `values`, and the last; 1: all. */
  every: number;
  /** The first, then the difference from the one before. */
  at: Ns[];
  values: number[];
}

/** Samples of threads by the spans that were open: the object of `telemetry stats --samples --json`. */
export interface Sampled {
  samples: number;
  periods: number;
  /** Those with most periods first. */
  spans: { span: string; periods: number; share: number; self_periods: number; self_share: number }[];
}

/** Spans that stop the program, by begin; lists of equal length. */
export interface Pauses {
  /** The first, then the difference from the one before. */
  begin: Ns[];
  duration: Ns[];
  span: number[];
  thread: number[];
  /** The parameters of the begin event as text, index into `texts`, or -1. */
  cause: number[];
  /** True if there were too many, so that neighbors were joined: then the utilization is a lower bound. */
  is_joined: boolean;
}

/** Nested spans or stacks, added up. */
export interface Flame {
  /** `spans`, or the name of the event type with stacks. */
  name: string;
  /** `ns`, `samples`, or a unit. */
  unit: string;
  thread: number;
  /** Intervals of `slices`. */
  width: Ns;
  nodes: {
    /** Index of the outer node, always lower; -1 for outermost. */
    parent: number[];
    /** Index into `texts`. */
    name: number[];
    /** In `unit`, without inner nodes. */
    self: number[];
    count: number[];
    /** Pairs of interval and `self` in it. */
    slices: number[][];
  };
}

/** Events of one type, all or one of each `every`, by time. */
export interface Sample {
  event: number;
  /** One of this many is in `rows`; 1: all. */
  every: number;
  total: number;
  /** Time (difference from the row before), thread, and the parameters as in `telemetry print --json`. */
  rows: [Ns, number, ...unknown[]][];
}

/** A distribution. Infinities and NaN are text. */
export interface Summary {
  count: number;
  min: Whole | null;
  mean: Whole | null;
  p50: Whole | null;
  p90: Whole | null;
  p99: Whole | null;
  p999: Whole | null;
  max: Whole | null;
  nans?: number;
}

export interface Measured {
  count: number;
  bytes: number;
  per_second: number | null;
  /** Since the session's start. */
  first_ns: number | null;
  last_ns: number | null;
}

export interface Stats extends Measured {
  version: number;
  events: (Measured & {
    event: string;
    code: number;
    kind: string;
    registry: string;
    fingerprint: string;
    intervals_ns: Summary;
    params: {
      param: string;
      unit: string;
      distribution: Summary | null;
      top: { value: unknown; count: number; share: number }[];
      top_error: number;
    }[];
  })[];
  kinds: (Measured & { kind: string; registry: string; fingerprint: string })[];
  threads: (Measured & { session: string; thread: number; name: string })[];
  completeness: Verdict;
}

/** `completeness` of docs/json.md, with the members that the page uses. */
export interface Verdict {
  complete: boolean;
  events: number;
  blocks: number;
  bytes: number;
  filtered: number;
  missing: number;
  excluded: number;
  /** Numbers of events by cause; `truncated` counts values that were cut, whose events are not lost. */
  lost: { pool: number; reentrant: number; sink: number; truncated: number };
  losses: {
    session: string;
    thread: number;
    thread_name: string;
    kind: string;
    lost: { pool: number; reentrant: number; sink: number; truncated: number };
    missing: number;
    from_ns: number | null;
    until_ns: number | null;
  }[];
  damaged_ranges: number;
  may_be_truncated: boolean;
  unended_sessions: string[];
}

export interface PairedSpans {
  version: number;
  spans: {
    span: string;
    registry: string;
    fingerprint: string;
    message?: string;
    key: string | null;
    duration_ns: Summary;
    total_ns: number;
    self_ns: Summary;
    total_self_ns: number;
    uncertain: number;
    begins_without_end: number;
    ends_without_begin: number;
    begins_dropped: number;
  }[];
  longest: {
    span: string;
    registry: string;
    session: string;
    thread: number;
    thread_name: string;
    key: unknown;
    /** Since the session's start. */
    begin_ns: number;
    end_ns: number;
    duration_ns: number;
    self_ns: number;
    certain: boolean;
  }[];
  unmatched_count: number;
}
