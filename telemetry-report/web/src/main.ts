/** The page's start: decodes the document and makes the page of it. */

import "./style.css";
import { onTheme } from "./canvas";
import { decode } from "./decode";
import type { Report } from "./document";
import { element, replace } from "./dom";
import { Model } from "./model";
import { strip } from "./strip";
import { TABS } from "./tabs";

function show(report: Report, app: HTMLElement): void {
  const model = new Model(report);
  const bottom = element("section", { class: "bottom" });
  replace(app, bottom);
  strip(bottom, model, TABS);
  onTheme(() => model.refresh());
}

async function start(): Promise<void> {
  let app = document.getElementById("app");
  if (!app) {
    app = element("main", { id: "app" });
    document.body.append(app);
  }
  try {
    show(await decode(document.getElementById("data")?.textContent ?? ""), app);
  } catch (error) {
    console.error(error);
    replace(
      app,
      element(
        "p",
        { class: "failure", role: "alert" },
        `The figures in this page cannot be read: ${error}. Write the page again with \`telemetry report\`.`,
      ),
    );
  }
}

start();
