#!/usr/bin/env node
// Prints what the program speedscope reads from profiles, as JSON: for each, its own format again.
//
//   node speedscope.mjs [--picture FILE.png] PROFILE...
//
// The npm package speedscope, which is not ours, opens each profile in Chromium and exports it.
// $SPEEDSCOPE names the folder of the package, and $PLAYWRIGHT that of playwright-core.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";

const require = createRequire(import.meta.url);
const { chromium } = require(resolve(process.env.PLAYWRIGHT));
const page = `file://${resolve(process.env.SPEEDSCOPE, "dist/release/index.html")}`;
const args = process.argv.slice(2);
const picture = args[0] === "--picture" ? args.splice(0, 2)[1] : undefined;

const folder = mkdtempSync(join(tmpdir(), "speedscope-"));
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const options = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"];
const browser = await chromium.launch({ executablePath, args: options });
try {
  for (const profile of args) {
    // As speedscope's own command passes a file to its page.
    const bytes = readFileSync(profile).toString("base64");
    const script = join(folder, "profile.js");
    writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(basename(profile))}, "${bytes}")`);
    const tab = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    const said = [];
    tab.on("pageerror", (error) => said.push(String(error)));
    tab.on("console", (message) => said.push(message.text()));
    await tab.goto(`${page}#localProfilePath=${script}`);
    const shown = tab.getByText("Export").first();
    await shown.waitFor({ timeout: 60_000 }).catch(() => {
      throw new Error(`speedscope does not read ${profile}: ${said.join("; ")}`);
    });
    if (picture) await tab.screenshot({ path: picture });
    const [download] = await Promise.all([tab.waitForEvent("download"), shown.click()]);
    console.log(readFileSync(await download.path(), "utf8"));
    await tab.close();
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
