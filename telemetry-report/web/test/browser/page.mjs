// Opens pages of sample documents in Chromium, and collects what must not happen on them.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { page as makePage, samples } from "../../scripts/page.mjs";

const folder = mkdtempSync(join(tmpdir(), "telemetry-report-browser-"));
const all = await samples();
const written = new Map();

let browser;

async function launch() {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  browser ??= await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  return browser;
}

/** Returns the path of a sample's page. `change` gets its text, and returns another. */
async function write(name, change) {
  const key = `${name}${change ? written.size : ""}`;
  if (!written.has(key)) {
    const text = await makePage(all[name]());
    const path = join(folder, `${key}.html`);
    writeFileSync(path, change ? change(text) : text);
    written.set(key, path);
  }
  return written.get(key);
}

/**
 * Opens a sample. `found` has errors of the page, violations of its policy, and requests; it must stay
 * empty.
 */
export async function open(name, options = {}) {
  return openFile(await write(name, options.change), options);
}

/** Opens a page in a file. */
export async function openFile(path, { fragment = "", width = 1280, dark = false, script = true } = {}) {
  const context = await (
    await launch()
  ).newContext({
    viewport: { width, height: 800 },
    colorScheme: dark ? "dark" : "light",
    javaScriptEnabled: script,
    hasTouch: width < 600,
  });
  const page = await context.newPage();
  const found = [];
  page.on("console", (message) => message.type() === "error" && found.push(message.text()));
  page.on("pageerror", (error) => found.push(error.stack));
  page.on("dialog", (dialog) => {
    found.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith("file://")) found.push(request.url());
  });
  if (script) {
    await page.addInitScript(() =>
      addEventListener("securitypolicyviolation", (event) => console.error(event.violatedDirective)),
    );
  }
  await page.goto(`file://${path}${fragment && `#${fragment}`}`);
  if (script) await page.waitForFunction(() => window.report?.ready !== undefined);
  return { page, found, close: () => context.close() };
}

export async function end() {
  await browser?.close();
  rmSync(folder, { recursive: true });
}

/** Waits until the page has shown the last change. */
export async function settled(page) {
  // Input is handled by the frame after it; then the model says when all follows.
  for (let i = 0; i < 2; i++) {
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
    await page.waitForFunction(() => window.report.model.isSettled);
  }
  return page.evaluate(() => location.hash.slice(1));
}

/**
 * Returns the texts of all elements that a selector names, taken in one step: an element that the
 * page replaces between two steps has no layout, and so no lines.
 */
export async function texts(page, selector) {
  return page.evaluate(
    (selector) => Array.from(document.querySelectorAll(selector), (found) => found.innerText),
    selector,
  );
}

/** Returns the edges of an element that a selector names. */
export async function box(page, selector) {
  return page.locator(selector).first().boundingBox();
}

/** Returns the fragment as a map. */
export function parts(fragment) {
  return Object.fromEntries(
    fragment
      .split("&")
      .filter(Boolean)
      .map((part) => part.split("=")),
  );
}
