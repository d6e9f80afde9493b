/** The strip of tabs. Each tab is made when it is shown first. */

import { element, replace } from "./dom";
import type { Model } from "./model";
import type { Tab } from "./view";

/** Adds the strip and the panels of the tabs to `root`. */
export function strip(root: HTMLElement, model: Model, tabs: readonly Tab[]): void {
  const made = new Map<string, { panel: HTMLElement; update(): void }>();
  const panels = element("div", { class: "panels" });
  const buttons = tabs.map((tab) =>
    element(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${tab.id}`,
        "data-test": `tab-${tab.id}`,
        "aria-controls": `panel-${tab.id}`,
        onclick: () => model.setTab(tab.id),
      },
      tab.title,
    ),
  );
  const list = element("div", { class: "tabs", role: "tablist", "aria-label": "Figures" }, ...buttons);
  list.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -at, End: buttons.length - 1 - at }[event.key];
    if (at < 0 || step === undefined) return;
    const next = (at + step + buttons.length) % buttons.length;
    event.preventDefault();
    event.stopPropagation();
    buttons[next].focus();
    model.setTab(tabs[next].id);
  });

  const make = (tab: Tab) => {
    const why = tab.empty(model.report);
    const panel = element("section", {
      id: `panel-${tab.id}`,
      role: "tabpanel",
      "aria-labelledby": `tab-${tab.id}`,
      "data-test": `panel-${tab.id}`,
    });
    panels.append(panel);
    let update = () => {};
    if (why) {
      replace(panel, element("p", { class: "note" }, why));
    } else {
      try {
        update = tab.make(panel, model).update;
      } catch (error) {
        console.error(error);
        replace(panel, element("p", { class: "failure" }, `This tab cannot be shown: ${error}`));
      }
    }
    made.set(tab.id, { panel, update });
  };

  /** Scrolls the strip, not the page, until a button is in view with a part of its neighbor. */
  const reveal = ({ offsetLeft, offsetWidth }: HTMLElement) => {
    const left = offsetLeft - list.offsetLeft;
    const margin = 36;
    list.scrollLeft = Math.max(
      Math.min(list.scrollLeft, left - margin),
      left + offsetWidth + margin - list.clientWidth,
    );
  };

  const update = () => {
    const id = tabs.some((tab) => tab.id === model.state.tab) ? model.state.tab : tabs[0].id;
    const isNew = !made.has(id);
    if (isNew) make(tabs.find((tab) => tab.id === id)!);
    tabs.forEach((tab, at) => {
      const isShown = tab.id === id;
      buttons[at].setAttribute("aria-selected", String(isShown));
      buttons[at].tabIndex = isShown ? 0 : -1;
      const panel = made.get(tab.id)?.panel;
      if (panel) panel.hidden = !isShown;
      if (isShown) reveal(buttons[at]);
    });
    // `make` draws for the present view; only later changes need an update.
    if (!isNew) made.get(id)!.update();
  };
  root.append(list, panels);
  update();
  model.onSettled(update);
  let width = 0;
  new ResizeObserver(() => {
    if (width && width !== panels.clientWidth) update();
    width = panels.clientWidth;
  }).observe(panels);
}
