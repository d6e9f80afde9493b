// Writes a sample document as a page, in the same form as the Rust side.

import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { build } from "esbuild";
import { bundle, web } from "./bundle.mjs";

/** Returns the functions of test/sample.ts by name. */
export async function samples() {
  const outfile = join(tmpdir(), `telemetry-report-sample-${process.pid}.mjs`);
  await build({
    entryPoints: [join(web, "test/sample.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    logLevel: "warning",
  });
  try {
    return (await import(outfile)).SAMPLES;
  } finally {
    rmSync(outfile);
  }
}

const escape = (text) => text.slice(0, 200).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

/** Returns the page with a document, or with `data` as it is. */
export async function page(report, data = deflateRawSync(JSON.stringify(report)).toString("base64")) {
  const files = await bundle();
  const hash = (name) => files.get(`${name}.sha256`).trim();
  const policy =
    `default-src 'none'; script-src 'sha256-${hash("report.js")}'; ` +
    `style-src 'sha256-${hash("report.css")}'; img-src data:`;
  const title = escape(report.sessions[0]?.program ?? report.inputs[0]);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${files.get("report.css")}</style>
</head>
<body>
<header id="verdict"><h1>${title}</h1><p>${report.stats.count} events</p></header>
<noscript><p>The pictures need JavaScript.</p></noscript>
<main id="app"></main>
<script id="data" type="text/plain">${data}</script>
<script>${files.get("report.js")}</script>
</body>
</html>
`;
}
