// The tabs in Chromium: their numbers, their tables, range and filter, mouse and keys.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { box, end, open, parts, settled, texts } from "./page.mjs";

after(end);

const at = (name) => `[data-test="${name}"]`;
const TABS = ["durations", "pauses", "values", "memory", "flame", "events"];

/** Returns the text of an element's lines. */
const text = (page, selector) => page.locator(selector).first().innerText();

/** Returns a row of the table of durations: by head, the exact values where they are on hover. */
async function durations(page, span) {
  return page.evaluate((span) => {
    const table = document.querySelector('#panel-durations [data-test="durations"] table');
    const heads = [...table.querySelectorAll("th")].map((head) => head.textContent);
    const row = [...table.querySelectorAll("tbody tr")].find((row) => row.cells[0].textContent === span);
    return (
      row && Object.fromEntries([...row.cells].map((cell, i) => [heads[i], cell.title || cell.textContent]))
    );
  }, span);
}

test("each tab fits in its window, and makes no error", async () => {
  for (const name of ["gcbench", "losses", "hostile", "slow", "threads", "log"]) {
    for (const [width, dark] of [
      [1280, false],
      [400, true],
    ]) {
      for (const tab of TABS) {
        const { page, found, close } = await open(name, { fragment: `tab=${tab}`, width, dark });
        await settled(page);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= width, `${name}, ${tab}: ${wide} pixels in ${width}`);
        assert.ok((await text(page, `#panel-${tab}`)).length > 20, `${name}, ${tab}: empty`);
        assert.deepEqual(found, [], `${name}, ${tab}`);
        await close();
      }
    }
  }
});

test("each picture says what it shows, and has a table", async () => {
  const { page, close } = await open("gcbench");
  let pictures = 0;
  for (const tab of TABS.slice(0, 5)) {
    await page.click(at(`tab-${tab}`));
    await settled(page);
    const unnamed = await page.evaluate(() =>
      [...document.querySelectorAll("button, input, select")]
        .filter((one) => one.offsetParent && !one.textContent.trim())
        .filter((one) => !one.getAttribute("aria-label") && !one.labels?.[0]?.textContent.trim())
        .map((one) => one.outerHTML),
    );
    assert.deepEqual(unnamed, [], tab);
    for (const figure of await page.locator(`#panel-${tab} .figure:visible`).all()) {
      const canvas = figure.locator("canvas").first();
      assert.equal(await canvas.getAttribute("role"), "img");
      assert.match(await canvas.getAttribute("aria-label"), /\w: .*\d/);
      await figure.locator(at("twin")).click();
      assert.ok((await figure.locator("tbody tr").count()) > 2);
      assert.ok(!(await canvas.isVisible()));
      await figure.locator(at("twin")).click();
      assert.ok(await canvas.isVisible());
      pictures++;
    }
  }
  assert.equal(pictures, 12);
  await close();
});

test("durations of the whole run are those of spans", async () => {
  const { page, close } = await open("gcbench");
  const paired = await page.evaluate(() => window.report.model.report.paired.spans);
  assert.ok(paired.length >= 5);
  const ns = (value) => `${value.toLocaleString("en-US")} ns`;
  for (const one of paired) {
    const row = await durations(page, one.span);
    assert.equal(row.count, one.duration_ns.count.toLocaleString("en-US"));
    assert.equal(row["total ▾"] ?? row.total, ns(one.total_ns));
    assert.equal(row.self, ns(one.total_self_ns));
    for (const figure of ["p50", "p99", "max"]) assert.equal(row[figure], ns(one.duration_ns[figure]));
    assert.equal(row.uncertain, String(one.uncertain));
  }
  await close();
});

test("a range gives exact durations if all spans are there, and approximate ones if not", async () => {
  const { page, close } = await open("gcbench");
  const range = () => page.evaluate(() => window.report.model.setRange({ from: 5e8, until: 15e8 }));
  await range();
  await settled(page);
  const exact = await durations(page, "Collect");
  const ends = await page.evaluate(() => {
    const { lanes, spans } = window.report.model.report;
    let [begin, found] = [0, 0];
    lanes[0].spans.begin.forEach((step, i) => {
      begin += step;
      const end = begin + lanes[0].spans.duration[i];
      if (spans[lanes[0].spans.span[i]].name === "Collect" && end >= 5e8 && end <= 15e8) found++;
    });
    return found;
  });
  assert.equal(exact.count, String(ends));
  assert.match(await text(page, "#panel-durations"), /Spans that end in the range/);
  await page.evaluate(() => {
    for (const lane of window.report.model.report.lanes) lane.complete_from = 1;
    window.report.model.refresh();
  });
  await settled(page);
  const near = await durations(page, "Collect");
  assert.match(near.count, /^≈ \d+$/);
  assert.ok(Math.abs(Number(near.count.slice(2)) - ends) <= 2);
  assert.equal(near.max, exact.max);
  assert.match(await text(page, "#panel-durations"), /within 6 %/);
  // Figures of an interval say nothing of a range that is much shorter: then only the longest spans do.
  await page.evaluate(() => {
    const { model } = window.report;
    const { report } = model;
    const width = report.durations[0].duration.width;
    const { spans } = report.lanes[0];
    const end = spans.begin[0] + spans.duration[0];
    model.setRange({ from: Math.max(end - width / 4, 0), until: end + width / 4 });
  });
  await settled(page);
  const row = await page.evaluate(() => document.querySelector("#panel-durations tbody tr").innerText);
  assert.match(row, /≥ 1\b/);
  assert.match(await text(page, "#panel-durations"), /so only its longest spans are known/);
  await close();
});

test("the longest spans are sorted by duration, time or thread", async () => {
  const { page, close } = await open("gcbench");
  await settled(page);
  const column = (at) =>
    page.evaluate(
      (at) =>
        [...document.querySelectorAll('[data-test="longest"] tbody tr')].map(({ cells }) => {
          const { title, textContent } = cells[at];
          return Number((title || textContent).replace(/[^\d.]/g, ""));
        }),
      at,
    );
  const heads = await texts(page, '[data-test="longest"] th');
  assert.match(heads[0], /^duration/);
  for (const name of ["duration", "begins at"]) {
    const head = page.locator('[data-test="longest"] th button', { hasText: name });
    const number = heads.findIndex((head) => head.startsWith(name));
    await head.click();
    const first = await column(number);
    await head.click();
    const second = await column(number);
    const sorted = [first, second].map((list) => [...list].sort((a, b) => a - b));
    const order = name === "duration" ? [sorted[0], sorted[1].reverse()] : [sorted[0].reverse(), sorted[1]];
    assert.deepEqual([first, second], order, name);
  }
  await page.locator('[data-test="longest"] th button', { hasText: "thread" }).click();
  assert.equal(await page.locator('[data-test="longest"] th[aria-sort]').innerText(), "thread");
  await close();
});

test("sums that losses touch say so", async () => {
  const { page, close } = await open("losses");
  await settled(page);
  const cells = await page.locator("#panel-durations tbody tr").first().innerText();
  assert.match(cells, /≥ [\d,]+\s+≥ [\d.]+ m?s/);
  assert.match(await text(page, "#panel-durations"), /events of this range are missing .*sink failed/);
  await page.click(at("tab-pauses"));
  assert.match(await text(page, at("pause-summary")), /^≥ 121 pauses stop the program for ≥ /);
  await page.evaluate(() => window.report.model.setRange({ from: 0, until: 1e9 }));
  await settled(page);
  assert.match(await text(page, at("pause-summary")), /^\d+ pauses/);
  await close();
});

test("a click on a span shows its distribution, and another goes to its longest", async () => {
  const { page, close } = await open("gcbench");
  await page.click(at("span-Collect"));
  assert.match(await text(page, at("chosen-span")), /^Collect/);
  assert.match(await text(page, at("duration-histogram")), /121 spans · total 210 ms · max 12.3 ms/);
  await page.click(at("jump-Collect"));
  const fragment = parts(await settled(page));
  assert.match(fragment.selected, /^span\./);
  assert.ok(fragment.from && fragment.until);
  await close();
});

test("the ruler says the smallest window, and moves by keys and buttons", async () => {
  const { page, close } = await open("gcbench", { fragment: "tab=pauses" });
  const ruler = () => text(page, at("mmu-ruler"));
  const window = async () => Number(/in every ([\d.]+) ms/.exec(await ruler())[1]);
  assert.match(await ruler(), /^at least 50 % in every [\d.]+ ms$/);
  const half = await window();
  await page.focus(at("mmu-slider"));
  await page.keyboard.press("ArrowRight");
  assert.match(await ruler(), /^at least 51 %/);
  assert.ok((await window()) >= half);
  await page.click(at("ruler-10"));
  assert.ok((await window()) < half);
  const pauses = await page.evaluate(() => window.report.model.report.pauses.duration);
  assert.equal(await page.locator(`${at("longest-pauses")} tbody tr`).count(), 10);
  assert.equal(
    await page
      .locator(`${at("longest-pauses")} tbody td`)
      .first()
      .getAttribute("title"),
    `${Math.max(...pauses).toLocaleString("en-US")} ns`,
  );
  await close();
});

test("values have figures of stats; categories have frequent values alone", async () => {
  const { page, close } = await open("gcbench", { fragment: "tab=values" });
  assert.match(await text(page, at("chosen-value")), /^Alloc · size in bytes/);
  assert.match(await text(page, at("value-summary")), /^1,452 values from 16 bytes to 2.00 KiB.*; sum /);
  await page.fill(at("value-search"), "collect");
  await page.locator(".picker .link", { hasText: "why" }).click();
  assert.ok(!(await page.locator(at("value-heat")).isVisible()));
  const rows = await texts(page, `${at("frequent")} tbody tr`);
  assert.deepEqual(
    rows.map((row) => row.split("\t")[0]),
    ["NurseryFull", "HeapFull"],
  );
  await close();
});

test("memory is by size or by event, and says what was never freed", async () => {
  const { page, close } = await open("gcbench", { fragment: "tab=memory" });
  const { allocations, frees } = await page.evaluate(() => window.report.model.report.memory);
  const number = (value) => value.toLocaleString("en-US");
  assert.ok(
    (await text(page, at("memory-summary"))).startsWith(
      `${number(allocations)} allocations and ${number(frees)} frees; `,
    ),
  );
  assert.match(await text(page, at("never-freed")), /64 KiB/);
  await page.click(at("rate-log"));
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "log");
  assert.equal(await page.getAttribute(at("rate-log"), "aria-pressed"), "true");
  await page.click(at("memory-groups"));
  assert.match(await text(page, at("never-freed")), /Alloc Node/);
  assert.match(await text(page, "#panel-memory"), /3 frees are of memory that no recorded event allocated/);
  await close();
});

test("censuses are areas by class, and one of several is chosen", async () => {
  const { page, found, close } = await open("census", { fragment: "tab=census", width: 400 });
  const censuses = await page.evaluate(() => window.report.model.report.censuses);
  const number = (value) => value.toLocaleString("en-US");
  for (const [i, census] of censuses.entries()) {
    await page.selectOption(`select${at("census-of")}`, String(i));
    await settled(page);
    assert.match(await text(page, at("census-summary")), new RegExp(`: ${census.count} census`));
    assert.match(await text(page, at("census")), census.classes.length > 8 ? /others/ : /string/);
    const totals = await page.locator(`${at("classes")} tbody tr`).last().locator("td").all();
    const exact = await Promise.all(totals.map((cell) => cell.getAttribute("title")));
    assert.equal(exact[1], `${number(census.total.mean)} bytes`);
    assert.equal(exact[3], `${number(census.total.most)} bytes`);
    // The pointer reads the census that is nearest.
    const { x, y, width } = await box(page, `${at("census")} canvas`);
    await page.mouse.move(x + width / 2, y + 100);
    assert.match(await text(page, at("tip")), /string: /);
    await page.locator(at("census")).locator(at("twin")).click();
    const rows = await page.locator(`${at("census-table")} tbody tr`).count();
    assert.equal(rows, Math.min(40, census.at.length));
    await page.locator(at("census")).locator(at("twin")).click();
  }
  await page.evaluate(() => window.report.model.setRange({ from: 0, until: 1000 }));
  await settled(page);
  assert.match(await text(page, "#panel-census"), /This range has no census/);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 400, `${wide} pixels`);
  assert.deepEqual(found, []);
  await close();
});

test("counters are curves, and one of several is chosen", async () => {
  const { page, found, close } = await open("counters", { fragment: "tab=counters", width: 400 });
  const counters = await page.evaluate(() => window.report.model.report.counters);
  // Those of the runtime are not the first.
  assert.match(await text(page, at("chosen-counter")), /CacheHits/);
  for (const [name, isGrowing] of [["Process.resident", false], ["CacheHits", true], ["Balance", false], ["Once", false]]) {
    await page.locator(`${at("counters")} button.link`, { hasText: name }).first().click();
    await settled(page);
    assert.match(await text(page, at("chosen-counter")), new RegExp(`^${name}`));
    assert.equal(await page.isVisible(at("counter-growth")), isGrowing, name);
    const of = counters.find((one) => one.counter === name);
    const { x, y, width } = await box(page, `${at("counter-values")} canvas`);
    await page.mouse.move(x + width / 2, y + 100);
    assert.match(await text(page, at("tip")), new RegExp(`${name}: -?[\\d,.]+`));
    const note = await text(page, "#panel-counters");
    assert.equal(/1 of 4 values/.test(note), of.every === 4, name);
  }
  await page.locator(`${at("counters")} button.link`, { hasText: "ThreadHits" }).first().click();
  await settled(page);
  assert.match(await text(page, at("counter-values")), /thread 400\d/);
  assert.match(await text(page, "#panel-counters"), /The picture has 8 of 10/);
  await page.evaluate(() => (location.hash = "tab=durations"));
  await settled(page);
  assert.match(await text(page, at("sampled")), /990 samples of threads.*Collect\s900.*50\.0 %/s);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 400, `${wide} pixels`);
  assert.deepEqual(found, []);
  await close();
});

test("the flame graph zooms and searches", async () => {
  const { page, close } = await open("gcbench", { fragment: "tab=flame" });
  const { x, y, width } = await box(page, `${at("flame")} canvas`);
  assert.match(await text(page, at("flame")), /1.80 s/);
  await page.mouse.click(x + width * 0.88, y + 30);
  assert.equal(await text(page, at("flame-path")), "Collect");
  await page.fill(at("flame-search"), "sweep");
  assert.equal(await text(page, at("flame-found")), "1 name found");
  await page.click(at("flame-reset"));
  assert.equal(await text(page, at("flame-path")), "");
  await page.click(at("flame-Stack"));
  assert.match(await text(page, at("flame")), /samples/);
  await page.click(at("flame-spans"));
  await page.evaluate(() => window.report.model.setFilter({ kinds: new Set([2]) }));
  await settled(page);
  assert.match(await text(page, at("flame")), /1.50 s, most in Tree/);
  await close();
});

test("the table of events searches, scrolls, turns and selects", async () => {
  const { page, close } = await open("gcbench", { fragment: "tab=events" });
  const rows = async () => {
    await settled(page);
    return texts(page, at("event-row"));
  };
  assert.ok((await rows()).length < 40);
  assert.match(await text(page, at("event-samples")), /1 of 4 TreeBegin events shown .*counts are exact/);
  const first = (await rows())[0];
  await page.evaluate((events) => {
    const scroller = document.querySelector(events);
    scroller.scrollTop = scroller.scrollHeight;
  }, at("events"));
  await page.waitForFunction((first) => !document.body.innerText.includes(first), first.split("\n")[0]);
  const last = (await rows()).at(-1);
  await page.click(at("event-sort"));
  assert.equal((await rows())[0], last);
  await page.fill(at("event-search"), "HeapFull");
  await page.waitForFunction(
    (count) => /^17 rows found/.test(document.querySelector(count).textContent),
    at("event-count"),
  );
  assert.ok((await rows()).every((row) => row.includes("HeapFull")));
  await page.focus(at("events"));
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.match(parts(await settled(page)).selected, /^event\./);
  await close();
});

test("the table of events follows what others select", async () => {
  const { page, close } = await open("gcbench", { fragment: "tab=events" });
  await page.keyboard.press("ArrowRight");
  await settled(page);
  await page.click(at("end"));
  await settled(page);
  const row = page.locator(".event.selected");
  assert.equal(await row.count(), 1);
  assert.match(await row.innerText(), /End/);
  await page.click(at("close-details"));
  await settled(page);
  assert.equal(await row.count(), 0);
  await close();
});

test("a narrow strip scrolls its active tab into view", async () => {
  const { page, close } = await open("gcbench", { fragment: "tab=events", width: 400 });
  const isInside = async () => {
    const [strip, tab] = [await box(page, ".tabs"), await box(page, ".tabs [aria-selected=true]")];
    return tab.x >= strip.x - 1 && tab.x + tab.width <= strip.x + strip.width + 1;
  };
  assert.ok(await isInside());
  await page.focus(at("tab-events"));
  for (const key of ["Home", "End", "ArrowLeft", "ArrowLeft"]) {
    await page.keyboard.press(key);
    await settled(page);
    assert.ok(await isInside(), key);
  }
  await close();
});

test("a tab without content says why, and what to do", async () => {
  const { page, close } = await open("slow", { fragment: "tab=memory" });
  assert.match(await text(page, "#panel-memory"), /Mark the events and their parameters with `replay`/);
  await page.evaluate(() => {
    const { report } = window.report.model;
    report.pauses = null;
    for (const span of report.spans) span.is_pause = false;
  });
  await page.click(at("tab-pauses"));
  assert.equal(
    await text(page, "#panel-pauses"),
    "No span of this registry is a pause. Mark one with `pause = true`.",
  );
  await close();
});

test("a comparison comes first, with what both runs have, and says so if the run before is damaged", async () => {
  for (const [name, isEmpty, says] of [
    ["compared", false, /1 difference is more than noise \(★\)/],
    ["compared_hostile", false, /more than noise/],
    ["compared_apart", false, /no type of event in common/],
    ["compared_empty", true, /There is no event in empty.tel/],
  ]) {
    for (const [width, dark] of [
      [1280, false],
      [400, true],
    ]) {
      const { page, found, close } = await open(name, { width, dark });
      assert.match(await page.textContent(at("compared-summary")), says, name);
      assert.match(await page.textContent(at("verdict-before")), /are damaged/, name);
      assert.match(await page.textContent(at("compared-runs")), /before \(A\).*now \(B\)/s, name);
      assert.match(await page.textContent(at("compared-verdicts")), /A: ✖ .*B: ✔ /s, name);
      if (!isEmpty) assert.equal(await page.getAttribute("#tab-comparison", "aria-selected"), "true");
      for (const table of await page.locator('[data-test^="compared-"] table').all()) {
        assert.ok((await table.locator("caption").count()) + (await table.getAttribute("aria-label") ? 1 : 0) > 0);
      }
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${name}: ${wide} pixels in ${width}`);
      assert.deepEqual(found, [], name);
      await close();
    }
  }
  const { page, close } = await open("compared");
  const row = page.locator(`${at("compared-spans")} tbody tr`, { hasText: "Trace" });
  assert.match(await row.innerText(), /★ more/);
  assert.match(await row.innerText(), / → .*\+30\.\d %/s);
  await page.locator(`${at("compared-durations")} ${at("twin")}`).click();
  assert.ok((await page.locator(`${at("compared-durations-table")} tbody tr`).count()) > 3);
  await page.selectOption(at("compared-span"), { index: 0 });
  assert.match(await page.getAttribute(`${at("compared-durations")} canvas`, "aria-label"), /Collect: p50 .* → /);
  assert.match(await page.textContent(`${at("compared-spans")} thead`), /p50.*p90.*p99.*max/s);
  const rates = (from) => page.getAttribute(`${at("compared-rates")} canvas`, "aria-label").then(from);
  await rates((label) => assert.match(label, /Rates of all events/));
  await page.selectOption(at("compared-event"), { label: "Alloc" });
  await rates((label) => assert.match(label, /Rates of Alloc, per second 23.6 M\/s → 30.7 M\/s/));
  await page.locator(`${at("compared-rates")} ${at("twin")}`).click();
  for (const run of ["a", "b"]) {
    assert.equal(await page.locator(`${at(`compared-rates-${run}`)} tbody tr`).count(), 40);
  }
  await close();
});
