/** Marks: moments of the run that have a text, as lines across pictures of time. */

import { fit, theme } from "./canvas";
import type { Mark, Ns, Report } from "./document";
import { commas, cut, exactAt, moment } from "./format";
import { table } from "./dom";
import type { Line } from "./tip";
import type { Range, View } from "./view";

/** Height of a text. */
const TEXT = 14;

/** The longest text in a picture, in pixels. */
const MOST = 180;

/** The place of the lines, and of time on them. */
export interface Place {
  left: number;
  right: number;
  top: number;
  bottom: number;
  x(at: Ns): number;
}

/** Draws the marks in a range: a dashed line each, and the texts that have room at their top. */
export function drawMarks(
  context: CanvasRenderingContext2D,
  marks: readonly Mark[],
  { from, until }: Range,
  { left, right, top, bottom, x }: Place,
): void {
  const shown = marks.filter(({ at }) => at >= from && at <= until);
  if (shown.length === 0) return;
  context.save();
  context.strokeStyle = theme().accent;
  context.lineWidth = 1;
  context.setLineDash([4, 3]);
  context.beginPath();
  let drawn = -Infinity;
  for (const { at } of shown) {
    const place = Math.min(Math.round(x(at)), right - 1) + 0.5;
    // Lines that would be one are drawn once.
    if (place < left || place - drawn < 1) continue;
    context.moveTo(place, top);
    context.lineTo(place, bottom);
    drawn = place;
  }
  context.stroke();
  context.textAlign = "left";
  let free = -Infinity;
  for (const [i, { at, text }] of shown.entries()) {
    const place = x(at) + 3;
    const next = shown.slice(i + 1).find((mark) => x(mark.at) > place);
    const room = Math.min((next ? x(next.at) : right) - place - 4, MOST);
    if (place < free || room < 24) continue;
    const said = fit(context, cut(text || "mark", 80), room);
    const wide = context.measureText(said).width;
    context.globalAlpha = 0.85;
    context.fillStyle = theme().background;
    context.fillRect(place - 1, top, wide + 3, TEXT);
    context.globalAlpha = 1;
    context.fillStyle = theme().accent;
    context.fillText(said, place, top + TEXT / 2);
    free = place + wide;
  }
  context.restore();
}

/** Returns what the box at the pointer says of the marks near a moment. */
export function aboutMarks(marks: readonly Mark[], at: Ns, slack: Ns): Line[] {
  const near = marks.filter((mark) => Math.abs(mark.at - at) <= slack);
  return near.slice(0, 4).map((mark) => ({ text: `${cut(mark.text || "mark", 120)}: ${moment(mark.at)}` }));
}

/** Makes the table of all marks. A click on a time chooses a range around it. */
export function marksTable(view: View): HTMLElement {
  const { report } = view;
  const margin = Math.max(report.duration / 50, 1000);
  const more = report.more_marks > 0 ? `${commas(report.more_marks)} more marks are not listed.` : "";
  return table(
    [
      { title: "mark", text: (mark) => cut(mark.text || "mark", 120) },
      {
        title: "time",
        text: (mark) => moment(mark.at),
        value: (mark) => mark.at,
        full: (mark) => exactAt(mark.at),
        onclick: (mark) => view.setRange({ from: mark.at - margin, until: mark.at + margin }),
      },
      { title: "thread", text: (mark) => threadOf(report, mark) },
    ],
    report.marks,
    { name: "marks", most: 10, footnote: more },
  );
}

function threadOf(report: Report, mark: Mark): string {
  return cut(report.threads[mark.thread]?.name ?? "?", 80);
}
