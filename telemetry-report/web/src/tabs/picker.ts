/** The list of events and their parameters, with docs and units on hover. */

import { eventColor } from "../color";
import { element, replace } from "../dom";
import { cut } from "../format";
import type { View } from "../view";
import { named } from "./figure";

/** Makes the list. It has a search, and shows events of the filter. */
export function picker(
  view: View,
  choose: (event: number, param: number) => void,
  chosen: () => [number, number],
): { node: HTMLElement; update(): void } {
  const search = element("input", {
    type: "search",
    placeholder: "event or parameter",
    "aria-label": "Search events and parameters",
    "data-test": "value-search",
    oninput: () => update(),
  });
  const list = element("div", { class: "list", role: "group", "aria-label": "Parameters" });
  const update = () => {
    const words = search.value.toLowerCase();
    const [event, param] = chosen();
    const items = view.report.events.flatMap((type, at) => {
      if (!view.has(at) || type.params.length === 0) return [];
      const isWhole = type.name.toLowerCase().includes(words);
      const params = type.params.flatMap(({ name, unit, doc, is_counter, type: sort }, i) => {
        if (!isWhole && !name.toLowerCase().includes(words)) return [];
        return [
          element(
            "button",
            {
              type: "button",
              class: "link",
              "aria-pressed": String(at === event && i === param),
              "data-test": `value-${at}-${i}`,
              onclick: () => choose(at, i),
              title: [sort + (unit && `, in ${unit}`) + (is_counter ? ", a counter" : ""), doc].filter(Boolean).join("\n"),
            },
            cut(name, 60),
            unit && element("span", { class: "note" }, ` ${cut(unit, 20)}`),
          ),
        ];
      });
      if (params.length === 0) return [];
      const head = element(
        "div",
        { title: [`registry ${type.registry}`, type.doc].filter(Boolean).join("\n") },
        named(eventColor(view.report, at), cut(type.name, 60)),
      );
      return [element("div", { class: "item" }, head, ...params)];
    });
    const { scrollTop } = list;
    const focused = (document.activeElement as HTMLElement | null)?.dataset?.test;
    replace(
      list,
      ...(items.length > 0 ? items : [element("p", { class: "note" }, "Nothing has such a name.")]),
    );
    list.scrollTop = scrollTop;
    if (focused && focused !== "value-search")
      list.querySelector<HTMLElement>(`[data-test="${CSS.escape(focused)}"]`)?.focus();
  };
  return { node: element("div", { class: "picker" }, search, list), update };
}
