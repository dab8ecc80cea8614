/** Reads a Chat Completions answer, streamed or whole, as events. */

import { isFields, jsonOf } from "../../json/json.ts";
import type { Emit } from "../../stream/stage.ts";
import type { NewId } from "../../turn/clock.ts";
import type { Frame, TurnEvent } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import type { EventReader, ReadContext } from "../dialect.ts";
import {
  bareError,
  isBeat,
  malformed,
  strayError,
  upstreamError,
} from "../errors/upstream-error.ts";
import { FrameRuns, isDelta, type Delta, type Hole } from "../shared/frame-runs.ts";
import { fieldsOf, filledText, listOf, numberOf } from "../shared/loose.ts";
import { hasShape } from "../shared/plain.ts";
import {
  answerFields,
  VendorFields,
  isOwnUsage,
  readLink,
  readUsage,
  reasoningFields,
} from "./answer-fields.ts";
import { ChoiceReader } from "./read-choice.ts";

type Event = TurnEvent<UpstreamName>;

/** An index beyond it is not an index: no request asks for so many choices. */
const MOST_CHOICES = 1024;

/** Checks the first entry of a choice; it never reads one. */
const unread = new ChoiceReader(0, () => "");

const answerHead = { id: "filled", created: "number", model: "text", choices: "list" } as const;

/** Reads what a chat upstream answers. */
class ChatReader implements EventReader {
  readonly #newId: NewId;
  readonly #frames: boolean;
  readonly #asked: number | undefined;
  readonly #isPlainFirst: boolean;
  /** Frames that cannot be forwarded yet: a later frame may show that they need repair. */
  #heldFrames: Frame[] = [];
  #isRepaired = false;
  readonly #runs = new FrameRuns();
  /** The frame that others may repeat. */
  #repeated: { choice: ChoiceReader; delta: Delta; forwardable: boolean } | undefined;
  /** By the numbers that the upstream gives them. */
  readonly #choices = new Map<number, ChoiceReader>();
  #areFinished = false;
  readonly #links = new Set<string>();
  #waitingLinks: string[] = [];
  readonly #vendorFields = new VendorFields(answerFields);
  #waitingFields: Fields | undefined;
  #started = false;
  #id: string | undefined;
  #over = false;
  #out: Emit<Event> = () => {};
  /** Events of the frame that is being read, and the last of them. */
  #events = 0;
  #last: Event | undefined;

  constructor({ newId, frames, asked, plain = true }: ReadContext) {
    this.#newId = newId;
    this.#frames = frames;
    this.#asked = asked;
    this.#isPlainFirst = plain;
  }

  frame(data: string, name: string | undefined, partial: boolean, emit: Emit<Event>): void {
    if (this.#over) return;
    this.#out = emit;
    this.#events = 0;
    if (data === "[DONE]") return this.#readDone(data);
    const value = jsonOf(data);
    // Some upstreams wrap an error in a list.
    const raw = isFields(value) ? value : fieldsOf(listOf(value)?.[0]);
    if (raw !== undefined) return this.#readChunk(raw, data, name, raw === value);
    const trimmed = data.trim();
    if (trimmed === "[DONE]") return this.#readDone(trimmed);
    // A frame that the end of the connection truncated is ignored: the missing end reports the cut.
    if (trimmed === "" || partial || isBeat(data, name)) return;
    this.#fail(
      name === "error"
        ? bareError({ message: trimmed })
        : malformed("sent a frame that is not a JSON object"),
    );
  }

  whole(text: string, emit: Emit<Event>): void {
    if (this.#over) return;
    this.#out = emit;
    const value = jsonOf(text);
    const raw = fieldsOf(value) ?? fieldsOf(listOf(value)?.[0]);
    if (raw === undefined) return this.#fail(malformed("answered with something that is not JSON"));
    const isPlain = raw === value && this.#fits(raw, true);
    const list = listOf(raw.choices);
    const fault = isPlain ? undefined : upstreamError(raw);
    if (fault !== undefined) return this.#fail(fault);
    if (list === undefined)
      return this.#fail(strayError(raw, true) ?? malformed("answered without `choices`"));
    this.#readHead(raw);
    this.#readChoices(raw, list, true, isPlain);
    for (const choice of this.#choices.values()) choice.close(this.#emit);
    if (this.#frames && !this.#over)
      emit({ type: "frame", data: text, forwardable: isPlain, ends: "terminal", whole: true });
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
    const frames = text.slice(at, run.end);
    if (this.#frames) this.#emitFrame({ type: "frame", data: "", run: frames, forwardable }, false);
    return run.end;
  }

  done(): boolean {
    return this.#over;
  }

  /** Whether a frame or an answer is as the OpenAI API writes it. */
  #fits(raw: Fields, isWhole: boolean): boolean {
    if (!this.#isPlainFirst || !this.#hasOwnHead(raw, isWhole)) return false;
    if (upstreamError(raw) !== undefined) return false;
    const isCounted = raw.usage != null;
    if (
      isCounted ? !isOwnUsage(raw.usage) : raw.x_groq != null && fieldsOf(raw.x_groq)?.usage != null
    )
      return false;
    const list = raw.choices as readonly unknown[];
    if (list.length === 0) return !isWhole && strayError(raw) === undefined;
    if (list.length > 1 && !isWhole) return false;
    for (let at = 0; at < list.length; at++) {
      const entry = list[at];
      if (!isFields(entry) || !isIndex(entry.index) || entry.usage != null) return false;
      const choice = this.#choices.get(entry.index);
      const next = isWhole ? at : this.#asked === 1 ? this.#choices.size : entry.index;
      if ((choice?.index ?? next) !== entry.index) return false;
      if (!(choice ?? unread).fits(entry, isWhole)) return false;
    }
    return true;
  }

  #hasOwnHead(raw: Fields, isWhole: boolean): boolean {
    const object = isWhole ? "chat.completion" : "chat.completion.chunk";
    return (
      hasShape(raw, answerHead) && raw.object === object && (!this.#started || raw.id === this.#id)
    );
  }

  #readChunk(raw: Fields, data: string, name: string | undefined, isAlone: boolean): void {
    const isPlain = isAlone && name !== "error" && this.#fits(raw, false);
    const list = listOf(raw.choices) ?? [];
    if (isPlain) this.#readHead(raw);
    else {
      const fault = name === "error" ? bareError(raw) : this.#faultIn(raw, list);
      if (fault !== undefined) return this.#fail(fault);
      const isNoise = list.length === 0 && readUsage(raw) === undefined;
      if (this.#started || !isNoise || filledText(raw.id) !== undefined) this.#readHead(raw);
      // It is no part of the answer, and forwarding it could only confuse.
      if (isNoise && !this.#hasOwnHead(raw, false)) return;
    }
    const hasCount = this.#readChoices(raw, list, false, isPlain);
    if (this.#over) return;
    const only = this.#events === 1 ? this.#last : undefined;
    const delta = only !== undefined && isDelta(only) ? only : undefined;
    if (!this.#frames && delta === undefined) return;
    const before = this.#areFinished;
    const hold = this.#mustHoldFrames();
    this.#emitFrame(
      {
        type: "frame",
        data,
        name,
        forwardable: isPlain,
        ends: !before && this.#areFinished ? "terminal" : undefined,
        usageOnly: list.length === 0 && hasCount ? true : undefined,
      },
      hold,
    );
    if (delta === undefined || hold || list.length !== 1 || "logprobs" in delta) return;
    const holes = holesOf(raw, delta, isPlain);
    const choice = this.#choiceAt(delta.choice);
    if (holes !== undefined && choice !== undefined && this.#runs.learn(data, name, holes))
      this.#repeated = { choice, delta, forwardable: isPlain };
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
    this.#mustHoldFrames();
    const forwardable = this.#areFinished;
    for (const choice of this.#choices.values()) choice.close(this.#emit);
    if (!this.#over) this.#emitFrame({ type: "frame", data, forwardable, ends: "done" }, false);
    this.#over = true;
  }

  /** Starts the turn. Vendor fields that come later are emitted with the first choice, once there is one. */
  #readHead(raw: Fields): void {
    const extra = this.#vendorFields.changed(raw);
    if (!this.#started) {
      this.#started = true;
      this.#id = filledText(raw.id);
      return this.#emit({
        type: "turn-start",
        dialect: "chat",
        id: this.#id,
        model: filledText(raw.model),
        created: numberOf(raw.created),
        ...(extra !== undefined && { extra }),
      });
    }
    if (extra !== undefined) this.#waitingFields = { ...this.#waitingFields, ...extra };
    if (this.#waitingFields === undefined) return;
    const [first] = this.#choices.values();
    if (first === undefined) return;
    this.#emitVendorExtra("answer", first, this.#waitingFields);
    this.#waitingFields = undefined;
  }

  #emitVendorExtra(of: "choice" | "answer", { index }: ChoiceReader, fields: Fields): void {
    this.#emit({ type: "vendor-extra", choice: index, of, extra: { dialect: "chat", fields } });
  }

  /** Reads the choices, the links and the count of a frame or an answer. True if there is a count. */
  #readChoices(raw: Fields, list: readonly unknown[], isWhole: boolean, isPlain: boolean): boolean {
    for (let at = 0; at < list.length; at++) {
      const entry = list[at];
      if (!isFields(entry) || (!isPlain && isBlank(entry))) continue;
      const choice = this.#choice(isPlain || isIndex(entry.index) ? Number(entry.index) : at);
      const extra = choice.vendorFields.changed(entry);
      if (extra !== undefined) this.#emitVendorExtra("choice", choice, extra);
      if (isPlain) choice.take(entry, isWhole, this.#emit);
      else choice.each(entry, isWhole, this.#emit);
    }
    if (raw.citations !== undefined || this.#waitingLinks.length > 0) this.#readLinks(raw);
    const usage = isPlain && raw.usage == null ? undefined : readUsage(raw);
    if (usage !== undefined) this.#emit({ type: "usage", usage });
    return usage !== undefined;
  }

  #choice(index: number): ChoiceReader {
    const known = this.#choices.get(index);
    if (known !== undefined) return known;
    // An upstream that is asked for one answer may number it otherwise than from 0.
    const choice = new ChoiceReader(this.#asked === 1 ? this.#choices.size : index, this.#newId);
    this.#choices.set(index, choice);
    return choice;
  }

  #choiceAt(index: number): ChoiceReader | undefined {
    for (const choice of this.#choices.values()) if (choice.index === index) return choice;
    return undefined;
  }

  /**
   * Whether frames have to wait: nothing has been emitted yet, a call waits for its name, or all is
   * over. Some upstreams send more after their end, or after they have counted.
   */
  #mustHoldFrames(): boolean {
    let areFinished = this.#choices.size > 0;
    let hasContent = false;
    let waits = false;
    for (const choice of this.#choices.values()) {
      areFinished &&= choice.isFinished;
      hasContent ||= choice.hasContent;
      waits ||= choice.calls.begun < choice.calls.count;
    }
    this.#areFinished = areFinished;
    return areFinished || !hasContent || waits;
  }

  /** Links of the answer are emitted as annotations of the first choice, once that has text. */
  #readLinks(raw: Fields): void {
    for (const url of listOf(raw.citations) ?? []) {
      if (typeof url !== "string" || this.#links.has(url)) continue;
      this.#links.add(url);
      this.#waitingLinks.push(url);
    }
    const [first] = this.#choices.values();
    if (this.#waitingLinks.length === 0 || first?.hasText !== true) return;
    for (const url of this.#waitingLinks) first.note(readLink(url), this.#emit);
    this.#waitingLinks = [];
  }

  #fail(fault: Fault): void {
    this.#emit({ type: "turn-fail", fault });
  }

  readonly #emit = (event: Event): void => {
    if (event.type === "turn-fail") this.#over = true;
    this.#events++;
    this.#last = event;
    this.#out(event);
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
