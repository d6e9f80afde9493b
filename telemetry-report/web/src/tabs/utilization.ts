/** The picture of the minimum mutator utilization, with a ruler that reads it. */

import { theme } from "../canvas";
import type { Ns } from "../document";
import { button, element, table } from "../dom";
import { percent, time } from "../format";
import { drawAxis, logAxis, reader } from "./axes";
import { boxOf, clamp, figure, named } from "./figure";
import { bmu, mmu, type Stops, windowFor, windows } from "./mmu";

const HEIGHT = 260;
const POINTS = 120;

export interface Utilization {
  stops: Stops;
  /** The shortest single pause. */
  shortest: Ns;
  /** Pauses were joined. */
  isLowerBound: boolean;
}

/** Makes the picture. `data` is read at each update. */
export function utilization(data: () => Utilization): { node: HTMLElement; update(): void } {
  let now = data();
  let sizes: number[] = [];
  let exact: number[] = [];
  let bounded: number[] = [];
  let ruler = 0.5;
  let window: number | null = null;
  const least = () => (now.isLowerBound ? "≥ " : "");
  const plot = (width: number) => {
    const box = boxOf(width, HEIGHT, 48);
    const x = logAxis(sizes[0] ?? 1, sizes[sizes.length - 1] ?? 10, box.left, box.right, reader("ns"));
    const y = (share: number) => box.bottom - share * (box.bottom - box.top);
    return { box, x, y };
  };
  const sentence = () => {
    const share = `${Math.round(ruler * 100)} %`;
    return window === null
      ? `no window gives at least ${share}`
      : `at least ${share} in every ${window <= 1 ? "window" : time(window)}`;
  };
  const text = element("output", { "data-test": "mmu-ruler" });
  const move = (to: number) => {
    ruler = clamp(Math.round(to * 100) / 100, 0.01, 0.99);
    window = windowFor(now.stops, ruler);
    slider.value = String(Math.round(ruler * 100));
    text.textContent = sentence();
    made.canvas.draw();
  };
  const slider: HTMLInputElement = element("input", {
    type: "range",
    min: 1,
    max: 99,
    value: 50,
    "aria-label": "Ruler: utilization in percent",
    "data-test": "mmu-slider",
    oninput: () => move(Number(slider.value) / 100),
  });
  const made = figure({
    name: "mmu",
    title: "Minimum mutator utilization",
    height: HEIGHT,
    paint(context, width) {
      const { box, x, y } = plot(width);
      drawAxis(context, x, "bottom", box);
      drawAxis(
        context,
        {
          place: y,
          value: () => 0,
          marks: [0, 0.25, 0.5, 0.75, 1].map((at) => ({ at, label: `${at * 100} %` })),
        },
        "left",
        box,
      );
      const line = (shares: number[], color: string, dash: number[]) => {
        context.strokeStyle = color;
        context.lineWidth = 1.8;
        context.setLineDash(dash);
        context.beginPath();
        shares.forEach((share, i) => context.lineTo(x.place(sizes[i]), y(share)));
        context.stroke();
        context.setLineDash([]);
      };
      line(bounded, theme().faint, [5, 3]);
      line(exact, theme().accent, []);
      context.strokeStyle = theme().text;
      context.lineWidth = 1;
      const at = Math.round(y(ruler)) + 0.5;
      context.beginPath();
      context.moveTo(box.left, at);
      context.lineTo(box.right, at);
      if (window !== null && window >= sizes[0]) {
        const pixel = Math.round(x.place(window)) + 0.5;
        context.moveTo(pixel, at);
        context.lineTo(pixel, box.bottom);
      }
      context.stroke();
      const words = sentence();
      const wide = context.measureText(words).width;
      context.fillStyle = theme().background;
      context.globalAlpha = 0.85;
      context.fillRect(box.left + 4, at - 17, wide + 8, 15);
      context.globalAlpha = 1;
      context.fillStyle = theme().text;
      context.fillText(words, box.left + 8, at - 9);
    },
    hover(px) {
      if (sizes.length === 0) return null;
      const { x } = plot(made.canvas.width);
      const size = clamp(x.value(px), sizes[0], sizes[sizes.length - 1]);
      return [
        `windows of ${time(size)}`,
        `MMU ${least()}${percent(mmu(now.stops, size))}`,
        `BMU ${least()}${percent(bmu(now.stops, size))} (this size or larger)`,
      ];
    },
    onclick: (_, py) => {
      const { box } = plot(made.canvas.width);
      move((box.bottom - py) / (box.bottom - box.top));
    },
    table: () =>
      table<number>(
        [
          { title: "window", text: (i) => time(sizes[i]), value: (i) => sizes[i] },
          {
            title: "MMU",
            doc: "The least share of such a window in which the program ran",
            text: (i) => least() + percent(exact[i]),
            value: (i) => exact[i],
          },
          {
            title: "BMU",
            doc: "The same of windows of this size or larger",
            text: (i) => least() + percent(bounded[i]),
            value: (i) => bounded[i],
          },
        ],
        sizes.map((_, i) => i).filter((i) => i % 4 === 0 || i === sizes.length - 1),
        { name: "mmu-table", most: 60 },
      ),
  });
  const controls = element(
    "div",
    { class: "controls" },
    element("label", {}, "Ruler ", slider),
    text,
    ...[10, 50, 90].map((share) => button(`${share} %`, `ruler-${share}`, () => move(share / 100))),
  );
  return {
    node: element("div", { class: "curve" }, made.node, controls),
    update() {
      now = data();
      sizes = windows(now.stops, now.shortest, POINTS);
      exact = sizes.map((size) => mmu(now.stops, size));
      bounded = sizes.map((size, i) => bmu(now.stops, size, exact[i]));
      move(ruler);
      const { before, length } = now.stops;
      const stopped = before[before.length - 1];
      made.update(
        `${now.isLowerBound ? "a lower bound: " : ""}${sentence()}; ` +
          `${percent(1 - stopped / (length || 1))} of the whole`,
        named(theme().accent, "MMU"),
        named(theme().faint, "BMU: of that size or larger"),
      );
    },
  };
}
