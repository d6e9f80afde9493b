/** The tabs, in their order on the page. */

import "./tabs.css";
import type { Tab } from "../view";
import { durations } from "./durations";
import { events } from "./events";
import { flame } from "./flame";
import { memory } from "./memory";
import { pauses } from "./pauses";
import { values } from "./values";

export const TABS: Tab[] = [durations, pauses, values, memory, flame, events];
