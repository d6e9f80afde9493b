/** Colors: the palette of Okabe and Ito by kind, the same on every picture. Red is for loss alone. */

import type { Report } from "./document";

/** Without vermilion, which is too near to the red of losses, and black, which is the text's. */
const PALETTE = ["#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#0072b2", "#f0e442", "#999999"];

/** For a second round of kinds: the same hues, lighter. */
const PALE = ["#f3cf80", "#abdaf4", "#80cfb9", "#e6bcd3", "#80b9d9", "#f8f2a1", "#cccccc"];

export const GRAY = "#8a8a8a";

/** Returns the color of the series or kind with this number. */
export function color(index: number): string {
  if (index < 0) return GRAY;
  const all = index % (2 * PALETTE.length);
  return all < PALETTE.length ? PALETTE[all] : PALE[all - PALETTE.length];
}

export function kindColor(kind: number): string {
  return color(kind);
}

export function eventColor(report: Report, event: number): string {
  return color(report.events[event]?.kind ?? -1);
}

/** Of types of spans with one kind: shares of white (above 0) or black in its color. */
const SHADES = [0, 0.3, -0.2, 0.5, -0.35];

/** Returns the color of a type of spans: a shade of the color of its kind. */
export function spanColor(report: Report, span: number): string {
  const kind = spanKind(report, span);
  let place = 0;
  for (let i = 0; i < span; i++) if (spanKind(report, i) === kind) place++;
  return shade(color(kind), SHADES[place % SHADES.length]);
}

/** Returns a color with a share of white (above 0) or black. */
function shade(of: string, share: number): string {
  const parts = [1, 3, 5].map((at) => {
    const value = parseInt(of.slice(at, at + 2), 16);
    return Math.round(share > 0 ? value + (255 - value) * share : value * (1 + share));
  });
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** Returns the kind of a type of spans, or -1. */
export function spanKind(report: Report, span: number): number {
  const type = report.spans[span];
  if (!type) return -1;
  return report.events[type.begin >= 0 ? type.begin : type.end]?.kind ?? -1;
}

/** Returns a color for text on `background`: black or white, with the more contrast. */
export function textOn(background: string): string {
  const [r, g, b] = [1, 3, 5].map((at) => (parseInt(background.slice(at, at + 2), 16) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000" : "#fff";
}
