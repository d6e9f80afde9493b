// Writes the page's script and style to ../assets. With `--check`, says whether those are there already.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assets, bundle } from "./bundle.mjs";

const MOST_BYTES = 150_000;

function read(name) {
  try {
    return readFileSync(join(assets, name), "utf8");
  } catch {
    return null;
  }
}

const files = await bundle();
const size = (name) => Buffer.byteLength(files.get(name));
console.log(`report.js: ${size("report.js")} bytes, report.css: ${size("report.css")} bytes`);
if (size("report.js") > MOST_BYTES) {
  console.error(`error: report.js has ${size("report.js")} bytes, expected at most ${MOST_BYTES}`);
  process.exit(1);
}
if (process.argv.includes("--check")) {
  const names = [...files.keys()].filter((name) => read(name) !== files.get(name));
  if (names.length > 0) {
    console.error(
      `error: in assets/, ${names.join(", ")} differ from what src/ makes; run \`npm run build\``,
    );
    process.exit(1);
  }
} else {
  mkdirSync(assets, { recursive: true });
  for (const [name, text] of files) writeFileSync(join(assets, name), text);
}
