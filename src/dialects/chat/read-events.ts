/** Reads a Chat Completions answer, streamed or whole, as events. */

import type { Emit } from "../../stream/stage.ts";
import type { NewId } from "../../turn/clock.ts";
import type { Frame, TurnEvent } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import type { EventReader, ReadContext } from "../dialect.ts";
import { fieldsIn, fieldsOf, isListed, listOf, numberOf, filledText } from "../shared/loose.ts";
import { bareError, upstreamError, strayError } from "../errors/upstream-error.ts";
import { isBeat, malformed } from "../errors/malformed.ts";
import { FrameRuns, type Delta, type Hole } from "../shared/frame-runs.ts";
import { answerVendorFields } from "./vendor-extra.ts";
import { readLink } from "./citations.ts";
import { reasoningFields } from "./details.ts";
import { ChoiceReader } from "./read-choice.ts";
import { isOwnUsage, readUsage } from "./usage-chunk.ts";

type Event = TurnEvent<UpstreamName>;

/** Far more than anybody asks for; an index beyond is not an index. */
const MOST_CHOICES = 1024;

/** Reads what a chat upstream answers. */
class ChatReader implements EventReader {
  readonly #newId: NewId;
  readonly #frames: boolean;
  readonly #asked: number | undefined;
  /** Frames that cannot be forwarded yet: a later frame may show that they need repair. */
  #heldFrames: Frame[] = [];
  #isRepaired = false;
  readonly #runs = new FrameRuns();
  /** The frame that others may repeat. */
  #repeated: { choice: ChoiceReader; delta: Delta; forwardable: boolean } | undefined;
  /** By the numbers that the upstream gives them. */
  readonly #choices = new Map<number, ChoiceReader>();
  readonly #links = new Set<string>();
  readonly #vendorFields = answerVendorFields();
  #waiting: Fields | undefined;
  #waitingLinks: string[] = [];
  #started = false;
  #id: string | undefined;
  #over = false;
  #out: Emit<Event> = () => {};

  constructor({ newId, frames, asked }: ReadContext) {
    this.#newId = newId;
    this.#frames = frames;
    this.#asked = asked;
  }

  frame(data: string, name: string | undefined, partial: boolean, emit: Emit<Event>): void {
    if (this.#over) return;
    this.#out = emit;
    this.#runs.begin();
    const trimmed = data.trim();
    if (trimmed === "") return;
    if (trimmed === "[DONE]") return this.#readDone(trimmed);
    const raw = fieldsIn(data);
    if (raw !== undefined) return this.#readChunk(raw, data, name);
    // A frame that the end of the connection cut short says nothing; that it was cut will show.
    if (partial || isBeat(data, name)) return;
    this.#fail(
      name === "error"
        ? bareError({ message: trimmed })
        : malformed("sent a frame that is not a JSON object"),
    );
  }

  whole(text: string, emit: Emit<Event>): void {
    if (this.#over) return;
    this.#out = emit;
    const raw = fieldsIn(text);
    if (raw === undefined) return this.#fail(malformed("answered with something that is not JSON"));
    const fault = upstreamError(raw);
    if (fault !== undefined) return this.#fail(fault);
    const list = listOf(raw.choices);
    if (list === undefined)
      return this.#fail(strayError(raw, true) ?? malformed("answered without `choices`"));
    this.#start(raw);
    const isOwn = this.#isOwnHead(raw, "chat.completion") && !isListed(text);
    const own = this.#readChoices(list, true) && isOwn;
    this.#readLinks(raw);
    const count = this.#readCount(raw);
    const forwardable = own && this.#areFinished() && count.forwardable;
    for (const choice of this.#choices.values()) choice.close(this.#emit);
    if (this.#frames && !this.#over)
      this.#emit({ type: "frame", data: text, forwardable, ends: "terminal", whole: true });
    this.#over = true;
  }

  run(text: string, at: number, emit: Emit<Event>): number {
    const repeated = this.#repeated;
    if (repeated === undefined || this.#over || !repeated.choice.takesRuns()) return at;
    const run = this.#runs.take(text, at);
    if (run === undefined) return at;
    const { choice, delta, forwardable } = repeated;
    this.#out = emit;
    choice.more(delta, run, emit);
    if (this.#frames)
      this.#emitFrame(
        { type: "frame", data: "", run: text.slice(at, run.end), forwardable },
        false,
      );
    return run.end;
  }

  done(): boolean {
    return this.#over;
  }

  #readChunk(raw: Fields, data: string, name: string | undefined): void {
    const list = listOf(raw.choices) ?? [];
    const fault = name === "error" ? bareError(raw) : this.#faultIn(raw, list);
    if (fault !== undefined) return this.#fail(fault);
    const isNoise = list.length === 0 && readUsage(raw) === undefined;
    if (!isNoise || filledText(raw.id) !== undefined) this.#start(raw);
    this.#readVendorFields(raw);
    const ownHead = this.#isOwnHead(raw, "chat.completion.chunk") && !isListed(data);
    // No part of the answer: forwarding it could only confuse.
    if (isNoise && !ownHead) return;

    const before = this.#areFinished();
    const own = this.#readChoices(list, false) && ownHead && Array.isArray(raw.choices);
    this.#readLinks(raw);
    const count = this.#readCount(raw);
    if (this.#over) return;
    const after = this.#areFinished();
    // Some speak on after their end, or after they have counted.
    const hold = after || this.#mustHoldFrames();
    const frame: Frame = {
      type: "frame",
      data,
      name,
      forwardable: own && count.forwardable,
      ends: !before && after ? "terminal" : undefined,
      usageOnly: list.length === 0 && count.counted ? true : undefined,
    };
    const delta = hold ? undefined : this.#runs.onlyDelta();
    this.#emitFrame(frame, hold);
    if (delta === undefined || list.length !== 1) return;
    const holes = holesOf(raw, delta, frame.forwardable);
    const choice = this.#choiceAt(delta.choice);
    if (holes === undefined || choice === undefined) return;
    if (this.#runs.learn(data, name, holes))
      this.#repeated = { choice, delta, forwardable: frame.forwardable };
  }

  /**
   * Emits a frame for the straight lane, which cannot take back what it has forwarded. A frame whose
   * meaning the next one may change (a role and nothing else, the head of a call, the end) waits; if
   * one of those needs repair, all of them do.
   */
  #emitFrame(frame: Frame, hold: boolean): void {
    if (!this.#frames) return;
    this.#isRepaired ||= !frame.forwardable;
    this.#heldFrames.push(frame);
    if (hold && !this.#isRepaired) return;
    const held = this.#heldFrames;
    this.#heldFrames = [];
    for (const one of held) this.#out(this.#isRepaired ? { ...one, forwardable: false } : one);
  }

  #faultIn(raw: Fields, list: readonly unknown[]): Fault | undefined {
    const fault = upstreamError(raw) ?? (list.length === 0 ? strayError(raw) : undefined);
    if (fault !== undefined || this.#started) return fault;
    // An answer that fails in its first choice has not begun.
    const first = fieldsOf(list[0]);
    return first && upstreamError(first);
  }

  #readDone(data: string): void {
    const forwardable = this.#areFinished();
    for (const choice of this.#choices.values()) choice.close(this.#emit);
    if (!this.#over) this.#emitFrame({ type: "frame", data, forwardable, ends: "done" }, false);
    this.#over = true;
  }

  #start(raw: Fields): void {
    if (this.#started) return;
    this.#started = true;
    this.#id = filledText(raw.id);
    const extra = this.#vendorFields.changed(raw);
    this.#emit({
      type: "turn-start",
      dialect: "chat",
      id: this.#id,
      model: filledText(raw.model),
      created: numberOf(raw.created),
      ...(extra !== undefined && { extra }),
    });
  }

  /** Vendor fields of the answer that come after its start wait for a choice to be emitted with. */
  #readVendorFields(raw: Fields): void {
    if (!this.#started) return;
    const extra = this.#vendorFields.changed(raw);
    if (extra !== undefined) this.#waiting = { ...this.#waiting, ...extra };
    if (this.#waiting === undefined) return;
    const [first] = this.#choices.values();
    if (first === undefined) return;
    this.#emitVendorExtra("answer", first, this.#waiting);
    this.#waiting = undefined;
  }

  #emitVendorExtra(of: "choice" | "answer", { index }: ChoiceReader, fields: Fields): void {
    this.#emit({ type: "vendor-extra", choice: index, of, extra: { dialect: "chat", fields } });
  }

  /** Whether the answer around the choices is as the OpenAI API would have sent it. */
  #isOwnHead(raw: Fields, object: string): boolean {
    return (
      raw.object === object &&
      this.#id !== undefined &&
      raw.id === this.#id &&
      typeof raw.created === "number" &&
      typeof raw.model === "string"
    );
  }

  #readChoices(list: readonly unknown[], isWhole: boolean): boolean {
    let forwardable = true;
    for (const [at, entry] of list.entries()) {
      const raw = fieldsOf(entry);
      if (raw === undefined || isBlank(raw)) {
        forwardable = false;
        continue;
      }
      const index = isIndex(raw.index) ? raw.index : at;
      const choice = this.#choice(index);
      if (choice.index !== raw.index) forwardable = false;
      const extra = choice.vendorFields.changed(raw);
      if (extra !== undefined) this.#emitVendorExtra("choice", choice, extra);
      if (!choice.each(raw, isWhole, this.#emit)) forwardable = false;
    }
    return forwardable;
  }

  #choice(index: number): ChoiceReader {
    const known = this.#choices.get(index);
    if (known !== undefined) return known;
    // Who is asked for one answer may number it otherwise than from 0.
    const choice = new ChoiceReader(this.#asked === 1 ? this.#choices.size : index, this.#newId);
    this.#choices.set(index, choice);
    return choice;
  }

  #choiceAt(index: number): ChoiceReader | undefined {
    for (const choice of this.#choices.values()) if (choice.index === index) return choice;
    return undefined;
  }

  #areFinished(): boolean {
    for (const choice of this.#choices.values()) if (!choice.finished()) return false;
    return this.#choices.size > 0;
  }

  /** Whether nothing has been emitted yet, or a call waits for its name. */
  #mustHoldFrames(): boolean {
    let hasContent = false;
    for (const choice of this.#choices.values()) {
      if (choice.hasUnnamedCall()) return true;
      hasContent ||= choice.hasContent();
    }
    return !hasContent;
  }

  /** Links of the answer are emitted as annotations of the first choice, once that has text. */
  #readLinks(raw: Fields): void {
    for (const url of listOf(raw.citations) ?? []) {
      if (typeof url !== "string" || this.#links.has(url)) continue;
      this.#links.add(url);
      this.#waitingLinks.push(url);
    }
    const [first] = this.#choices.values();
    if (this.#waitingLinks.length === 0 || first?.hasText() !== true) return;
    for (const url of this.#waitingLinks) first.note(readLink(url), this.#emit);
    this.#waitingLinks = [];
  }

  #readCount(raw: Fields): { counted: boolean; forwardable: boolean } {
    const usage = readUsage(raw);
    if (usage !== undefined) this.#emit({ type: "usage", usage });
    const counted = usage !== undefined;
    return { counted, forwardable: raw.usage == null ? !counted : isOwnUsage(raw.usage) };
  }

  #fail(fault: Fault): void {
    this.#emit({ type: "turn-fail", fault });
  }

  readonly #emit = (event: Event): void => {
    if (event.type === "turn-fail") this.#over = true;
    this.#out(this.#runs.pass(event));
  };
}

export const readEvents = (context: ReadContext): EventReader => new ChatReader(context);

/**
 * Values that change in frames like this one. None if the next such frame may mean something else:
 * the first role is right, later ones need repair.
 */
function holesOf(raw: Fields, said: Delta, forwardable: boolean): readonly Hole[] | undefined {
  const delta = fieldsOf(fieldsOf(listOf(raw.choices)?.[0])?.delta);
  if (delta === undefined || (delta.role !== undefined && forwardable)) return undefined;
  const place = placeOf(delta, said);
  if (place === undefined) return undefined;
  const text: Hole = { type: "text", path: ["choices", "0", "delta", ...place] };
  return raw.obfuscation === undefined ? [text] : [text, padding];
}

const padding: Hole = { type: "padding", path: ["obfuscation"] };

/** Where in the delta of a frame the text stands. */
function placeOf(delta: Fields, said: Delta): readonly string[] | undefined {
  const { type, text } = said;
  switch (type) {
    case "text-delta":
      return delta.content === text ? ["content"] : undefined;
    case "reasoning-delta": {
      const key = reasoningFields.find((one) => delta[one] === text);
      return key === undefined ? undefined : [key];
    }
    case "call-delta": {
      const [entry, ...others] = listOf(delta.tool_calls) ?? [];
      const call = others.length === 0 ? fieldsOf(entry) : undefined;
      const { name, arguments: input } = fieldsOf(call?.function) ?? {};
      // A name that comes with every piece may begin another call.
      if (filledText(name) !== undefined) return undefined;
      if (input === text) return ["tool_calls", "0", "function", "arguments"];
      const custom = call?.function === undefined ? fieldsOf(call?.custom) : undefined;
      return custom?.input === text && filledText(custom.name) === undefined
        ? ["tool_calls", "0", "custom", "input"]
        : undefined;
    }
    default:
      return type satisfies never;
  }
}

const isIndex = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value < MOST_CHOICES;

/** An entry without content is no choice. */
const isBlank = ({ delta, message, text, error, finish_reason: finish }: Fields): boolean =>
  [delta, message, text, error, finish].every((value) => value === undefined || value === null);
