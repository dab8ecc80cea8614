/** The parts of one choice as Gemini's API has them, in JSON text. */

import { isFields, jsonOf } from "../../json/json.ts";
import { JsonScanner } from "../../json/scan.ts";
import type { ReasoningEnd, StopReason } from "../../turn/event.ts";
import type { Call, Extra, Fields } from "../../turn/turn.ts";
import { isSeal } from "../../turn/seal.ts";
import { filledText } from "../shared/loose.ts";
import { isReportable, losePause, type OnLoss } from "../shared/losses.ts";
import { Grounding } from "./write-grounding.ts";
import { writeFinish, writeLogprobs } from "./write-fields.ts";
import { ownGeminiExtra, signedPart } from "./wire.ts";
import { sealedSignature, sealLine } from "./signature.ts";

/** A call whose arguments may still grow. */
export type HeldCall = Pick<Call, "id" | "name" | "extra"> & {
  input: string;
  /** False until its end has come. */
  isWhole: boolean;
};

/** The signatures since the last call: seals of the gateway, and one of the model itself. */
type Signatures = { seals: string[]; own?: string | undefined };

type Entry =
  | {
      readonly type: "text";
      text: string;
      readonly isThought: boolean;
      signature?: string | undefined;
    }
  | { readonly type: "call"; readonly call: HeldCall; readonly signatures: Signatures }
  | { readonly type: "part"; readonly part: Fields };

type Reporter = {
  readonly lose: OnLoss;
  /** Receives the reason of a sentence that was added for the client. */
  readonly explain: (reason: string, choice: number) => void;
};

/** Characters at which some readers break lines, and that JSON leaves as they are. */
export const breaksLines = /[\u0085\u2028\u2029]/;
const lineBreaks = new RegExp(breaksLines, "g");

/** JSON text on one line for all readers. */
export const onOneLine = (json: string): string =>
  json.replace(lineBreaks, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);

export const lineOf = (value: unknown): string => onOneLine(JSON.stringify(value));

/** The text of an answer that its provider stopped before the first word. */
const STOPPED = "The provider's content filter stopped the answer.";

/** Follows one choice and holds the parts that the client has not been sent. */
export class Candidate {
  readonly index: number;
  readonly #reporter: Reporter;
  readonly grounding = new Grounding();
  readonly #calls = new Map<number, HeldCall>();
  readonly #entries: Entry[] = [];
  #signatures: Signatures = { seals: [] };
  /** True if text has come since the last call. */
  #hasText = false;
  #logprobs: unknown[] | undefined;
  #extra: Fields | undefined;
  #isRefused = false;
  /** The paragraph of reasoning that came last. */
  #paragraph: string | undefined;
  /** True from the first call on: clients keep the order of the parts that they are sent. */
  isHolding: boolean;
  /** The end of a chunk after its only text, for the writer. */
  textTail: string | undefined;
  thoughtTail: string | undefined;
  /** The verdict on a prompt that was blocked: a field of the whole answer. */
  promptFeedback: unknown;
  /** The members of a chunk's candidate for the end of this choice; undefined until it has come. */
  ending: string | undefined;

  /** `isHolding`: nothing is sent before the end. */
  constructor(index: number, isHolding: boolean, reporter: Reporter) {
    this.index = index;
    this.isHolding = isHolding;
    this.#reporter = reporter;
  }

  /** Notes visible text, and keeps it if it cannot be sent at once. */
  say(text: string): void {
    this.#hasText = true;
    this.grounding.add(text);
    if (this.isHolding) this.#addText(text, false);
  }

  refuse(text: string): void {
    this.#isRefused = true;
    this.grounding.beginPart();
    this.say(text);
    this.grounding.beginPart();
  }

  think(text: string): void {
    if (this.isHolding) this.#addText(text, true);
  }

  /** True if a delta of reasoning begins another paragraph than the one before. */
  isNextParagraph(of: string, part: number): boolean {
    const paragraph = `${of}${part}`;
    const isNext = this.#paragraph !== undefined && this.#paragraph !== paragraph;
    this.#paragraph = paragraph;
    return isNext;
  }

  /**
   * Takes the signature at the end of reasoning. Returns its part if it belongs to an earlier part
   * and can be sent at once; other signatures wait for the next call.
   */
  sign(
    { encrypted, extra }: Pick<ReasoningEnd, "encrypted" | "extra">,
    showsThoughts: boolean,
  ): string | undefined {
    this.#paragraph = undefined;
    if (encrypted === undefined) return undefined;
    const on = signedPart(extra);
    if (on === "next" || (on === "thought" && !showsThoughts)) {
      if (!isSeal(encrypted)) this.#signatures.own = encrypted;
      else this.#signatures.seals.push(sealLine(encrypted, this.#hasText ? "behind" : "before"));
      return undefined;
    }
    const signature = isSeal(encrypted)
      ? sealedSignature([sealLine(encrypted, "part")])
      : encrypted;
    return this.#put(signature, on === "thought");
  }

  #put(signature: string, isThought: boolean): string | undefined {
    if (!this.isHolding) return textPart("", isThought, signature);
    this.#addText("", isThought, signature);
    return undefined;
  }

  #addText(text: string, isThought: boolean, signature?: string): void {
    const last = this.#entries.at(-1);
    if (last?.type === "text" && last.isThought === isThought && last.signature === undefined) {
      last.text += text;
      last.signature = signature;
    } else this.#entries.push({ type: "text", text, isThought, signature });
  }

  beginCall(number: number, { id, name, extra }: Pick<Call, "id" | "name" | "extra">): HeldCall {
    const call: HeldCall = { id, name, extra, input: "", isWhole: false };
    this.#calls.set(number, call);
    this.#entries.push({ type: "call", call, signatures: this.#signatures });
    this.#signatures = { seals: [] };
    this.#hasText = false;
    this.isHolding = true;
    return call;
  }

  call(number: number): HeldCall | undefined {
    return this.#calls.get(number);
  }

  /** Takes an item of the provider's own work. Returns the part for it if it can be sent at once. */
  item(dialect: string, raw: Fields): string | undefined {
    const part = dialect === "gemini" ? this.#signed(raw) : imageOf(raw);
    if (part === undefined) this.#reporter.lose(`${String(raw.type)} items`, this.index);
    else if (!this.isHolding) return lineOf(part);
    else this.#entries.push({ type: "part", part });
    return undefined;
  }

  /** A part of the model gets its signature back, if that came before it, or the seal of it. */
  #signed(part: Fields): Fields {
    if (part.thoughtSignature !== undefined) return part;
    const thoughtSignature = signatureOf(this.#signatures);
    if (thoughtSignature === undefined) return part;
    this.#signatures = { seals: [] };
    this.#hasText = false;
    return { ...part, thoughtSignature };
  }

  /** Takes log-probabilities of a text. Returns the member for them if they can be sent at once. */
  weigh(logprobs: readonly unknown[]): string {
    if (!this.isHolding) return membersOf({ logprobsResult: writeLogprobs(logprobs) });
    for (const one of logprobs) (this.#logprobs ??= []).push(one);
    return "";
  }

  cite(annotation: unknown): void {
    if (!this.grounding.cite(annotation)) this.#reporter.lose("a citation", this.index);
  }

  /** Takes fields that the gateway does not understand. */
  addExtra({ dialect, fields }: Extra, mayBeNoise: boolean): void {
    if (dialect === "gemini") this.#extra = { ...this.#extra, ...fields };
    else
      for (const [key, value] of Object.entries(fields))
        if (!mayBeNoise || isReportable(key, value)) this.#reporter.lose(`\`${key}\``, this.index);
  }

  /**
   * Ends the choice. Clients run every call that they see, whatever the reason of the end: they are
   * written only if the answer is whole and the arguments of all calls are objects.
   */
  finish(stop: StopReason, extra: Extra | undefined): void {
    const { lose, explain } = this.#reporter;
    const { index } = this;
    this.isHolding = true;
    const calls = [...this.#calls.values()];
    const isWhole = stop === "end" || stop === "calls";
    const isBroken = calls.some((call) => !call.isWhole || isBrokenOff(call.input));
    const wrong =
      isWhole && !isBroken ? calls.find(({ input }) => argsOf(input) === undefined) : undefined;
    if (isBroken) lose("a call that was cut off", index);
    else if (wrong !== undefined) lose("a call whose arguments are not an object", index);
    else if (!isWhole && calls.length > 0) lose("the calls of an answer that was cut off", index);
    const refused = this.#isRefused && stop === "end" ? "filter" : stop;
    const told = isBroken && isWhole ? "length" : refused;
    const end = writeFinish(told, extra, wrong?.name);
    ({ promptFeedback: this.promptFeedback } = ownGeminiExtra(extra));
    if (end.finishReason !== "CONTINUATION") losePause({ choice: index, stop }, lose);
    if (told === "filter" && this.grounding.isBlank()) {
      this.say(filledText(end.finishMessage) ?? STOPPED);
      explain("a sentence says so; without text, clients ask again and again", index);
    }
    const members = {
      ...end,
      index,
      ...(this.#logprobs && { logprobsResult: writeLogprobs(this.#logprobs) }),
      ...this.grounding.metadata(),
      ...this.#extra,
    };
    this.ending = `${contentOf(this.#parts(isWhole && !isBroken && wrong === undefined))}${membersOf(members)}`;
  }

  /** The parts that are held, with their calls or without. Text around a call that is left out is joined. */
  #parts(hasCalls: boolean): string {
    const rest: Signatures = { seals: [] };
    const entries = this.#entries.splice(0);
    for (const entry of entries) {
      if (entry.type === "text") this.#addText(entry.text, entry.isThought, entry.signature);
      else if (entry.type !== "call" || hasCalls) this.#entries.push(entry);
      else add(rest, entry.signatures);
    }
    add(rest, this.#signatures);
    const signature = signatureOf(rest);
    if (signature !== undefined || this.#entries.length === 0) this.#addText("", false, signature);
    return this.#entries.map(writeEntry).join(",");
  }
}

function add(to: Signatures, { seals, own }: Signatures): void {
  for (const seal of seals) to.seals.push(seal);
  to.own = own ?? to.own;
}

/** A signature of the model itself is written as it came, unless there are seals beside it. */
function signatureOf({ seals, own }: Signatures): string | undefined {
  if (seals.length === 0) return own;
  return sealedSignature(own === undefined ? seals : [...seals, sealLine(own, "behind")]);
}

function writeEntry(entry: Entry): string {
  if (entry.type === "part") return lineOf(entry.part);
  if (entry.type === "text") return textPart(entry.text, entry.isThought, entry.signature);
  const { call, signatures } = entry;
  const { id, name, input, extra } = call;
  const named = lineOf({ id, name }).slice(0, -1);
  const thoughtSignature = signatureOf(signatures);
  const more = membersOf({ ...ownGeminiExtra(extra), thoughtSignature });
  return `{"functionCall":${named},"args":${argsOf(input)}}${more}}`;
}

const textPart = (text: string, isThought: boolean, signature?: string): string =>
  lineOf({ text, ...(isThought && { thought: true }), thoughtSignature: signature });

/** The content of a candidate with these parts, without the brace that closes the candidate. */
export const contentOf = (parts: string): string =>
  `{"content":{"parts":[${parts}],"role":"model"}`;

/** The members of an object, to be written after others. */
export function membersOf(fields: Fields): string {
  const members = lineOf(fields).slice(1, -1);
  return members === "" ? "" : `,${members}`;
}

/** The arguments of a call as JSON on one line, as the model wrote them; undefined if they are not an object. */
function argsOf(input: string): string | undefined {
  const value = input.trim() === "" ? {} : jsonOf(input);
  if (!isFields(value)) return value === null ? "{}" : undefined;
  // Line breaks can only be between the values.
  return input.trim() === "" ? "{}" : onOneLine(input.replaceAll(/[\r\n]/g, " "));
}

function isBrokenOff(input: string): boolean {
  const scanner = new JsonScanner();
  scanner.follow(input);
  return scanner.isOpen();
}

/** An image that the model made, as the item of the dialect that has one. */
function imageOf({ type, result, output_format: format }: Fields): Fields | undefined {
  const data = filledText(result);
  if (type !== "image_generation_call" || data === undefined) return undefined;
  const mimeType = `image/${filledText(format) ?? "png"}`;
  return /^https?:/.test(data)
    ? { fileData: { mimeType, fileUri: data } }
    : { inlineData: { mimeType, data } };
}
