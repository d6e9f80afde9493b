// The page on paper, in Chromium.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { box, end, open, settled } from "./page.mjs";

after(end);

const at = (name) => `[data-test="${name}"]`;

test("the page prints on white in the width of a sheet, without buttons that do nothing there", async () => {
  const { page, close } = await open("gcbench", { width: 740, dark: true });
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await settled(page);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 740);
  assert.equal(await page.locator(`${at("more-rows")}:visible, [data-test^=jump-]:visible`).count(), 0);
  const color = await page.evaluate(() => getComputedStyle(document.querySelector("#verdict .good")).color);
  assert.equal(color, "rgb(26, 127, 55)");
  await close();
});

test("paper is white, with verdict and tables first", async () => {
  const { page, close } = await open("losses", { dark: true });
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  const style = await page.evaluate(() => {
    const { background, color } = getComputedStyle(document.documentElement);
    return { background, color };
  });
  assert.match(style.background, /rgb\(255, 255, 255\)/);
  assert.equal(style.color, "rgb(0, 0, 0)");
  const places = await Promise.all(
    ["#verdict", "#panel-durations", at("overview"), at("lanes")].map((one) => box(page, one)),
  );
  const tops = places.map(({ y }) => y);
  assert.deepEqual(
    tops,
    [...tops].sort((a, b) => a - b),
  );
  assert.ok(await page.locator(at("search")).isHidden());
  await close();
});

test("paper has the lanes that the screen scrolls, and says how many are left", async () => {
  const { page, close } = await open("threads");
  await settled(page);
  const height = () => page.evaluate(() => document.querySelector(".lanes").clientHeight);
  const before = await height();
  await page.emulateMedia({ media: "print" });
  await page.waitForFunction((before) => document.querySelector(".lanes").clientHeight > 4 * before, before);
  assert.match(await page.textContent(at("lanes-status")), /more threads are not printed/);
  await page.emulateMedia({ media: "screen" });
  await page.waitForFunction((before) => document.querySelector(".lanes").clientHeight === before, before);
  await close();
});
