/** Adds memory and flames to a sample document. */

import type { Flame, Lane, Memory, MemoryGroup, Report } from "../src/document";
import { random } from "./figures";

const INTERVALS = 240;

/** Adds up the nested spans of a lane, with their self times by interval. */
function flameOf(report: Report, lane: Lane): Flame {
  const width = Math.max(1, Math.ceil(report.duration / INTERVALS));
  const nodes: Flame["nodes"] = { parent: [], name: [], self: [], count: [], slices: [] };
  const known = new Map<string, number>();
  const slices: Map<number, number>[] = [];
  const text = (name: string) => {
    const at = report.texts.indexOf(name);
    return at >= 0 ? at : report.texts.push(name) - 1;
  };
  const open: { node: number; end: number }[] = [];
  let begin = 0;
  const add = (node: number, from: number, until: number, sign: number) => {
    nodes.self[node] += sign * (until - from);
    for (let at = Math.floor(from / width); at * width < until; at++) {
      const part = Math.min(until, (at + 1) * width) - Math.max(from, at * width);
      slices[node].set(at, (slices[node].get(at) ?? 0) + sign * part);
    }
  };
  lane.spans.begin.forEach((difference, i) => {
    begin += difference;
    const end = begin + lane.spans.duration[i];
    while (open.length > 0 && open[open.length - 1].end <= begin) open.pop();
    const outer = open[open.length - 1];
    const key = `${outer?.node ?? -1} ${lane.spans.span[i]}`;
    let node = known.get(key);
    if (node === undefined) {
      node = nodes.parent.push(outer?.node ?? -1) - 1;
      known.set(key, node);
      nodes.name.push(text(report.spans[lane.spans.span[i]].name));
      nodes.self.push(0);
      nodes.count.push(0);
      slices.push(new Map());
    }
    nodes.count[node]++;
    add(node, begin, end, 1);
    if (outer) add(outer.node, begin, Math.min(end, outer.end), -1);
    open.push({ node, end });
  });
  nodes.slices = slices.map((of) => [...of].sort((a, b) => a[0] - b[0]).flat());
  return { name: "spans", unit: "ns", thread: lane.thread, width, nodes };
}

/** Makes stacks of functions, as a sampling profiler does. */
function stacksOf(report: Report, thread: number): Flame {
  const next = random(11);
  const width = Math.max(1, Math.ceil(report.duration / INTERVALS));
  const nodes: Flame["nodes"] = { parent: [], name: [], self: [], count: [], slices: [] };
  const names = [
    "main",
    "eval",
    "apply",
    "parse",
    "lookup",
    "intern",
    "copy_object",
    "scan_roots",
    "write_barrier",
  ];
  const grow = (parent: number, depth: number) => {
    const node = nodes.parent.push(parent) - 1;
    const slices: number[] = [];
    for (let at = 0; at < INTERVALS; at++) if (next() < 0.15) slices.push(at, 1 + Math.floor(next() * 6));
    const self = slices.filter((_, i) => i % 2 === 1).reduce((a, b) => a + b, 0);
    nodes.name.push(report.texts.push(`${names[depth === 0 ? 0 : 1 + Math.floor(next() * 8)]}`) - 1);
    nodes.self.push(self);
    nodes.count.push(self);
    nodes.slices.push(slices);
    for (let i = 0; depth < 12 && i < 3; i++) if (next() < 0.62) grow(node, depth + 1);
  };
  grow(-1, 0);
  return { name: "Stack", unit: "samples", thread, width, nodes };
}

function memoryOf(report: Report): Memory {
  const next = random(12);
  const width = Math.max(1, Math.ceil(report.duration / INTERVALS));
  const list = (): number[] => Array(INTERVALS).fill(0);
  const group = (name: string): MemoryGroup => ({
    name,
    allocations: 0,
    allocated_bytes: 0,
    live_bytes: list(),
    live_blocks: list(),
    left_bytes: 0,
    left_blocks: 0,
  });
  const sizes = [16, 32, 64, 128, 512, 4096, 65536];
  const classes = sizes.map((size) => group(size < 1024 ? `${size} bytes` : `${size / 1024} KiB`));
  const groups = ["Alloc Node", "Alloc Array", "Alloc String", "MapRegion"].map(group);
  const memory: Memory = {
    width,
    live_bytes: list(),
    live_blocks: list(),
    peak_bytes: list(),
    allocated_bytes: list(),
    freed_bytes: list(),
    classes,
    groups,
    allocations: 0,
    frees: 0,
    unknown_frees: 3,
  };
  const live = sizes.map(() => 0);
  for (let at = 0; at < INTERVALS; at++) {
    const isCollected = at % 30 === 29;
    sizes.forEach((size, i) => {
      const added = Math.floor(next() * 4000 * (64 / (size + 64)) + 3);
      const freed = isCollected ? Math.floor(live[i] * 0.7) : Math.floor(added * 0.3 * next());
      memory.allocations += added;
      memory.frees += freed;
      memory.allocated_bytes[at] += added * size;
      memory.freed_bytes[at] += freed * size;
      memory.peak_bytes[at] += (live[i] + added) * size;
      live[i] += added - freed;
      memory.live_bytes[at] += live[i] * size;
      memory.live_blocks[at] += live[i];
      for (const of of [classes[i], groups[i % groups.length]]) {
        of.allocations += added;
        of.allocated_bytes += added * size;
        of.live_bytes[at] += live[i] * size;
        of.live_blocks[at] += live[i];
      }
    });
  }
  for (const of of [...classes, ...groups]) {
    of.left_bytes = of.live_bytes[INTERVALS - 1];
    of.left_blocks = of.live_blocks[INTERVALS - 1];
  }
  return memory;
}

/** Adds flames of spans to a document, and memory and stacks where it has the benchmark's events. */
export function grown(report: Report): Report {
  report.flames = report.lanes.slice(0, 64).map((lane) => flameOf(report, lane));
  if (report.events.length > 6 && report.threads.length === 2) {
    report.memory = memoryOf(report);
    report.flames.push(stacksOf(report, 0));
  }
  return report;
}
