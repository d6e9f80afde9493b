/** Makes counters, for sample documents. */

import type { Counter, Report } from "../src/document";
import { random } from "./figures";

/** Makes a counter whose values are of this form, evenly over the run. */
export function counterOf(
  report: Report,
  counter: string,
  form: "rising" | "wave" | "below" | "once",
  thread: string | null = null,
  unit = "",
): Counter {
  const number = form === "once" ? 1 : 60;
  const rnd = random(counter.length + Number(thread ?? 0));
  let sum = 0;
  const values = Array.from({ length: number }, (_, i) => {
    sum += Math.round(1000 * rnd());
    return form === "rising"
      ? sum
      : form === "wave"
        ? Math.round(2 ** 24 * (2 + Math.sin(i / 5)))
        : Math.round(500 * Math.sin(i / 9));
  });
  const step = Math.floor(report.duration / (number + 1));
  return {
    counter,
    registry: "gc",
    session: 0,
    thread,
    unit,
    doc: `The counter ${counter}`,
    count: form === "rising" ? number * 4 : number,
    first: values[0],
    last: values[number - 1],
    min: Math.min(...values),
    max: Math.max(...values),
    falls: values.some((value, i) => i > 0 && value < values[i - 1]),
    every: form === "rising" ? 4 : 1,
    at: values.map(() => step),
    values,
  };
}
