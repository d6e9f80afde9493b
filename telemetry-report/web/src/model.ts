/** The state of the page: the one range, filter and selection that all pictures obey. */

import type { Loss, Report } from "./document";
import { clampRange, FIRST, fromFragment, rangeAround, type State, toFragment } from "./fragment";
import {
  type Filter,
  hasEvent,
  hasThread,
  lossesOf,
  type Range,
  type Selected,
  type View,
  wholeRange,
} from "./view";

/** How long a range must stand still before the tabs follow it. */
const SETTLED_MS = 150;

/** Changes of the range within this time are one step of the back button. */
const STEP_MS = 1000;

export class Model implements View {
  state: State;
  private frames: (() => void)[] = [];
  private settled: (() => void)[] = [];
  private isFrameAsked = false;
  private timer = 0;
  /** Whether everything follows the last change. */
  isSettled = true;
  private pushedAt = -STEP_MS;
  private wasMove = false;

  constructor(readonly report: Report) {
    // Pictures join neighbors.
    report.losses.sort((a, b) => a.from - b.from);
    this.state = fromFragment(report, location.hash);
    addEventListener("popstate", () => {
      this.state = fromFragment(report, location.hash);
      this.announce(0);
    });
  }

  get range(): Range {
    return this.state.range ?? wholeRange(this.report);
  }

  get filter(): Filter {
    return this.state.filter;
  }

  get selected(): Selected | null {
    return this.state.selected;
  }

  get hasFilter(): boolean {
    const { kinds, events, threads, sessions } = this.state.filter;
    return !!(kinds || events || threads || sessions);
  }

  get isWhole(): boolean {
    return !this.state.range && !this.hasFilter;
  }

  /** Calls `then` in the frame after each change. */
  onFrame(then: () => void): void {
    this.frames.push(then);
  }

  /** Calls `then` when a change is complete: at once, or when the range stands still. */
  onSettled(then: () => void): void {
    this.settled.push(then);
  }

  setRange(range: Range | null): void {
    this.change({ range: range && clampRange(this.report, range) }, 0);
  }

  /** Sets a range that goes on moving, as while the wheel turns. */
  moveRange(range: Range | null): void {
    this.wasMove = true;
    this.change({ range: range && clampRange(this.report, range) }, SETTLED_MS);
  }

  setFilter(filter: Partial<Filter>): void {
    const next = { ...this.state.filter, ...filter };
    const lengths = {
      kinds: this.report.kinds.length,
      events: this.report.events.length,
      threads: this.report.threads.length,
      sessions: this.report.sessions.length,
    };
    for (const list of ["kinds", "events", "threads", "sessions"] as const) {
      if (next[list] && next[list].size >= lengths[list]) next[list] = null;
    }
    this.change({ filter: next }, 0);
  }

  select(what: Selected | null): void {
    this.change({ selected: what, second: null }, 0);
  }

  /** Selects a second one, whose difference from the first is shown. */
  selectSecond(what: Selected): void {
    this.change(this.state.selected ? { second: what } : { selected: what }, 0);
  }

  showSpan(lane: number, index: number): void {
    const of = this.report.lanes[lane];
    let begin = 0;
    for (let i = 0; i <= index; i++) begin += of.spans.begin[i];
    const duration = of.spans.duration[index];
    const range = rangeAround(this.report, begin, duration);
    this.change({ range, selected: { lane, index }, second: null }, 0);
  }

  setTab(tab: string): void {
    this.change({ tab }, 0);
  }

  clear(): void {
    this.change({ ...FIRST, tab: this.state.tab }, 0);
  }

  has(event: number): boolean {
    return hasEvent(this.report, this.state.filter, event);
  }

  hasThread(thread: number): boolean {
    return hasThread(this.report, this.state.filter, thread);
  }

  losses(): Loss[] {
    return lossesOf(this.report, this.state.filter, this.range);
  }

  /** Makes everything draw again, as after a change of the theme. */
  refresh(): void {
    this.announce(0);
  }

  private change(change: Partial<State>, wait: number): void {
    this.state = { ...this.state, ...change };
    this.announce(wait);
  }

  private announce(wait: number): void {
    if (!this.isFrameAsked) {
      this.isFrameAsked = true;
      requestAnimationFrame(() => {
        this.isFrameAsked = false;
        for (const then of this.frames) then();
      });
    }
    this.isSettled = false;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.settle(), wait);
  }

  private settle(): void {
    const fragment = toFragment(this.report, this.state);
    if (fragment !== location.hash.replace(/^#/, "")) {
      const isSameStep = this.wasMove && performance.now() - this.pushedAt < STEP_MS;
      const url = fragment ? `#${fragment}` : location.href.split("#")[0];
      history[isSameStep ? "replaceState" : "pushState"](null, "", url);
      this.pushedAt = this.wasMove ? performance.now() : -STEP_MS;
    }
    this.wasMove = false;
    for (const then of this.settled) then();
    this.isSettled = true;
  }
}
