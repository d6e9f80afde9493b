// Bundles test/*.test.ts and runs them with node's test runner. Arguments are parts of files' names.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const wanted = process.argv.slice(2);
const tests = readdirSync(join(web, "test"))
  .filter((name) => name.endsWith(".test.ts"))
  .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
const outdir = mkdtempSync(join(tmpdir(), "telemetry-report-"));
try {
  await build({
    entryPoints: tests.map((name) => join(web, "test", name)),
    outdir,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    outExtension: { ".js": ".mjs" },
    loader: { ".css": "empty" },
    logLevel: "warning",
  });
  const files = readdirSync(outdir)
    .filter((name) => name.endsWith(".mjs"))
    .map((name) => join(outdir, name));
  process.exitCode = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(outdir, { recursive: true });
}
