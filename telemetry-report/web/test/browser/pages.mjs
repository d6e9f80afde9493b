// Pages that the command wrote, in Chromium, against its JSON: the folder PAGES has NAME.html, NAME.stats.json
// and NAME.spans.json. A test of the command runs this.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { end, openFile, settled } from "./page.mjs";

after(end);

const folder = process.env.PAGES;
const names = readdirSync(folder)
  .filter((name) => name.endsWith(".html"))
  .map((name) => name.slice(0, -".html".length));
const at = (name) => `[data-test="${name}"]`;
const json = (name) => JSON.parse(readFileSync(join(folder, name), "utf8"));
const grouped = (number) => number.toLocaleString("en-US");

assert.ok(names.length > 0, `no pages in ${folder}`);

for (const name of names) {
  const stats = json(`${name}.stats.json`);
  const paired = json(`${name}.spans.json`);

  test(`${name}: pictures and tables have the numbers of the command`, async () => {
    const { page, found, close } = await openFile(join(folder, `${name}.html`));
    const { events, rates } = await page.evaluate(() => window.report.numbers());
    assert.equal(events, stats.count);
    const kinds = await page.evaluate(() => window.report.model.report.kinds.map((kind) => kind.name));
    for (const kind of stats.kinds) {
      const shown = rates.filter((_, index) => kinds[index] === kind.kind).reduce((a, b) => a + b, 0);
      const expected = stats.kinds.filter((of) => of.kind === kind.kind).reduce((a, of) => a + of.count, 0);
      assert.equal(shown, expected, kind.kind);
    }
    const verdict = await page.textContent(at("verdict"));
    const lost = stats.completeness.lost.pool + stats.completeness.lost.reentrant + stats.completeness.lost.sink;
    if (lost > 0) assert.match(verdict, new RegExp(grouped(lost)));
    // A count in the table of durations for each type of span.
    const rows = await page.locator("#panel-durations tbody tr").allInnerTexts();
    for (const span of paired.spans.filter((span) => span.duration_ns.count > 0)) {
      const count = grouped(span.duration_ns.count);
      const has = (row) => row.startsWith(span.span) && row.split(/\s+/).some((cell) => cell.endsWith(count));
      assert.ok(rows.some(has), `${span.span} ${count} in ${rows.join("; ")}`);
    }
    assert.deepEqual(found, []);
    await close();
  });

  test(`${name}: a filter leaves the events of one kind`, async () => {
    const kind = stats.kinds[0];
    const fragment = `kind=${encodeURIComponent(kind.kind)}`;
    const { page, found, close } = await openFile(join(folder, `${name}.html`), { fragment });
    await settled(page);
    const { events } = await page.evaluate(() => window.report.numbers());
    const expected = stats.kinds.filter((of) => of.kind === kind.kind).reduce((a, of) => a + of.count, 0);
    assert.equal(events, expected);
    assert.deepEqual(found, []);
    await close();
  });

  test(`${name}: every tab opens`, async () => {
    for (const tab of ["durations", "pauses", "values", "memory", "flame", "events"]) {
      const { page, found, close } = await openFile(join(folder, `${name}.html`), { fragment: `tab=${tab}` });
      const text = await page.textContent(`#panel-${tab}`);
      assert.ok(text.trim().length > 0, tab);
      assert.deepEqual(found, [], tab);
      await close();
    }
  });
}
