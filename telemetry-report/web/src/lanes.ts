/** The threads as swim lanes, from the whole run to single events. */

import { AXIS, gutter } from "./axis";
import { canvas, theme } from "./canvas";
import { element, table } from "./dom";
import { commas, count, cut, exactAt, exactTime, moment, time } from "./format";
import { SHORTEST } from "./fragment";
import { hit, mark } from "./lanehit";
import { blockAt, type Layout, layout } from "./lanelayout";
import { Painter, threadLabel } from "./lanepaint";
import { aboutLosses, aboutSelected, aboutThread } from "./lanetips";
import { aboutMarks } from "./marks";
import type { Model } from "./model";
import { spanFilter, type Spans } from "./spans";
import { type Line, tip } from "./tip";
import { twin } from "./twin";
import { type Filter, type Range, type Selected, wholeRange } from "./view";

/** The picture is at most this part of the window, so that the tabs begin on the first screen. */
const MOST_SHARE = 0.36;

/** On paper, which does not scroll, it is at most this high. */
const MOST_PRINTED = 2_400;

export interface Lanes {
  /** Zooms around a share of the width; below 1 is closer. */
  zoom(factor: number, share?: number): void;
  /** Moves by a share of the range. */
  pan(share: number): void;
  /** Scrolls so that a thread is in view. */
  showThread(thread: number): void;
  painter: Painter;
}

/** Adds the lanes to `root`. */
export function lanes(root: HTMLElement, model: Model, spans: Spans): Lanes {
  const { report } = model;
  const whole = wholeRange(report);
  const painter = new Painter(model, spans);
  let places: Layout = layout(model, spans);
  let placesFor: Filter = model.filter;
  let placesAt: Range = model.range;
  let hovered: Selected | null = null;
  const onPaper = matchMedia("print");

  const status = element("p", { class: "note status", "data-test": "lanes-status", "aria-live": "polite" });
  const picture = canvas("Spans of each thread over the chosen range", 100, (context, width, height) => {
    update();
    const top = scroller.scrollTop;
    painter.paint(context, width, height, places, top);
    const { selected, second } = model.state;
    if (hovered) mark(model, spans, context, width, places, top, hovered, theme().faint);
    if (second) mark(model, spans, context, width, places, top, second, theme().text);
    if (selected) mark(model, spans, context, width, places, top, selected, theme().text);
  });
  picture.node.classList.add("sticky");
  const spacer = element("div", { class: "spacer" });
  const scroller = element(
    "div",
    {
      class: "lanes",
      tabindex: "0",
      role: "group",
      "data-test": "lanes",
      "aria-label":
        "Lanes of threads. W and S zoom, A and D move, arrow keys step between the longest spans.",
    },
    picture.node,
    spacer,
  );

  const update = () => {
    const { from, until } = model.range;
    const isSame = placesFor === model.filter;
    if (!isSame || placesAt.from !== from || placesAt.until !== until) {
      places = layout(model, spans, isSame ? places : null);
      placesFor = model.filter;
      placesAt = { from, until };
    }
    const most = onPaper.matches ? MOST_PRINTED : Math.max(Math.round(innerHeight * MOST_SHARE), 180);
    const height = Math.min(places.height + AXIS, most);
    picture.setHeight(height);
    scroller.style.height = `${height}px`;
    spacer.style.height = `${Math.max(places.height + AXIS - height, 0)}px`;
  };
  update();

  const say = () => {
    const { shown, all, every, hasDeeper } = painter.drawn;
    const said: string[] = [];
    if (places.blocks.length === 0) said.push("The filter has no thread.");
    else if (all > shown) {
      // What spans cover is known for all types together.
      const isPart = spanFilter(report, model.filter).includes(0);
      const those = isPart ? commas(shown) : `${commas(shown)} of ${commas(all)}`;
      const cover = isPart ? "spans of all types" : "all";
      said.push(`${those} spans in view shown, the longest; gray: time that ${cover} cover.`);
    }
    if (every > 1) said.push(`Ticks: 1 of ${commas(every)} events shown.`);
    if (hasDeeper) said.push("The last row has all deeper spans.");
    const left = places.blocks.filter((block) => block.y + AXIS >= picture.height).length;
    if (onPaper.matches && left > 0) said.push(`${commas(left)} more threads are not printed.`);
    if (all > shown || every > 1) said.push("Counts are exact.");
    const text = said.join(" ");
    if (status.textContent !== text) status.textContent = text;
    status.hidden = text === "";
  };

  // Zoom and pan.
  const zoom = (factor: number, share = 0.5) => {
    const { from, until } = model.range;
    const length = Math.min(Math.max((until - from) * factor, SHORTEST), whole.until);
    const at = from + (until - from) * share;
    model.moveRange({ from: at - length * share, until: at + length * (1 - share) });
  };
  const pan = (share: number) => {
    const { from, until } = model.range;
    const by = (until - from) * share;
    const limited = Math.max(Math.min(by, whole.until - until), -from);
    if (model.state.range) model.moveRange({ from: from + limited, until: until + limited });
  };
  const shareAt = (x: number) => {
    const left = gutter(picture.width);
    return Math.min(Math.max((x - left) / (picture.width - left), 0), 1);
  };
  scroller.addEventListener(
    "wheel",
    (event: WheelEvent) => {
      if (event.offsetX < gutter(picture.width) && !event.ctrlKey) return;
      const lines = event.deltaMode === 1 ? 20 : 1;
      const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
      if (isSideways) {
        event.preventDefault();
        pan(((event.deltaX || event.deltaY) * lines) / picture.width);
        return;
      }
      // At the whole run there is nothing to zoom out to: the page may scroll on.
      if (!model.state.range && event.deltaY > 0 && !event.ctrlKey) return;
      event.preventDefault();
      const step = Math.min(Math.max(event.deltaY * lines, -240), 240) * (event.ctrlKey ? 0.01 : 0.002);
      zoom(Math.exp(step), shareAt(event.offsetX));
    },
    { passive: false },
  );

  const pointers = new Map<number, { x: number; y: number }>();
  let drag: {
    x: number;
    y: number;
    range: Range;
    top: number;
    hasMoved: boolean;
    distance: number;
  } | null = null;
  const begin = () => {
    const [one, two] = [...pointers.values()];
    const x = two ? (one.x + two.x) / 2 : one.x;
    const distance = two ? Math.max(Math.abs(one.x - two.x), 10) : 0;
    drag = {
      x,
      y: one.y,
      range: model.range,
      top: scroller.scrollTop,
      hasMoved: drag?.hasMoved ?? false,
      distance,
    };
  };
  picture.node.addEventListener("pointerdown", (event: PointerEvent) => {
    if (event.button !== 0) return;
    picture.node.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    begin();
    tip(null);
  });
  picture.node.addEventListener("pointermove", (event: PointerEvent) => {
    if (!pointers.has(event.pointerId) || !drag) return hover(event);
    pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    const [one, two] = [...pointers.values()];
    const x = two ? (one.x + two.x) / 2 : one.x;
    if (!drag.hasMoved && !two && Math.hypot(x - drag.x, one.y - drag.y) < 4) return;
    drag.hasMoved = true;
    const left = gutter(picture.width);
    const plot = picture.width - left;
    const { from, until } = drag.range;
    const factor = two ? drag.distance / Math.max(Math.abs(one.x - two.x), 10) : 1;
    const length = Math.min(Math.max((until - from) * factor, SHORTEST), whole.until);
    // The time that was under the fingers stays under them.
    const held = from + ((drag.x - left) / plot) * (until - from);
    const start = Math.min(Math.max(held - ((x - left) / plot) * length, 0), whole.until - length);
    if (model.state.range || two) model.moveRange({ from: start, until: start + length });
    if (event.pointerType === "mouse") scroller.scrollTop = drag.top - (one.y - drag.y);
    return;
  });
  const release = (event: PointerEvent) => {
    pointers.delete(event.pointerId);
    if (pointers.size > 0) return begin();
    if (drag && !drag.hasMoved && event.type === "pointerup") click(event);
    drag = null;
  };
  picture.node.addEventListener("pointerup", release);
  picture.node.addEventListener("pointercancel", release);
  picture.node.addEventListener("pointerleave", () => {
    tip(null);
    if (hovered) picture.draw();
    hovered = null;
  });
  picture.node.addEventListener("dblclick", (event) => {
    const what = hit(model, spans, picture.width, places, scroller.scrollTop, event.offsetX, event.offsetY);
    if (what && "lane" in what) model.showSpan(what.lane, what.index);
  });
  scroller.addEventListener("scroll", () => picture.draw());

  const click = (event: PointerEvent) => {
    const { offsetX: x, offsetY: y } = event;
    const what = hit(model, spans, picture.width, places, scroller.scrollTop, x, y);
    if (what && event.shiftKey) return model.selectSecond(what);
    if (what || x >= gutter(picture.width)) return model.select(what);
    // A label filters by its thread.
    const at = blockAt(places, y - AXIS + scroller.scrollTop);
    if (at < 0 || y < AXIS) return;
    const { thread } = places.blocks[at];
    const isOnly = model.filter.threads?.size === 1 && model.filter.threads.has(thread);
    // A finger does not hover: it sees the name in full now.
    if (event.pointerType === "touch") tip(aboutThread(spans, thread), event.clientX, event.clientY);
    model.setFilter({ threads: isOnly ? null : new Set([thread]) });
  };

  const hover = (event: PointerEvent) => {
    const { offsetX: x, offsetY: y } = event;
    const what = hit(model, spans, picture.width, places, scroller.scrollTop, x, y);
    if (JSON.stringify(what) !== JSON.stringify(hovered)) {
      hovered = what;
      picture.draw();
    }
    picture.node.style.cursor =
      what || x < gutter(picture.width) ? "pointer" : model.state.range ? "grab" : "default";
    if (event.pointerType === "touch") return;
    const at = blockAt(places, y - AXIS + scroller.scrollTop);
    tip(
      what
        ? aboutSelected(spans, what)
        : x < gutter(picture.width) && at >= 0 && y > AXIS
          ? aboutThread(spans, places.blocks[at].thread)
          : lossAt(x, at),
      event.clientX,
      event.clientY,
    );
  };
  const lossAt = (x: number, at: number): Line[] | null => {
    if (x < gutter(picture.width)) return null;
    const { from, until } = model.range;
    const moment = from + shareAt(x) * (until - from);
    const slack = (3 / picture.width) * (until - from);
    const found = model
      .losses()
      .filter((loss) => loss.from <= moment + slack && loss.until >= moment - slack)
      .filter((loss) => at >= 0 && (loss.thread === null || loss.thread === places.blocks[at].thread));
    const said = [...aboutMarks(report.marks, moment, slack), ...aboutLosses(found)];
    return said.length > 0 ? said : null;
  };

  const name = "Threads";
  const other = twin(name, scroller, () => {
    const { from, until } = model.range;
    const found = spans.inRange(model.filter, from, until, 500);
    type Row = (typeof found)[number];
    const list = (row: Row) => report.lanes[row.lane].spans;
    const type = (row: Row) => report.spans[list(row).span[row.index]];
    return table<Row>(
      [
        {
          title: "span",
          text: (row) => cut(type(row).name, 80),
          onclick: (row) => model.showSpan(row.lane, row.index),
        },
        {
          title: "thread",
          text: (row) => threadLabel(report, report.lanes[row.lane].thread),
          full: (row) => cut(report.threads[report.lanes[row.lane].thread].name),
        },
        {
          title: "begin",
          text: (row) => moment(spans.timeOf(row).at),
          value: (row) => spans.timeOf(row).at,
          full: (row) => exactAt(spans.timeOf(row).at),
        },
        {
          title: "duration",
          text: (row) => time(list(row).duration[row.index]),
          value: (row) => list(row).duration[row.index],
          full: (row) => exactTime(list(row).duration[row.index]),
        },
        {
          title: "depth",
          text: (row) => count(list(row).depth[row.index]),
          value: (row) => list(row).depth[row.index],
        },
        {
          title: "key",
          text: (row) =>
            list(row).key[row.index] < 0 ? "" : cut(report.texts[list(row).key[row.index]] ?? "", 80),
        },
      ],
      found,
      {
        name: "lanes-table",
        sort: 3,
        most: 20,
        footnote: found.length === 500 ? "The 500 longest in this range." : "",
      },
    );
  });
  const head = element(
    "div",
    { class: "row head" },
    element("h2", {}, name),
    status,
    element("span", { class: "fill" }),
    other.button,
  );
  root.append(head, other.node);

  const showThread = (thread: number) => {
    update();
    const block = places.blocks.find((one) => one.thread === thread);
    if (!block) return;
    const [top, bottom] = [scroller.scrollTop, scroller.scrollTop + picture.height - AXIS];
    if (block.y < top || block.y + block.height > bottom) scroller.scrollTop = Math.max(0, block.y - 20);
  };
  let selected: Selected | null = null;
  model.onFrame(() => {
    if (model.state.selected !== selected) {
      selected = model.state.selected;
      if (selected) showThread(spans.timeOf(selected).thread);
    }
    picture.draw();
  });
  model.onSettled(() => {
    // Rows that the range has no more fold when it stands still.
    places = layout(model, spans);
    update();
    // The line says what is drawn, which is not yet so if the change was just made.
    picture.drawNow();
    say();
    other.update();
  });
  addEventListener("resize", () => picture.draw());
  onPaper.addEventListener("change", () => {
    scroller.scrollTop = 0;
    update();
    picture.drawNow();
    say();
  });
  requestAnimationFrame(() => {
    if (model.state.selected) showThread(spans.timeOf(model.state.selected).thread);
    requestAnimationFrame(say);
  });
  return { zoom, pan, showThread, painter };
}
