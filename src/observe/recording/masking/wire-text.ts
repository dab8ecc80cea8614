/** Bytes of a wire as text and back, whatever they are. */

import { isUtf8 } from "node:buffer";

/** Bytes that are no UTF-8 stand as these characters, for which nobody has a use. */
const FIRST = 0xf700;
const RESERVED = /[\uf780-\uf7ff]/;

/** The text of bytes; `bytesOf` gives the same bytes back. */
export function textOf(bytes: Buffer): string {
  if (isUtf8(bytes)) {
    const text = bytes.toString("utf8");
    if (!RESERVED.test(text)) return text;
  }
  let text = "";
  for (let at = 0; at < bytes.length;) {
    const length = sequenceLength(bytes, at);
    const piece = bytes.toString("utf8", at, at + length);
    if (length === 1 && (bytes[at] ?? 0) >= 0x80)
      text += String.fromCharCode(FIRST + (bytes[at] ?? 0));
    else if (RESERVED.test(piece))
      for (const byte of bytes.subarray(at, at + length)) text += String.fromCharCode(FIRST + byte);
    else text += piece;
    at += length;
  }
  return text;
}

/** How many bytes the character at a place has; one that is none has one. */
function sequenceLength(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0;
  const length = first < 0x80 ? 1 : first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return length > 1 && isUtf8(bytes.subarray(at, at + length)) && at + length <= bytes.length
    ? length
    : 1;
}

export function bytesOf(text: string): Buffer {
  if (!RESERVED.test(text)) return Buffer.from(text);
  const pieces = text.split(/([\uf780-\uf7ff])/);
  return Buffer.concat(
    pieces.map((piece) =>
      RESERVED.test(piece) ? Buffer.from([piece.charCodeAt(0) - FIRST]) : Buffer.from(piece),
    ),
  );
}
