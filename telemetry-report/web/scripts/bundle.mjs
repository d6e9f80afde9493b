// Bundles the page's script and style, and makes their hashes for the Content-Security-Policy.

import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

export const web = dirname(dirname(fileURLToPath(import.meta.url)));
export const assets = join(dirname(web), "assets");

/** Returns the files by name: `report.js`, `report.css`, and each with `.sha256`. */
export async function bundle() {
  const result = await build({
    entryPoints: { report: join(web, "src/main.ts") },
    outdir: assets,
    absWorkingDir: web,
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "ascii",
    legalComments: "inline",
    write: false,
  });
  const files = new Map();
  for (const { path, contents } of result.outputFiles) {
    const name = path.slice(assets.length + 1);
    // The page holds them inline: nothing in them may end their element.
    const text = Buffer.from(contents)
      .toString("utf8")
      .replace(/<\/(script|style)/gi, "<\\/$1")
      .replace(/<!--/g, "<\\!--");
    files.set(name, text);
    files.set(`${name}.sha256`, createHash("sha256").update(text).digest("base64") + "\n");
  }
  return files;
}
