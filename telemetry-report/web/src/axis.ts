/** The horizontal axis that the overview and the lanes share. */

import { theme } from "./canvas";
import { ticks } from "./format";
import type { Range } from "./view";

/** Height of the row of times. */
export const AXIS = 18;

/** Returns the width of the labels at the left. */
export function gutter(width: number): number {
  return width < 600 ? 76 : 132;
}

/** Draws times at `y` and, from `top` to `bottom`, lines of the grid. */
export function drawAxis(
  context: CanvasRenderingContext2D,
  range: Range,
  left: number,
  width: number,
  y: number,
  top: number,
  bottom: number,
): void {
  const colors = theme();
  const scale = width / (range.until - range.from);
  context.textAlign = "left";
  for (const { at, label } of ticks(
    range.from,
    range.until,
    Math.max(2, Math.floor(width / (width < 500 ? 65 : 110))),
  )) {
    const x = Math.round(left + (at - range.from) * scale);
    context.fillStyle = colors.grid;
    context.fillRect(x, top, 1, bottom - top);
    context.fillStyle = colors.faint;
    const wide = context.measureText(label).width;
    if (x + 4 + wide <= left + width) context.fillText(label, x + 4, y);
  }
}
