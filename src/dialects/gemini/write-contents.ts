/** Writes conversations in the order that Gemini's API requires. */

import { exactJsonOf } from "../../json/exact.ts";
import { isFields } from "../../json/json.ts";
import { append } from "../../turn/append.ts";
import type { Decision } from "../../turn/decision.ts";
import { isBySystem, isOfModelTurn } from "../../turn/item.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type {
  Call,
  Fields,
  Item,
  Message,
  Opaque,
  Part,
  Reasoning,
  Result,
  Turn,
} from "../../turn/turn.ts";
import { itemNotes, leftOutText, reportForeign, type OnReason } from "../shared/content.ts";
import { DUMMY, sealsIn } from "./signature.ts";
import { writePart } from "./write-part.ts";
import { ownGeminiExtra, partKind, signedPart } from "./wire.ts";

type Role = "user" | "model";
type Content = { readonly role: Role; readonly parts: Fields[] };

export type WrittenContents = {
  /** The parts of the instructions. */
  readonly system: readonly Fields[];
  readonly contents: readonly Content[];
  readonly decisions: Decision[];
};

const CONTINUE = "Continue.";

/** Writes the conversation: instructions apart, neighbours of one role merged, results first. */
export function writeContents(turn: Turn<UpstreamName>, profile: Profile): WrittenContents {
  const notes = itemNotes(turn);
  const writer = new ContentsWriter(turn, profile, notes.add);
  const system: Fields[] = [];
  let isAtStart = true;
  for (const [at, item] of turn.items.entries()) {
    notes.at = at;
    isAtStart &&= isBySystem(item);
    if (isAtStart && item.type === "message") append(system, writer.system(item));
    else writer.add(item);
  }
  return { system, contents: writer.end(), decisions: notes.decisions };
}

class ContentsWriter {
  readonly #own: boolean;
  readonly #profile: Profile;
  readonly #note: OnReason;
  readonly #contents: Content[] = [];
  /** The names of the functions of calls, by the calls' ids: results repeat them. */
  readonly #names = new Map<string, string>();
  /** Media of results, for models that take none in results: they come behind all of these. */
  #media: Fields[] = [];
  /** The signature of the next call, or other part that is no text. */
  #signature: string | undefined;
  /** The signature of the model's next text: some clients put all reasoning first. */
  #textSignature: string | undefined;

  constructor({ dialect }: Turn<UpstreamName>, profile: Profile, note: OnReason) {
    this.#own = dialect === "gemini";
    this.#profile = profile;
    this.#note = note;
  }

  system(item: Message): Fields[] {
    this.#reportLost(item);
    return this.#parts(item.parts);
  }

  add(item: Item<UpstreamName>): void {
    if (!isOfModelTurn(item)) this.#endTurn();
    if (item.type !== "result") this.#endResults();
    switch (item.type) {
      case "message":
        this.#reportLost(item);
        if (item.role !== "assistant") return this.#push("user", this.#parts(item.parts));
        return this.#push("model", this.#parts(item.parts).map(this.#signedText));
      case "call":
        this.#reportLost(item);
        this.#names.set(item.id, item.name);
        return this.#push("model", [this.#signed(this.#call(item))]);
      case "result":
        this.#reportLost(item);
        return this.#push("user", [this.#result(item)]);
      case "reasoning": {
        const thought = writeThought(item, this.#own);
        if (thought === undefined) return this.#note(lostReasoning(this.#profile));
        this.#push("model", thought.parts);
        const { signature } = thought;
        if (signature === undefined || this.#profile.history?.signatures === false) return;
        if (signedPart(item.extra) === "text") return this.#signText(signature);
        this.#signature = signature;
        return;
      }
      case "opaque":
        return this.#work(item);
      default:
        item satisfies never;
    }
  }

  /** The contents as they are sent. */
  end(): readonly Content[] {
    this.#endTurn();
    this.#endResults();
    const contents = this.#contents;
    if (contents.at(-1)?.role !== "user") {
      const isEmpty = contents.length === 0;
      this.#note(
        isEmpty
          ? "the conversation is empty, so the user is taken to have asked"
          : "the model answers the user, so the user is taken to have asked",
        "repaired",
      );
      this.#push("user", [{ text: CONTINUE }]);
    }
    this.#signSteps();
    return contents;
  }

  #push(role: Role, given: readonly Fields[]): void {
    const parts = this.#profile.history?.signatures === false ? given.flatMap(unsigned) : given;
    if (parts.length === 0) return;
    const last = this.#contents.at(-1);
    if (last?.role === role) {
      append(last.parts, parts);
      return;
    }
    if (last === undefined && role === "model") {
      this.#note("a conversation must begin with a message of the user", "repaired");
      this.#contents.push({ role: "user", parts: [{ text: CONTINUE }] });
    }
    this.#contents.push({ role, parts: [...parts] });
  }

  /** A signature belongs to the text before it, or else to the next. */
  #signText(thoughtSignature: string): void {
    const last = this.#contents.at(-1);
    const part = last?.role === "model" ? last.parts.at(-1) : undefined;
    if (last !== undefined && part !== undefined && isOpenText(part))
      last.parts[last.parts.length - 1] = { ...part, thoughtSignature };
    else this.#textSignature = thoughtSignature;
  }

  readonly #signedText = (part: Fields): Fields => {
    const thoughtSignature = this.#textSignature;
    if (thoughtSignature === undefined || !isOpenText(part)) return part;
    this.#textSignature = undefined;
    return { ...part, thoughtSignature };
  };

  /** Without a text, an empty one carries the signature. */
  #endTurn(): void {
    this.#signature = undefined;
    const thoughtSignature = this.#textSignature;
    this.#textSignature = undefined;
    if (thoughtSignature !== undefined) this.#push("model", [{ text: "", thoughtSignature }]);
  }

  #endResults(): void {
    this.#push("user", this.#media);
    this.#media = [];
  }

  /** A part with the signature that came before it. */
  #signed(part: Fields): Fields {
    const signature = this.#signature;
    this.#signature = undefined;
    return signature === undefined || isSigned(part)
      ? part
      : { ...part, thoughtSignature: signature };
  }

  #call({ id, name, input, extra }: Call<UpstreamName>): Fields {
    const value = exactJsonOf(input.trim() === "" ? "{}" : input);
    const args = isFields(value) ? value : value === null ? {} : { input };
    const sendsIds = this.#profile.history?.callIds !== false;
    return {
      functionCall: { ...(sendsIds && { id }), name, args },
      ...ownGeminiExtra(extra),
    };
  }

  #result(item: Result): Fields {
    const { call, extra } = item;
    const name = item.name ?? this.#names.get(call) ?? "unknown";
    const sendsIds = this.#profile.history?.callIds !== false;
    const texts: string[] = [];
    const parts: Fields[] = [];
    for (const part of this.#parts(item.parts))
      if (typeof part.text === "string") texts.push(part.text);
      else parts.push(part);
    if (this.#profile.history?.resultMedia?.length === 0) append(this.#media, parts.splice(0));
    return {
      functionResponse: {
        ...(sendsIds && { id: call }),
        name,
        response: responseOf(texts.join("\n"), item.isError === true),
        ...(parts.length > 0 && { parts }),
        ...ownGeminiExtra(extra),
      },
    };
  }

  /** Adds a part of the provider's own work. */
  #work({ dialect, raw }: Opaque): void {
    if (dialect !== "gemini")
      return this.#note(`the gemini dialect has no such item as \`${String(raw.type)}\``);
    const part = this.#signed(raw);
    const kind = partKind(part);
    const mustBeSigned = kind === "toolCall" || kind === "toolResponse";
    if (mustBeSigned && this.#profile.thinking?.leads === true && !isSigned(part))
      return this.#note(
        "the upstream takes back the work of its own tools only with its signature",
      );
    this.#push("model", [part]);
  }

  /** Parts, without blank texts, which the API refuses. A text replaces content that is left out. */
  #parts(parts: readonly Part[]): Fields[] {
    return parts.flatMap((part): Fields[] => {
      const written = writePart(part, this.#own);
      if (typeof written === "string") {
        this.#note(written, "dropped", ".content");
        return [{ text: leftOutText(part) }];
      }
      if (part.type !== "refusal" && part.type !== "opaque")
        reportForeign(part.extra, "gemini", (reason) => this.#note(reason, "dropped", ".content"));
      const { text } = written;
      return text === "" && !isSigned(written) ? [] : [written];
    });
  }

  /** Reports fields beside the content that have no place here. */
  #reportLost(item: Message | Call<UpstreamName> | Result): void {
    if (item.type === "message" && item.name !== undefined)
      this.#note("the gemini dialect has no names");
    reportForeign(item.extra, "gemini", this.#note);
  }

  /**
   * The first call of each step since the user's last message must be signed. A call of another
   * model has no signature that this one takes, so it gets the one that stands for a missing one.
   */
  #signSteps(): void {
    if (this.#profile.thinking?.leads !== true) return;
    const contents = this.#contents;
    const start = contents.findLastIndex(
      ({ role, parts }) => role === "user" && !parts.some(isResult),
    );
    for (const { role, parts } of contents.slice(start + 1)) {
      const at = role === "model" ? parts.findIndex(isCall) : -1;
      const part = parts[at];
      if (part === undefined || isSigned(part)) continue;
      parts[at] = { ...part, thoughtSignature: DUMMY };
      this.#note(
        "the reasoning before a call is not known or is not for this model, so the model is told to go on without it",
        "changed",
      );
    }
  }
}

/** A part without its signature; none if nothing is left, or if it is refused without. */
function unsigned({ thoughtSignature: signature, ...part }: Fields): readonly Fields[] {
  const { text, toolCall, toolResponse } = part;
  const isEmpty = text === "" || partKind(part) === undefined;
  return signature !== undefined && (isEmpty || (toolCall ?? toolResponse) != null) ? [] : [part];
}

type WrittenThought = {
  readonly parts: readonly Fields[];
  /** The signature of another part. */
  readonly signature?: string | undefined;
};

/**
 * Past reasoning; undefined if another model thought it, which this API does not take back. `own`:
 * the client speaks this dialect, so it has the thoughts from this API.
 */
function writeThought(item: Reasoning, own: boolean): WrittenThought | undefined {
  const { content, summary, encrypted, extra, details } = item;
  const text = (content.length > 0 ? content : summary).join("\n\n");
  // Seals are opened before; one that could not be is no signature.
  const signature =
    encrypted === undefined || sealsIn(encrypted) !== undefined ? undefined : encrypted;
  const isKnown = own || signature !== undefined || extra?.dialect === "gemini";
  if (!isKnown)
    return text === "" && encrypted === undefined && details === undefined
      ? { parts: [] }
      : undefined;
  const on = signedPart(extra);
  if (on === "thought" && signature !== undefined)
    return { parts: [{ text, thought: true, thoughtSignature: signature }] };
  return { parts: text === "" ? [] : [{ text, thought: true }], signature };
}

const isSigned = (part: Fields): boolean => part.thoughtSignature !== undefined;
/** True for visible text without a signature. */
const isOpenText = (part: Fields): boolean =>
  typeof part.text === "string" && part.thought === undefined && !isSigned(part);
const isResult = (part: Fields): boolean => part.functionResponse !== undefined;
const isCall = (part: Fields): boolean => part.functionCall !== undefined;

const lostReasoning = ({ name }: Profile): string =>
  `the ${name} profile takes back only what its own models have thought`;

/** A result as an object. A reference in it would be read as one to media, so such a result is sent as text. */
function responseOf(text: string, isError: boolean): Fields {
  if (isError) return { error: text };
  if (!text.trimStart().startsWith("{")) return { output: text };
  const value = exactJsonOf(text);
  return isFields(value) && !text.includes('"$ref"') ? value : { output: text };
}
