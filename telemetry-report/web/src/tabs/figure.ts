/** A picture with its head, what the pointer reads in it, and its table twin. */

import { type Canvas, canvas, theme } from "../canvas";
import { type Child, element, replace } from "../dom";
import { swatch, tip } from "../tip";
import { twin } from "../twin";

export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export interface FigureOptions {
  /** For tests: `data-test`. */
  name: string;
  title: string;
  height: number;
  /** Draws the picture. */
  paint(context: CanvasRenderingContext2D, width: number, height: number): void;
  /** Returns the lines that stand beside the pointer; the first is bold. */
  hover?(x: number, y: number): string[] | null;
  onclick?(x: number, y: number): void;
  table(): HTMLElement;
}

export interface Figure {
  node: HTMLElement;
  canvas: Canvas;
  /** Draws it again. `label` has the main figures, for those who cannot see it. */
  update(label: string, ...legend: Child[]): void;
}

/** Makes a picture. The arrows move a pointer over it, as the mouse does. */
export function figure(options: FigureOptions): Figure {
  const legend = element("span", { class: "legend" });
  let at: [number, number] | null = null;
  const made = canvas(options.title, options.height, (context, width, height) => {
    options.paint(context, width, height);
    if (at && options.hover) {
      context.fillStyle = theme().faint;
      context.globalAlpha = 0.5;
      context.fillRect(Math.round(at[0]), 0, 1, height);
      context.globalAlpha = 1;
    }
  });
  const { node } = made;
  node.tabIndex = 0;
  const show = (x: number, y: number) => {
    const lines = options.hover?.(x, y);
    at = lines ? [x, y] : null;
    const { left, top } = node.getBoundingClientRect();
    tip(lines?.map((text, i) => ({ text, isStrong: i === 0 })) ?? null, left + x, top + y);
    made.draw();
  };
  const hide = () => {
    at = null;
    tip(null);
    made.draw();
  };
  node.addEventListener("pointermove", (event) => show(event.offsetX, event.offsetY));
  node.addEventListener("pointerleave", hide);
  node.addEventListener("blur", hide);
  node.addEventListener("click", (event) => options.onclick?.(event.offsetX, event.offsetY));
  node.addEventListener("keydown", (event) => {
    const [x, y] = at ?? [made.width / 2, made.height / 2];
    const size = event.shiftKey ? 1 : 10;
    const move = {
      ArrowLeft: [-size, 0],
      ArrowRight: [size, 0],
      ArrowUp: [0, -size],
      ArrowDown: [0, size],
    }[event.key];
    if (move) show(clamp(x + move[0], 0, made.width - 1), clamp(y + move[1], 0, made.height - 1));
    else if (event.key === "Enter" && options.onclick) options.onclick(x, y);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const other = twin(options.title, element("div", { class: "plot" }, node), options.table);
  const root = element(
    "section",
    { class: "figure", "data-test": options.name },
    element(
      "div",
      { class: "row" },
      element("h3", {}, options.title),
      legend,
      element("span", { class: "fill" }),
      other.button,
    ),
    other.node,
  );
  return {
    node: root,
    canvas: made,
    update(label, ...children) {
      node.setAttribute("aria-label", `${options.title}: ${label}`);
      replace(legend, ...children);
      other.update();
      made.draw();
    },
  };
}

/** Returns a colored square with its name, for a legend. */
export function named(color: string, name: string): HTMLElement {
  return element("span", { class: "named" }, swatch(color), element("span", {}, name));
}

export function clamp(value: number, low: number, high: number): number {
  return Math.max(low, Math.min(high, value));
}

/** Returns where the plot is, with space for labels at the left and below. */
export function boxOf(width: number, height: number, left = 72): Box {
  return { left, right: width - 6, top: 6, bottom: height - 22 };
}
