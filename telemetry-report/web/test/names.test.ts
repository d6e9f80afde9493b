import assert from "node:assert/strict";
import { test } from "node:test";
import { nameApart, pairedOf, statsOf } from "../src/names";
import { SAMPLES } from "./sample";

/** A report of two versions of a registry: all that the sample has, twice. */
function twice() {
  const report = SAMPLES.gcbench();
  const newer = { registry: "gc 1.1.0", fingerprint: "8".repeat(16) };
  const { kinds, events, spans, stats, paired } = report;
  stats.events.push(...stats.events.map((one) => ({ ...one, ...newer, count: one.count + 1 })));
  paired.spans.push(...paired.spans.map((one) => ({ ...one, ...newer, total_ns: one.total_ns + 1 })));
  kinds.push(...kinds.map((one) => ({ ...one, ...newer })));
  events.push(...events.map((one) => ({ ...one, ...newer })));
  spans.push(...spans.map((one) => ({ ...one, ...newer })));
  return report;
}

test("names that occur once stay as they are", () => {
  const report = SAMPLES.gcbench();
  const names = report.events.map((one) => one.name);
  nameApart(report);
  assert.deepEqual(
    report.events.map((one) => one.name),
    names,
  );
});

test("versions of a registry are told apart, and have their own figures", () => {
  const report = twice();
  nameApart(report);
  for (const list of [report.kinds, report.events, report.spans]) {
    assert.equal(new Set(list.map((one) => one.name)).size, list.length);
  }
  assert.equal(report.kinds[4].name, "gc 1.1.0:phase");
  assert.equal(report.spans[0].name, "gc:Collect");
  assert.equal(report.spans[0].plain, "Collect");
  const half = report.events.length / 2;
  for (let i = 0; i < half; i++) {
    const [older, newer] = [report.events[i], report.events[half + i]];
    assert.equal(statsOf(report, newer)!.count, statsOf(report, older)!.count + 1);
  }
  const [older, newer] = [report.spans[0], report.spans[report.spans.length / 2]];
  assert.equal(pairedOf(report, newer)!.total_ns, pairedOf(report, older)!.total_ns + 1);
});
