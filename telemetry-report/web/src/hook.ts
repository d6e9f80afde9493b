/** What tests and measurements see of the page: `window.report`. */

import type { Lanes } from "./lanes";
import type { Model } from "./model";
import type { Rates } from "./rates";

/** Times of frames, in milliseconds. */
export interface Frames {
  frames: number;
  /** Between frames, at the 95th percentile. */
  p95: number;
  /** Frames per second at the 95th percentile. */
  perSecond: number;
  /** To draw the lanes alone, at the 95th percentile. */
  draw: number;
}

export interface Hook {
  /** When all was drawn first, from the begin of navigation; absent before. */
  ready?: number;
  /** Why the document could not be shown. */
  failure?: string;
  model?: Model;
  /** Numbers of the pictures, as they are drawn now. */
  numbers?(): { events: number; shown: number; spans: number; rates: number[] };
  /** How long the lanes took to draw last, in milliseconds. */
  drawMs?(): number;
  /** Zooms and pans for some seconds. */
  measure?(seconds?: number): Promise<Frames>;
}

declare global {
  interface Window {
    report: Hook;
  }
}

const percentile = (values: number[], share: number) =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))];

/** Adds what needs the pictures to the hook. */
export function hook(model: Model, lanes: Lanes, picture: { rates(): Rates }): void {
  window.report.model = model;
  window.report.numbers = () => {
    const { kinds, total } = picture.rates();
    const sum = (list: Float64Array) => list.reduce((a, b) => a + b, 0);
    const { shown, all } = lanes.painter.drawn;
    return { events: sum(total), shown, spans: all, rates: kinds.map(sum) };
  };
  window.report.drawMs = () => lanes.painter.ms;
  window.report.measure = (seconds = 3) =>
    new Promise((resolve) => {
      const [between, draws]: [number[], number[]] = [[], []];
      const start = performance.now();
      let last = 0;
      const { range } = model.state;
      const step = (now: number) => {
        if (last) between.push(now - last);
        last = now;
        const passed = (performance.now() - start) / 1000;
        if (passed >= seconds) {
          model.setRange(range);
          const p95 = percentile(between, 0.95);
          resolve({ frames: between.length, p95, perSecond: 1000 / p95, draw: percentile(draws, 0.95) });
          return;
        }
        // In to a thousandth of the run and out again, while moving.
        lanes.zoom(Math.sin((passed * 2 * Math.PI) / seconds) > 0 ? 0.93 : 1.07, 0.3);
        lanes.pan(Math.sin(passed * 5) / 20);
        draws.push(lanes.painter.ms);
        requestAnimationFrame(step);
      };
      requestAnimationFrame(step);
    });
}
