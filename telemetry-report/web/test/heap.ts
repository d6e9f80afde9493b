/** Makes censuses of a heap, for sample documents. */

import type { Census, Report } from "../src/document";
import { random } from "./figures";

const NAMES = ["string", "pair", "vector", "closure", "table", "bignum", "symbol", "port", "promise", "record"];

/** Makes a census of so many classes at so many moments, evenly over the run. */
export function censusOf(report: Report, classes: number, moments: number, what = "heap", every = 1): Census {
  const rnd = random(classes * 31 + moments);
  const step = report.duration / (moments + 1);
  const at = Array.from({ length: moments }, (_, i) => Math.round(step * (i + 1)));
  const kept = Math.min(classes, 20);
  const amount = (of: number, i: number) => {
    const wave = 1 + Math.sin(i / 9 + of) * 0.6;
    return Math.round(((2 ** 21 * wave) / (of + 1) ** 1.1) * (0.8 + 0.4 * rnd()));
  };
  const amounts = Array.from({ length: kept }, (_, of) => at.map((_, i) => amount(of, i)));
  const others = at.map((_, i) => (classes > kept ? amount(kept, i) * 3 : 0));
  const total = at.map((_, i) => amounts.reduce((sum, of) => sum + of[i], others[i]));
  const shape = (name: string, values: number[]) => {
    const most = Math.max(0, ...values);
    return {
      class: name,
      mean: Math.floor(values.reduce((a, b) => a + b, 0) / Math.max(1, moments)),
      most,
      most_at_ns: at[values.indexOf(most)] ?? 0,
      last: values[values.length - 1] ?? 0,
    };
  };
  return {
    census: what,
    registry: "gc",
    session: report.sessions[0].id,
    unit: "bytes",
    count: moments * every,
    classes: amounts.map((of, i) => shape(NAMES[i] ?? `class ${i}`, of)),
    others: classes > kept ? { ...shape("others", others), most: null, most_at_ns: null } : null,
    total: shape("total", total),
    every,
    at,
    amounts,
    others_amounts: others,
  };
}
