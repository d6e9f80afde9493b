/** The tabs, in their order on the page. */

import "./tabs.css";
import type { Report } from "../document";
import type { Tab } from "../view";
import { census } from "./census";
import { comparison } from "./comparison";
import { counters } from "./counters";
import { durations } from "./durations";
import { events } from "./events";
import { flame } from "./flame";
import { memory } from "./memory";
import { pauses } from "./pauses";
import { values } from "./values";

/** Returns the tabs of a report. A comparison comes first: it is what was asked for. Few programs have counters or censuses. */
export function tabsOf(report: Report): Tab[] {
  const censuses = report.censuses.length > 0 ? [census] : [];
  const counted = report.counters.length > 0 ? [counters] : [];
  const all = [durations, pauses, values, ...counted, memory, ...censuses, flame, events];
  return report.against ? [comparison, ...all] : all;
}
