/** The document from the page's own text: base64 of raw deflate of JSON. */

import type { Report } from "./document";

/** Returns the document, or throws an error that says what is wrong. */
export async function decode(text: string): Promise<Report> {
  const bytes = atob(text.trim());
  const packed = new Uint8Array(bytes.length);
  for (let i = 0; i < bytes.length; i++) packed[i] = bytes.charCodeAt(i);
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const report = JSON.parse(await new Response(plain).text()) as Report;
  if (report.version !== 1) throw new Error(`found version ${report.version} of the document, expected 1`);
  return report;
}
