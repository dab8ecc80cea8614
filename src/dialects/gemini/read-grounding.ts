/** Reads the sources of an answer as annotations of its text. */

import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, filledText, listOf, numberOf } from "../shared/loose.ts";

/** Citations of the text from `from` on; its places are those of all of the text. */
export function readCitations(candidate: Fields, text: string, from: number): readonly Fields[] {
  const place = new ByteOffsets(text);
  const citations: Fields[] = [];
  const cite = (source: Fields | undefined, start: number, end: number): void => {
    const url = filledText(source?.uri);
    if (url === undefined || (end > 0 && end <= from)) return;
    citations.push({
      type: "url_citation",
      url,
      title: filledText(source?.title) ?? url,
      start_index: Math.max(0, start - from),
      end_index: Math.max(0, end - from),
    });
  };
  const { groundingChunks, groundingSupports } = fieldsOf(candidate.groundingMetadata) ?? {};
  const sources = (listOf(groundingChunks) ?? []).map(sourceOf);
  const supports = (listOf(groundingSupports) ?? []).map((one) => fieldsOf(one) ?? {});
  for (const { segment, groundingChunkIndices } of supports) {
    const [start, end] = place.span(fieldsOf(segment) ?? {});
    for (const index of listOf(groundingChunkIndices) ?? [])
      cite(typeof index === "number" ? sources[index] : undefined, start, end);
  }
  // Without places, the sources are those of the whole text.
  if (supports.length === 0) for (const source of sources) cite(source, 0, 0);
  const { citationSources, citations: others } = fieldsOf(candidate.citationMetadata) ?? {};
  for (const one of listOf(citationSources) ?? listOf(others) ?? []) {
    const [start, end] = place.span(fieldsOf(one) ?? {});
    cite(fieldsOf(one), start, end);
  }
  return citations;
}

/** A source is on the web, in a map or in a file. */
const sourceOf = (chunk: unknown): Fields | undefined => {
  const { web, maps, retrievedContext } = fieldsOf(chunk) ?? {};
  return fieldsOf(web) ?? fieldsOf(maps) ?? fieldsOf(retrievedContext);
};

/** Finds places in a text by their offsets in bytes of UTF-8, in one pass for places in order. */
class ByteOffsets {
  readonly #text: string;
  #at = 0;
  #bytes = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The start and end of a segment in characters. */
  span({ startIndex, endIndex, text }: Fields): readonly [number, number] {
    const [start, end] = [numberOf(startIndex) ?? 0, numberOf(endIndex) ?? 0];
    // Some servers count characters, which the text shows.
    if (typeof text === "string" && this.#text.startsWith(text, start)) {
      if (start + text.length === end) return [start, end];
    }
    return [this.#char(start), this.#char(end)];
  }

  #char(bytes: number): number {
    if (bytes < this.#bytes) this.#at = this.#bytes = 0;
    while (this.#bytes < bytes && this.#at < this.#text.length) {
      const code = this.#text.codePointAt(this.#at) ?? 0;
      this.#bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      this.#at += code < 0x10000 ? 1 : 2;
    }
    return this.#at;
  }
}
