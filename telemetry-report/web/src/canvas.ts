/** A canvas in device pixels that draws itself once a frame at most, and the colors of the theme. */

import { element } from "./dom";

export interface Theme {
  isDark: boolean;
  text: string;
  /** For axes and notes. */
  faint: string;
  background: string;
  /** Lines of a grid: 8 % contrast. */
  grid: string;
  accent: string;
  loss: string;
}

let current: Theme | null = null;

/** Returns the colors that style.css gives to the page now. */
export function theme(): Theme {
  if (current) return current;
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(`--${name}`).trim();
  current = {
    isDark: matchMedia("(prefers-color-scheme: dark)").matches,
    text: read("text"),
    faint: read("faint"),
    background: read("background"),
    grid: read("grid"),
    accent: read("accent"),
    loss: read("loss"),
  };
  return current;
}

/** Calls `then` when the theme has changed, or the page is to be printed. */
export function onTheme(then: () => void): void {
  const changed = () => {
    current = null;
    then();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  matchMedia("print").addEventListener("change", changed);
}

export interface Canvas {
  node: HTMLCanvasElement;
  context: CanvasRenderingContext2D;
  /** In CSS pixels. */
  width: number;
  height: number;
  setHeight(height: number): void;
  /** Draws at the next frame. */
  draw(): void;
  /** Draws at once. */
  drawNow(): void;
}

export const FONT = '12px system-ui, "Segoe UI", Roboto, sans-serif';

export type Paint = (context: CanvasRenderingContext2D, width: number, height: number) => void;

/**
 * Makes a canvas as wide as its parent. `name` says what it shows to those who cannot see it. It draws
 * again when its width changes; the caller draws it again after a change of the view or theme.
 */
export function canvas(name: string, height: number, paint: Paint): Canvas {
  const node = element("canvas", { role: "img", "aria-label": name });
  const context = node.getContext("2d")!;
  let isAsked = false;
  const made: Canvas = {
    node,
    context,
    width: 0,
    height,
    setHeight(value) {
      if (made.height === value) return;
      made.height = value;
      node.style.height = `${value}px`;
      made.draw();
    },
    draw() {
      if (isAsked) return;
      isAsked = true;
      requestAnimationFrame(() => {
        isAsked = false;
        made.drawNow();
      });
    },
    drawNow() {
      if (made.width < 1 || !node.isConnected) return;
      const scale = Math.min(devicePixelRatio || 1, 3);
      const [w, h] = [Math.round(made.width * scale), Math.round(made.height * scale)];
      if (node.width !== w || node.height !== h) {
        node.width = w;
        node.height = h;
      }
      context.setTransform(scale, 0, 0, scale, 0, 0);
      context.clearRect(0, 0, made.width, made.height);
      context.font = FONT;
      context.textBaseline = "middle";
      paint(context, made.width, made.height);
    },
  };
  node.style.height = `${height}px`;
  new ResizeObserver(() => {
    const width = node.clientWidth;
    if (width === made.width) return;
    made.width = width;
    made.drawNow();
  }).observe(node);
  return made;
}

/** Draws red hatching: events are missing here. At least 3 pixels wide, so that it is seen. */
export function hatch(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  height: number,
): void {
  const wide = Math.max(width, 3);
  const left = x - (wide - width) / 2;
  context.save();
  context.beginPath();
  context.rect(left, y, wide, height);
  context.clip();
  context.fillStyle = theme().loss;
  context.globalAlpha = 0.16;
  context.fillRect(left, y, wide, height);
  context.globalAlpha = 1;
  context.strokeStyle = theme().loss;
  context.lineWidth = 1.2;
  context.beginPath();
  // The lines have fixed places, so that they stand still while the range moves past.
  for (let at = Math.floor((left - height) / 6) * 6; at < left + wide; at += 6) {
    context.moveTo(at, y + height);
    context.lineTo(at + height, y);
  }
  context.stroke();
  context.restore();
}

/** Returns `text`, shortened with an ellipsis so that it is at most `width` pixels wide. */
export function fit(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (width < 8) return "";
  // A glyph is at least 2 pixels wide in this size: what is longer needs no measure.
  const most = Math.ceil(width / 2);
  if (text.length <= most && context.measureText(text).width <= width) return text;
  return longest(context, width, Math.min(text.length, most), (letters) => `${text.slice(0, letters)}…`);
}

/** Returns `text`, shortened in its middle: names often differ in their ends alone. */
export function fitEnds(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (width < 8 || context.measureText(text).width <= width) return width < 8 ? "" : text;
  return longest(
    context,
    width,
    text.length - 1,
    (letters) => `${text.slice(0, Math.ceil(letters / 2))}…${text.slice(text.length - (letters >> 1))}`,
  );
}

/** Returns the text of most letters that fits, or nothing. */
function longest(
  context: CanvasRenderingContext2D,
  width: number,
  most: number,
  make: (letters: number) => string,
): string {
  let low = 0;
  let high = most;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(make(middle)).width <= width) low = middle;
    else high = middle - 1;
  }
  return low > 0 ? make(low) : "";
}
