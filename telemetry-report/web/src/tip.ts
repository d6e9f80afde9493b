/** The one box at the pointer that says what is under it. */

import { element, replace } from "./dom";

export interface Line {
  text: string;
  /** Color of a mark before the text. */
  color?: string;
  isStrong?: boolean;
  isLoss?: boolean;
}

let box: HTMLElement | null = null;

/** Shows lines beside a point of the window, or hides the box. */
export function tip(lines: Line[] | null, x = 0, y = 0): void {
  if (!box) {
    box = element("div", { class: "hint", "aria-hidden": "true", "data-test": "tip" });
    document.body.append(box);
  }
  box.hidden = !lines || lines.length === 0;
  if (!lines || box.hidden) return;
  replace(
    box,
    ...lines.map((line) => {
      const mark = line.color ? swatch(line.color) : null;
      const kind = [line.isStrong && "strong", line.isLoss && "loss"].filter(Boolean).join(" ");
      return element("div", { class: kind || null }, mark, line.text);
    }),
  );
  const { offsetWidth: width, offsetHeight: height } = box;
  const left = x + 14 + width > innerWidth ? Math.max(4, x - 14 - width) : x + 14;
  const top = y + 14 + height > innerHeight ? Math.max(4, y - 10 - height) : y + 14;
  box.style.left = `${left}px`;
  box.style.top = `${top}px`;
}

/** Makes a small square of a color. */
export function swatch(color: string): HTMLElement {
  const made = element("span", { class: "swatch", "aria-hidden": "true" });
  made.style.background = color;
  return made;
}
