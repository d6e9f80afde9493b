/** The tabs, in their order on the page. */

import "./tabs.css";
import type { Report } from "../document";
import type { Tab } from "../view";
import { census } from "./census";
import { comparison } from "./comparison";
import { durations } from "./durations";
import { events } from "./events";
import { flame } from "./flame";
import { memory } from "./memory";
import { pauses } from "./pauses";
import { values } from "./values";

/** Returns the tabs of a report. A comparison comes first: it is what was asked for. Few programs have censuses. */
export function tabsOf(report: Report): Tab[] {
  const censuses = report.censuses.length > 0 ? [census] : [];
  const all = [durations, pauses, values, memory, ...censuses, flame, events];
  return report.against ? [comparison, ...all] : all;
}
