/** Reads `contents` as items: the turns of the user, the model and its tools. */

import { readSeal } from "../../turn/seal.ts";
import { clientName } from "../../turn/names.ts";
import type { Call, Fields, Item, Message, Part, Reasoning, Result } from "../../turn/turn.ts";
import type { Writable } from "../../turn/writable.ts";
import { filledText, given, inputText } from "../shared/loose.ts";
import { filledTextAt, invalid, optionalTextAt, textAt, type Repair } from "../shared/shape.ts";
import { camelFieldsAt, optionalListOf, type Reports } from "./read-fields.ts";
import { readMedia, readResponse } from "./read-parts.ts";
import { isDummy, sealsIn, type SealLine } from "./signature.ts";
import { geminiExtra, partKind, signatureExtra, type SignedPart } from "./wire.ts";

/** Fields beside the content of a part. */
const beside = new Set([
  "thought",
  "thoughtSignature",
  "videoMetadata",
  "mediaResolution",
  "partMetadata",
  "mediaProcessing",
]);

/** A result whose call is not yet known: clients may leave out the id of a call, or make up another. */
type OpenResult = {
  readonly item: Writable<Result>;
  readonly id: string | undefined;
  /** Its index among the items. */
  readonly at: number;
};

type Conversation = {
  readonly items: readonly Item[];
  /** The index of the content that each item is from. */
  readonly places: readonly number[];
};

export function readContents(raw: unknown, reports: Reports): Conversation {
  const contents = optionalListOf(raw, "contents");
  if (contents.length === 0) throw invalid("contents", "must hold at least one content");
  return new ContentsReader(contents, reports);
}

class ContentsReader implements Conversation {
  readonly items: Item[] = [];
  readonly places: number[] = [];
  readonly #reports: Reports;
  /** The ids of all calls so far. */
  readonly #ids = new Set<string>();
  /** The calls of the model's last turn, in their order. */
  #calls: Call[] = [];
  /** The results since then. */
  #results: OpenResult[] = [];
  /** Texts and thoughts of the model since its last call: a signature may belong before them. */
  #said: { readonly item: Writable<Message> | Writable<Reasoning>; readonly at: number }[] = [];
  /** The message of the user that grows. */
  #message: Writable<Message> | undefined;
  /** The result that media behind it belong to. */
  #result: Writable<Result> | undefined;
  /** True if the content before is of the user. */
  #isUser = true;
  /** The index of the content that is read. */
  #at = 0;

  constructor(contents: readonly unknown[], reports: Reports) {
    this.#reports = reports;
    for (const [at, raw] of contents.entries()) {
      this.#at = at;
      this.#content(raw, `contents[${at}]`);
    }
    this.#beginUser();
    this.#endResults();
    // Gemini's API takes an empty text as well.
    if (this.items.length === 0) this.#add({ type: "message", role: "user", parts: [emptyText] });
  }

  #content(raw: unknown, path: string): void {
    const { role, parts, ...rest } = camelFieldsAt(
      raw,
      path,
      'a content such as {"role":"user","parts":[{"text":"Hi"}]}',
    );
    const isModel = isModelRole(role, `${path}.role`, this.#reports.repair);
    const list = optionalListOf(parts, `${path}.parts`);
    if (list.length === 0 && !isModel)
      throw invalid(`${path}.parts`, "must hold at least one part");
    if (!isModel) this.#beginUser();
    else if (this.#isUser) this.#endResults();
    this.#isUser = !isModel;
    for (const [at, one] of list.entries()) {
      const where = `${path}.parts[${at}]`;
      const part = camelFieldsAt(one, where, 'a part such as {"text":"Hi"}');
      if (isModel) this.#modelPart(part, where, at);
      else this.#userPart(part, where, at);
    }
    this.#message = undefined;
    this.#result = undefined;
    for (const key of Object.keys(given(rest))) this.#reports.drop(`${path}.${key}`, NO_FIELD);
  }

  #userPart(part: Fields, path: string, at: number): void {
    switch (partKind(part)) {
      case "functionResponse":
        return this.#addResult(part, path);
      case "functionCall":
        this.#call(part, path, at);
        return this.#beginUser();
      case "inlineData":
      case "fileData": {
        const media = readMedia(part, path);
        if (this.#result === undefined) return this.#userSays(media);
        return void (this.#result.parts as Part[]).push(media);
      }
      case "text":
        return this.#userSays(readText(part, path));
      default:
        if (!hasContent(part)) throw invalid(path, 'must have content, such as {"text":"Hi"}');
        return this.#userSays({ type: "opaque", dialect: "gemini", raw: part });
    }
  }

  #userSays(part: Part): void {
    this.#result = undefined;
    // A text without characters stands for nothing.
    if (part.type === "text" && part.text === "") return;
    if (this.#message === undefined) {
      this.#message = { type: "message", role: "user", parts: [] };
      this.#add(this.#message);
    }
    (this.#message.parts as Part[]).push(part);
  }

  #addResult(part: Fields, path: string): void {
    const { functionResponse, thought: _, thoughtSignature: __, ...others } = part;
    const where = `${path}.functionResponse`;
    const fields = camelFieldsAt(functionResponse, where, "an object with `name` and `response`");
    const { id, name, response: _response, parts: _parts, ...rest } = fields;
    const { parts, isError } = readResponse(fields, where, this.#reports.repair);
    const called = filledText(optionalTextAt(name, `${where}.name`));
    const item: Writable<Result> = {
      type: "result",
      call: "",
      kind: "function",
      ...(called !== undefined && { name: called }),
      parts,
      ...(isError && { isError }),
      ...geminiExtra(given({ ...others, ...rest })),
    };
    this.#message = undefined;
    this.#result = item;
    const named = filledText(optionalTextAt(id, `${where}.id`));
    this.#results.push({ item, id: named, at: this.items.length });
    this.#add(item);
  }

  #modelPart(part: Fields, path: string, at: number): void {
    const isThought = part.thought === true || part.thought === "true";
    const signature = filledText(part.thoughtSignature);
    switch (partKind(part)) {
      case "functionCall":
        return this.#call(part, path, at);
      case "functionResponse":
        this.#beginUser();
        return this.#addResult(part, path);
      case "text": {
        const text = readText(part, path);
        if (isThought) this.#think(text.text);
        else this.#say(text);
        break;
      }
      case "inlineData":
      case "fileData":
        this.#say(readMedia(part, path));
        break;
      default:
        if (hasContent(part)) return this.#work(part);
    }
    if (signature !== undefined) this.#sign(signature, isThought ? "thought" : "text");
  }

  /** Text that came in pieces is one text again. */
  #say(part: Part): void {
    if (part.type === "text" && part.text === "" && part.extra === undefined) return;
    const last = this.#said.at(-1)?.item;
    if (last?.type !== "message")
      return this.#hold({ type: "message", role: "assistant", parts: [part] });
    const parts = last.parts as Part[];
    const before = parts.at(-1);
    const isMore = before?.type === "text" && part.type === "text";
    if (isMore && before.extra === undefined && part.extra === undefined)
      parts[parts.length - 1] = { type: "text", text: before.text + part.text };
    else parts.push(part);
  }

  #think(text: string): void {
    if (text === "") return;
    const last = this.#said.at(-1)?.item;
    if (last?.type === "reasoning" && last.encrypted === undefined)
      last.summary = [`${last.summary[0] ?? ""}${text}`];
    else this.#hold({ type: "reasoning", summary: [text], content: [] });
  }

  #hold(item: Writable<Message> | Writable<Reasoning>): void {
    this.#said.push({ item, at: this.#at });
  }

  /** Takes the signature of a text, a thought or a work of the provider. */
  #sign(signature: string, on: SignedPart): void {
    if (isDummy(signature)) return;
    const lines = sealsIn(signature);
    if (lines === undefined) return this.#bind(signature, on);
    if (on === "next") return this.#endSaid(lines);
    const own = lines.filter(({ place }) => place === "part");
    for (const { text } of own) this.#bind(text, on);
    if (own.length < lines.length) this.#endSaid(lines.filter(({ place }) => place !== "part"));
  }

  /** Adds a signature behind the part that it belongs to, or to the thought itself. */
  #bind(encrypted: string, on: SignedPart): void {
    const last = this.#said.at(-1)?.item;
    if (on === "thought" && last?.type === "reasoning" && last.encrypted === undefined)
      return void Object.assign(last, { encrypted, ...signatureExtra(on) });
    this.#hold({ type: "reasoning", summary: [], content: [], encrypted, ...signatureExtra(on) });
  }

  #call(part: Fields, path: string, at: number): void {
    const { functionCall, thought: _, thoughtSignature, ...rest } = part;
    const where = `${path}.functionCall`;
    const { id, name, args, ...more } = camelFieldsAt(
      functionCall,
      where,
      "an object with `name` and `args`",
    );
    const called = filledTextAt(name, `${where}.name`);
    const signature = filledText(thoughtSignature);
    if (signature !== undefined) this.#sign(signature, "next");
    this.#endSaid([]);
    const call: Call = {
      type: "call",
      id: filledText(optionalTextAt(id, `${where}.id`)) ?? this.#newId(at, called),
      kind: "function",
      name: clientName(called),
      input: args === undefined || args === null ? "{}" : inputText(args),
      ...geminiExtra(given(rest)),
    };
    for (const [key, value] of Object.entries(given(more)))
      if (value !== false) this.#reports.drop(`${where}.${key}`, NO_FIELD);
    this.#ids.add(call.id);
    this.#calls.push(call);
    this.#add(call);
  }

  /** An id that no call has so far. */
  #newId(part: number, name: string): string {
    let id = callId(this.#at, part, name);
    while (this.#ids.has(id)) id += "_";
    return id;
  }

  /** Adds a part about the provider's own work. Its signature is that of reasoning, which may be sealed. */
  #work(part: Fields): void {
    const { thoughtSignature, ...raw } = part;
    const signature = filledText(thoughtSignature);
    if (signature !== undefined) this.#sign(signature, "next");
    this.#endSaid([]);
    this.#add({ type: "opaque", dialect: "gemini", raw });
  }

  /** Adds texts and thoughts of the model, with sealed reasoning in its places. */
  #endSaid(lines: readonly SealLine[]): void {
    const said = this.#said;
    this.#said = [];
    const sealed = lines.map(({ text, place }) => ({ item: reasoningOf(text), place }));
    const kept = withWords(
      said,
      sealed.map(({ item }) => item),
    );
    for (const { item, place } of sealed) if (place === "before") this.#add(item);
    for (const { item, at } of kept) this.#add(item, at);
    for (const { item, place } of sealed) if (place !== "before") this.#add(item);
  }

  #beginUser(): void {
    if (this.#said.length > 0) this.#endSaid([]);
  }

  /** Pairs the results of a turn of the user with the calls before it. Those of no call are the user's words. */
  #endResults(): void {
    const strays = this.#results.length > 0 ? pair(this.#results, this.#calls, this.#ids) : [];
    for (const { item, at } of strays) {
      this.items[at] = { type: "message", role: "user", parts: [strayHeading, ...item.parts] };
      const path = `contents[${this.places[at]}]`;
      this.#reports.change(path, "no call has the id of this result, so it is sent as text");
    }
    this.#calls = [];
    this.#results = [];
  }

  #add(item: Item, at = this.#at): void {
    this.items.push(item);
    this.places.push(at);
  }
}

const hasContent = (part: Fields): boolean =>
  Object.keys(part).some((key) => part[key] != null && !beside.has(key));

const emptyText: Part = { type: "text", text: "" };
const strayHeading: Part = { type: "text", text: "The result of an earlier call:" };
const NO_FIELD = "the API has no such field, and it is not known here";

function isModelRole(role: unknown, path: string, repair: Repair): boolean {
  const word = role === undefined || role === null ? "" : textAt(role, path).toLowerCase();
  if (word === "")
    repair(path, "Vertex AI requires a role, and a content without one is the user's");
  else if (word !== "user" && word !== "model" && word !== "function")
    throw invalid(
      path,
      "must be `user` or `model`; instructions belong into `systemInstruction`, and results into a content of the user",
    );
  return word === "model";
}

function readText(part: Fields, path: string): Extract<Part, { type: "text" }> {
  const { text, thought: _, thoughtSignature: __, ...rest } = part;
  return { type: "text", text: textAt(text, `${path}.text`), ...geminiExtra(given(rest)) };
}

const reasoningOf = (encrypted: string): Writable<Reasoning> => ({
  type: "reasoning",
  summary: [],
  content: [],
  encrypted,
});

type Said = { readonly item: Writable<Message> | Writable<Reasoning>; readonly at: number };

/** Joins thoughts that the client gives back in words with their seals. Some seals hold the same words. */
function withWords(said: readonly Said[], sealed: readonly Writable<Reasoning>[]): readonly Said[] {
  const words = said.flatMap(({ item }) =>
    item.type === "reasoning" && item.encrypted === undefined ? item.summary : [],
  );
  if (words.length === 0) return said;
  const opened = sealed.map((item) => ({ item, seal: readSeal(item.encrypted) }));
  const first = opened.find(({ seal }) => seal !== undefined && seal.hidden === undefined);
  if (first === undefined) return said;
  const isHeld = opened.some(({ seal }) => seal?.content?.some((text) => text !== ""));
  if (!isHeld) first.item.summary = words;
  return said.filter(({ item }) => item.type !== "reasoning" || item.encrypted !== undefined);
}

/** An id that is the same in every later request, because clients send all earlier contents again. */
function callId(content: number, part: number, name: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at++)
    hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193) >>> 0;
  return `call_${content}_${part}_${hash.toString(36)}`;
}

/**
 * Finds the calls of results: by id; then, for results without a known id, by the name of the
 * function in order; then by position, if as many calls are left as results. Returns those of no call.
 */
function pair(
  results: readonly OpenResult[],
  calls: readonly Call[],
  ids: ReadonlySet<string>,
): readonly OpenResult[] {
  const answered = new Set<string>();
  const unknown: OpenResult[] = [];
  for (const result of results) {
    if (result.id === undefined || !ids.has(result.id)) unknown.push(result);
    else answered.add((result.item.call = result.id));
  }
  if (unknown.length === 0) return unknown;
  const open = new Map<string, Call[]>();
  for (const call of calls) {
    if (answered.has(call.id)) continue;
    const same = open.get(call.name);
    if (same === undefined) open.set(call.name, [call]);
    else same.push(call);
  }
  for (const same of open.values()) same.reverse();
  const rest: OpenResult[] = [];
  for (const result of unknown) {
    const call = result.item.name === undefined ? undefined : open.get(result.item.name)?.pop();
    if (call === undefined) rest.push(result);
    else answered.add((result.item.call = call.id));
  }
  const left = calls.filter(({ id }) => !answered.has(id));
  if (left.length !== rest.length) return rest;
  for (const [at, { id }] of left.entries()) (rest[at] as OpenResult).item.call = id;
  return [];
}
