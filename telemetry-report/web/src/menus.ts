/** Menus that filter by kind, event, thread and session. */

import { kindColor } from "./color";
import { button, element, replace } from "./dom";
import { brief, commas, cut } from "./format";
import type { Model } from "./model";
import { statsOf } from "./names";
import { swatch } from "./tip";
import type { Filter } from "./view";

/** A list shows this many members at once; a text narrows it. */
const MOST = 200;

interface Member {
  name: string;
  note: string;
  doc: string;
  color?: string;
}

function members(model: Model, list: keyof Filter): Member[] {
  const { report } = model;
  if (list === "kinds") {
    return report.kinds.map((kind, i) => ({
      name: kind.name,
      note: kind.registry,
      doc: kind.doc,
      color: kindColor(i),
    }));
  }
  if (list === "events") {
    return report.events.map((event) => {
      const number = statsOf(report, event)?.count;
      const note = number === undefined ? "" : commas(number);
      return { name: event.name, note, doc: event.doc, color: kindColor(event.kind) };
    });
  }
  if (list === "threads") {
    return report.threads.map((thread) => ({
      name: thread.name,
      note: `${commas(thread.events)} events`,
      doc: "",
    }));
  }
  return report.sessions.map((session) => ({
    name: session.program,
    note: session.id,
    doc: session.args.join(" ").slice(0, 200),
  }));
}

function menu(model: Model, list: keyof Filter): HTMLElement {
  const all = members(model, list);
  const summary = element("summary", { "data-test": `filter-${list}` });
  const find = element("input", { type: "search", placeholder: "find", "aria-label": `Find in ${list}` });
  const place = element("div", { class: "options", role: "group", "aria-label": list });
  const set = (value: Set<number> | null) => model.setFilter({ [list]: value });
  const root = element(
    "details",
    { class: "menu" },
    summary,
    element(
      "div",
      { class: "drop" },
      element(
        "div",
        { class: "row" },
        all.length > 12 ? find : null,
        button("all", `all-${list}`, () => set(null)),
        button("none", `none-${list}`, () => set(new Set())),
      ),
      place,
    ),
  );
  const draw = () => {
    const chosen = model.filter[list];
    const one = list.slice(0, -1);
    const title = !chosen
      ? `all ${list}`
      : chosen.size === 1
        ? brief(all[[...chosen][0]].name, 20)
        : `${commas(chosen.size)} of ${commas(all.length)} ${list}`;
    summary.textContent = `${all.length === 1 ? `1 ${one}` : title} ▾`;
    summary.classList.toggle("active", !!chosen);
    if (!root.open) return;
    const wanted = find.value.toLowerCase();
    const found = all
      .map((_, i) => i)
      .filter((i) => !wanted || all[i].name.slice(0, 1000).toLowerCase().includes(wanted));
    const focused = (document.activeElement as HTMLElement | null)?.dataset.at;
    replace(
      place,
      ...found.slice(0, MOST).map((i) => {
        const { name, note, doc, color } = all[i];
        const box = element("input", {
          type: "checkbox",
          "data-at": i,
          onchange: () => {
            const next = new Set(model.filter[list] ?? all.keys());
            if (!next.delete(i)) next.add(i);
            set(next);
          },
        });
        box.checked = !chosen || chosen.has(i);
        const only = button("only", "only", () => set(new Set([i])));
        only.classList.add("link");
        only.setAttribute("aria-label", `only ${cut(name, 40)}`);
        return element(
          "div",
          { class: "option", title: doc ? cut(doc, 400) : null },
          element(
            "label",
            {},
            box,
            color ? swatch(color) : null,
            element("span", {}, cut(name, 60)),
            element("span", { class: "note" }, cut(note, 40)),
          ),
          only,
        );
      }),
      found.length > MOST
        ? element("p", { class: "note" }, `${commas(found.length - MOST)} more; type to narrow the list`)
        : null,
    );
    if (focused) place.querySelector<HTMLElement>(`[data-at="${focused}"]`)?.focus();
  };
  find.addEventListener("input", draw);
  root.addEventListener("toggle", draw);
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !root.open) return;
    root.open = false;
    summary.focus();
    event.stopPropagation();
  });
  draw();
  model.onSettled(draw);
  return root;
}

/** Makes the menus of what can be filtered: lists with one member have none. */
export function menus(model: Model): HTMLElement {
  const { report } = model;
  const lists = (["kinds", "events", "threads", "sessions"] as const).filter(
    (list) => report[list].length > 1,
  );
  const root = element("div", { class: "row menus" }, ...lists.map((list) => menu(model, list)));
  const clear = button("clear filter", "clear-filter", () =>
    model.setFilter({ kinds: null, events: null, threads: null, sessions: null }),
  );
  root.append(clear);
  const update = () => {
    clear.hidden = !model.hasFilter;
  };
  update();
  model.onSettled(update);
  // One menu at a time, and none once the reader goes on.
  document.addEventListener("pointerdown", (event) => {
    for (const open of root.querySelectorAll<HTMLDetailsElement>("details[open]")) {
      if (!open.contains(event.target as Node)) open.open = false;
    }
  });
  return root;
}
