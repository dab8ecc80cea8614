/** Citations as Gemini's API has them: sources, and the parts of the text that they support. */

import type { Fields } from "../../turn/turn.ts";
import { utf8Length } from "../../turn/utf8-length.ts";
import { fieldsOf, filledText, given, numberOf } from "../shared/loose.ts";

/** A part of the text; `to` is undefined while it grows. */
type Span = { readonly from: number; to?: number };

/** A source of a part, or of the characters in it. */
type Citation = {
  readonly source: number;
  readonly span: Span;
  readonly start: number;
  readonly end: number;
};

/** Longer segments are given by their offsets alone. */
const LONGEST_SEGMENT = 2_000;

/** Collects the citations of the text of one choice. */
export class Grounding {
  #text = "";
  /** The part of the text that citations are about now. */
  #span: Span | undefined;
  #partAt = 0;
  /** The number and the title of each source, by its address. */
  readonly #sources = new Map<string, { readonly number: number; readonly web: Fields }>();
  readonly #citations: Citation[] = [];

  add(text: string): void {
    this.#text += text;
  }

  beginPart(): void {
    this.#partAt = this.#text.length;
    if (this.#span !== undefined) this.#span.to = this.#partAt;
    this.#span = undefined;
  }

  isBlank(): boolean {
    return this.#text.trim() === "";
  }

  /** Takes an annotation of the part that grows. False if it is no citation of an address. */
  cite(annotation: unknown): boolean {
    const fields = fieldsOf(annotation);
    const uri = filledText(fields?.url);
    if (fields === undefined || uri === undefined) return false;
    let known = this.#sources.get(uri);
    if (known === undefined) {
      const title = filledText(fields.title);
      known = { number: this.#sources.size, web: given({ uri, title }) };
      this.#sources.set(uri, known);
    }
    const [start, end] = [numberOf(fields.start_index) ?? 0, numberOf(fields.end_index) ?? 0];
    this.#span ??= { from: this.#partAt };
    this.#citations.push({ source: known.number, span: this.#span, start, end });
    return true;
  }

  metadata(): { readonly groundingMetadata?: Fields } {
    if (this.#citations.length === 0) return {};
    const groundingChunks = [...this.#sources.values()].map(({ web }) => ({ web }));
    return { groundingMetadata: { groundingChunks, groundingSupports: this.#supports() } };
  }

  #supports(): Fields[] {
    /** The sources of each segment, by its offsets. */
    const segments = new Map<string, { from: number; to: number; sources: Set<number> }>();
    for (const { source, span, start, end } of this.#citations) {
      const { from: partAt, to: partEnd = this.#text.length } = span;
      // A citation without a place is about its whole part.
      const hasPlace = start >= 0 && end > start && partAt + start < partEnd;
      const from = hasPlace ? partAt + Math.floor(start) : partAt;
      const to = hasPlace ? Math.min(partAt + Math.floor(end), partEnd) : partEnd;
      if (from === to) continue;
      const key = `${from}:${to}`;
      const known = segments.get(key);
      if (known === undefined) segments.set(key, { from, to, sources: new Set([source]) });
      else known.sources.add(source);
    }
    const all = [...segments.values()];
    const bytes = byteOffsets(
      this.#text,
      all.flatMap(({ from, to }) => [from, to]),
    );
    return all.map(({ from, to, sources }) => ({
      segment: {
        ...(from > 0 && { startIndex: bytes.get(from) }),
        endIndex: bytes.get(to),
        ...(to - from <= LONGEST_SEGMENT && { text: this.#text.slice(from, to) }),
      },
      groundingChunkIndices: [...sources],
    }));
  }
}

/** The offsets in bytes of UTF-8, by the offsets in characters. */
function byteOffsets(text: string, offsets: readonly number[]): ReadonlyMap<number, number> {
  const bytes = new Map<number, number>();
  let [at, count] = [0, 0];
  for (const offset of offsets.toSorted((one, other) => one - other)) {
    count += utf8Length(text.slice(at, offset));
    at = offset;
    bytes.set(offset, count);
  }
  return bytes;
}
