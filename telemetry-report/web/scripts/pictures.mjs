// Takes the pictures of docs/report.md from reports of the command: `npm run pictures REPORT.html PAUSES.html`.
// The first is seen as it opens, the second at its pauses. Both become small PNGs with a palette.

import { writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { deflateSync } from "node:zlib";
import { chromium } from "playwright-core";
import { web } from "./bundle.mjs";

const images = join(dirname(dirname(web)), "docs/images");

const CRCS = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

/** Returns a chunk of a PNG, with its length and checksum. */
function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name), data]);
  const crc = body.reduce((sum, byte) => CRCS[(sum ^ byte) & 255] ^ (sum >>> 8), -1) ^ -1;
  const ends = [Buffer.alloc(4), Buffer.alloc(4)];
  ends[0].writeUInt32BE(data.length);
  ends[1].writeUInt32BE(crc >>> 0);
  return Buffer.concat([ends[0], body, ends[1]]);
}

/** Returns a PNG with the 256 most frequent colors; each other color becomes the nearest of them. */
function png(width, height, pixels) {
  const counts = new Map();
  const color = (i) => (pixels[4 * i] << 16) | (pixels[4 * i + 1] << 8) | pixels[4 * i + 2];
  for (let i = 0; i < width * height; i++) counts.set(color(i), (counts.get(color(i)) ?? 0) + 1);
  const palette = [...counts.entries()]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 256)
    .map(([of]) => of);
  const part = (of, shift) => (of >> shift) & 255;
  const distance = (a, b) => [16, 8, 0].reduce((sum, at) => sum + (part(a, at) - part(b, at)) ** 2, 0);
  const index = new Map(palette.map((of, i) => [of, i]));
  for (const of of counts.keys()) {
    if (index.has(of)) continue;
    const nearest = palette.reduce((best, one) => (distance(one, of) < distance(best, of) ? one : best));
    index.set(of, index.get(nearest));
  }
  const rows = Buffer.alloc((width + 1) * height);
  for (let i = 0; i < width * height; i++) rows[i + Math.floor(i / width) + 1] = index.get(color(i));
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", head),
    chunk("PLTE", Buffer.from(palette.flatMap((of) => [16, 8, 0].map((at) => part(of, at))))),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});

/** Opens a report at a fragment, and writes its first screen, or one of its elements. */
async function take(report, fragment, name, selector) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: "light" });
  await page.goto(`file://${resolve(report)}${fragment}`);
  await page.waitForFunction(() => window.report?.ready !== undefined);
  await page.waitForTimeout(400);
  const shot = await (selector ? page.locator(selector) : page).screenshot();
  // The browser decodes its own PNG, in a page without a policy.
  const blank = await browser.newPage();
  const { width, height, pixels } = await blank.evaluate(async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const all = context.getImageData(0, 0, image.width, image.height).data;
    let text = "";
    for (let i = 0; i < all.length; i += 8192) text += String.fromCharCode(...all.subarray(i, i + 8192));
    return { width: image.width, height: image.height, pixels: btoa(text) };
  }, shot.toString("base64"));
  const file = png(width, height, Buffer.from(pixels, "base64"));
  writeFileSync(join(images, name), file);
  console.log(`${name}: ${width} x ${height}, ${file.length} bytes`);
}

const [first, second] = process.argv.slice(2);
if (!second) {
  console.error("usage: npm run pictures REPORT.html PAUSES.html");
  process.exit(2);
}
await take(first, "", "report.png");
await take(second, "#tab=pauses", "report-pauses.png", "#panel-pauses");
await browser.close();
