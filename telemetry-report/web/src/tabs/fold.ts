/** Folds the flames of threads into one tree, for a range and a filter. */

import type { Flame } from "../document";
import { intervals } from "../heat";
import type { Range } from "../view";

export interface Node {
  name: string;
  self: number;
  /** With inner nodes. */
  total: number;
  /** Of the whole run. */
  count: number;
  depth: number;
  outer: Node | null;
  /** The largest first. */
  inner: Node[];
}

/**
 * Adds up flames by the names on the way to each node. Null as the range: the whole run. Nodes whose
 * name `isHidden` are left out: their time belongs to what is around them, and what is in them moves
 * outward. `isOnce`: a name stands once on a path; the time of the same name further inside is added
 * to it.
 */
export function fold(
  flames: Flame[],
  texts: string[],
  range: Range | null,
  isHidden: (name: string) => boolean = () => false,
  isOnce = false,
): Node {
  const node = (name: string, outer: Node | null): Node => ({
    name,
    self: 0,
    total: 0,
    count: 0,
    depth: outer ? outer.depth + 1 : 0,
    outer,
    inner: [],
  });
  const root = node("all", null);
  const known = new Map<Node, Map<string, Node>>();
  for (const { width, nodes } of flames) {
    const [first, last] = range ? intervals(width, range.from, range.until) : [0, 0];
    const made: Node[] = [];
    nodes.parent.forEach((parent, i) => {
      const outer = parent < 0 ? root : made[parent];
      const name = texts[nodes.name[i]] ?? "?";
      let self = nodes.self[i];
      if (range) {
        self = 0;
        const slices = nodes.slices[i];
        for (let at = 0; at < slices.length; at += 2) {
          if (slices[at] >= first && slices[at] <= last) self += slices[at + 1];
        }
      }
      if (isHidden(name)) {
        made.push(outer);
        if (outer !== root) outer.self += self;
        return;
      }
      if (isOnce) {
        let around: Node | null = outer;
        while (around && (around.name !== name || !around.outer)) around = around.outer;
        if (around) {
          around.self += self;
          around.count += nodes.count[i];
          made.push(around);
          return;
        }
      }
      let inner = known.get(outer);
      if (!inner) known.set(outer, (inner = new Map()));
      let one = inner.get(name);
      if (!one) {
        one = node(name, outer);
        inner.set(name, one);
        outer.inner.push(one);
      }
      one.self += self;
      one.count += nodes.count[i];
      made.push(one);
    });
  }
  // Outer nodes come before inner ones, so totals are added up from the end.
  const order = [root];
  for (let i = 0; i < order.length; i++) order.push(...order[i].inner);
  for (const one of order.reverse()) {
    one.total += one.self;
    if (one.outer) one.outer.total += one.total;
    one.inner = one.inner.filter((inner) => inner.total > 0).sort((a, b) => b.total - a.total);
  }
  return root;
}

export interface Place {
  node: Node;
  /** From 0 to 1. */
  left: number;
  width: number;
  row: number;
}

/** Nodes around the zoomed one that are drawn. */
const MOST_AROUND = 6;

/**
 * Places the nodes as rectangles: all inside of `top`, and some of those around it, over the whole
 * width. Those narrower than `least` are left out. Without calls of itself: paths may be long.
 */
export function layout(top: Node, least: number): Place[] {
  const places: Place[] = [];
  const first = Math.max(0, top.depth - MOST_AROUND);
  for (let outer = top.outer; outer && outer.depth >= first; outer = outer.outer) {
    places.unshift({ node: outer, left: 0, width: 1, row: outer.depth - first });
  }
  const open: Place[] = [{ node: top, left: 0, width: 1, row: top.depth - first }];
  while (open.length > 0) {
    const place = open.pop()!;
    if (place.width < least) continue;
    places.push(place);
    const { node, row } = place;
    let { left } = place;
    const inside = node.inner.map((inner) => {
      const width = (inner.total / node.total) * place.width;
      const at = left;
      left += width;
      return { node: inner, left: at, width, row: row + 1 };
    });
    open.push(...inside.reverse());
  }
  return places;
}

/** Returns the names from the outermost node to this one. */
export function pathOf(node: Node): string[] {
  const path: string[] = [];
  for (let at: Node | null = node; at?.outer; at = at.outer) path.push(at.name);
  return path.reverse();
}

/** Returns the node with these names, or the nearest around it. */
export function find(root: Node, path: string[]): Node {
  let node = root;
  for (const name of path) {
    const next = node.inner.find((inner) => inner.name === name);
    if (!next) break;
    node = next;
  }
  return node;
}
