import assert from "node:assert/strict";
import { test } from "node:test";
import { stepsFor } from "../src/empty";
import { verdict } from "../src/verdict";
import { SAMPLES } from "./sample";

/** Returns the first thing to do for an empty report with these figures. */
function first(figures: object): string {
  const report = SAMPLES.empty();
  Object.assign(report.stats.completeness, figures);
  return stepsFor(report)[0][0];
}

test("a page without events says what to do for its cause", () => {
  assert.match(first({}), /telemetry doctor/);
  assert.match(first({ complete: false, bytes: 0 }), /telemetry doctor --/);
  assert.match(first({ filtered: 23 }), /filter/);
  assert.match(first({ complete: false, bytes: 192 }), /whole stream/);
});

test("the verdict on an empty file says that it is empty", () => {
  const report = SAMPLES.empty();
  assert.deepEqual(verdict(report), []);
  Object.assign(report.stats.completeness, { bytes: 0, complete: false });
  assert.deepEqual(verdict(report), ["the recording is empty"]);
});
