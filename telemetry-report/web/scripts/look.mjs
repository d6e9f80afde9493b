// Takes pictures of pages in Chromium, to be looked at: `npm run look [NAME[#FRAGMENT]]...`. They are in the
// folder for temporary files, named for sample, width and theme. Prints errors of the page.

import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { page as makePage, samples } from "./page.mjs";

const all = await samples();
const wanted = process.argv.slice(2);
const sizes = (process.env.SIZES ?? "1280x800,400x800")
  .split(",")
  .map((size) => size.split("x").map(Number));
const themes = (process.env.THEMES ?? "light,dark").split(",");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
for (const one of wanted.length > 0 ? wanted : Object.keys(all)) {
  const [name, fragment = ""] = one.split("#");
  const path = join(tmpdir(), `report-${name}.html`);
  writeFileSync(path, await makePage(all[name]()));
  for (const [width, height] of sizes) {
    for (const colorScheme of themes) {
      const page = await browser.newPage({ viewport: { width, height }, colorScheme });
      page.on(
        "console",
        (message) => message.type() === "error" && console.log(`${name}: ${message.text()}`),
      );
      page.on("pageerror", (error) => console.log(`${name}: ${error.stack}`));
      await page.goto(`file://${path}${fragment && `#${fragment}`}`);
      await page
        .waitForFunction(() => window.report?.ready !== undefined, null, { timeout: 20_000 })
        .catch(() => {});
      await page.waitForTimeout(400);
      const tab = /tab=(\w+)/.exec(fragment)?.[1];
      const picture = join(
        tmpdir(),
        ["look", name, tab, width, colorScheme].filter(Boolean).join("-") + ".png",
      );
      await page.screenshot({ path: picture, fullPage: !!process.env.FULL });
      const size = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      console.log(picture, size[0] > size[1] ? `wider than its window: ${size}` : "");
      await page.close();
    }
  }
}
await browser.close();
