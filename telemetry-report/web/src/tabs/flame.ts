/** The tab of flame graphs: nested spans and stacks, added up for range, threads and filter. */

import { fit, theme } from "../canvas";
import { GRAY, spanColor, textOn } from "../color";
import type { Flame } from "../document";
import { button, element, replace, table } from "../dom";
import { commas, count, cut, percent, time } from "../format";
import type { Tab } from "../view";
import { choice, hasSpan, lossNote, note, selection, threadName } from "./common";
import { type Figure, figure } from "./figure";
import { find, fold, layout, type Node, pathOf, type Place } from "./fold";

const ROW = 20;

/** Rows drawn at once, which is what a canvas has space for. */
const MOST_ROWS = 200;

/** Paths longer than this are folded at first. */
const LONG = 30;

/** Colors of functions: warm ones that are not the red of losses, by name. */
const STACK = ["#e0a458", "#d9b26f", "#c9a86a", "#e3b778", "#d4a24e", "#e8c48c"];

function read(unit: string, value: number): string {
  return unit === "ns" ? time(value) : `${commas(value)} ${unit}`;
}

function stackColor(name: string): string {
  let hash = 0;
  for (let i = 0; i < Math.min(name.length, 100); i++) hash = (hash * 31 + name.charCodeAt(i)) >>> 0;
  return STACK[hash % STACK.length];
}

/** Returns each name with the node that has most of it, and its figures all together. */
function namesOf(root: Node): { name: string; self: number; total: number; count: number }[] {
  const names = new Map<string, { name: string; self: number; total: number; count: number }>();
  // Numbers of the nodes around, by name. Without calls of itself: paths may be long.
  const around = new Map<string, number>();
  const open: { node: Node; isLeft: boolean }[] = root.inner.map((node) => ({ node, isLeft: false }));
  for (let step = open.pop(); step; step = open.pop()) {
    const { node } = step;
    const outer = around.get(node.name) ?? 0;
    around.set(node.name, outer + (step.isLeft ? -1 : 1));
    if (step.isLeft) continue;
    const of = names.get(node.name) ?? { name: node.name, self: 0, total: 0, count: 0 };
    names.set(node.name, of);
    of.self += node.self;
    of.count += node.count;
    // A name inside of itself has its time already.
    if (outer === 0) of.total += node.total;
    open.push({ node, isLeft: true }, ...node.inner.map((inner) => ({ node: inner, isLeft: false })));
  }
  return [...names.values()];
}

/** Looks for long paths, and for names inside of themselves. */
function shapeOf(flames: Flame[]): { isLong: boolean; isNested: boolean } {
  const shape = { isLong: false, isNested: false };
  for (const { nodes } of flames) {
    const { parent, name } = nodes;
    const depths: number[] = [];
    parent.forEach((outer, i) => {
      depths.push(outer < 0 ? 0 : depths[outer] + 1);
      shape.isLong ||= depths[i] > LONG;
      for (let at = outer, left = LONG; at >= 0 && left > 0 && !shape.isNested; at = parent[at], left--) {
        shape.isNested = name[at] === name[i];
      }
    });
  }
  return shape;
}

export const flame: Tab = {
  id: "flame",
  title: "Flame",
  empty: (report) =>
    report.flames.length > 0
      ? null
      : "This run has no spans that ended, and no events with stacks. " +
        "Add [[span]] to events.toml to see where time goes.",
  make(root, view) {
    const { report } = view;
    const names = [...new Set(report.flames.map((one) => one.name))];
    let name = names[0];
    let thread = -1;
    let folded: Node;
    let path: string[] = [];
    let places: Place[] = [];
    let words = "";
    let matched = 0;
    const flames = (): Flame[] =>
      report.flames.filter(
        (one) => one.name === name && view.hasThread(one.thread) && (thread < 0 || one.thread === thread),
      );
    const unit = () => report.flames.find((one) => one.name === name)!.unit;
    const isSpans = () => name === "spans";
    const spanNames = new Map(report.spans.map((type, i) => [type.plain ?? type.name, i]));
    const isHidden = (of: string) => {
      const span = spanNames.get(of);
      return isSpans() && span !== undefined && !hasSpan(view, span);
    };
    const colorOf = (of: Node) => {
      if (!of.outer) return theme().isDark ? "#3a3f46" : "#dfe1e4";
      if (!isSpans()) return stackColor(of.name);
      const span = spanNames.get(of.name);
      return span === undefined ? GRAY : spanColor(report, span);
    };
    const isMatch = (of: Node) => words !== "" && of.name.toLowerCase().includes(words);
    const placeAt = (x: number, y: number) => {
      const share = x / made.canvas.width;
      const row = Math.floor(y / ROW);
      return places.find((one) => one.row === row && share >= one.left && share < one.left + one.width);
    };
    const zoom = (node: Node) => {
      path = pathOf(node);
      update();
    };
    const made: Figure = figure({
      name: "flame",
      title: "Flame graph",
      height: 300,
      paint(context, width) {
        for (const { node, left, width: share, row } of places) {
          const [x, wide] = [left * width, share * width];
          const back = colorOf(node);
          const isFaint = (words !== "" && !isMatch(node)) || node.depth < path.length;
          context.globalAlpha = isFaint ? 0.35 : 1;
          context.fillStyle = back;
          context.fillRect(x, row * ROW, Math.max(0.5, wide - 1), ROW - 1);
          context.globalAlpha = 1;
          if (isMatch(node)) {
            context.fillStyle = theme().text;
            context.fillRect(x, row * ROW + ROW - 4, Math.max(1, wide - 1), 3);
          }
          if (wide < 24) continue;
          const text = fit(
            context,
            cut(node.depth === 0 ? `all: ${read(unit(), node.total)}` : node.name, 100),
            wide - 10,
          );
          context.fillStyle = isFaint || node.depth === 0 ? theme().text : textOn(back);
          context.fillText(text, x + 4, row * ROW + ROW / 2 - 0.5);
        }
      },
      hover(x, y) {
        const place = placeAt(x, y);
        if (!place) return null;
        const { node } = place;
        const lines = [
          cut(node.name, 120),
          `total ${read(unit(), node.total)}, ${percent(node.total / folded.total)} of all`,
          ...(node.outer ? [`${percent(node.total / node.outer.total)} of ${cut(node.outer.name, 60)}`] : []),
          `self ${read(unit(), node.self)}`,
        ];
        if (node.outer)
          lines.push(`${count(node.count)} times${view.isWhole || !hasRange() ? "" : " in the whole run"}`);
        return lines;
      },
      onclick(x, y) {
        const place = placeAt(x, y);
        if (place) zoom(place.node);
      },
      table() {
        const figures = namesOf(find(folded, path));
        const number = (title: string, of: (row: (typeof figures)[number]) => number) => ({
          title,
          text: (row: (typeof figures)[number]) => read(unit(), of(row)),
          value: of,
        });
        return table(
          [
            { title: "name", text: (row) => cut(row.name, 120) },
            number("total", (row) => row.total),
            number("self", (row) => row.self),
            {
              title: "share",
              doc: "Of the total of all",
              text: (row) => percent(row.total / folded.total),
              value: (row) => row.total,
            },
            {
              title: "count",
              doc: "In the whole run",
              text: (row) => count(row.count),
              value: (row) => row.count,
            },
          ],
          figures,
          { name: "flame-table", sort: 2, most: 50 },
        );
      },
    });
    const hasRange = () => view.range.from > 0 || view.range.until < Math.max(report.duration, 1);
    const search = element("input", {
      type: "search",
      placeholder: "search names",
      "aria-label": "Search names in the flame graph",
      "data-test": "flame-search",
      oninput: () => {
        words = search.value.toLowerCase();
        update();
      },
    });
    const found = element("span", { class: "note", "data-test": "flame-found" });
    const shape = shapeOf(report.flames);
    const once: HTMLInputElement = element("input", {
      type: "checkbox",
      "data-test": "flame-once",
      checked: shape.isLong && shape.isNested,
      onchange: () => {
        path = [];
        update();
      },
    });
    const onceLabel = element(
      "label",
      { title: "Adds what is inside of the same name to the outer one" },
      once,
      "each name once on a path",
    );
    const back = button("whole graph", "flame-reset", () => zoom(folded), "Undoes the zoom");
    const controls = element("div", { class: "controls" });
    const trail = element("p", { class: "note", "data-test": "flame-path" });
    const feet = element("div");
    const threadsOf = () => [
      ...new Set(
        report.flames
          .filter((one) => one.name === name && view.hasThread(one.thread))
          .map((one) => one.thread),
      ),
    ];
    const kinds = choice(
      "Flame graph of",
      "flame",
      names.map((one): [string, string] => [one, cut(one, 40)]),
      () => name,
      (of) => {
        name = of;
        path = [];
        thread = -1;
        update();
      },
    );
    const picker = element("span");
    let listed = "";
    const update = () => {
      const all = threadsOf();
      if (!all.includes(thread)) thread = -1;
      // The select is made again only if its threads changed, so that it keeps the focus.
      const key = `${name} ${all.join()}`;
      if (key !== listed) {
        listed = key;
        replace(
          picker,
          all.length > 1 &&
            selection(
              "Thread",
              "flame-thread",
              [
                [-1, `all ${count(all.length)} together`],
                ...all.map((of): [number, string] => [of, threadName(report, of)]),
              ],
              thread,
              (of) => {
                thread = of;
                update();
              },
            ),
        );
      }
      const chosen = flames();
      folded = fold(chosen, report.texts, hasRange() ? view.range : null, isHidden, once.checked);
      const top = find(folded, path);
      path = pathOf(top);
      places = folded.total > 0 ? layout(top, 0.4 / Math.max(made.canvas.width, 300)) : [];
      const rows = places.reduce((most, place) => Math.max(most, place.row + 1), 1);
      made.canvas.setHeight(Math.min(rows, MOST_ROWS) * ROW + 2);
      matched =
        words === "" ? 0 : namesOf(folded).filter((one) => one.name.toLowerCase().includes(words)).length;
      found.textContent = words === "" ? "" : `${count(matched)} ${matched === 1 ? "name" : "names"} found`;
      back.hidden = path.length === 0;
      trail.textContent =
        path.length === 0
          ? ""
          : path
              .slice(-6)
              .map((one) => cut(one, 40))
              .join(" › ");
      kinds.update();
      const losses = view
        .losses()
        .filter((loss) => loss.thread === null || chosen.some((one) => one.thread === loss.thread));
      const least = losses.length > 0 ? "≥ " : "";
      const isEmpty = folded.total === 0;
      made.node.hidden = isEmpty;
      const total = `${least}${hasRange() ? "≈ " : ""}${read(unit(), folded.total)}`;
      const largest = namesOf(folded).sort((a, b) => b.self - a.self)[0];
      if (!isEmpty) {
        made.update(
          `${total} in all; most in ${cut(largest.name, 60)}: self ${read(unit(), largest.self)}`,
          `${total}, most in ${cut(largest.name, 40)} itself`,
        );
      }
      replace(
        feet,
        note(
          isEmpty && "No time in this range and filter.",
          hasRange() &&
            chosen.length > 0 &&
            `≈: from intervals of ${time(chosen[0].width)} that the range touches; ` +
              "counts are of the whole run.",
          rows > MOST_ROWS && "There are more rows: a click on one shows those below it.",
          !isEmpty && "A click zooms in; a click on the bar above zooms out.",
          losses.length > 0 && lossNote(losses),
        ),
      );
    };
    replace(
      controls,
      names.length > 1 && kinds.node,
      picker,
      shape.isNested && onceLabel,
      search,
      found,
      back,
    );
    root.append(controls, trail, made.node, feet);
    update();
    return { update };
  },
};
