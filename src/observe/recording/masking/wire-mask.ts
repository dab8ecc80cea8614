/** Masks the bytes of one turn: bodies and streams of frames, of the client and of upstreams. */

import { apiWords, ID_PREFIX, isApiWord, ordinaryWords } from "./api-words.ts";
import { maskContent, maskPattern, type ContentMaskOptions } from "./content-mask.ts";
import { decodeJson, encodeLike, jsonLeaves, type Container, type Leaf } from "./json-leaves.ts";
import {
  isMaskedNumber,
  isName,
  streamOf,
  treatmentOf,
  zoneOf,
  type KnownWords,
  type Origin,
  type Treatment,
} from "./leaf-policy.ts";
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
  /** Names of models that lead anywhere here, and of upstreams. */
  readonly models?: readonly string[] | undefined;
  readonly upstreams?: readonly string[] | undefined;
  /** The turn failed by the gateway's own rules: the errors in its reply are the gateway's sentences. */
  readonly isOwnError?: boolean | undefined;
};

/** JSON text, what was found in it, and what each of that becomes. */
type Document = ReturnType<typeof jsonLeaves> & {
  readonly text: string;
  readonly results: string[];
};

/** A piece of content, and where it stands. */
type Piece = { readonly document: Document; readonly at: number; readonly length: number };

/** A string, number or key that no other goes on with. */
type Plain = Omit<Piece, "length"> & { readonly treatment: Treatment };

/** Pieces of content that belong together. */
type Group = { text: string; readonly pieces: Piece[] };

/** One mask for all bytes of a turn: what is equal on one side stays equal on the other. */
export class WireMask {
  readonly #options: WireMaskOptions;
  readonly #content: ContentMaskOptions;
  readonly #stops: string[] = [];
  readonly #keptWords = new Set<string>();
  readonly #known: KnownWords & { readonly tools: Set<string>; readonly keys: Set<string> };
  /** Words of the names of models and upstreams. */
  readonly #ownWords: ReadonlySet<string>;
  /** Values that a client or a model chose, as the gateway may quote them. */
  readonly #quoted = new Set<string>();
  /** Ids that a client or an upstream said: the others are the gateway's. */
  readonly #ids = new Set<string>();

  constructor(options: WireMaskOptions) {
    this.#options = options;
    this.#known = { tools: new Set(), keys: new Set(), models: new Set(options.models) };
    const names = [...(options.models ?? []), ...(options.upstreams ?? [])];
    this.#ownWords = new Set(names.flatMap((name) => name.toLowerCase().split(/[^\p{L}\p{N}]+/u)));
    const words = new WordMask(options.random);
    this.#content = { words, stops: this.#stops, keptWords: this.#keptWords };
  }

  /** Takes from a request the names of tools and of their arguments, and stop sequences. */
  learn(request: string): void {
    for (const { type, start, end, container, key } of jsonLeaves(request).leaves) {
      const word = typeof key === "number" ? `${container.key}` : key;
      const value = decodeJson(request.slice(start, end));
      const zone = zoneOf(container);
      if (type === "key" && zone === "schemas") this.#known.keys.add(value);
      if (type !== "string" || zone !== "wire") continue;
      if (/^stop(?:_sequences)?$/.test(word) && value.trim() !== "" && this.#stops.length < STOPS)
        this.#stops.push(value);
      if (!isOfTool(container) || (word !== "name" && word !== "namespace")) continue;
      if (this.#options.names === "kept") this.#known.tools.add(value);
      else this.#quoted.add(value);
    }
    for (const set of [this.#known.tools, this.#known.keys])
      for (const word of set) this.#keptWords.add(word);
  }

  /** A body of JSON, or any text. */
  *body(text: string, origin: Origin = "request"): Steps<string> {
    return (yield* this.#documents([text], origin))[0] ?? "";
  }

  /** The report of a plan, or the account of a turn: the gateway's own words with names in them. */
  account(json: string): string {
    const { scrub, content } = this.#options;
    const document = documentOf(json);
    for (const [at, leaf] of document.leaves.entries()) {
      const raw = rawOf(document, at);
      const text = decodeJson(raw);
      const isName = /^(?:name|namespace|upstream_name)$/.test(`${leaf.key}`);
      const own = isName
        ? this.#name(text)
        : leaf.key === "reason"
          ? this.#ownSentence(text)
          : text;
      const isKept = content === "full" && this.#options.names === "kept";
      document.results[at] = scrub(isKept || leaf.type !== "string" ? raw : encodeLike(raw, own));
    }
    return this.#written(document);
  }

  #name(text: string): string {
    const { tools } = this.#known;
    const isDeclared = tools.has(text) || text.split(".").every((part) => tools.has(part));
    return isDeclared ? text : this.#content.words.text(text);
  }

  /** A text that is content as a whole. */
  text(text: string): string {
    return this.#conceal(text);
  }

  /** JSON values one after another, such as messages: pieces in them go on with each other. */
  values(texts: readonly string[], origin: Origin = "upstream"): Steps<readonly string[]> {
    return this.#documents(texts, origin);
  }

  /** Chunks of one stream, split where they were. */
  *chunks(chunks: readonly Buffer[], origin: Origin = "upstream"): Steps<readonly Buffer[]> {
    const whole = textOf(Buffer.concat(chunks));
    // A byte order mark belongs to no line.
    const text = whole.replace(/^\ufeff/, "");
    const mark = whole.slice(0, whole.length - text.length);
    const isBody = /^\s*[{[]/.test(text);
    const masked = bytesOf(
      mark + (yield* isBody ? this.body(text, origin) : this.#frames(text, origin)),
    );
    let at = 0;
    return chunks.map(({ length }) => masked.subarray(at, (at += length)));
  }

  *#frames(text: string, origin: Origin): Steps<string> {
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
      else lines[at] = yield* this.#field(line, origin);
    }
    close();
    for (const [index, masked] of (yield* this.#documents(documents, origin)).entries()) {
      const pieces = masked.split("\n");
      for (const [nth, at] of (places[index] ?? []).entries()) {
        const line = lines[at] ?? "";
        lines[at] = line.slice(0, line.length - dataOf(line).length) + (pieces[nth] ?? "");
      }
    }
    return lines.join("");
  }

  /** A line beside the data: names of events and numbers stay, comments and others do not. */
  *#field(line: string, origin: Origin): Steps<string> {
    const { scrub, content } = this.#options;
    const [, field, value = ""] = /^(event|id|retry): ?([\w.:/-]*)$/.exec(line) ?? [];
    const isKept = content === "full" || isApiWord(value) || /^\d*$/.test(value);
    if (field !== undefined && isKept) return scrub(line);
    // Some say in a field of that name what went wrong, and the gateway counts calls in a comment.
    const [name = ""] = /^(?:error: ?|: ?(?=\{))/.exec(line) ?? [];
    return name + (yield* this.body(line.slice(name.length), origin));
  }

  *#documents(texts: readonly string[], origin: Origin): Steps<readonly string[]> {
    const documents: Document[] = [];
    for (const text of texts) {
      documents.push(documentOf(text));
      yield;
    }
    const { groups, plain } = yield* this.#sorted(documents, origin);
    const scrub = (yield* this.#holdsKeys(textsIn(groups, plain)))
      ? this.#options.scrub
      : unchanged;
    let done = 0;
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
    // Behind the content: what is said of an error may quote it.
    for (const piece of plain) {
      piece.document.results[piece.at] = this.#plain(piece, origin, scrub);
      if (++done % LEAVES_IN_STEP === 0) yield;
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
  *#sorted(
    documents: readonly Document[],
    origin: Origin,
  ): Steps<{ readonly groups: readonly Group[]; readonly plain: readonly Plain[] }> {
    const streams = new Map<string, Group>();
    const groups: Group[] = [];
    const plain: Plain[] = [];
    for (const document of documents) {
      yield;
      for (const [at, leaf] of document.leaves.entries()) {
        const text = decodeJson(rawOf(document, at));
        const treatment = leaf.type === "string" ? this.#treatment(leaf, text, origin) : "kept";
        const isChosen = origin === "request" || leaf.key === "name";
        if (isChosen && leaf.type === "string" && treatment !== "kept") this.#quote(text);
        if (treatment !== "masked") {
          plain.push({ document, at, treatment });
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

  #treatment(leaf: Leaf, value: string, origin: Origin): Treatment {
    if (this.#options.content === "full") return "masked";
    return treatmentOf(leaf, value, { known: this.#known, origin });
  }

  #quote(value: string): void {
    if (value.length <= LONGEST_QUOTE && !apiWords.has(value)) this.#quoted.add(value);
  }

  #plain({ document, at, treatment }: Plain, origin: Origin, scrub: Scrub): string {
    const raw = rawOf(document, at);
    const leaf = document.leaves[at];
    const { words } = this.#content;
    if (this.#options.content === "full" || leaf === undefined) return scrub(raw);
    if (leaf.type === "number") return isMaskedNumber(leaf) ? words.number(raw) : raw;
    if (leaf.type === "key")
      return isName(raw) ? scrub(raw) : encodeLike(raw, words.text(decodeJson(raw)));
    const own = (text: string): string => encodeLike(raw, text);
    switch (treatment) {
      case "id":
        return scrub(own(this.#id(decodeJson(raw), origin)));
      case "sentence":
        return scrub(own(this.#sentence(decodeJson(raw), origin)));
      case "model":
        return this.#quoted.has(decodeJson(raw)) ? own(words.text(decodeJson(raw))) : scrub(raw);
      case "pattern":
        return scrub(own(maskPattern(decodeJson(raw), this.#content)));
      case "kept":
      case "masked":
        return scrub(raw);
      default:
        return treatment satisfies never;
    }
  }

  /** The gateway makes ids of its own for its replies; what others chose is masked behind its prefix. */
  #id(id: string, origin: Origin): string {
    if (origin !== "reply") this.#ids.add(id);
    else if (!this.#ids.has(id)) return id;
    const [prefix = ""] = ID_PREFIX.exec(id) ?? [];
    return prefix + this.#content.words.text(id.slice(prefix.length));
  }

  /** What an error says: without what it quotes of a request or an answer. */
  #sentence(text: string, origin: Origin): string {
    if (origin === "reply" && this.#options.isOwnError === true) return this.#ownSentence(text);
    const { words } = this.#content;
    const stays = (word: string): boolean =>
      ordinaryWords.has(word) || this.#ownWords.has(word) || /^\d{1,3}$/.test(word);
    const said = words.knownWords(text.slice(0, LONGEST_SENTENCE), stays);
    return said + words.text(text.slice(LONGEST_SENTENCE));
  }

  /** A sentence of the gateway's own has others' words in quotes alone. */
  #ownSentence(text: string): string {
    const isQuoted = (part: string): boolean => this.#quoted.has(part) || part.length > 80;
    return text.replaceAll(
      /(?<![\p{L}\p{N}])([`'])([^`']+)\1(?![\p{L}\p{N}])/gu,
      (all, mark: string, part: string) =>
        [part, ...part.split(".")].some(isQuoted)
          ? `${mark}${this.#content.words.text(part)}${mark}`
          : all,
    );
  }

  #conceal(text: string, scrub = this.#options.scrub): string {
    const scrubbed = scrub(text);
    return this.#options.content === "full" ? scrubbed : maskContent(scrubbed, this.#content);
  }
}

/** Every text of a stream, such as it came. */
function* textsIn(groups: readonly Group[], plain: readonly Plain[]): Generator<string> {
  for (const { text } of groups) yield text;
  for (const { document, at } of plain) yield rawOf(document, at);
}

/** No API takes more stop sequences. */
const STOPS = 16;
/** Characters of what an error says that are told. */
const LONGEST_SENTENCE = 300;
/** The gateway quotes no more of a value. */
const LONGEST_QUOTE = 200;

const TOOL_LISTS = new Set(["tools", "functions", "functionDeclarations", "dynamicTools"]);

/** True within the declaration of a tool. */
function isOfTool(container: Container): boolean {
  let at: Container | undefined = container;
  for (let up = 0; at !== undefined && up < 6; up++, at = at.parent)
    if (at.isList && TOOL_LISTS.has(`${at.key}`)) return true;
  return false;
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
