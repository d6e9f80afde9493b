// The real page in Chromium: range, filter, selection, keys, and what it does with bad input.
// `npm run test:browser`; CHROMIUM names another browser than /usr/bin/chromium.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { box, end, open, parts, settled } from "./page.mjs";

after(end);

const at = (name) => `[data-test="${name}"]`;

test("no sample makes an error, a request or a page wider than its window", async () => {
  for (const name of ["gcbench", "losses", "threads", "slow", "empty", "hostile", "many", "one", "years"]) {
    for (const [width, dark] of [
      [1280, false],
      [400, true],
    ]) {
      const { page, found, close } = await open(name, { width, dark });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${name}: ${wide} pixels in ${width}`);
      assert.deepEqual(found, [], name);
      await close();
    }
  }
});

test("the first screen says what ran, whether it is complete, and what took longest", async () => {
  for (const name of ["gcbench", "losses", "threads", "many"]) {
    const { page, close } = await open(name);
    assert.match(await page.textContent("#verdict h1"), /gcbench|server/);
    assert.match(
      await page.textContent(at("verdict")),
      name === "losses" ? /412,230 of 74.3 M events lost/ : /complete/,
    );
    for (const part of ["overview", "lanes", "tab-durations"]) {
      const { y, height } = await box(page, at(part));
      assert.ok(y + height < 700, `${name}: ${part} ends at ${y + height}`);
    }
    const row = await box(page, "#panel-durations tbody tr");
    assert.ok(
      row.y + row.height < 800,
      `${name}: the first row of durations ends at ${row.y + row.height}`,
    );
    await close();
  }
});

test("the overview counts all events, and a filter counts its own", async () => {
  const { page, close } = await open("gcbench");
  const report = await page.evaluate(() => window.report.model.report.stats);
  const numbers = () => page.evaluate(() => window.report.numbers());
  assert.equal((await numbers()).events, report.count);
  await page.click(at("filter-kinds"));
  await page.locator(".menu[open] .option", { hasText: "alloc" }).locator(at("only")).click();
  assert.equal(await settled(page), "kind=alloc");
  assert.equal((await numbers()).events, report.kinds.find((kind) => kind.kind === "alloc").count);
  await page.click(at("clear-filter"));
  assert.equal(await settled(page), "");
  await close();
});

test("a brush chooses the range, and the back button takes it back", async () => {
  const { page, found, close } = await open("gcbench");
  const { x, y } = await box(page, at("overview"));
  await page.mouse.move(x + 400, y + 40);
  await page.mouse.down();
  await page.mouse.move(x + 500, y + 40, { steps: 5 });
  await page.mouse.up();
  const fragment = await settled(page);
  assert.deepEqual(Object.keys(parts(fragment)), ["from", "until"]);
  await page.click(at("tab-pauses"));
  assert.equal(await settled(page), `${fragment}&tab=pauses`);
  await page.goBack();
  assert.equal(await settled(page), fragment);
  await page.goBack();
  assert.equal(await settled(page), "");
  assert.equal(await page.textContent(at("range")), "Whole run");
  await page.goForward();
  assert.equal(await settled(page), fragment);
  const again = await open("gcbench", { fragment });
  assert.equal(await again.page.textContent(at("range")), await page.textContent(at("range")));
  assert.deepEqual([...found, ...again.found], []);
  await close();
  await again.close();
});

test("the wheel zooms to single events, and a drag moves", async () => {
  const { page, close } = await open("gcbench");
  const { x, y } = await box(page, at("lanes"));
  await page.mouse.move(x + 700, y + 30);
  // Far enough for the shortest range.
  for (let i = 0; i < 60; i++) await page.mouse.wheel(0, -240);
  await settled(page);
  const { from, until } = await page.evaluate(() => window.report.model.range);
  assert.equal(until - from, 10);
  for (let i = 0; i < 12; i++) await page.mouse.wheel(0, 240);
  await settled(page);
  const before = await page.evaluate(() => window.report.model.range);
  await page.mouse.down();
  await page.mouse.move(x + 500, y + 30, { steps: 4 });
  await page.mouse.up();
  await settled(page);
  const moved = await page.evaluate(() => window.report.model.range);
  assert.equal(moved.until - moved.from, before.until - before.from);
  assert.ok(moved.from > before.from);
  await close();
});

test("rows without a span in the range fold, and a thread without sampled events has its rate", async () => {
  const { page, close } = await open("log");
  const height = async () => (await box(page, at("lanes"))).height;
  const whole = await height();
  // The run begins some time before the first span.
  await page.evaluate(() => window.report.model.setRange({ from: 0, until: 4e6 }));
  await settled(page);
  assert.ok((await height()) < whole, `${await height()} of ${whole}`);
  await page.evaluate(() => window.report.model.setFilter({ threads: new Set([2]) }));
  await settled(page);
  const colors = await page.evaluate((lanes) => {
    const canvas = document.querySelector(`${lanes} canvas`);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return Array.from({ length: data.length / 4 }, (_, i) => data.slice(4 * i, 4 * i + 3)).filter(
      (color) => Math.max(...color) - Math.min(...color) > 60,
    ).length;
  }, at("lanes"));
  assert.ok(colors > 1000, `${colors} colored pixels`);
  await close();
});

test("a log without an end mark and a date says so, and is not called damaged", async () => {
  const { page, close } = await open("log");
  const head = await page.innerText("#verdict");
  assert.match(head, /^vm.log/);
  assert.match(head, /the end may be missing, as the log's format has no end mark/);
  assert.doesNotMatch(head, /1970|✖|complete/);
  assert.equal(await page.locator("#verdict .loss").count(), 0);
  await close();
});

test("a link to a range and a filter shows what the page showed, with the line above the lanes", async () => {
  for (const name of ["gcbench", "many", "losses"]) {
    const first = await open(name);
    await first.page.evaluate(() => {
      const { model } = window.report;
      const { duration } = model.report;
      model.setRange({ from: duration * 0.21, until: duration * 0.34 });
      model.setFilter({ kinds: new Set([0]), threads: new Set([1]) });
    });
    const fragment = await settled(first.page);
    const second = await open(name, { fragment });
    await settled(second.page);
    const text = (page) => page.innerText("main");
    assert.equal(await text(first.page), await text(second.page), name);
    const status = await second.page.textContent(at("lanes-status"));
    if (name === "many") assert.match(status, /^[\d,]+ spans in view shown.* spans of all types cover/);
    await first.close();
    await second.close();
  }
});

test("every table has a name for readers of the screen", async () => {
  const { page, close } = await open("losses");
  for (const button of await page.locator(at("twin")).all()) await button.click();
  await settled(page);
  const unnamed = await page.evaluate(
    () => [...document.querySelectorAll("table")].filter((one) => !one.caption && !one.ariaLabel).length,
  );
  assert.ok((await page.locator("table").count()) >= 3);
  assert.equal(unnamed, 0);
  await close();
});

test("keys step between the longest spans, zoom, fit and clear", async () => {
  const { page, close } = await open("gcbench");
  await page.keyboard.press("ArrowRight");
  const first = await settled(page);
  const longest = await page.evaluate(() => window.report.model.report.paired.longest[0]);
  const { from, until } = await page.evaluate(() => window.report.model.range);
  assert.ok(from <= longest.begin_ns && until >= longest.end_ns);
  await page.keyboard.press("ArrowRight");
  const second = await settled(page);
  assert.notEqual(parts(second).selected, parts(first).selected);
  await page.keyboard.press("ArrowLeft");
  assert.equal(await settled(page), first);
  await page.keyboard.press("w");
  await settled(page);
  const closer = await page.evaluate(() => window.report.model.range);
  assert.ok(closer.until - closer.from < until - from);
  await page.keyboard.press("f");
  assert.equal(await settled(page), first);
  await page.keyboard.press("Escape");
  await settled(page);
  assert.ok(await page.locator(at("details")).isHidden());
  await page.keyboard.press("Escape");
  assert.equal(await settled(page), "");
  await page.keyboard.press("?");
  assert.ok(await page.locator(at("keys")).isVisible());
  await page.keyboard.press("Escape");
  assert.ok(await page.locator(at("keys")).isHidden());
  await close();
});

test("search goes to spans, kinds and threads", async () => {
  const { page, close } = await open("threads");
  await page.keyboard.press("/");
  await page.keyboard.type("worker 9999");
  assert.equal(await page.locator("#results [role=option]").count(), 1);
  await page.keyboard.press("Enter");
  await settled(page);
  assert.ok((await page.evaluate(() => document.querySelector(".lanes").scrollTop)) > 100_000);
  await page.keyboard.press("/");
  await page.keyboard.type("phase");
  await page.keyboard.press("Enter");
  assert.equal(await settled(page), "kind=phase");
  await close();
});

test("a click selects a span, another with Shift shows the difference", async () => {
  const { page, close } = await open("gcbench", { fragment: "from=0.528852263s&until=0.549295931s" });
  const { x, y } = await box(page, `${at("lanes")} canvas`);
  await page.mouse.click(x + 600, y + 24);
  await settled(page);
  assert.match(await page.textContent(at("details")), /Collect.*duration12\.3 ms.*HeapFull/s);
  await page.keyboard.down("Shift");
  await page.mouse.click(x + 500, y + 38);
  await page.keyboard.up("Shift");
  await settled(page);
  assert.match(await page.textContent(at("difference")), /duration−5\.\d+ ms/);
  await page.locator(at("end")).first().click();
  await settled(page);
  assert.match(await page.textContent(`${at("details")} h2`), /CollectEnd/);
  await page.click(at("its-span"));
  await settled(page);
  assert.match(await page.textContent(`${at("details")} h2`), /Collect$/);
  await page.click(at("close-details"));
  assert.ok(!("selected" in parts(await settled(page))));
  await close();
});

test("each picture has a table, with a row that leads to the range", async () => {
  const { page, close } = await open("losses");
  for (const name of ["overview-table", "lanes-table"]) {
    await page
      .locator(at("twin"))
      .nth(name === "overview-table" ? 0 : 1)
      .click();
    assert.ok((await page.locator(`${at(name)} tbody tr`).count()) > 10);
  }
  await page
    .locator(`${at("lanes-table")} button.link`)
    .first()
    .click();
  assert.ok("selected" in parts(await settled(page)));
  await page.click(`${at("facts")} summary`);
  await page
    .locator(`${at("losses")} button.link`)
    .first()
    .click();
  await settled(page);
  const { from, until } = await page.evaluate(() => window.report.model.range);
  assert.ok(from < 1.2e9 && until > 1.222e9 && until - from < 0.1e9);
  await close();
});

test("Tab reaches every control, and each shows that it has the focus", async () => {
  const { page, close } = await open("losses");
  const seen = [];
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press("Tab");
    const one = await page.evaluate(() => {
      const { activeElement } = document;
      const style = getComputedStyle(activeElement);
      return {
        name: activeElement.dataset.test ?? activeElement.id,
        outline: style.outlineStyle,
        tag: activeElement.tagName,
      };
    });
    if (one.tag === "BODY") break;
    assert.notEqual(one.outline, "none", JSON.stringify(one));
    seen.push(one.name);
  }
  for (const name of [
    "show-losses",
    "filter-kinds",
    "filter-threads",
    "search",
    "help",
    "overview",
    "lanes",
    "twin",
    "tab-durations",
  ]) {
    assert.ok(seen.includes(name), `${name} is not among ${seen}`);
  }
  await close();
});

test("hostile names are text", async () => {
  const { page, found, close } = await open("hostile");
  await page.click(`${at("facts")} summary`);
  await page.click(at("filter-events"));
  await page.keyboard.press("ArrowRight");
  await settled(page);
  assert.equal(await page.locator("img, iframe, object").count(), 0);
  assert.equal(await page.locator("script").count(), 2);
  assert.match(await page.textContent("h1"), /<\/script><img src=x/);
  const text = await page.evaluate(() => document.body.innerText);
  assert.ok(text.length < 100_000, `${text.length} characters`);
  assert.doesNotMatch(text, /[\u0000-\u0008\u001b\u202e]/);
  assert.deepEqual(found, []);
  await close();
});

test("damaged data leaves the verdict, and says what to do", async () => {
  const data = /(<script id="data" type="text\/plain">)([^<]*)/;
  for (const change of [
    (text) => text.replace(data, (_, head, body) => head + body.slice(0, 5000)),
    (text) => text.replace(data, (_, head, body) => `${head}!${body}`),
    (text) => text.replace(data, "$1"),
  ]) {
    const { page, found, close } = await open("losses", { change });
    assert.match(await page.textContent("#verdict"), /gcbench/);
    assert.match(await page.textContent(at("failure")), /cannot be read: found .*, expected base64/);
    assert.match(await page.textContent("#app"), /telemetry report/);
    assert.deepEqual(found, []);
    await close();
  }
});

test("an empty stream says what to do, and no script leaves the verdict", async () => {
  const empty = await open("empty");
  assert.match(await empty.page.textContent(at("empty")), /telemetry doctor/);
  await empty.close();
  const plain = await open("losses", { script: false });
  assert.match(await plain.page.innerText("body"), /gcbench/);
  await plain.close();
});

test("two fingers zoom, and one moves", async () => {
  const { page, found, close } = await open("gcbench", { width: 400 });
  await page.locator(at("lanes")).scrollIntoViewIfNeeded();
  const { x, y } = await box(page, at("lanes"));
  const session = await page.context().newCDPSession(page);
  const touch = (type, ...places) =>
    session.send("Input.dispatchTouchEvent", {
      type,
      touchPoints: places.map((at, id) => ({ x: x + at, y: y + 30 + id, id })),
    });
  await touch("touchStart", 200, 240);
  for (let i = 1; i <= 5; i++) await touch("touchMove", 200 - 12 * i, 240 + 12 * i);
  await touch("touchEnd");
  await settled(page);
  const closer = await page.evaluate(() => window.report.model.range);
  const share = (closer.until - closer.from) / 2.41e9;
  assert.ok(share > 0.2 && share < 0.35, `${share} of the run`);
  await touch("touchStart", 250);
  for (let i = 1; i <= 5; i++) await touch("touchMove", 250 - 10 * i);
  await touch("touchEnd");
  await settled(page);
  const moved = await page.evaluate(() => window.report.model.range);
  assert.ok(
    moved.from > closer.from && Math.abs(moved.until - moved.from - (closer.until - closer.from)) <= 1,
  );
  assert.deepEqual(found, []);
  await close();
});

test("a document that has most of everything can be zoomed and moved", async () => {
  for (const name of ["threads", "many"]) {
    const { page, found, close } = await open(name);
    const numbers = await page.evaluate(() => window.report.numbers());
    assert.ok(numbers.shown > 0 && numbers.spans >= numbers.shown);
    const measured = await page.evaluate(() => window.report.measure(1));
    assert.ok(measured.frames > 0 && measured.draw > 0);
    assert.equal(await settled(page), "", "the range is as it was");
    assert.deepEqual(found, []);
    await close();
  }
});

test("a link to a span of a far thread opens with its lane in view", async () => {
  const { page, close } = await open("threads", { fragment: "selected=span.9000.3" });
  await settled(page);
  assert.ok((await page.evaluate(() => document.querySelector(".lanes").scrollTop)) > 100_000);
  assert.match(await page.textContent(at("details")), /worker 9000/);
  await close();
});
