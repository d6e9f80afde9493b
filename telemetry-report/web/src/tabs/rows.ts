/** The events of the samples in one list, and the search in it. */

import type { Param, Report } from "../document";
import { value } from "../format";
import { isWithin, type View } from "../view";
import { sums } from "./common";

/** All rows of all samples by time: lists of equal length. */
export interface Rows {
  time: Float64Array;
  sample: Uint16Array;
  row: Uint32Array;
}

const known = new WeakMap<Report, Rows>();

export function rowsOf(report: Report): Rows {
  let rows = known.get(report);
  if (!rows) {
    const lists = report.sample.map((sample) => sums(sample.rows.map((row) => row[0])));
    const total = lists.reduce((sum, list) => sum + list.length, 0);
    const time = new Float64Array(total);
    const sample = new Uint16Array(total);
    const row = new Uint32Array(total);
    let at = 0;
    lists.forEach((list, i) =>
      list.forEach((moment, j) => {
        time[at] = moment;
        sample[at] = i;
        row[at++] = j;
      }),
    );
    const order = Uint32Array.from({ length: total }, (_, i) => i).sort((a, b) => time[a] - time[b] || a - b);
    rows = {
      time: Float64Array.from(order, (i) => time[i]),
      sample: Uint16Array.from(order, (i) => sample[i]),
      row: Uint32Array.from(order, (i) => row[i]),
    };
    known.set(report, rows);
  }
  return rows;
}

/** Returns a parameter as text, with its unit. */
export function paramText(of: unknown, param: Param): string {
  return value(of, param.unit);
}

/** Returns what a search looks at: the names and the parameters of an event. */
function textOf(report: Report, sample: number, row: number): string {
  const { event, rows } = report.sample[sample];
  const { name, params } = report.events[event];
  const [, thread, ...values] = rows[row];
  const shown = params.map((param, i) => {
    const of = values[i];
    // Both the value as it is and as it is shown can be found.
    return `${param.name} ${typeof of === "string" ? of : JSON.stringify(of)} ${paramText(of, param)}`;
  });
  return `${name} ${report.threads[thread]?.name ?? ""} ${shown.join(" ")}`.toLowerCase();
}

/** Returns the places in `rowsOf` of events in range and filter in which each of the words occurs. */
export function foundRows(view: View, words: string): Uint32Array {
  const { report, range } = view;
  const { time, sample, row } = rowsOf(report);
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found: number[] = [];
  let low = 0;
  for (let high = time.length; low < high;) {
    const middle = (low + high) >> 1;
    if (time[middle] < range.from) low = middle + 1;
    else high = middle;
  }
  const has = report.sample.map((one) => view.has(one.event));
  for (let i = low; i < time.length && isWithin(view, time[i]); i++) {
    if (!has[sample[i]] || !view.hasThread(report.sample[sample[i]].rows[row[i]][1])) continue;
    if (wanted.length > 0) {
      const text = textOf(report, sample[i], row[i]);
      if (!wanted.every((word) => text.includes(word))) continue;
    }
    found.push(i);
  }
  return Uint32Array.from(found);
}
