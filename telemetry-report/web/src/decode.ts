/** The document from the page's own text: base64 of raw deflate of JSON. */

import type { Report } from "./document";
import { commas, cut } from "./format";

/** Returns the document, or throws an error that says what is wrong. */
export async function decode(text: string): Promise<Report> {
  let report: Report;
  try {
    const packed = unpack(text.trim());
    const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    report = JSON.parse(await new Response(plain).text());
  } catch (error) {
    // The browser's own words ("Failed to fetch") would lead the reader astray.
    console.warn(error);
    const found = text.trim() ? `damaged data of ${commas(text.length)} characters` : "no data";
    throw new Error(`found ${found}, expected base64 of a deflated document`);
  }
  if (report?.version !== 1) {
    throw new Error(`found version ${cut(String(report?.version), 20)} of the document, expected 1`);
  }
  return report;
}

/** Returns the bytes of base64, by the browser's own function where it has one: that is much faster. */
function unpack(text: string): Uint8Array<ArrayBuffer> {
  const own = (Uint8Array as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (own) return own(text);
  const bytes = atob(text);
  const packed = new Uint8Array(bytes.length);
  for (let i = 0; i < bytes.length; i++) packed[i] = bytes.charCodeAt(i);
  return packed;
}
