/**
 * Running totals, such as what a thread has allocated since it began. A sum of them means nothing. No
 * registry marks them: they are told by their values.
 */

import type { Ns, Report } from "../document";

/** The values of a thread that never fall. */
export interface Total {
  thread: number;
  at: Ns[];
  values: number[];
}

/** Fewer steps from one value to the next say nothing. */
const LEAST_STEPS = 4;

/** Sizes may be equal for long. A total that is told rises this often, as a share of its steps. */
const LEAST_RISES = 1 / 3;

const known = new WeakMap<Report, Map<string, Total[] | null>>();

/** Returns the values of a parameter by thread if each thread's never fall but rise; otherwise null. */
export function totalsOf(report: Report, event: number, param: number): Total[] | null {
  let all = known.get(report);
  if (!all) known.set(report, (all = new Map()));
  const key = `${event}.${param}`;
  let found = all.get(key);
  if (found === undefined) all.set(key, (found = findTotals(report, event, param)));
  return found;
}

function findTotals(report: Report, event: number, param: number): Total[] | null {
  const sample = report.sample.find((one) => one.event === event);
  const threads = new Map<number, Total>();
  let [at, steps, rises] = [0, 0, 0];
  for (const [since, thread, ...params] of sample?.rows ?? []) {
    at += since;
    const value = params[param] === null ? NaN : Number(params[param]);
    if (!Number.isFinite(value)) return null;
    let total = threads.get(thread);
    if (!total) threads.set(thread, (total = { thread, at: [], values: [] }));
    const before = total.values.at(-1);
    if (before !== undefined) {
      if (value < before) return null;
      steps++;
      if (value > before) rises++;
    }
    total.at.push(at);
    total.values.push(value);
  }
  // One lane stands for many threads: their totals mix.
  const isMixed = [...threads.keys()].some((thread) => report.threads[thread]?.others > 0);
  return steps >= LEAST_STEPS && rises >= steps * LEAST_RISES && !isMixed ? [...threads.values()] : null;
}

/**
 * Returns the values of a counter, which is one for all threads; null if the picture, which begins at
 * zero, cannot show them.
 */
export function curveOf(report: Report, event: number, param: number): Total | null {
  const total: Total = { thread: 0, at: [], values: [] };
  let at = 0;
  for (const [since, , ...params] of report.sample.find((one) => one.event === event)?.rows ?? []) {
    at += since;
    const value = Number(params[param] ?? NaN);
    if (value < 0) return null;
    if (!Number.isFinite(value)) continue;
    total.at.push(at);
    total.values.push(value);
  }
  return total.values.length > 0 ? total : null;
}

/** Returns the last value up to the end of each interval. */
export function levels({ at, values }: Total, width: Ns, until: Ns): Float64Array {
  const all = new Float64Array(Math.floor(until / width) + 1);
  for (let interval = 0, next = 0; interval < all.length; interval++) {
    while (next < at.length && at[next] < (interval + 1) * width) next++;
    all[interval] = next > 0 ? values[next - 1] : 0;
  }
  return all;
}
