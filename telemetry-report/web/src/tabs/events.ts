/** The tab of events: a searchable table of those in the samples. Only rows in sight are made. */

import { eventColor } from "../color";
import { element, replace } from "../dom";
import { count, cut, exactAt, shown } from "../format";
import type { Selected, Tab } from "../view";
import { lossNote, note, threadName } from "./common";
import { clamp, named } from "./figure";
import { foundRows, paramText, rowsOf } from "./rows";

/** Height of a row; style.css agrees. */
const ROW = 24;

/** A browser draws nothing right beyond this many pixels. */
const MOST_PIXELS = 8e6;

/** Returns a time with as many digits as tell neighbors apart. */
function precise(at: number): string {
  return `${(shown(at) / 1e6).toLocaleString("en-US", { minimumFractionDigits: 6, maximumFractionDigits: 6 })} ms`;
}

export const events: Tab = {
  id: "events",
  title: "Events",
  empty: (report) =>
    report.sample.some((sample) => sample.rows.length > 0)
      ? null
      : "No event was recorded. Switch kinds on with TELEMETRY_CONTROL, as in " +
        "TELEMETRY_CONTROL=all; `telemetry doctor` helps.",
  make(root, view) {
    const { report } = view;
    const all = rowsOf(report);
    let found: Uint32Array = new Uint32Array();
    let isDown = false;
    let words = "";
    let active = -1; // Place in the list that the keys move.
    let timer = 0;
    const search = element("input", {
      type: "search",
      placeholder: "name, thread or value",
      "aria-label": "Search events",
      "data-test": "event-search",
      oninput: () => {
        clearTimeout(timer);
        timer = window.setTimeout(() => {
          words = search.value;
          update();
        }, 120);
      },
    });
    const shown = element("span", { class: "note", "data-test": "event-count", role: "status" });
    const sorter = element("button", {
      type: "button",
      "data-test": "event-sort",
      title: "Turns the order of time",
      onclick: () => {
        isDown = !isDown;
        active = -1;
        scroller.scrollTop = 0;
        update();
      },
    });
    const timeHead = element("span", { role: "columnheader", class: "time" }, sorter);
    const head = element(
      "div",
      { role: "row", class: "event head" },
      timeHead,
      ...["thread", "event", "parameters"].map((name) =>
        element("span", { role: "columnheader", class: name }, name),
      ),
    );
    const body = element("div", { role: "rowgroup", class: "body" });
    const space = element("div", { class: "space" });
    const scroller = element(
      "div",
      {
        class: "scroller",
        tabindex: 0,
        role: "table",
        "aria-label": "Events",
        "data-test": "events",
        onscroll: () => draw(),
      },
      head,
      element("div", { class: "hold" }, space, body),
    );
    const samples = element("div");
    const feet = element("div");

    const indexOf = (place: number) => found[isDown ? found.length - 1 - place : place];
    const pixels = () => Math.min(found.length * ROW, MOST_PIXELS);
    const inSight = () => Math.max(1, Math.ceil((scroller.clientHeight - ROW) / ROW));
    /** The place of the first row in sight. A list that no browser could draw in full is scaled. */
    const firstPlace = () => {
      const hidden = pixels() - inSight() * ROW;
      if (found.length * ROW <= MOST_PIXELS) return Math.floor(scroller.scrollTop / ROW);
      return Math.floor((scroller.scrollTop / hidden) * (found.length - inSight()));
    };
    const isSelected = (what: Selected | null | undefined, sample: number, row: number) =>
      !!what && "sample" in what && what.sample === sample && what.row === row;
    let shownFor: Selected | null = null;
    const choose = (place: number) => {
      const i = indexOf(place);
      active = place;
      shownFor = { sample: all.sample[i], row: all.row[i] };
      view.select(shownFor);
      draw();
    };
    /** Scrolls to the row that something else selected. */
    const follow = () => {
      if (view.selected === shownFor) return;
      shownFor = view.selected;
      const at = found.findIndex((i) => isSelected(shownFor, all.sample[i], all.row[i]));
      if (at >= 0) bring((active = isDown ? found.length - 1 - at : at));
    };
    /** Scrolls until a row is in sight. */
    const bring = (place: number) => {
      const page = inSight() - 1;
      const first = firstPlace();
      if (place >= first && place < first + page) return;
      const top = place < first ? place : place - page + 1;
      const scale = found.length * ROW <= MOST_PIXELS ? ROW : pixels() / found.length;
      scroller.scrollTop = Math.max(0, top) * scale;
    };
    const rowOf = (place: number) => {
      const i = indexOf(place);
      const sample = report.sample[all.sample[i]];
      const [, thread, ...values] = sample.rows[all.row[i]];
      const type = report.events[sample.event];
      const params = type.params.map((param, at) =>
        element(
          "span",
          {
            class: "param",
            title: [
              `${cut(param.name)}: ${param.type}${param.unit && `, in ${cut(param.unit)}`}`,
              cut(param.doc),
            ]
              .filter(Boolean)
              .join("\n"),
          },
          element("span", { class: "note" }, `${cut(param.name, 40)} `),
          `${cut(paramText(values[at], param), 120)} `,
        ),
      );
      return element(
        "div",
        {
          role: "row",
          "aria-rowindex": place + 2,
          "data-test": "event-row",
          class: [
            "event",
            isSelected(view.selected, all.sample[i], all.row[i]) && "selected",
            place === active && "active",
          ]
            .filter(Boolean)
            .join(" "),
          onclick: () => choose(place),
        },
        element("span", { role: "cell", class: "time", title: exactAt(all.time[i]) }, precise(all.time[i])),
        element(
          "span",
          { role: "cell", class: "thread", title: cut(report.threads[thread]?.name ?? "") },
          threadName(report, thread),
        ),
        element(
          "span",
          { role: "cell", class: "name", title: cut(type.doc) },
          named(eventColor(report, sample.event), cut(type.name, 60)),
        ),
        element("span", { role: "cell", class: "parameters" }, ...params),
      );
    };
    const draw = () => {
      const first = clamp(firstPlace(), 0, Math.max(0, found.length - 1));
      const number = Math.min(inSight() + 2, found.length - first);
      const isScaled = found.length * ROW > MOST_PIXELS;
      const top = isScaled ? Math.min(scroller.scrollTop, pixels() - number * ROW) : first * ROW;
      body.style.transform = `translateY(${Math.max(0, top)}px)`;
      replace(body, ...Array.from({ length: Math.max(0, number) }, (_, i) => rowOf(first + i)));
    };
    scroller.addEventListener("keydown", (event) => {
      const page = inSight() - 1;
      const step = {
        ArrowDown: 1,
        ArrowUp: -1,
        PageDown: page,
        PageUp: -page,
        Home: -Infinity,
        End: Infinity,
      }[event.key];
      if (found.length === 0 || (step === undefined && event.key !== "Enter")) return;
      event.preventDefault();
      event.stopPropagation();
      if (step === undefined) return void (active >= 0 && choose(active));
      active = clamp(active < 0 && Math.abs(step) === 1 ? firstPlace() : active + step, 0, found.length - 1);
      bring(active);
      draw();
    });
    const sampleNote = () => {
      const reduced = report.sample.filter((one) => one.rows.length < one.total && view.has(one.event));
      if (reduced.length === 0) return null;
      const say = (one: (typeof reduced)[number]) =>
        `1 of ${count(one.every > 1 ? one.every : Math.round(one.total / one.rows.length))} ` +
        `${cut(report.events[one.event].name, 60)} events shown ` +
        `(${count(one.rows.length)} of ${count(one.total)})`;
      const rest = reduced.slice(3);
      return element(
        "div",
        { class: "note", "data-test": "event-samples" },
        `${reduced.slice(0, 3).map(say).join("; ")}; counts are exact.`,
        rest.length > 0 &&
          element(
            "details",
            {},
            element("summary", {}, `${count(rest.length)} more types are samples`),
            ...rest.slice(0, 500).map((one) => element("div", {}, say(one))),
          ),
      );
    };
    let last = "";
    const update = () => {
      const { range, filter } = view;
      const key = JSON.stringify([
        range,
        words,
        isDown,
        ...Object.values(filter).map((set) => set && [...set]),
      ]);
      if (key !== last) {
        found = foundRows(view, words);
        active = -1;
        if (last) scroller.scrollTop = 0;
        last = key;
      }
      const total = report.sample
        .filter((one) => view.has(one.event))
        .reduce((sum, one) => sum + one.total, 0);
      shown.textContent =
        `${count(found.length)} ${found.length === 1 ? "row" : "rows"}` +
        (view.isWhole && !words ? ` of ${count(total)} events` : words ? " found" : " in range and filter");
      sorter.textContent = isDown ? "time ▾" : "time ▴";
      timeHead.setAttribute("aria-sort", isDown ? "descending" : "ascending");
      scroller.setAttribute("aria-rowcount", String(found.length + 1));
      space.style.height = `${pixels()}px`;
      scroller.style.height = `${clamp(found.length + 1, 4, 20) * ROW + 2}px`;
      replace(samples, sampleNote());
      replace(
        feet,
        note(
          found.length === 0 && "No event in this range, filter and search.",
          lossNote(view.losses(), false),
        ),
      );
      follow();
      draw();
    };
    root.append(element("div", { class: "controls" }, search, shown), samples, scroller, feet);
    update();
    // Heights are known only in the page.
    requestAnimationFrame(draw);
    return { update };
  },
};
