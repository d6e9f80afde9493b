/** The page's start: decodes the document and makes the page of it. */

import "./style.css";
import { onTheme } from "./canvas";
import { decode } from "./decode";
import { Details } from "./details";
import type { Report } from "./document";
import { element, replace } from "./dom";
import { nothing } from "./empty";
import { setZero } from "./format";
import { hook } from "./hook";
import { keys } from "./keys";
import { lanes } from "./lanes";
import { menus } from "./menus";
import { Model } from "./model";
import { nameApart } from "./names";
import { overview, rangeLine } from "./overview";
import { search } from "./search";
import { Spans } from "./spans";
import { strip } from "./strip";
import { tabsOf } from "./tabs";
import { comparisonOf } from "./tabs/comparison";
import { showVerdict } from "./verdict";

async function show(report: Report, header: HTMLElement, app: HTMLElement): Promise<void> {
  // Times of one session are those of `telemetry print`.
  setZero(report.sessions.length === 1 ? report.sessions[0].start : 0);
  nameApart(report);
  const model = new Model(report);
  showVerdict(header, model);
  if (report.stats.count === 0) {
    replace(app, nothing(report));
    if (report.against) {
      const section = element("section", { class: "panels", "data-test": "comparison" });
      app.append(section);
      comparisonOf(section, report);
    }
    return;
  }
  const spans = new Spans(report);
  const bar = element("div", { class: "row bar" });
  const top = element("section", { class: "overview" });
  const middle = element("section", { class: "threads" });
  const bottom = element("section", { class: "figures" });
  replace(app, bar, top, middle, bottom);
  const rates = overview(top, model);
  const drawn = lanes(middle, model, spans);
  const box = search(model, spans, drawn);
  const help = keys(app, model, spans, drawn, box);
  bar.append(rangeLine(model, spans), element("span", { class: "fill" }), menus(model), box.node, help);
  new Details(app, model, spans);
  onTheme(() => model.refresh());
  // The first pictures are on the screen before the first tab is made.
  await painted();
  strip(bottom, model, tabsOf(report));
  hook(model, drawn, rates);
}

/** Waits until what was made is on the screen, or can be: a page in the background paints later. */
function painted(): Promise<void> {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, 200);
  });
}

/** Returns the element with this id, which is made if the page has none. */
function part(tag: "header" | "main", id: string): HTMLElement {
  const there = document.getElementById(id);
  if (there) return there;
  const made = element(tag, { id });
  document.body.append(made);
  return made;
}

async function start(): Promise<void> {
  window.report = {};
  const [header, app] = [part("header", "verdict"), part("main", "app")];
  // The first picture needs its data: until then the verdict of the file stands alone.
  const verdict = [...header.childNodes];
  try {
    await show(await decode(document.getElementById("data")?.textContent ?? ""), header, app);
  } catch (error) {
    window.report.failure = String(error);
    header.replaceChildren(...verdict);
    const why = error instanceof Error ? error.message : String(error);
    replace(
      app,
      element(
        "p",
        { class: "failure", role: "alert", "data-test": "failure" },
        `This page's figures cannot be read: ${why}.`,
      ),
      element("p", {}, "The file may be cut or changed. Write it again with `telemetry report`."),
    );
  }
  await painted();
  window.report.ready = performance.now();
}

start();
