// Pages that the command wrote, in Chromium, against its JSON: the folder PAGES has NAME.html, NAME.stats.json
// and NAME.spans.json. A test of the command runs this.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { end, openFile, settled, texts } from "./page.mjs";

after(end);

const folder = process.env.PAGES;
const names = readdirSync(folder)
  .filter((name) => name.endsWith(".html"))
  .map((name) => name.slice(0, -".html".length));
const at = (name) => `[data-test="${name}"]`;
const json = (name) => JSON.parse(readFileSync(join(folder, name), "utf8"));
const grouped = (number) => number.toLocaleString("en-US");

/** Returns the kinds of the page, whose names may have their registry in front. */
const kindsOf = (page) => page.evaluate(() => window.report.model.report.kinds);
const isSame = (of, { kind, fingerprint }) =>
  of.fingerprint === fingerprint && (of.name === kind || of.name === `${of.registry}:${kind}`);

assert.ok(names.length > 0, `no pages in ${folder}`);

for (const name of names) {
  const stats = json(`${name}.stats.json`);
  const paired = json(`${name}.spans.json`);

  test(`${name}: pictures and tables have the numbers of the command`, async () => {
    const { page, found, close } = await openFile(join(folder, `${name}.html`), { fragment: "tab=durations" });
    const { events, rates } = await page.evaluate(() => window.report.numbers());
    assert.equal(events, stats.count);
    const kinds = await kindsOf(page);
    for (const kind of stats.kinds) {
      assert.equal(rates[kinds.findIndex((of) => isSame(of, kind))], kind.count, kind.kind);
    }
    const verdict = await page.textContent(at("verdict"));
    const lost = stats.completeness.lost.pool + stats.completeness.lost.reentrant + stats.completeness.lost.sink;
    if (lost > 0) assert.match(verdict, new RegExp(grouped(lost)));
    // A count in the table of durations for each type of span.
    const rows = await texts(page, "#panel-durations tbody tr");
    for (const span of paired.spans.filter((span) => span.duration_ns.count > 0)) {
      const count = grouped(span.duration_ns.count);
      const has = (row) => row.includes(span.span) && row.split(/\s+/).some((cell) => cell.endsWith(count));
      assert.ok(rows.some(has), `${span.span} ${count} in ${rows.join("; ")}`);
    }
    assert.deepEqual(found, []);
    await close();
  });

  test(`${name}: a filter leaves the events of one kind`, async () => {
    const kind = stats.kinds[0];
    const whole = await openFile(join(folder, `${name}.html`));
    const names = await kindsOf(whole.page);
    await whole.close();
    const fragment = `kind=${encodeURIComponent(names.find((of) => isSame(of, kind)).name)}`;
    const { page, found, close } = await openFile(join(folder, `${name}.html`), { fragment });
    await settled(page);
    const { events } = await page.evaluate(() => window.report.numbers());
    assert.equal(events, kind.count);
    assert.deepEqual(found, []);
    await close();
  });

  test(`${name}: every tab opens`, async () => {
    const first = { against: ["comparison"], census: ["census"], counters: ["counters"] }[name] ?? [];
    for (const tab of [...first, "durations", "pauses", "values", "memory", "flame", "events"]) {
      const { page, found, close } = await openFile(join(folder, `${name}.html`), { fragment: `tab=${tab}` });
      const text = await page.textContent(`#panel-${tab}`);
      assert.ok(text.trim().length > 0, tab);
      assert.deepEqual(found, [], tab);
      await close();
    }
  });
}
