/** Masks the bytes of one turn: bodies and streams of frames, of the client and of upstreams. */

import { isUtf8 } from "node:buffer";
import { faults } from "../../turn/fault-table.ts";
import {
  decodeJson,
  encodeLike,
  jsonLeaves,
  joined,
  type Document,
  type Leaf,
} from "./json-leaves.ts";
import {
  kindPrefix,
  isApiWord,
  isName,
  learnedFrom,
  streamOf,
  treatmentOf,
  type KnownWords,
  type WireOrigin,
  type Treatment,
} from "./leaf-policy.ts";
import type { Scrub } from "./secrets.ts";
import { maskStop, TextMask, WORD } from "./text-mask.ts";

/** Work in short steps, with other work of the process between them. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

export type WireMaskOptions = {
  /** `full`: only secrets are masked. */
  readonly content: "masked" | "full";
  /** `masked`: the names of tools are masked too. */
  readonly names: "kept" | "masked";
  readonly scrub: Scrub;
  /** A random whole number below a limit. */
  readonly random?: ((below: number) => number) | undefined;
  /** Names of the configuration. */
  readonly models?: readonly string[] | undefined;
  readonly upstreams?: readonly string[] | undefined;
  /** True if a rule of the gateway ended the turn, so that the errors in its reply are the gateway's sentences. */
  readonly isOwnError?: boolean | undefined;
};

/** A text, of one leaf or of the pieces of a stream, that is masked as one. */
type Group = { text: string; readonly treatment: Treatment; readonly leaves: Leaf[] };

/** No API takes more stop sequences. */
const MOST_STOPS = 16;
/** Characters of an upstream's error that are kept. */
const LONGEST_SENTENCE = 300;
/** The gateway quotes no more of a value. */
const LONGEST_QUOTE = 200;
/** Longer texts are scrubbed each time. */
const LONGEST_KNOWN = 64;
const LEAVES_IN_STEP = 64;

const CALL_MARKUP = /<\/?(?:use_tool|tool_call|tool_name|function|invoke|antml)/;
/** Parts of prose that the gateway reads: tags, languages of code, and the beginnings of addresses. */
const MARKUP =
  /<\/?(?:use_tool|tool_call|tool_name|name|arguments|function|invoke|parameter|think(?:ing)?)\b|(?<=```)\w+|^data:[\w./+-]*(?:;base64)?,|\bhttps?(?=:\/\/)/;

/** Words of the gateway's sentences: an error keeps them though the conversation has them too. */
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
  /** Values of a client or a model that the gateway may quote. */
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
      const meaning = learnedFrom(leaf);
      if (meaning === undefined) continue;
      const value = decodeJson(leaf.raw);
      if (meaning === "key") this.#known.keys.add(value);
      else if (meaning === "tool") tools.add(value);
      else if (value.trim() !== "" && this.#stops.length < MOST_STOPS) this.#stops.push(value);
    }
    const stops = this.#stops.map((stop) => stop.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
    this.#kept = new RegExp([...stops, MARKUP.source].join("|"), "g");
  }

  /** A body of JSON, or any text. */
  *body(text: string, origin: WireOrigin = "request"): Steps<string> {
    return (yield* this.values([text], origin))[0] ?? "";
  }

  /** Chunks of one stream, split at the same bytes. */
  *chunks(chunks: readonly Buffer[], origin: WireOrigin = "upstream"): Steps<readonly Buffer[]> {
    const [, mark = "", text = ""] = /^(\ufeff?)(.*)$/s.exec(textOf(Buffer.concat(chunks))) ?? [];
    const masked = /^\s*[{[]/.test(text) ? this.body(text, origin) : this.#frames(text, origin);
    const bytes = bytesOf(mark + (yield* masked));
    let at = 0;
    return chunks.map(({ length }) => bytes.subarray(at, (at += length)));
  }

  /** JSON texts in their order, such as messages. Pieces of one text are masked as one. */
  *values(texts: readonly string[], origin: WireOrigin = "upstream"): Steps<readonly string[]> {
    const documents: Document[] = [];
    const streams = new Map<string, Group>();
    const [contents, others]: [Group[], Group[]] = [[], []];
    let count = 0;
    for (const one of texts) {
      const document = jsonLeaves(one);
      documents.push(document);
      yield;
      for (const leaf of document.leaves) {
        if (count++ % LEAVES_IN_STEP === 0) yield;
        const text = decodeJson(leaf.raw);
        const treatment = this.#treatment(leaf, text, origin);
        const label = treatment === "masked" ? streamOf(leaf) : undefined;
        const open = label === undefined ? undefined : streams.get(label);
        // A piece that begins with all text before it repeats the text so far.
        if (open !== undefined && !(this.#isMasked && text.startsWith(open.text))) {
          open.text += text;
          open.leaves.push(leaf);
          continue;
        }
        const group = { text, treatment, leaves: [leaf] };
        (treatment === "masked" ? contents : others).push(group);
        if (label !== undefined) streams.set(label, group);
      }
    }
    // The content first, because an error may quote it.
    for (const group of [...contents, ...others]) {
      const masked = this.#treated(group, origin);
      let from = 0;
      for (const leaf of group.leaves) {
        const { length } = decodeJson(leaf.raw);
        leaf.masked = encodeLike(leaf.raw, masked.slice(from, (from += length)));
        if (count++ % LEAVES_IN_STEP === 0) yield;
      }
    }
    return documents.map((document) => {
      const { json, rest } = joined(document);
      return json + this.#content(rest);
    });
  }

  /** A report of the gateway itself, such as a plan: only the names of tools and quotes of a client are masked. */
  report<Report>(report: Report): Report {
    const text = JSON.stringify(report, (key, value: unknown) => {
      if (typeof value !== "string") return value;
      const clean = this.#scrub(value);
      if (/^(?:name|namespace|upstream_name)$/.test(key)) return this.#toolName(clean);
      return key === "reason" ? this.#ownSentence(clean) : clean;
    });
    return JSON.parse(text) as Report;
  }

  get #isMasked(): boolean {
    return this.#options.content === "masked";
  }

  *#frames(text: string, origin: WireOrigin): Steps<string> {
    const lines = text.split(/(\r\n|\r|\n)/);
    /** The indexes of the data lines of each frame, and of the lines of bare JSON between frames. */
    const frames: number[][] = [[]];
    let isBare = false;
    for (let at = 0; at < lines.length; at += 2) {
      const line = lines[at] ?? "";
      const isStart: boolean = !isBare && /^\s*[{[]/.test(line);
      isBare = line !== "" && (isBare || isStart);
      if (line === "" || isStart) frames.push([]);
      if (isBare) frames.at(-1)?.push(at);
      else if (line === "") continue;
      else if (!line.startsWith("data:")) lines[at] = yield* this.#field(line, origin);
      else if (!/^data: ?\[DONE\]$/.test(line)) frames.at(-1)?.push(at);
    }
    const prefixOf = (at: number): string => /^data: ?/.exec(lines[at] ?? "")?.[0] ?? "";
    const texts = frames.map((own) =>
      own.map((at) => lines[at]?.slice(prefixOf(at).length)).join("\n"),
    );
    for (const [index, masked] of (yield* this.values(texts, origin)).entries()) {
      const pieces = masked.split("\n");
      for (const [nth, at] of (frames[index] ?? []).entries())
        lines[at] = prefixOf(at) + (pieces[nth] ?? "");
    }
    return lines.join("");
  }

  /** A line beside the data. Names of events and numbers stay; comments and other fields are masked. */
  *#field(line: string, origin: WireOrigin): Steps<string> {
    const [, field, value = ""] = /^(event|id|retry): ?([\w.:/-]*)$/.exec(line) ?? [];
    const isKept = !this.#isMasked || isApiWord(value) || /^\d*$/.test(value);
    if (field !== undefined && isKept) return this.#scrub(line);
    // Some upstreams report errors in a field of that name. The gateway counts calls in a comment.
    const [name = ""] = /^(?:error: ?|: ?(?=\{))/.exec(line) ?? [];
    return name + (yield* this.body(line.slice(name.length), origin));
  }

  #treatment(leaf: Leaf, text: string, origin: WireOrigin): Treatment {
    if (!this.#isMasked) return leaf.type === "string" ? "masked" : "kept";
    const treatment = treatmentOf(leaf, text, { known: this.#known, origin });
    const isChosen = leaf.type === "string" && (origin === "request" || leaf.key === "name");
    if (isChosen && treatment !== "kept" && text.length <= LONGEST_QUOTE && !isApiWord(text))
      this.#quoted.add(text);
    return treatment;
  }

  #treated({ text, treatment, leaves: [leaf] }: Group, origin: WireOrigin): string {
    const mask = this.#mask;
    if (leaf?.type === "number") return treatment === "number" ? mask.number(text) : text;
    if (treatment === "masked") return this.#content(text);
    const clean = this.#scrub(text);
    switch (treatment) {
      case "key":
        return isName(text) ? clean : mask.name(clean);
      case "id":
        return this.#id(clean, origin);
      case "sentence":
        return this.#sentence(clean, origin);
      case "model":
        return this.#quoted.has(text) ? mask.text(clean) : clean;
      case "pattern":
        // Any other pattern might be invalid.
        return "x".repeat(text.length);
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

  #id(id: string, origin: WireOrigin): string {
    if (origin !== "reply") this.#ids.add(id);
    else if (!this.#ids.has(id)) return id;
    const prefix = kindPrefix(id);
    return prefix + this.#mask.name(id.slice(prefix.length));
  }

  /** The sentence of an error without words of the conversation. */
  #sentence(text: string, origin: WireOrigin): string {
    if (origin === "reply" && this.#options.isOwnError === true) return this.#ownSentence(text);
    const isOwn = (word: string): boolean =>
      ownSentences.has(word) ||
      this.#configured.has(word) ||
      isApiWord(word) ||
      /^\d{1,3}$/.test(word);
    const kept = text
      .slice(0, LONGEST_SENTENCE)
      .replaceAll(WORD, (word) =>
        this.#mask.has(word) && !isOwn(word.toLowerCase()) ? this.#mask.text(word) : word,
      );
    return kept + this.#mask.text(text.slice(LONGEST_SENTENCE));
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
    const document = jsonLeaves(text);
    for (const leaf of document.leaves) {
      const { type, raw } = leaf;
      const own = decodeJson(raw);
      if (type === "number") leaf.masked = this.#mask.number(raw);
      else if (type === "string") leaf.masked = encodeLike(raw, this.#masked(own));
      else if (!isName(raw)) leaf.masked = encodeLike(raw, this.#mask.name(own));
    }
    const { json, rest } = joined(document);
    return json + this.#prose(rest);
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

/** The first of 128 private characters that represent bytes which are not UTF-8, less 0x80. */
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
  Buffer.concat(
    text
      .split(/([\uf780-\uf7ff])/)
      .map((part) =>
        RESERVED.test(part) ? Buffer.from([part.charCodeAt(0) - FIRST]) : Buffer.from(part),
      ),
  );
