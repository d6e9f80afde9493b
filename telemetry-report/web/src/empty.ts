/** What the page says when there is no event. */

import type { Report } from "./document";
import { type Child, element } from "./dom";
import { cut } from "./format";

const STEPS: [string, string][] = [
  [
    "Run `telemetry doctor` beside the program.",
    "It says whether the program records, what it records, and where that goes.",
  ],
  [
    "Switch kinds on.",
    "With `TELEMETRY_CONTROL=all` before the program starts, or with `telemetry control` while it runs.",
  ],
  [
    "Let the program end, or flush.",
    "Events are in memory until the drain writes them; a killed program has them in its ring file.",
  ],
  [
    "Look at what is in the file.",
    "`telemetry info FILE` lists its sessions and blocks, and says whether it is damaged.",
  ],
];

const EMPTY: [string, string] = [
  "Start the program with `telemetry doctor --` before its command line.",
  "The file has no byte: the program was killed within its first second, the disk is full, " +
    "or another file has the events.",
];

const FILTERED: [string, string] = [
  "Make the report with a wider filter.",
  "The recording has events, but the filter of the command line left out all of them.",
];

const DAMAGED: [string, string] = [
  "Give the whole stream.",
  "This input misses events or is damaged. Blocks need the registry at the start of their file.",
];

/** Returns text whose parts in backticks are code. */
function prose(text: string): Child[] {
  return text.split("`").map((part, at) => (at % 2 === 1 ? element("code", {}, part) : part));
}

/** Returns what to do, the likeliest first. */
export function stepsFor({ stats: { completeness } }: Report): [string, string][] {
  if (completeness.bytes === 0) return [EMPTY, ...STEPS.slice(1, 3)];
  if (completeness.filtered > 0) return [FILTERED, STEPS[3]];
  return completeness.complete ? STEPS : [DAMAGED, STEPS[3], ...STEPS.slice(0, 3)];
}

/** Makes the page of an empty stream. */
export function nothing(report: Report): HTMLElement {
  const inputs = report.inputs
    .slice(0, 10)
    .map((input) => cut(input, 100))
    .join(", ");
  const steps = stepsFor(report);
  return element(
    "section",
    { class: "nothing", "data-test": "empty" },
    element("h2", {}, "No events"),
    element("p", {}, `There is no event in ${inputs || "the input"}, so there is nothing to show.`),
    element(
      "ol",
      {},
      ...steps.map(([step, why]) =>
        element(
          "li",
          {},
          element("strong", {}, ...prose(step)),
          " ",
          element("span", { class: "note" }, ...prose(why)),
        ),
      ),
    ),
  );
}
