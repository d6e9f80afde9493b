// Writes pages of sample documents to the folder for temporary files, and prints their paths. Arguments
// are names of samples; without any, all.

import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { page, samples } from "./page.mjs";

const all = await samples();
const wanted = process.argv.slice(2);
for (const name of wanted.length > 0 ? wanted : Object.keys(all)) {
  if (!all[name]) {
    console.error(`error: found no sample ${name}, expected one of ${Object.keys(all).join(", ")}`);
    process.exit(1);
  }
  const path = join(tmpdir(), `report-${name}.html`);
  writeFileSync(path, await page(all[name]()));
  console.log(path);
}
