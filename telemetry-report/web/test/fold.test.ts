import assert from "node:assert/strict";
import { test } from "node:test";
import type { Flame } from "../src/document";
import { find, fold, layout, pathOf } from "../src/tabs/fold";

const texts = ["main", "eval", "gc"];

/** main (self 10) > eval (20) > gc (5), and main > gc (7). */
function flame(thread: number, scale = 1): Flame {
  return {
    name: "spans",
    unit: "ns",
    thread,
    width: 100,
    nodes: {
      parent: [-1, 0, 1, 0],
      name: [0, 1, 2, 2],
      self: [10, 20, 5, 7].map((self) => self * scale),
      count: [1, 2, 3, 4],
      slices: [
        [0, 10 * scale],
        [0, 8 * scale, 1, 12 * scale],
        [1, 5 * scale],
        [2, 7 * scale],
      ],
    },
  };
}

test("flames of threads are added up by name", () => {
  const root = fold([flame(0), flame(1, 2)], texts, null);
  assert.deepEqual([root.total, root.self, root.inner.length], [126, 0, 1]);
  const main = root.inner[0];
  assert.deepEqual([main.name, main.self, main.total, main.count], ["main", 30, 126, 2]);
  assert.deepEqual(
    main.inner.map((one) => [one.name, one.total]),
    [
      ["eval", 75],
      ["gc", 21],
    ],
  );
  const gc = find(root, ["main", "eval", "gc"]);
  assert.deepEqual([gc.self, gc.count, pathOf(gc).join()], [15, 6, "main,eval,gc"]);
  assert.equal(find(root, ["main", "none"]), main);
});

test("a range takes the intervals that it touches", () => {
  const root = fold([flame(0)], texts, { from: 100, until: 200 });
  assert.equal(root.total, 17);
  assert.deepEqual(
    root.inner[0].inner.map((one) => [one.name, one.self, one.total]),
    [["eval", 12, 17]],
  );
});

test("time of a hidden node belongs to what is around it", () => {
  const root = fold([flame(0)], texts, null, (name) => name === "eval");
  const main = root.inner[0];
  assert.deepEqual([main.self, main.total], [30, 42]);
  assert.deepEqual(
    main.inner.map((one) => [one.name, one.total]),
    [["gc", 12]],
  );
  assert.equal(fold([flame(0)], texts, null, (name) => name === "main").total, 32);
});

test("each name stands once on a path, and no time is lost", () => {
  const one = flame(0);
  one.nodes.name = [0, 1, 0, 2];
  const root = fold([one], texts, null, () => false, true);
  const main = root.inner[0];
  assert.deepEqual([root.total, main.self, main.total, main.count], [42, 15, 42, 4]);
  assert.deepEqual(
    main.inner.map((inner) => [inner.name, inner.total]),
    [
      ["eval", 20],
      ["gc", 7],
    ],
  );
});

test("a path of any length is laid out", () => {
  const length = 50_000;
  const list = (of: (i: number) => number) => Array.from({ length }, (_, i) => of(i));
  const nodes = {
    parent: list((i) => i - 1),
    name: list((i) => i % 2),
    self: list(() => 1),
    count: list(() => 1),
    slices: [],
  };
  const root = fold([{ name: "spans", unit: "ns", thread: 0, width: 1, nodes }], texts, null);
  assert.equal(layout(root, 0).length, length + 1);
  assert.equal(
    Math.max(
      ...fold(
        [{ name: "spans", unit: "ns", thread: 0, width: 1, nodes }],
        texts,
        null,
        () => false,
        true,
      ).inner.map((one) => one.inner.length),
    ),
    1,
  );
});

test("rectangles lie within those around them, and narrow ones are left out", () => {
  const root = fold([flame(0)], texts, null);
  const all = layout(root, 0);
  assert.deepEqual(
    all.map(({ node, row }) => [node.name, row]),
    [
      ["all", 0],
      ["main", 1],
      ["eval", 2],
      ["gc", 3],
      ["gc", 2],
    ],
  );
  for (const { node, left, width } of all) {
    const outer = all.find((one) => one.node === node.outer);
    if (outer) assert.ok(left >= outer.left && left + width <= outer.left + outer.width + 1e-9);
  }
  const zoomed = layout(find(root, ["main", "eval"]), 0.3);
  assert.deepEqual(
    zoomed.map(({ node, width }) => [node.name, width]),
    [
      ["all", 1],
      ["main", 1],
      ["eval", 1],
    ],
  );
});
