/** The tabs, in their order on the page. */

import "./tabs.css";
import type { Report } from "../document";
import type { Tab } from "../view";
import { comparison } from "./comparison";
import { durations } from "./durations";
import { events } from "./events";
import { flame } from "./flame";
import { memory } from "./memory";
import { pauses } from "./pauses";
import { values } from "./values";

/** Returns the tabs of a report. A comparison comes first: it is what was asked for. */
export function tabsOf(report: Report): Tab[] {
  const all = [durations, pauses, values, memory, flame, events];
  return report.against ? [comparison, ...all] : all;
}
