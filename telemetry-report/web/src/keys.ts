/** Keys of the page, and the list of them. */

import { button, element } from "./dom";
import { rangeAround } from "./fragment";
import type { Lanes } from "./lanes";
import type { Model } from "./model";
import type { Spans } from "./spans";

const KEYS: [string, string][] = [
  ["W S", "zoom in and out; so does the wheel on the lanes"],
  ["A D", "move left and right; so does dragging"],
  ["F", "fit what is selected, or the whole run"],
  ["← →", "to the next longer or shorter span"],
  ["/", "search names"],
  ["Esc", "clear the selection, then the range and the filter"],
  ["Shift-click", "add a second span: shows the difference"],
  ["Double-click", "choose a range around a span; on the overview, the whole run"],
  ["Tab", "go to the next control"],
  ["?", "this list"],
];

/** Handles the page's keys. Returns a button for the list of them. */
export function keys(
  root: HTMLElement,
  model: Model,
  spans: Spans,
  lanes: Lanes,
  search: { focus(): void },
): HTMLElement {
  const dialog = element(
    "dialog",
    { class: "keys", "data-test": "keys", "aria-label": "Keys" },
    element("dl", {}, ...KEYS.flatMap(([key, text]) => [element("dt", {}, key), element("dd", {}, text)])),
    button("close", "close-keys", () => dialog.close()),
  );
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  root.append(dialog);

  const step = (by: number) => {
    const longest = spans.longest(model.filter);
    if (longest.length === 0) return;
    const { selected } = model.state;
    const at =
      selected && "lane" in selected
        ? longest.findIndex((one) => one.lane === selected.lane && one.index === selected.index)
        : -1;
    const next = longest[at < 0 ? 0 : Math.min(Math.max(at + by, 0), longest.length - 1)];
    model.showSpan(next.lane, next.index);
  };
  const fit = () => {
    const { selected } = model.state;
    if (!selected) return model.setRange(null);
    const { at, duration } = spans.timeOf(selected);
    const range = rangeAround(model.report, at, duration);
    // What fits already: the second time, the whole run.
    const isThere = range && range.from === model.range.from && range.until === model.range.until;
    model.setRange(isThere ? null : range);
  };
  const escape = () => {
    if (model.state.selected) model.select(null);
    else if (!model.isWhole) model.clear();
  };
  const actions: Record<string, () => void> = {
    w: () => lanes.zoom(0.8),
    s: () => lanes.zoom(1.25),
    a: () => lanes.pan(-0.1),
    d: () => lanes.pan(0.1),
    f: fit,
    arrowleft: () => step(-1),
    arrowright: () => step(1),
    "/": () => search.focus(),
    "?": () => dialog.showModal(),
    escape,
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || dialog.open) return;
    const target = event.target as HTMLElement;
    if (target.closest("input:not([type=checkbox]), select, textarea, [contenteditable]")) return;
    const action = actions[event.key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    action();
  });
  return button("?", "help", () => dialog.showModal(), "Keys (?)");
}
