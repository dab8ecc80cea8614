/** Masks the bytes of one turn: bodies and streams of frames, of the client and of upstreams. */

import { isUtf8 } from "node:buffer";
import { faults } from "../../turn/fault-table.ts";
import { decodeJson, encodeLike, jsonLeaves } from "./json-leaves.ts";
import {
  idPrefix,
  isApiWord,
  isName,
  learnedFrom,
  streamOf,
  treatmentOf,
  type KnownWords,
  type Origin,
  type Treatment,
} from "./leaf-policy.ts";
import type { Scrub } from "./secrets.ts";
import { maskStop, TextMask, WORD } from "./text-mask.ts";

/** Work in steps that are short each, so that turns under way need not wait for all of it. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

export type WireMaskOptions = {
  /** `full`: only secrets are masked. */
  readonly content: "masked" | "full";
  /** Whether the names of tools are masked too. */
  readonly names: "kept" | "masked";
  readonly scrub: Scrub;
  /** A random whole number below a limit. */
  readonly random?: ((below: number) => number) | undefined;
  /** Names of the configuration. */
  readonly models?: readonly string[] | undefined;
  readonly upstreams?: readonly string[] | undefined;
  /** The turn failed by a rule of the gateway, so the errors in its reply are the gateway's sentences. */
  readonly isOwnError?: boolean | undefined;
};

/** JSON text, its leaves, and the masked text of each. */
type Document = ReturnType<typeof jsonLeaves> & {
  readonly text: string;
  readonly masked: string[];
};

/** A leaf of a document, with its decoded text. */
type Piece = { readonly document: Document; readonly at: number; readonly length: number };

/** A text, of one leaf or of pieces, that is masked as one. */
type Group = { text: string; readonly treatment: Treatment; readonly pieces: Piece[] };

/** No API takes more stop sequences. */
const MOST_STOPS = 16;
/** Characters of the sentence of an error that are kept. */
const LONGEST_SENTENCE = 300;
/** The gateway quotes no more of a value. */
const LONGEST_QUOTE = 200;
/** Longer texts are scrubbed each time. */
const LONGEST_KNOWN = 64;
/** Leaves that are masked before turns under way may go on. */
const LEAVES_IN_STEP = 64;

const CALL_MARKUP = /<\/?(?:use_tool|tool_call|tool_name|function|invoke|antml)/;
/** Parts of prose that the gateway reads: tags, languages of code, and types of content in addresses. */
const MARKUP =
  /<\/?(?:use_tool|tool_call|tool_name|name|arguments|function|invoke|parameter|think(?:ing)?)\b|(?<=```)\w+|^data:[\w./+-]*(?:;base64)?,|\bhttps?(?=:\/\/)/;

/** Words that a sentence of an error keeps though the conversation has them too: the gateway's own. */
const ownSentences: ReadonlySet<string> = new Set(
  Object.values(faults).flatMap(({ what }) => what.toLowerCase().match(WORD) ?? []),
);

/** One mask for all bytes of a turn: equal texts of both sides stay equal. */
export class WireMask {
  readonly #options: WireMaskOptions;
  readonly #mask: TextMask;
  readonly #stops: string[] = [];
  readonly #known: KnownWords;
  /** Words of the names of models and upstreams. */
  readonly #configured: ReadonlySet<string>;
  /** Values that a client or a model chose, as the gateway may quote them. */
  readonly #quoted = new Set<string>();
  /** Ids that a client or an upstream sent. The gateway made the others. */
  readonly #ids = new Set<string>();
  readonly #scrubbed = new Map<string, string>();
  #kept: RegExp = new RegExp(MARKUP, "g");

  constructor(options: WireMaskOptions) {
    const { models = [], upstreams = [] } = options;
    this.#options = options;
    this.#mask = new TextMask(options.random);
    this.#known = { tools: new Set(), keys: new Set(), models: new Set(models) };
    const names = [...models, ...upstreams];
    this.#configured = new Set(names.flatMap((name) => name.toLowerCase().match(WORD) ?? []));
  }

  /** Takes the names of tools and of their arguments, and stop sequences, from a request. */
  learn(request: string): void {
    const tools = this.#options.names === "kept" ? this.#known.tools : this.#quoted;
    for (const leaf of jsonLeaves(request).leaves) {
      const what = learnedFrom(leaf);
      if (what === undefined) continue;
      const value = decodeJson(request.slice(leaf.start, leaf.end));
      if (what === "key") this.#known.keys.add(value);
      else if (what === "tool") tools.add(value);
      else if (value.trim() !== "" && this.#stops.length < MOST_STOPS) this.#stops.push(value);
    }
    const stops = this.#stops.map((stop) => stop.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
    this.#kept = new RegExp([...stops, MARKUP.source].join("|"), "g");
  }

  /** A body of JSON, or any text. */
  *body(text: string, origin: Origin = "request"): Steps<string> {
    return (yield* this.values([text], origin))[0] ?? "";
  }

  /** Chunks of one stream, split where they were. */
  *chunks(chunks: readonly Buffer[], origin: Origin = "upstream"): Steps<readonly Buffer[]> {
    const [, mark = "", text = ""] = /^(\ufeff?)(.*)$/s.exec(textOf(Buffer.concat(chunks))) ?? [];
    const masked = /^\s*[{[]/.test(text) ? this.body(text, origin) : this.#frames(text, origin);
    const bytes = bytesOf(mark + (yield* masked));
    let at = 0;
    return chunks.map(({ length }) => bytes.subarray(at, (at += length)));
  }

  /** JSON texts in their order, such as messages. Pieces of one text are masked as one. */
  *values(texts: readonly string[], origin: Origin = "upstream"): Steps<readonly string[]> {
    const documents: Document[] = [];
    const streams = new Map<string, Group>();
    const [contents, others]: [Group[], Group[]] = [[], []];
    for (const text of texts) {
      const document = documentOf(text);
      documents.push(document);
      yield;
      for (const [at, leaf] of document.leaves.entries()) {
        if (at % LEAVES_IN_STEP === 0) yield;
        const own = decodeJson(rawOf(document, at));
        const treatment = this.#treatment(leaf, own, origin);
        const piece = { document, at, length: own.length };
        const label = treatment === "masked" ? streamOf(leaf) : undefined;
        const open = label === undefined ? undefined : streams.get(label);
        // A piece that holds all text before it repeats the text so far.
        if (open !== undefined && !(this.#isMasked && own.startsWith(open.text))) {
          open.text += own;
          open.pieces.push(piece);
          continue;
        }
        const group = { text: own, treatment, pieces: [piece] };
        (treatment === "masked" ? contents : others).push(group);
        if (label !== undefined) streams.set(label, group);
      }
    }
    let count = 0;
    // The content first, since an error may quote it.
    for (const group of [...contents, ...others]) {
      const masked = this.#treated(group, origin);
      let from = 0;
      for (const { document, at, length } of group.pieces) {
        document.masked[at] = encodeLike(rawOf(document, at), masked.slice(from, (from += length)));
        if (++count % LEAVES_IN_STEP === 0) yield;
      }
    }
    return documents.map((document) => joined(document, (rest) => this.#content(rest)));
  }

  get #isMasked(): boolean {
    return this.#options.content === "masked";
  }

  *#frames(text: string, origin: Origin): Steps<string> {
    const lines = text.split(/(\r\n|\r|\n)/);
    /** The lines of each document, by their places. */
    const places: number[][] = [[]];
    for (let at = 0; at < lines.length; at += 2) {
      const line = lines[at] ?? "";
      if (line === "") places.push([]);
      else if (line.startsWith("data:")) places.at(-1)?.push(at);
      else lines[at] = yield* this.#field(line, origin);
    }
    const ofLine = (at: number): string => (lines[at] ?? "").replace(/^data: ?/, "");
    const texts = places.map((own) => own.map(ofLine).join("\n"));
    for (const [index, masked] of (yield* this.values(texts, origin)).entries()) {
      const pieces = masked.split("\n");
      for (const [nth, at] of (places[index] ?? []).entries()) {
        const line = lines[at] ?? "";
        lines[at] = line.slice(0, line.length - ofLine(at).length) + (pieces[nth] ?? "");
      }
    }
    return lines.join("");
  }

  /** A line beside the data. Names of events and numbers stay; comments and other fields are masked. */
  *#field(line: string, origin: Origin): Steps<string> {
    const [, field, value = ""] = /^(event|id|retry): ?([\w.:/-]*)$/.exec(line) ?? [];
    const isKept = !this.#isMasked || isApiWord(value) || /^\d*$/.test(value);
    if (field !== undefined && isKept) return this.#scrub(line);
    // Some upstreams report errors in a field of that name. The gateway counts calls in a comment.
    const [name = ""] = /^(?:error: ?|: ?(?=\{))/.exec(line) ?? [];
    return name + (yield* this.body(line.slice(name.length), origin));
  }

  #treatment(leaf: Document["leaves"][number], text: string, origin: Origin): Treatment {
    if (!this.#isMasked && origin !== "account") return leaf.type === "string" ? "masked" : "kept";
    const treatment = treatmentOf(leaf, text, { known: this.#known, origin });
    const isChosen = leaf.type === "string" && (origin === "request" || leaf.key === "name");
    if (isChosen && treatment !== "kept" && text.length <= LONGEST_QUOTE && !isApiWord(text))
      this.#quoted.add(text);
    return treatment;
  }

  #treated({ text, treatment, pieces }: Group, origin: Origin): string {
    const mask = this.#mask;
    const [{ document, at }] = pieces as [Piece];
    if (document.leaves[at]?.type === "number")
      return treatment === "number" ? mask.number(text) : text;
    const clean = this.#scrub(text);
    switch (treatment) {
      case "masked":
        return this.#isMasked ? this.#masked(clean) : clean;
      case "key":
        return isName(text) ? clean : mask.name(clean);
      case "id":
        return this.#id(clean, origin);
      case "sentence":
        return this.#sentence(clean, origin);
      case "model":
        return this.#quoted.has(text) ? mask.text(clean) : clean;
      case "pattern":
        // Any other pattern might not be one.
        return "x".repeat(text.length);
      case "own":
        return this.#ownSentence(clean);
      case "tool":
        return this.#toolName(clean);
      case "number":
      case "kept":
        return clean;
      default:
        return treatment satisfies never;
    }
  }

  /** Frames of a stream repeat their keys and most of their values. */
  #scrub(text: string): string {
    if (text.length > LONGEST_KNOWN) return this.#options.scrub(text);
    let clean = this.#scrubbed.get(text);
    if (clean === undefined) this.#scrubbed.set(text, (clean = this.#options.scrub(text)));
    return clean;
  }

  #toolName(name: string): string {
    const { content, names } = this.#options;
    const { tools } = this.#known;
    const isKept = content === "full" && names === "kept";
    const isDeclared = tools.has(name) || name.split(".").every((part) => tools.has(part));
    return isKept || isDeclared ? name : this.#mask.text(name);
  }

  #id(id: string, origin: Origin): string {
    if (origin !== "reply") this.#ids.add(id);
    else if (!this.#ids.has(id)) return id;
    const prefix = idPrefix(id);
    return prefix + this.#mask.name(id.slice(prefix.length));
  }

  /** The sentence of an error without words of the conversation. */
  #sentence(text: string, origin: Origin): string {
    if (origin === "reply" && this.#options.isOwnError === true) return this.#ownSentence(text);
    const isOwn = (word: string): boolean =>
      ownSentences.has(word) ||
      this.#configured.has(word) ||
      isApiWord(word) ||
      /^\d{1,3}$/.test(word);
    const told = text
      .slice(0, LONGEST_SENTENCE)
      .replaceAll(WORD, (word) =>
        this.#mask.has(word) && !isOwn(word.toLowerCase()) ? this.#mask.text(word) : word,
      );
    return told + this.#mask.text(text.slice(LONGEST_SENTENCE));
  }

  /** A sentence of the gateway has words of others in quotes alone. */
  #ownSentence(text: string): string {
    const { content, names } = this.#options;
    if (content === "full" && names === "kept") return text;
    const isQuoted = (part: string): boolean => this.#quoted.has(part) || part.length > 80;
    return text.replaceAll(
      /(?<![\p{L}\p{N}])([`'])([^`']+)\1(?![\p{L}\p{N}])/gu,
      (all, mark: string, part: string) =>
        [part, ...part.split(".")].some(isQuoted) ? `${mark}${this.#mask.text(part)}${mark}` : all,
    );
  }

  #content(text: string): string {
    const clean = this.#scrub(text);
    return this.#isMasked ? this.#masked(clean) : clean;
  }

  /** The mask of a text. JSON keeps its structure and its keys. */
  #masked(text: string): string {
    if (!/^\s*[{[]/.test(text)) return this.#prose(text);
    const document = documentOf(text);
    for (const [at, { type }] of document.leaves.entries()) {
      const raw = rawOf(document, at);
      const own = decodeJson(raw);
      if (type === "number") document.masked[at] = this.#mask.number(raw);
      else if (type === "string") document.masked[at] = encodeLike(raw, this.#masked(own));
      else document.masked[at] = isName(raw) ? raw : encodeLike(raw, this.#mask.name(own));
    }
    return joined(document, (rest) => this.#prose(rest));
  }

  #prose(text: string): string {
    const { tools, keys } = this.#known;
    const hasCalls = CALL_MARKUP.test(text);
    const kept = hasCalls ? new RegExp(`${this.#kept.source}|[\\w.-]+`, "g") : this.#kept;
    let masked = "";
    let at = 0;
    for (const { 0: part, index } of text.matchAll(kept)) {
      const isStop = this.#stops.includes(part);
      const type = /^data:([^;,]*)/.exec(part)?.[1];
      const isWord = tools.has(part) || keys.has(part) || /^<|^https?$/.test(part);
      const isLanguage = text.startsWith("```", index - 3) && isApiWord(part);
      if (!isStop && !isWord && !isLanguage && (type === undefined || !isApiWord(type))) continue;
      masked += this.#mask.text(text.slice(at, index)) + (isStop ? maskStop(part) : part);
      at = index + part.length;
    }
    return masked + this.#mask.text(text.slice(at));
  }
}

/** The end of a stream is not JSON though it begins like it. */
const documentOf = (text: string): Document => ({
  text,
  masked: [],
  ...(text === "[DONE]" ? { leaves: [], end: text.length } : jsonLeaves(text)),
});

const rawOf = ({ text, leaves }: Document, at: number): string =>
  text.slice(leaves[at]?.start, leaves[at]?.end);

/** A document with its masked leaves. `maskRest`: what is behind its JSON. */
function joined(
  { text, leaves, end, masked }: Document,
  maskRest: (rest: string) => string,
): string {
  const parts: string[] = [];
  let from = 0;
  for (const [at, leaf] of leaves.entries()) {
    parts.push(text.slice(from, leaf.start), masked[at] ?? "");
    from = leaf.end;
  }
  const rest = Math.max(from, end);
  return [...parts, text.slice(from, rest), maskRest(text.slice(rest))].join("");
}

/** First of the characters that stand for bytes which are not UTF-8. They are private to their users. */
const FIRST = 0xf700;
const RESERVED = /[\uf780-\uf7ff]/;
const SEQUENCES =
  /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|[\x80-\xff]/g;

/** The text of bytes. `bytesOf` gives the same bytes back, also of bytes that are not UTF-8. */
function textOf(bytes: Buffer): string {
  const text = isUtf8(bytes) ? bytes.toString("utf8") : undefined;
  if (text !== undefined && !RESERVED.test(text)) return text;
  return bytes.toString("latin1").replaceAll(SEQUENCES, (sequence) => {
    const own = Buffer.from(sequence, "latin1");
    const char = isUtf8(own) ? own.toString("utf8") : "";
    if (char !== "" && !RESERVED.test(char)) return char;
    return Array.from(own, (byte) => String.fromCharCode(FIRST + byte)).join("");
  });
}

const bytesOf = (text: string): Buffer =>
  RESERVED.test(text)
    ? Buffer.concat(
        text
          .split(/([\uf780-\uf7ff])/)
          .map((part) =>
            RESERVED.test(part) ? Buffer.from([part.charCodeAt(0) - FIRST]) : Buffer.from(part),
          ),
      )
    : Buffer.from(text);
