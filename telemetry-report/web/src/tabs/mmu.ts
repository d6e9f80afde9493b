/**
 * Minimum mutator utilization (Cheng and Blelloch 2001): the least share of any window of a size in
 * which the program ran. The bounded variant takes all windows of that size or larger.
 */
import type { Ns } from "../document";

/** Times at which the program stood still: in order, apart from each other, within 0 to `length`. */
export interface Stops {
  begin: Float64Array;
  end: Float64Array;
  /** Sum of the stops before each, and of all. */
  before: Float64Array;
  length: Ns;
}

/** Unites intervals that overlap, and cuts them to a range, whose begin becomes 0. */
export function unite(intervals: [Ns, Ns][], from: Ns, until: Ns): Stops {
  const sorted = intervals
    .map(([begin, end]): [Ns, Ns] => [Math.max(begin, from) - from, Math.min(end, until) - from])
    .filter(([begin, end]) => begin < end)
    .sort((a, b) => a[0] - b[0]);
  const united: [Ns, Ns][] = [];
  for (const [begin, end] of sorted) {
    const last = united[united.length - 1];
    if (last && begin <= last[1]) last[1] = Math.max(last[1], end);
    else united.push([begin, end]);
  }
  const before = new Float64Array(united.length + 1);
  united.forEach(([begin, end], i) => (before[i + 1] = before[i] + end - begin));
  return {
    begin: Float64Array.from(united, (stop) => stop[0]),
    end: Float64Array.from(united, (stop) => stop[1]),
    before,
    length: until - from,
  };
}

/** Returns the most time within any window of this size that the program stood still. */
function mostStopped(stops: Stops, window: Ns): Ns {
  const { begin, end, before, length } = stops;
  const n = begin.length;
  let most = 0;
  // The worst window begins with a stop or ends with one, or lies at the edge of the run.
  for (let i = 0, j = 0; i < n; i++) {
    const until = Math.min(begin[i], length - window) + window;
    while (j < n && end[j] <= until) j++;
    // A window at the edge begins before its stop, within none or within an earlier one.
    const from = until - window;
    let first = i;
    while (first > 0 && end[first - 1] > from) first--;
    let time = before[j] - before[first];
    if (j < n) time += Math.max(0, until - begin[j]);
    if (first < n && begin[first] < from) time -= from - begin[first];
    most = Math.max(most, time);
    if (from < begin[i]) break; // All later ones are this window, too.
  }
  for (let i = n - 1, j = n - 1; i >= 0; i--) {
    const from = Math.max(end[i], window) - window;
    while (j >= 0 && begin[j] >= from) j--;
    const until = from + window;
    let last = i;
    while (last < n - 1 && begin[last + 1] < until) last++;
    let time = before[last + 1] - before[j + 1];
    if (j >= 0) time += Math.max(0, end[j] - from);
    if (end[last] > until) time -= end[last] - until;
    most = Math.max(most, time);
    if (until > end[i]) break;
  }
  return most;
}

/** Returns the minimum mutator utilization of windows of this size. */
export function mmu(stops: Stops, window: Ns): number {
  const size = Math.min(window, stops.length);
  if (size <= 0) return 1;
  const ran = size - mostStopped(stops, size);
  // No clock counts thousandths of nanoseconds: these are rests of sums of large numbers.
  return ran < 1e-3 ? 0 : ran / size;
}

/** Returns the minimum mutator utilization of windows of at least this size. `exact` is that of this size. */
export function bmu(stops: Stops, window: Ns, exact = mmu(stops, window)): number {
  const { begin, end, before, length } = stops;
  const size = Math.min(window, length);
  if (size <= 0) return begin.length > 0 ? 0 : 1;
  let densest = 0;
  // A longer window that is worse begins with a stop and ends with one. Among the begins that are
  // far enough, those on the lower hull matter, and of these none before the best one so far.
  const hull: number[] = [];
  const slope = (i: number, k: number) => (before[k] - before[i]) / (begin[k] - begin[i]);
  let head = 0;
  for (let j = 0, next = 0; j < end.length; j++) {
    for (; next <= j && begin[next] <= end[j] - size; next++) {
      while (
        hull.length - head >= 2 &&
        slope(hull[hull.length - 2], hull[hull.length - 1]) >= slope(hull[hull.length - 1], next)
      )
        hull.pop();
      hull.push(next);
    }
    const density = (i: number) => (before[j + 1] - before[i]) / (end[j] - begin[i]);
    while (hull.length - head >= 2 && density(hull[head]) <= density(hull[head + 1])) head++;
    if (head < hull.length) densest = Math.max(densest, density(hull[head]));
  }
  return Math.min(exact, 1 - densest);
}

/** Returns window sizes on a log axis, from the shortest pause to the whole run. */
export function windows({ length }: Stops, shortest: Ns, count: number): Ns[] {
  const low = Math.max(1, shortest);
  if (!(length > low)) return length > 0 ? [length] : [];
  return Array.from({ length: count }, (_, i) => low * (length / low) ** (i / (count - 1)));
}

/** Returns the smallest window such that each of at least its size has this utilization; or null. */
export function windowFor(stops: Stops, utilization: number): Ns | null {
  if (bmu(stops, stops.length) < utilization) return null;
  let [low, high] = [1, stops.length];
  if (stops.length <= 1 || bmu(stops, low) >= utilization) return Math.min(low, high);
  while (high / low > 1.0001) {
    const middle = Math.sqrt(low * high);
    if (bmu(stops, middle) >= utilization) high = middle;
    else low = middle;
  }
  return high;
}
