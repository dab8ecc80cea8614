/** Reads the parts of one candidate of an answer. */

import { isFields } from "../../json/json.ts";
import { exactJsonOf } from "../../json/exact.ts";
import type { Emit } from "../../stream/stage.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import type { ReadContext } from "../dialect.ts";
import { malformed, nameless, worthless } from "../errors/upstream-error.ts";
import { fieldsOf, filledText, given } from "../shared/loose.ts";
import { entriesOf, PartialArgs } from "./partial-args.ts";
import { readCitations } from "./read-grounding.ts";
import { readLogprobs } from "./read-counts.ts";
import {
  fieldIn,
  finishMeaning,
  geminiExtra,
  listed,
  partKind,
  signatureExtra,
  type SignedPart,
} from "./wire.ts";

type Event = TurnEvent<UpstreamName>;

/** An event that waits for the end. `isOfCall`: it is left out if the answer was cut off. */
type Held = { readonly event: Event; readonly isOfCall: boolean };

/** The first part of a call. */
type Called = {
  readonly name: string;
  readonly id: unknown;
  readonly part: Fields;
  readonly signature: string | undefined;
};

/** Fields of a candidate that have a place in our events. */
const known = new Set([
  "content",
  "finishReason",
  "finishMessage",
  "index",
  "logprobsResult",
  "tokenCount",
  "continuationToken",
]);

/**
 * One candidate. Clients run a call as soon as it is complete, and the API may still say that the
 * answer is malformed or was cut off: so whole calls, and all that follows them, wait for the end.
 */
export class CandidateReader {
  readonly choice: number;
  readonly #context: ReadContext;
  readonly #emit: Emit<Event>;
  #open: "text" | "thought" | undefined;
  /** The signature of the open text. */
  #signature: string | undefined;
  #held: Held[] | undefined;
  #calls = 0;
  #items = 0;
  /** The call whose arguments come in pieces. */
  #growing: (Called & { readonly args: PartialArgs }) | undefined;
  /** The visible text so far, and where its open part began. */
  #text = "";
  #textAt = 0;
  #hasThoughts = false;
  #isBlank = true;
  #hasEnded = false;
  readonly #extra: Record<string, unknown> = {};
  #reason: string | undefined;
  #message: string | undefined;
  token: string | undefined;

  constructor(choice: number, context: ReadContext, emit: Emit<Event>) {
    this.choice = choice;
    this.#context = context;
    this.#emit = emit;
  }

  /** True if the model thought, and said and did nothing else. */
  get isThoughtOnly(): boolean {
    const hasWork = this.#calls + this.#items > 0 || this.#growing !== undefined;
    return this.#hasThoughts && this.#text === "" && !hasWork;
  }

  /** Reads a candidate of a chunk. Returns the fault that ends the answer, if it is worthless. */
  read(raw: Fields): Fault | undefined {
    const logprobs = readLogprobs(raw.logprobsResult);
    const parts = listed(fieldsOf(raw.content)?.parts).map((part) => fieldsOf(part) ?? {});
    const weighed = logprobs && parts.findLast((part) => typeof part.text === "string");
    for (const part of parts) {
      const fault = this.#part(part, part === weighed ? logprobs : undefined);
      if (fault !== undefined) return fault;
    }
    if (logprobs !== undefined && weighed === undefined)
      this.#pass({ type: "text-delta", choice: this.choice, text: "", logprobs });
    for (const key in raw) if (!known.has(key) && raw[key] != null) this.#extra[key] = raw[key];
    // Older servers send a reason with every chunk; only the last counts.
    this.#reason = filledText(raw.finishReason) ?? this.#reason;
    this.#message = filledText(raw.finishMessage) ?? this.#message;
    this.token = filledText(raw.continuationToken) ?? this.token;
    return undefined;
  }

  /**
   * Ends the candidate with the reason that came last. `isComplete`: without a reason, the rest of the answer
   * shows that it is complete. Emits no end if the answer was cut off. Returns the fault of a
   * worthless answer.
   */
  end(isComplete: boolean): Fault | undefined {
    if (this.#hasEnded) return undefined;
    const reason = this.#reason ?? (isComplete ? "STOP" : undefined);
    if (reason === undefined) return undefined;
    this.#endGrowing();
    const meaning = finishMeaning(reason);
    if (meaning === "fail") return worthlessEnd(reason, this.#message);
    if (meaning === undefined && (this.#text === "" || this.#calls > 0))
      return worthlessEnd(reason, this.#message);
    if (this.#isBlank && meaning === "end") {
      if (this.#context.retriesBlank === true) return worthless("ended its answer without content");
      const reason = "the upstream ended its answer without content";
      this.#context.report?.({ path: "output", action: "noticed", reason });
    }
    this.#hasEnded = true;
    const isPaused = meaning === "pause" && this.token !== undefined;
    const isWhole = meaning === "end" || isPaused;
    this.#cite();
    this.#close();
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const { event, isOfCall } of held) if (isWhole || !isOfCall) this.#emit(event);
    const { choice } = this;
    if (Object.keys(this.#extra).length > 0)
      this.#emit({
        type: "vendor-extra",
        choice,
        of: "choice",
        extra: { dialect: "gemini", fields: this.#extra },
      });
    const isPlain = meaning === "end";
    const fields = given({
      finishReason: isPlain || meaning === "length" ? undefined : reason,
      finishMessage: isPlain ? undefined : this.#message,
      continuationToken: this.token,
    });
    const stop =
      meaning === "end"
        ? this.#calls > 0
          ? "calls"
          : "end"
        : meaning === "pause" && !isPaused
          ? "length"
          : (meaning ?? "end");
    this.#emit({ type: "turn-end", choice, stop, ...geminiExtra(fields) });
    return undefined;
  }

  #part(part: Fields, logprobs: readonly unknown[] | undefined): Fault | undefined {
    const { choice } = this;
    const signature = filledText(fieldIn(part, "thoughtSignature", "thought_signature"));
    const kind = partKind(part);
    if (kind === "functionCall")
      return this.#call(fieldsOf(part.functionCall) ?? {}, signature, part);
    if (kind === "text" || (kind === undefined && signature !== undefined)) {
      const text = filledText(part.text) ?? "";
      if (part.thought === true || part.thought === "true") {
        this.#begin("thought");
        this.#hasThoughts = true;
        if (text !== "")
          this.#pass({ type: "reasoning-delta", choice, text, of: "summary", part: 0 });
        if (signature !== undefined) this.#sign(signature, "thought");
        return undefined;
      }
      if (text !== "" || logprobs !== undefined) {
        this.#begin("text");
        this.#text += text;
        this.#pass({ type: "text-delta", choice, text, ...(logprobs && { logprobs }) });
      }
      // The text may go on, and one text has one signature: that of its last part.
      if (signature !== undefined && this.#open === "text") this.#signature = signature;
      else if (signature !== undefined) {
        this.#close();
        this.#sign(signature, "text");
      }
      return undefined;
    }
    // An empty object is how some servers fill a chunk.
    const { thoughtSignature: _, thought_signature: __, ...raw } = part;
    if (Object.keys(raw).length === 0) return undefined;
    this.#close(signature);
    const image = kind === "inlineData" ? imageItem(fieldsOf(part.inlineData) ?? {}) : undefined;
    const item = this.#items++;
    if (image === undefined) this.#pass({ type: "item-end", choice, item, dialect: "gemini", raw });
    else {
      const id = this.#context.newId("ig");
      this.#pass({ type: "item-end", choice, item, dialect: "responses", raw: { id, ...image } });
    }
    return undefined;
  }

  /** Reads a call, or a piece of one. */
  #call(raw: Fields, signature: string | undefined, part: Fields): Fault | undefined {
    const name = filledText(raw.name);
    const isPiece = raw.partialArgs !== undefined || raw.willContinue === true;
    if (name === undefined && this.#growing !== undefined) return this.#grow(raw);
    if (name === undefined) return isPiece || Object.keys(raw).length > 0 ? nameless() : undefined;
    this.#endGrowing();
    const called = { name, id: raw.id, part, signature };
    if (isPiece) {
      this.#growing = { ...called, args: new PartialArgs() };
      return this.#grow(raw);
    }
    const input = inputOf(raw.args);
    if (input === undefined)
      return malformed(
        `called \`${name.slice(0, 100)}\` with arguments that are not a JSON object`,
      );
    this.#add(called, input);
    return undefined;
  }

  #add({ name, id: given, part, signature }: Called, input: string): void {
    this.#close(signature, true);
    const { choice } = this;
    const call = this.#calls++;
    const id = filledText(given) ?? this.#context.newId("call");
    const { functionCall: _, thoughtSignature: __, thought_signature: ___, ...beside } = part;
    const more = geminiExtra(beside);
    const start = { choice, call, id, kind: "function", name: upstreamName(name), ...more };
    this.#pass({ type: "call-start", ...start }, true);
    this.#pass({ type: "call-delta", choice, call, text: input }, true);
    this.#pass({ type: "call-end", choice, call, complete: true }, true);
  }

  #grow(raw: Fields): Fault | undefined {
    for (const entry of entriesOf(raw))
      if (this.#growing?.args.add(entry) === false)
        return malformed("sent pieces of arguments that do not fit together");
    if (raw.willContinue !== true) this.#endGrowing();
    return undefined;
  }

  #endGrowing(): void {
    const growing = this.#growing;
    this.#growing = undefined;
    if (growing !== undefined) this.#add(growing, growing.args.end());
  }

  #begin(block: "text" | "thought"): void {
    if (this.#open === block) return;
    this.#close();
    this.#open = block;
    if (block === "text") this.#textAt = this.#text.length;
  }

  /**
   * Closes the open block before a part with this signature. A thought and the signature of the
   * part behind it are one piece of reasoning.
   */
  #close(next?: string, isOfCall = false): void {
    const { choice } = this;
    const open = this.#open;
    this.#open = undefined;
    if (open === "thought") {
      if (next !== undefined) return this.#sign(next, "next", isOfCall);
      // The mark shows that a model of this API thought it, and takes it back.
      this.#pass({ type: "reasoning-end", choice, ...signatureExtra("thought") });
    } else if (open === "text") {
      this.#pass({ type: "text-end", choice });
      if (this.#signature !== undefined) this.#sign(this.#signature, "text");
      this.#signature = undefined;
    }
    if (next !== undefined) this.#sign(next, "next", isOfCall);
  }

  #sign(encrypted: string, on: SignedPart, isOfCall = false): void {
    const { choice } = this;
    if (on === "thought") this.#open = undefined;
    this.#pass({ type: "reasoning-end", choice, encrypted, ...signatureExtra(on) }, isOfCall);
  }

  /** Adds the sources of the text, which come late. */
  #cite(): void {
    if (this.#open !== "text") return;
    const from = this.#textAt;
    for (const annotation of readCitations(this.#extra, this.#text, from))
      this.#pass({ type: "text-note", choice: this.choice, annotation });
  }

  /** Emits an event, or keeps it for the end: from the first whole call on. */
  #pass(event: Event, isOfCall = false): void {
    this.#isBlank = false;
    if (isOfCall) this.#held ??= [];
    if (this.#held === undefined) this.#emit(event);
    else this.#held.push({ event, isOfCall });
  }
}

/** The arguments of a call as JSON text; undefined if they are not an object. */
function inputOf(args: unknown): string | undefined {
  if (args === undefined || args === null || args === "") return "{}";
  if (isFields(args)) return JSON.stringify(args);
  return typeof args === "string" && isFields(exactJsonOf(args)) ? args : undefined;
}

/** An image that the model made, as the item of the dialect that has one. */
function imageItem({ mimeType, data }: Fields): Fields | undefined {
  const [, format] = /^image\/([\w.+-]+)/.exec(filledText(mimeType) ?? "") ?? [];
  return format === undefined || filledText(data) === undefined
    ? undefined
    : { type: "image_generation_call", status: "completed", result: data, output_format: format };
}

const worthlessEnd = (reason: string, message: string | undefined): Fault =>
  worthless(
    `ended its answer with \`${reason.slice(0, 100)}\`${message === undefined ? "" : ` (${message.slice(0, 500)})`}`,
  );
