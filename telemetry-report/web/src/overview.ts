/** The overview: events per second by kind over the whole run, with a brush that chooses the range. */

import { AXIS, drawAxis, gutter } from "./axis";
import { canvas, fit, hatch, theme } from "./canvas";
import { kindColor } from "./color";
import { button, element, replace, table } from "./dom";
import { between, brief, commas, count, cut, exactAt, moment, percent, rate, short, time } from "./format";
import { eventsIn } from "./counts";
import { aboutMarks, drawMarks } from "./marks";
import type { Model } from "./model";
import { perBar, type Rates, rates, sum } from "./rates";
import type { Spans } from "./spans";
import { type Line, swatch, tip } from "./tip";
import { twin } from "./twin";
import { atLeast, type Filter, lossesOf, type Range, wholeRange } from "./view";

const HEIGHT = 92;

/** Pixels within which the pointer takes an edge of the brush. */
const EDGE = 6;

/** Adds the overview to `root`. Returns what it shows, for tests. */
export function overview(root: HTMLElement, model: Model): { rates(): Rates } {
  const { report } = model;
  const whole = wholeRange(report);
  const seconds = report.rate.width / 1e9;
  let shownFor: Filter | null = null;
  let shown: Rates = rates(report, model.filter);
  let bars: { per: number; most: number } = { per: 1, most: 0 };
  let base: { key: string; image: HTMLCanvasElement } | null = null;

  const current = () => {
    if (shownFor !== model.filter) {
      shownFor = model.filter;
      shown = rates(report, model.filter);
      base = null;
    }
    return shown;
  };

  /** Draws all but the brush, on a canvas of its own, so that a move of the brush is cheap. */
  const drawBase = (context: CanvasRenderingContext2D, width: number, height: number) => {
    const left = gutter(width);
    const plot = width - left;
    const bottom = height - AXIS;
    const { kinds, total } = current();
    const { buckets } = report.rate;
    const per = perBar(buckets, plot * 2);
    let most = 0;
    for (let i = 0; i < buckets; i += per) most = Math.max(most, sum(total, i, i + per) / per);
    bars = { per, most };
    drawAxis(context, whole, left, plot, height - AXIS / 2, 0, bottom);
    const scale = (bottom - 4) / Math.max(most, 1e-9);
    const wide = (plot * report.rate.width) / (whole.until - whole.from);
    for (let i = 0; i < buckets; i += per) {
      // Whole pixels, or neighbors have a seam.
      const x = Math.round(left + i * wide);
      // A bucket may reach past the end of the run.
      const x2 = Math.min(Math.round(left + Math.min(i + per, buckets) * wide), width);
      let y = bottom;
      for (let kind = 0; kind < kinds.length; kind++) {
        const high = (sum(kinds[kind], i, i + per) / per) * scale;
        if (high <= 0) continue;
        context.fillStyle = kindColor(kind);
        context.fillRect(
          x,
          y - Math.max(high, 0.5),
          Math.max(x2 - x - (x2 - x > 3 ? 1 : 0), 0.7),
          Math.max(high, 0.5),
        );
        y -= high;
      }
    }
    let filled = -1;
    for (const loss of lossesOf(report, model.filter, whole)) {
      const x1 = Math.max(left + (loss.from / whole.until) * plot, filled);
      const x2 = left + (Math.min(loss.until, whole.until) / whole.until) * plot;
      if (x2 < filled) continue;
      hatch(context, x1, 0, x2 - x1, bottom);
      filled = Math.max(x2, x1 + 3);
    }
    drawMarks(context, report.marks, whole, {
      left,
      right: width,
      top: 0,
      bottom,
      x: (at) => left + (at / whole.until) * plot,
    });
    context.textAlign = "right";
    context.fillStyle = theme().faint;
    const text =
      report.duration > 0
        ? rate(most / seconds, width < 600 ? "" : "events")
        : `${short(most)} ${most === 1 ? "event" : "events"}`;
    context.fillText(fit(context, text, left - 8), left - 8, 8);
    context.fillText("0", left - 8, bottom - 5);
    context.fillStyle = theme().grid;
    context.fillRect(left, bottom, plot, 1);
  };

  const picture = canvas(
    "Events per second by kind, over the whole run",
    HEIGHT,
    (context, width, height) => {
      const key = [width, height, theme().background, theme().text, devicePixelRatio].join();
      current();
      if (base?.key !== key) {
        const image = document.createElement("canvas");
        image.width = picture.node.width;
        image.height = picture.node.height;
        const own = image.getContext("2d")!;
        own.setTransform(context.getTransform());
        own.font = context.font;
        own.textBaseline = context.textBaseline;
        drawBase(own, width, height);
        base = { key, image };
      }
      context.drawImage(base.image, 0, 0, width, height);
      if (!model.state.range) return;
      const left = gutter(width);
      const [x1, x2] = edges(width);
      const bottom = height - AXIS;
      context.fillStyle = theme().background;
      context.globalAlpha = 0.72;
      context.fillRect(left, 0, x1 - left, bottom);
      context.fillRect(x2, 0, width - x2, bottom);
      context.globalAlpha = 1;
      context.fillStyle = theme().accent;
      context.fillRect(x1 - 1, 0, 2, bottom);
      context.fillRect(x2 - 1, 0, 2, bottom);
      context.fillRect(x1, bottom - 1, Math.max(x2 - x1, 2), 2);
    },
  );
  picture.node.tabIndex = 0;
  picture.node.dataset.test = "overview";

  const edges = (width: number) => {
    const left = gutter(width);
    const at = (time: number) => left + (time / whole.until) * (width - left);
    return [at(model.range.from), at(model.range.until)];
  };
  const timeAt = (x: number) => {
    const left = gutter(picture.width);
    const share = (x - left) / Math.max(picture.width - left, 1);
    return Math.min(Math.max(share, 0), 1) * whole.until;
  };

  let drag: {
    kind: "new" | "from" | "until" | "move";
    start: number;
    range: Range;
    hasMoved: boolean;
  } | null = null;
  const kindAt = (x: number) => {
    if (!model.state.range) return "new";
    const [x1, x2] = edges(picture.width);
    if (Math.abs(x - x1) <= EDGE && x <= (x1 + x2) / 2) return "from";
    if (Math.abs(x - x2) <= EDGE) return "until";
    return x > x1 && x < x2 ? "move" : "new";
  };
  picture.node.addEventListener("pointerdown", (event: PointerEvent) => {
    if (event.button !== 0) return;
    picture.node.setPointerCapture(event.pointerId);
    drag = {
      kind: kindAt(event.offsetX),
      start: timeAt(event.offsetX),
      range: model.range,
      hasMoved: false,
    };
    tip(null);
  });
  picture.node.addEventListener("pointermove", (event: PointerEvent) => {
    if (!drag) {
      const cursor = { new: "crosshair", from: "ew-resize", until: "ew-resize", move: "grab" }[
        kindAt(event.offsetX)
      ];
      picture.node.style.cursor = cursor;
      hover(event);
      return;
    }
    const at = timeAt(event.offsetX);
    const { start, range } = drag;
    if (!drag.hasMoved && Math.abs(at - start) * picture.width < 3 * whole.until) return;
    drag.hasMoved = true;
    if (drag.kind === "new") model.moveRange({ from: Math.min(start, at), until: Math.max(start, at) });
    else if (drag.kind === "from") model.moveRange({ from: Math.min(at, range.until), until: range.until });
    else if (drag.kind === "until") model.moveRange({ from: range.from, until: Math.max(at, range.from) });
    else model.moveRange({ from: range.from + at - start, until: range.until + at - start });
  });
  const end = () => {
    if (drag?.hasMoved) model.setRange(model.state.range);
    drag = null;
  };
  picture.node.addEventListener("pointerup", (event: PointerEvent) => {
    if (drag && !drag.hasMoved && model.state.range && drag.kind === "new") {
      const half = (model.range.until - model.range.from) / 2;
      const at = timeAt(event.offsetX);
      model.setRange({ from: at - half, until: at + half });
    }
    end();
  });
  picture.node.addEventListener("pointercancel", end);
  picture.node.addEventListener("pointerleave", () => tip(null));
  picture.node.addEventListener("dblclick", () => model.setRange(null));

  const hover = (event: PointerEvent) => {
    if (event.offsetX < gutter(picture.width)) return tip(null);
    const at = timeAt(event.offsetX);
    const bucket = Math.floor(at / report.rate.width / bars.per) * bars.per;
    const { kinds, total } = current();
    const text = (list: Float64Array) => {
      const events = sum(list, bucket, bucket + bars.per);
      return report.duration > 0 ? rate(events / (bars.per * seconds)) : `${commas(events)} events`;
    };
    const lines: Line[] = [{ text: `${moment(at)}: ${text(total)}`, isStrong: true }];
    const slack = (4 / picture.width) * whole.until;
    lines.push(...aboutMarks(report.marks, at, slack));
    for (const loss of lossesOf(report, model.filter, { from: at - slack, until: at + slack }).slice(
      0,
      5,
    )) {
      const number = loss.events === null ? "an unknown number" : commas(loss.events);
      lines.push({
        text: `${number} lost: ${cut(loss.cause, 80)}, ${between(loss.from, loss.until)}`,
        isLoss: true,
      });
    }
    kinds.forEach((list, kind) => {
      if (lines.length < 14 && sum(list, bucket, bucket + bars.per) > 0) {
        lines.push({ text: `${cut(report.kinds[kind].name, 40)}: ${text(list)}`, color: kindColor(kind) });
      }
    });
    tip(lines, event.clientX, event.clientY);
  };

  const legend = element("div", { class: "legend", "data-test": "legend" });
  const drawLegend = () => {
    const used = report.kinds
      .map((_, kind) => kind)
      .filter((kind) => report.events.some((e) => e.kind === kind));
    const isOnly = (kind: number) => model.filter.kinds?.size === 1 && model.filter.kinds.has(kind);
    replace(
      legend,
      ...used.slice(0, 12).map((kind) => {
        const made = element(
          "button",
          {
            type: "button",
            class: "key",
            "aria-pressed": String(isOnly(kind)),
            title: `${cut(report.kinds[kind].doc, 300)}\nClick to show this kind only.`,
            onclick: () => model.setFilter({ kinds: isOnly(kind) ? null : new Set([kind]) }),
          },
          swatch(kindColor(kind)),
          brief(report.kinds[kind].name),
        );
        made.classList.toggle("off", !!model.filter.kinds && !model.filter.kinds.has(kind));
        return made;
      }),
      used.length > 12 ? element("span", { class: "note" }, `and ${used.length - 12} more`) : null,
      report.losses.length > 0
        ? element("span", { class: "key" }, element("span", { class: "swatch hatched" }), "lost")
        : null,
    );
  };

  const name = "Rate of events";
  const other = twin(name, picture.node, () => {
    const { kinds, total } = current();
    const per = Math.max(1, Math.ceil(report.rate.buckets / 100));
    const rows = [];
    for (let i = 0; i < report.rate.buckets; i += per) {
      const [from, until] = [i * report.rate.width, Math.min((i + per) * report.rate.width, whole.until)];
      rows.push({ from, until, i, losses: lossesOf(report, model.filter, { from, until }).length });
    }
    type Row = (typeof rows)[number];
    return table<Row>(
      [
        {
          title: "time",
          text: (row) => between(row.from, row.until),
          value: (row) => row.from,
          full: (row) => `${exactAt(row.from)} – ${exactAt(row.until)}`,
          onclick: (row) => model.setRange(row),
        },
        {
          title: "events",
          text: (row) => (row.losses ? "≥ " : "") + count(sum(total, row.i, row.i + per)),
          value: (row) => sum(total, row.i, row.i + per),
        },
        {
          title: "rate",
          text: (row) => rate(sum(total, row.i, row.i + per) / (per * seconds), ""),
          value: (row) => sum(total, row.i, row.i + per),
        },
        ...kinds.slice(0, 12).map((list, kind) => ({
          title: brief(report.kinds[kind].name),
          doc: cut(report.kinds[kind].doc, 300),
          text: (row: Row) => count(sum(list, row.i, row.i + per)),
          value: (row: Row) => sum(list, row.i, row.i + per),
        })),
      ],
      rows,
      {
        name: "overview-table",
        most: 25,
        footnote: rows.some((row) => row.losses) ? "≥: events are missing in this interval." : "",
      },
    );
  });

  root.append(
    element(
      "div",
      { class: "row head" },
      element("h2", {}, name),
      legend,
      element("span", { class: "fill" }),
      other.button,
    ),
    other.node,
  );
  drawLegend();
  model.onFrame(() => picture.draw());
  model.onSettled(() => {
    drawLegend();
    other.update();
  });
  return { rates: current };
}

/** Makes the line with the chosen range and its number of events, and a button that clears it. */
export function rangeLine(model: Model, spans: Spans): HTMLElement {
  const text = element("span", { "data-test": "range" });
  const events = element("span", { class: "note", "data-test": "range-events" });
  const clear = button("whole run", "clear-range", () => model.setRange(null), "Shows the whole run (Esc)");
  const update = () => {
    const { from, until } = model.range;
    const { range } = model.state;
    const share = percent((until - from) / wholeRange(model.report).until);
    text.textContent = range ? `${between(from, until)} (${time(until - from)}, ${share})` : "Whole run";
    text.title = `${exactAt(from)} – ${exactAt(until)}`;
    clear.hidden = !range;
    const { count: number, least, most } = eventsIn(model, spans);
    const isExact = least === most;
    const signs = atLeast(model.losses()) + (isExact ? "" : "≈ ");
    events.textContent = `${signs}${commas(number)} ${number === 1 ? "event" : "events"}`;
    events.title = isExact ? "" : `${commas(least)} to ${commas(most)}: the range cuts intervals`;
  };
  update();
  model.onFrame(update);
  return element("div", { class: "range" }, text, " ", events, " ", clear);
}
