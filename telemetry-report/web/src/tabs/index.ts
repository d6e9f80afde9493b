/** The tabs, in their order on the page. */

import "./tabs.css";
import type { Tab } from "../view";
import { durations } from "./durations";
import { pauses } from "./pauses";

export const TABS: Tab[] = [durations, pauses];
