/** The pane with all that is known of the selected span or event, or the difference between two. */

import { eventColor, spanColor } from "./color";
import { button, type Child, element, replace } from "./dom";
import { commas, cut, digits, exactMoment, exactTime, moment, time, value } from "./format";
import type { Model } from "./model";
import { pairedOf } from "./names";
import type { Spans } from "./spans";
import { swatch } from "./tip";
import type { Selected } from "./view";

interface Fact {
  name: string;
  doc?: string;
  content: Child;
  title?: string;
}

export class Details {
  private readonly node = element("aside", {
    class: "details",
    hidden: true,
    "data-test": "details",
    "aria-label": "Details of what is selected",
    tabindex: "-1",
  });
  private shown: unknown = null;

  constructor(
    root: HTMLElement,
    private readonly model: Model,
    private readonly spans: Spans,
  ) {
    root.append(this.node);
    model.onFrame(() => this.update());
    this.update();
  }

  private update(): void {
    const { selected, second } = this.model.state;
    const key = JSON.stringify([selected, second]);
    if (key === this.shown) return;
    this.shown = key;
    this.node.hidden = !selected;
    document.body.classList.toggle("has-details", !!selected);
    if (!selected) return;
    replace(
      this.node,
      this.part(selected),
      second ? this.part(second) : null,
      second ? this.difference(selected, second) : null,
      button("×", "close-details", () => this.model.select(null), "Closes the details (Esc)"),
    );
    this.node.lastElementChild!.setAttribute("aria-label", "Close the details");
  }

  private part(what: Selected): HTMLElement {
    return "lane" in what ? this.span(what) : this.event(what);
  }

  private list(
    title: string,
    color: string,
    doc: string,
    facts: Fact[],
    links: HTMLElement[],
  ): HTMLElement {
    return element(
      "section",
      {},
      element("h2", {}, swatch(color), title),
      doc ? element("p", { class: "note" }, cut(doc, 400)) : null,
      element(
        "dl",
        {},
        ...facts.map((fact) =>
          element(
            "div",
            {},
            element("dt", { title: fact.doc || null }, fact.name),
            element("dd", { title: fact.title || null }, fact.content),
          ),
        ),
      ),
      element("div", { class: "row" }, ...links),
    );
  }

  /** Returns a button that shows a moment of a thread, or its event if that is in the sample. */
  private moment(text: string, name: string, event: number, thread: number, at: number): HTMLElement {
    return button(text, name, () => {
      const found = this.spans.eventAt(event, thread, at);
      const { from, until } = this.model.range;
      const half = Math.min((until - from) / 2, Math.max((until - from) / 20, 500));
      this.model.setRange({ from: at - half, until: at + half });
      if (found) this.model.select(found);
    });
  }

  /** Returns the parameters of an event, if it is in the sample. */
  private params(event: number, thread: number, at: number): Fact[] {
    const found = this.spans.eventAt(event, thread, at);
    if (!found || "lane" in found) return [];
    const row = this.model.report.sample[found.sample].rows[found.row];
    return this.model.report.events[event].params.map((param, i) => ({
      name: cut(param.name, 40),
      doc: cut(param.doc, 300),
      content: value(row[i + 2], param.unit),
      title: cut(String(row[i + 2])),
    }));
  }

  private span({ lane, index }: { lane: number; index: number }): HTMLElement {
    const { report } = this.model;
    const of = this.spans.lane(lane);
    const { spans } = of.lane;
    const number = spans.span[index];
    const type = report.spans[number];
    const [at, end] = [of.begin[index], of.end[index]];
    const { thread } = of.lane;
    const endThread = spans.end_thread[index] >= 0 ? spans.end_thread[index] : thread;
    const facts: Fact[] = [{ name: "duration", content: time(end - at), title: exactTime(end - at) }];
    const self = of.self(index);
    if (self !== null)
      facts.push({ name: "self", content: time(self), title: exactTime(self), doc: "Without inner spans" });
    facts.push(
      { name: "begin", content: moment(at), title: exactMoment(report.origin, at) },
      { name: "end", content: moment(end), title: exactMoment(report.origin, end) },
      { name: "thread", content: cut(report.threads[thread]?.name ?? "?", 60) },
    );
    if (endThread !== thread)
      facts.push({ name: "ends on", content: cut(report.threads[endThread]?.name ?? "?", 60) });
    if (type.message) facts.push({ name: "message", content: cut(type.message, 60) });
    const key = spans.key[index];
    const params = type.begin >= 0 ? this.params(type.begin, thread, at) : [];
    if (params.length > 0) facts.push(...params);
    else if (key >= 0)
      facts.push({ name: cut(type.key ?? "key", 40), content: cut(report.texts[key] ?? "") });
    if (type.end >= 0) facts.push(...this.params(type.end, endThread, end));
    if (spans.is_uncertain[index]) {
      facts.push({
        name: "uncertain",
        content: element(
          "span",
          { class: "loss" },
          "events are missing here: its begin or end may be another one",
        ),
      });
    }
    const outer = of.outer(index);
    if (outer >= 0) {
      const name = cut(report.spans[spans.span[outer]].name, 60);
      facts.push({
        name: "inside of",
        content: button(name, "outer", () => this.model.select({ lane, index: outer })),
      });
    }
    const all = pairedOf(report, type);
    if (all?.duration_ns.p50) {
      const times = (end - at) / Number(all.duration_ns.p50);
      facts.push({
        name: "of all",
        content: `${digits(times)} × the median of ${commas(all.duration_ns.count)} spans`,
      });
    }
    return this.list(cut(type.name, 100), spanColor(report, number), type.doc, facts, [
      button("show", "show", () => this.model.showSpan(lane, index), "Chooses a range around it (F)"),
      this.moment("begin", "begin", type.begin, thread, at),
      this.moment("end", "end", type.end, endThread, end),
    ]);
  }

  private event({ sample, row }: { sample: number; row: number }): HTMLElement {
    const { report } = this.model;
    const of = report.sample[sample];
    const type = report.events[of.event];
    const at = this.spans.timesOf(sample)[row];
    const thread = of.rows[row][1];
    const facts: Fact[] = [
      { name: "time", content: moment(at), title: exactMoment(report.origin, at) },
      { name: "thread", content: cut(report.threads[thread]?.name ?? "?", 60) },
      { name: "kind", content: cut(report.kinds[type.kind]?.name ?? "?", 60) },
      ...this.params(of.event, thread, at),
    ];
    if (of.every > 1) {
      facts.push({ name: "sample", content: `one of each ${commas(of.every)} of ${commas(of.total)}` });
    }
    const span = this.spans.spanOf(of.event, thread, at);
    const step = (by: number) => this.model.select({ sample, row: row + by });
    return this.list(cut(type.name, 100), eventColor(report, of.event), type.doc, facts, [
      ...(span ? [button("its span", "its-span", () => this.model.select(span))] : []),
      ...(row > 0 ? [button("previous", "previous", () => step(-1))] : []),
      ...(row + 1 < of.rows.length ? [button("next", "next", () => step(1))] : []),
    ]);
  }

  private difference(one: Selected, two: Selected): HTMLElement {
    const [a, b] = [this.spans.timeOf(one), this.spans.timeOf(two)];
    const signed = (ns: number) => `${ns > 0 ? "+" : ns < 0 ? "−" : ""}${time(Math.abs(ns))}`;
    const rows: Fact[] = [
      { name: "begin", content: signed(b.at - a.at), title: exactTime(b.at - a.at) },
      {
        name: "between",
        content: signed(b.at - a.at - a.duration),
        title: "From the end of the first to the begin of the second",
      },
    ];
    if (a.duration > 0 && b.duration > 0) {
      rows.push(
        {
          name: "duration",
          content: signed(b.duration - a.duration),
          title: exactTime(b.duration - a.duration),
        },
        { name: "ratio", content: `${digits(b.duration / a.duration)} ×` },
      );
    }
    const made = this.list("Difference", this.color(two), "The second less the first.", rows, [
      button("show both", "show-both", () => {
        const from = Math.min(a.at, b.at);
        const until = Math.max(a.at + a.duration, b.at + b.duration);
        const margin = Math.max((until - from) / 10, 100);
        this.model.setRange({ from: from - margin, until: until + margin });
      }),
    ]);
    made.dataset.test = "difference";
    return made;
  }

  private color(what: Selected): string {
    const { report } = this.model;
    return "lane" in what
      ? spanColor(report, report.lanes[what.lane].spans.span[what.index])
      : eventColor(report, report.sample[what.sample].event);
  }
}
