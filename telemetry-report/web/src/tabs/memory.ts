/** The tab of memory: what was live, allocated and freed over time, and what was never freed. */

import { theme } from "../canvas";
import { color } from "../color";
import type { Memory, MemoryGroup } from "../document";
import { element, replace, table } from "../dom";
import { bytes, commas, count, cut, percent, short } from "../format";
import { intervals } from "../heat";
import type { Tab, View } from "../view";
import { tidy } from "./axes";
import { choice, lossNote, note } from "./common";
import { timeline, type TimelineData } from "./timeline";

const exactBytes = (value: number) => `${commas(value)} bytes`;

/** Returns the name of a group as people read it: `4 KiB to 8 KiB`, not `4096..8191 bytes`. */
function nameOf({ name }: MemoryGroup): string {
  const [, low, high] = /^(\d+)\.\.(\d+) bytes$/.exec(name) ?? [];
  return low && high ? `${tidy(bytes(low))} to ${tidy(bytes(Number(high) + 1))}` : cut(name, 60);
}

/** Returns the groups that have most at their peak, and all others as one. */
function largest(groups: MemoryGroup[], most: number): MemoryGroup[] {
  const peak = (group: MemoryGroup) => group.live_bytes.reduce((a, b) => Math.max(a, b), 0);
  const sorted = [...groups].sort((a, b) => peak(b) - peak(a));
  const rest = sorted.slice(most);
  if (rest.length === 0) return sorted;
  const add = (of: (group: MemoryGroup) => number) => rest.reduce((sum, group) => sum + of(group), 0);
  const addLists = (of: (group: MemoryGroup) => number[]) =>
    of(rest[0]).map((_, at) => add((group) => of(group)[at]));
  return [
    ...sorted.slice(0, most),
    {
      name: `${count(rest.length)} others`,
      allocations: add((group) => group.allocations),
      allocated_bytes: add((group) => group.allocated_bytes),
      live_bytes: addLists((group) => group.live_bytes),
      live_blocks: addLists((group) => group.live_blocks),
      left_bytes: add((group) => group.left_bytes),
      left_blocks: add((group) => group.left_blocks),
    },
  ];
}

function leftTable(groups: MemoryGroup[], name: string): HTMLElement {
  const all = groups.reduce((sum, group) => sum + group.left_bytes, 0);
  return table<MemoryGroup>(
    [
      { title: name, text: nameOf },
      {
        title: "never freed",
        text: (row) => bytes(row.left_bytes),
        full: (row) => exactBytes(row.left_bytes),
        value: (row) => row.left_bytes,
      },
      { title: "share", text: (row) => percent(row.left_bytes / all), value: (row) => row.left_bytes },
      { title: "blocks", text: (row) => count(row.left_blocks), value: (row) => row.left_blocks },
      { title: "allocations", text: (row) => count(row.allocations), value: (row) => row.allocations },
      {
        title: "allocated",
        text: (row) => bytes(row.allocated_bytes),
        full: (row) => exactBytes(row.allocated_bytes),
        value: (row) => row.allocated_bytes,
      },
    ],
    groups,
    {
      name: "never-freed",
      sort: 1,
      most: 20,
      caption: "Never freed, of the whole run",
      empty: "Everything was freed.",
    },
  );
}

/** Returns the interval with the most memory at once, within the range. */
function peakOf(memory: Memory, view: View): number {
  const [first, last] = intervals(memory.width, view.range.from, view.range.until);
  return memory.peak_bytes.slice(Math.max(0, first), last + 1).reduce((a, b) => Math.max(a, b), 0);
}

export const memory: Tab = {
  id: "memory",
  title: "Memory",
  empty: (report) =>
    report.memory
      ? null
      : "No event says what it allocates or frees. Mark the events and their parameters with `replay` in " +
        "events.toml; " +
        "docs/replay.md describes the roles.",
  make(root, view) {
    const of = view.report.memory!;
    let by: "classes" | "groups" = "classes";
    let scale: "linear" | "log" = "linear";
    const colored = () => largest(of[by], 8).map((group, i) => ({ ...group, color: color(i < 8 ? i : -1) }));
    const common = (): Omit<TimelineData, "series"> => ({
      width: of.width,
      range: view.range,
      isStacked: false,
      isBinary: true,
      read: bytes,
      exact: exactBytes,
      losses: view.losses(),
      marks: view.report.marks,
    });
    const perSecond = (values: number[]) => values.map((value) => (value / of.width) * 1e9);
    const live = timeline(
      "live-bytes",
      "Live bytes",
      () => ({
        ...common(),
        series: [
          { name: "peak within the interval", color: color(1), values: of.peak_bytes, isArea: true },
          { name: "at its end", color: theme().accent, values: of.live_bytes },
        ],
      }),
      190,
    );
    const blocks = timeline(
      "live-blocks",
      "Live blocks",
      () => ({
        ...common(),
        isBinary: false,
        read: short,
        exact: (value) => `${commas(value)} blocks`,
        series: [{ name: "blocks", color: color(2), values: of.live_blocks, isArea: true }],
      }),
      150,
    );
    const rate = timeline(
      "allocation-rate",
      "Allocated and freed",
      () => ({
        ...common(),
        isLog: scale === "log",
        read: (value) => `${bytes(value)}/s`,
        series: [
          { name: "allocated", color: color(0), values: perSecond(of.allocated_bytes), isArea: true },
          { name: "freed", color: theme().accent, values: perSecond(of.freed_bytes) },
        ],
      }),
      150,
    );
    const stacked = timeline(
      "live-by",
      "Live bytes by part",
      () => ({
        ...common(),
        isStacked: true,
        series: colored().map((group) => ({
          name: nameOf(group),
          color: group.color,
          values: group.live_bytes,
        })),
      }),
      220,
    );
    const summary = element("p", { "data-test": "memory-summary" });
    const left = element("div");
    const feet = element("div");
    const hasBoth = of.classes.length > 0 && of.groups.length > 0;
    if (of.classes.length === 0) by = "groups";
    const parts = choice(
      "Parts",
      "memory",
      [
        ["classes", "by size"],
        ["groups", "by event and label"],
      ],
      () => by,
      (to) => {
        by = to;
        update();
      },
    );
    const scales = choice(
      "Scale of the rates",
      "rate",
      [
        ["linear", "linear"],
        ["log", "log"],
      ],
      () => scale,
      (to) => {
        scale = to;
        update();
      },
    );
    const update = () => {
      const losses = view.losses();
      const least = losses.length > 0 ? "≈ " : "";
      const peak = peakOf(of, view);
      const isPart = view.range.from > 0 || view.range.until < view.report.duration;
      const leftBlocks = of.live_blocks[of.live_blocks.length - 1] ?? 0;
      const leftBytes = of.live_bytes[of.live_bytes.length - 1] ?? 0;
      summary.textContent =
        `${count(of.allocations)} allocations and ${count(of.frees)} frees; ` +
        `${least}${bytes(leftBytes)} in ${count(leftBlocks)} blocks never freed. ` +
        `At most ${least}${bytes(peak)} at once${isPart ? " in this range" : ""}.`;
      live.update(`at most ${bytes(peak)}, ${bytes(leftBytes)} at the end`);
      blocks.update(`${count(leftBlocks)} blocks at the end`);
      const seconds = (of.width * of.allocated_bytes.length) / 1e9;
      const all = of.allocated_bytes.reduce((a, b) => a + b, 0);
      scales.update();
      const hasFocus = scales.node.contains(document.activeElement);
      rate.update(`${bytes(all / seconds)}/s allocated on average`, scales.node);
      if (hasFocus) scales.node.querySelector<HTMLElement>(`[aria-pressed="true"]`)?.focus();
      stacked.node.hidden = of[by].length === 0;
      if (of[by].length > 0) {
        const top = colored()[0];
        stacked.update(`most: ${nameOf(top)}, ${bytes(Math.max(...top.live_bytes))} at its peak`);
      }
      parts.update();
      replace(
        left,
        leftTable(
          of[by].filter((group) => group.left_blocks > 0 || group.left_bytes > 0),
          by === "classes" ? "size" : "event and label",
        ),
      );
      const { kinds, events, threads, sessions } = view.filter;
      replace(
        feet,
        note(
          of.unknown_frees > 0 &&
            `${count(of.unknown_frees)} frees are of memory that no recorded event allocated.`,
          !!(kinds || events || threads || sessions) &&
            "Memory is that of the whole program: the filter does not apply.",
          losses.length > 0 && "Lost allocations and frees make these figures wrong in either direction.",
          lossNote(losses, false),
        ),
      );
    };
    root.append(
      summary,
      element("div", { class: "pair" }, live.node, rate.node),
      element(
        "div",
        { class: "pair" },
        element("div", {}, hasBoth ? element("div", { class: "controls" }, parts.node) : "", stacked.node),
        element("div", {}, blocks.node, left),
      ),
      feet,
    );
    update();
    return { update };
  },
};
