/** Masks the bytes of one turn: bodies and streams of frames, of the client and of upstreams. */

import { maskContent, type ContentMaskOptions } from "./content-mask.ts";
import { decodeJson, encodeLike, jsonLeaves, type Leaf } from "./json-leaves.ts";
import { isKept, isMaskedNumber, isName, streamOf, zoneOf } from "./leaf-policy.ts";
import type { Steps } from "../steps.ts";
import type { Scrub } from "./secrets.ts";
import { bytesOf, textOf } from "./wire-text.ts";
import { WordMask, type Random } from "./word-mask.ts";

export type WireMaskOptions = {
  /** `full`: only keys are taken out. */
  readonly content: "masked" | "full";
  /** Whether the names of tools are masked too. */
  readonly names: "kept" | "masked";
  readonly scrub: Scrub;
  readonly random: Random;
};

/** JSON text, what was found in it, and what each of that becomes. */
type Document = ReturnType<typeof jsonLeaves> & {
  readonly text: string;
  readonly results: string[];
};

/** A piece of content, and where it stands. */
type Piece = { readonly document: Document; readonly at: number; readonly length: number };

/** Pieces of content that belong together. */
type Group = { text: string; readonly pieces: Piece[] };

/** One mask for all bytes of a turn: what is equal on one side stays equal on the other. */
export class WireMask {
  readonly #options: WireMaskOptions;
  readonly #content: ContentMaskOptions;
  readonly #keptTexts: string[] = [];
  readonly #keptWords = new Set<string>();

  constructor(options: WireMaskOptions) {
    this.#options = options;
    const words = new WordMask(options.random);
    this.#content = { words, keptTexts: this.#keptTexts, keptWords: this.#keptWords };
  }

  /** Takes from a request what must stay: stop sequences, and the names of tools and of their arguments. */
  learn(request: string): void {
    for (const { type, start, end, container, key } of jsonLeaves(request).leaves) {
      const word = typeof key === "number" ? `${container.key}` : key;
      const value = decodeJson(request.slice(start, end));
      if (type === "string" && /^stop(?:_sequences)?$/.test(word) && value.trim() !== "")
        this.#keptTexts.push(value);
      if (type === "string" && word === "name" && this.#options.names === "kept")
        this.#keptWords.add(value);
      if (type === "key" && zoneOf(container) === "schemas") this.#keptWords.add(value);
    }
  }

  /** A body of JSON, or any text. */
  *body(text: string): Steps<string> {
    return (yield* this.#documents([text]))[0] ?? "";
  }

  /** A text that is content as a whole. */
  text(text: string): string {
    return this.#conceal(text);
  }

  /** JSON values one after another, such as messages: pieces in them go on with each other. */
  values(texts: readonly string[]): Steps<readonly string[]> {
    return this.#documents(texts);
  }

  /** Chunks of one stream, split where they were. */
  *chunks(chunks: readonly Buffer[]): Steps<readonly Buffer[]> {
    const whole = textOf(Buffer.concat(chunks));
    // A byte order mark belongs to no line.
    const text = whole.replace(/^\ufeff/, "");
    const mark = whole.slice(0, whole.length - text.length);
    const isBody = /^\s*[{[]/.test(text);
    const masked = bytesOf(mark + (yield* isBody ? this.body(text) : this.#frames(text)));
    let at = 0;
    return chunks.map(({ length }) => masked.subarray(at, (at += length)));
  }

  *#frames(text: string): Steps<string> {
    const lines = text.split(/(\r\n|\r|\n)/);
    const documents: string[] = [];
    /** The lines of each document, by their places. */
    const places: number[][] = [];
    let open: number[] = [];
    const close = (): void => {
      if (open.length > 0) {
        documents.push(open.map((at) => dataOf(lines[at] ?? "")).join("\n"));
        places.push(open);
      }
      open = [];
    };
    for (let at = 0; at < lines.length; at += 2) {
      const line = lines[at] ?? "";
      if (line === "") close();
      else if (line.startsWith("data:")) open.push(at);
      else lines[at] = yield* this.#field(line);
    }
    close();
    for (const [index, masked] of (yield* this.#documents(documents)).entries()) {
      const pieces = masked.split("\n");
      for (const [nth, at] of (places[index] ?? []).entries()) {
        const line = lines[at] ?? "";
        lines[at] = line.slice(0, line.length - dataOf(line).length) + (pieces[nth] ?? "");
      }
    }
    return lines.join("");
  }

  /** A line beside the data: names of events and numbers stay, comments and others do not. */
  *#field(line: string): Steps<string> {
    const { scrub } = this.#options;
    if (/^(?:event|id|retry):\s*[\w.:/-]*$/.test(line)) return scrub(line);
    // Some say in a field of that name what went wrong.
    const [name = ""] = /^error: ?/.exec(line) ?? [];
    return name + (yield* this.body(line.slice(name.length)));
  }

  *#documents(texts: readonly string[]): Steps<readonly string[]> {
    const documents: Document[] = [];
    for (const text of texts) {
      documents.push(documentOf(text));
      yield;
    }
    const { groups, plain } = yield* this.#sorted(documents);
    const scrub = (yield* this.#holdsKeys(textsIn(groups, plain)))
      ? this.#options.scrub
      : unchanged;
    let done = 0;
    for (const { document, at } of plain) {
      document.results[at] = this.#plain(document, at, scrub);
      if (++done % LEAVES_IN_STEP === 0) yield;
    }
    for (const { text, pieces } of groups) {
      const masked = this.#conceal(text, scrub);
      let from = 0;
      for (const { document, at, length } of pieces) {
        const piece = masked.slice(from, (from += length));
        document.results[at] = encodeLike(rawOf(document, at), piece);
        if (++done % LEAVES_IN_STEP === 0) yield;
      }
      yield;
    }
    const written: string[] = [];
    for (const document of documents) {
      written.push(this.#written(document));
      yield;
    }
    return written;
  }

  /** Whether there is anything in texts to take out: nearly always not, so that many are looked at as one. */
  *#holdsKeys(texts: Iterable<string>): Steps<boolean> {
    let batch = "";
    for (const text of texts) {
      batch += `\0${text}`;
      if (batch.length < SCRUBBED_TOGETHER) continue;
      if (this.#options.scrub(batch) !== batch) return true;
      batch = "";
      yield;
    }
    return this.#options.scrub(batch) !== batch;
  }

  /** What is content, in groups that are masked as one text, and what is not. */
  *#sorted(documents: readonly Document[]): Steps<{
    readonly groups: readonly Group[];
    readonly plain: readonly Omit<Piece, "length">[];
  }> {
    const streams = new Map<string, Group>();
    const groups: Group[] = [];
    const plain: Omit<Piece, "length">[] = [];
    for (const document of documents) {
      yield;
      for (const [at, leaf] of document.leaves.entries()) {
        const text = decodeJson(rawOf(document, at));
        if (leaf.type !== "string" || this.#isKept(leaf, text)) {
          plain.push({ document, at });
          continue;
        }
        const label = streamOf(leaf);
        const open = label === undefined ? undefined : streams.get(label);
        const piece = { document, at, length: text.length };
        if (open !== undefined && !this.#isSnapshot(open, text)) {
          open.text += text;
          open.pieces.push(piece);
          continue;
        }
        const group = { text, pieces: [piece] };
        groups.push(group);
        if (label !== undefined) streams.set(label, group);
      }
    }
    return { groups, plain };
  }

  /** Whether a piece holds all that came before it: then it is the text so far, not what is new of it. */
  #isSnapshot({ text: before }: Group, text: string): boolean {
    return (
      this.#options.content === "masked" && text.length >= before.length && text.startsWith(before)
    );
  }

  #written({ text, leaves, end, results }: Document): string {
    const parts: string[] = [];
    let from = 0;
    for (const [at, leaf] of leaves.entries()) {
      parts.push(text.slice(from, leaf.start), results[at] ?? "");
      from = leaf.end;
    }
    const rest = Math.max(from, end);
    parts.push(text.slice(from, rest), this.#rest(text.slice(rest)));
    return parts.join("");
  }

  #rest(text: string): string {
    return text.trim() === "" || text === DONE ? text : this.#conceal(text);
  }

  #isKept(leaf: Leaf, value: string): boolean {
    const { content, names } = this.#options;
    return content === "masked" && isKept(leaf, value, { names: names === "kept" });
  }

  #plain(document: Document, at: number, scrub: Scrub): string {
    const raw = rawOf(document, at);
    const leaf = document.leaves[at];
    const { words } = this.#content;
    if (this.#options.content === "full" || leaf === undefined) return scrub(raw);
    if (leaf.type === "number") return isMaskedNumber(leaf) ? words.number(raw) : raw;
    if (leaf.type === "string" || isName(raw)) return scrub(raw);
    return encodeLike(raw, words.text(decodeJson(raw)));
  }

  #conceal(text: string, scrub = this.#options.scrub): string {
    const scrubbed = scrub(text);
    return this.#options.content === "full" ? scrubbed : maskContent(scrubbed, this.#content);
  }
}

/** Every text of a stream, such as it came. */
function* textsIn(
  groups: readonly Group[],
  plain: readonly Omit<Piece, "length">[],
): Generator<string> {
  for (const { text } of groups) yield text;
  for (const { document, at } of plain) yield rawOf(document, at);
}

/** Strings and numbers that are masked before others may work. */
const LEAVES_IN_STEP = 64;
/** Characters that are looked through for keys at once, which takes about a millisecond. */
const SCRUBBED_TOGETHER = 32_768;

/** What ends a stream, which is no JSON though it begins like it. */
const DONE = "[DONE]";

const documentOf = (text: string): Document => ({
  text,
  results: [],
  ...(text === DONE ? { leaves: [], end: 0 } : jsonLeaves(text)),
});

const unchanged: Scrub = (text) => text;

const rawOf = ({ text, leaves }: Document, at: number): string =>
  text.slice(leaves[at]?.start, leaves[at]?.end);

/** The data of a line, behind its field name and the blank that belongs to it. */
const dataOf = (line: string): string => line.replace(/^data: ?/, "");
