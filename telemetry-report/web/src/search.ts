/** The box that finds kinds, events, spans, threads and keys by name. */

import { eventColor, kindColor, spanColor } from "./color";
import { element, replace } from "./dom";
import { commas, cut } from "./format";
import type { Lanes } from "./lanes";
import type { Model } from "./model";
import type { Spans } from "./spans";
import { swatch } from "./tip";

const MOST = 12;

interface Found {
  what: string;
  name: string;
  doc: string;
  color?: string;
  go(): void;
}

/** Returns the names that contain a text; those that begin with it come first. */
function find(model: Model, spans: Spans, lanes: Lanes, wanted: string): { found: Found[]; more: number } {
  const { report } = model;
  const found: { rank: number; make(): Found }[] = [];
  let more = 0;
  const look = (name: string, make: () => Found) => {
    // The start of a name is enough: a name may have a million characters.
    const at = name.slice(0, 500).toLowerCase().indexOf(wanted);
    if (at < 0) return;
    if (found.length < 500) found.push({ rank: at === 0 ? 0 : 1, make });
    else more++;
  };
  report.spans.forEach((type, i) =>
    look(type.name, () => ({
      what: "span",
      name: type.name,
      doc: "Enter: the longest one",
      color: spanColor(report, i),
      go: () => {
        const events = new Set([type.begin, type.end].filter((event) => event >= 0));
        const of = spans.longest({ kinds: null, events, threads: null, sessions: null });
        const first = of.find((one) => report.lanes[one.lane].spans.span[one.index] === i);
        if (first) model.showSpan(first.lane, first.index);
      },
    })),
  );
  report.events.forEach((event, i) =>
    look(event.name, () => ({
      what: "event",
      name: event.name,
      doc: "Enter: these events only",
      color: eventColor(report, i),
      go: () => model.setFilter({ events: new Set([i]) }),
    })),
  );
  report.kinds.forEach((kind, i) =>
    look(kind.name, () => ({
      what: "kind",
      name: kind.name,
      doc: "Enter: this kind only",
      color: kindColor(i),
      go: () => model.setFilter({ kinds: new Set([i]) }),
    })),
  );
  report.threads.forEach((thread, i) =>
    look(thread.name, () => ({
      what: "thread",
      name: thread.name,
      doc: "Enter: scroll there",
      go: () => {
        if (!model.hasThread(i)) model.setFilter({ threads: null, sessions: null });
        lanes.showThread(i);
      },
    })),
  );
  const keys = new Set<number>();
  report.texts.forEach((text, i) => {
    if (text.slice(0, 500).toLowerCase().includes(wanted)) keys.add(i);
  });
  if (keys.size > 0) {
    for (const one of spans.longest(model.filter)) {
      if (found.length >= 500) break;
      const list = report.lanes[one.lane].spans;
      const key = list.key[one.index];
      if (!keys.delete(key)) continue;
      look(report.texts[key], () => ({
        what: cut(report.spans[list.span[one.index]].name, 30),
        name: report.texts[key],
        doc: "Enter: the longest one",
        color: spanColor(report, list.span[one.index]),
        go: () => model.showSpan(one.lane, one.index),
      }));
    }
  }
  found.sort((a, b) => a.rank - b.rank);
  return {
    found: found.slice(0, MOST).map((one) => one.make()),
    more: more + Math.max(found.length - MOST, 0),
  };
}

/** Makes the box. */
export function search(model: Model, spans: Spans, lanes: Lanes): { node: HTMLElement; focus(): void } {
  const list = element("div", {
    class: "results",
    role: "listbox",
    id: "results",
    hidden: true,
    "data-test": "results",
  });
  const input = element("input", {
    type: "search",
    placeholder: "search  /",
    role: "combobox",
    "aria-label": "Search names",
    "aria-controls": "results",
    "aria-expanded": "false",
    "data-test": "search",
    autocomplete: "off",
  });
  let found: Found[] = [];
  let at = 0;
  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const go = (one: Found | undefined) => {
    if (!one) return;
    close();
    input.value = "";
    input.blur();
    one.go();
  };
  const draw = () => {
    const wanted = input.value.trim().toLowerCase();
    if (!wanted) return close();
    const result = find(model, spans, lanes, wanted);
    found = result.found;
    at = Math.min(at, Math.max(found.length - 1, 0));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    replace(
      list,
      ...found.map((one, i) => {
        const made = element(
          "div",
          {
            role: "option",
            id: `result-${i}`,
            "aria-selected": String(i === at),
            title: one.doc,
            // Before the box loses the focus, which closes the list.
            onpointerdown: (event: PointerEvent) => {
              event.preventDefault();
              go(one);
            },
          },
          one.color ? swatch(one.color) : null,
          element("span", {}, cut(one.name, 60)),
          element("span", { class: "note" }, one.what),
        );
        return made;
      }),
      found.length === 0 ? element("p", { class: "note" }, "nothing found") : null,
      result.more > 0 ? element("p", { class: "note" }, `${commas(result.more)} more`) : null,
    );
    if (found.length > 0) input.setAttribute("aria-activedescendant", `result-${at}`);
  };
  input.addEventListener("input", () => {
    at = 0;
    draw();
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") {
      input.value = "";
      close();
      input.blur();
    } else if (event.key === "Enter") {
      go(found[at]);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      at = (at + (event.key === "ArrowDown" ? 1 : -1) + found.length) % Math.max(found.length, 1);
      draw();
    }
  });
  return { node: element("div", { class: "search" }, input, list), focus: () => input.focus() };
}
