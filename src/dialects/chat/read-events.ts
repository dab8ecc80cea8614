/** Reads a Chat Completions answer, streamed or whole, as events. */

import { jsonOf } from "../../json/json.ts";
import type { Emit } from "../../stream/stage.ts";
import type { NewId } from "../../turn/clock.ts";
import type { Frame, TurnEvent } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import type { EventReader, ReadContext } from "../dialect.ts";
import {
  bareError,
  malformed,
  strayError,
  unreadableFault,
  upstreamError,
} from "../errors/upstream-error.ts";
import { FrameRuns, type Delta, type Repeated } from "../shared/frame-runs.ts";
import { fieldsOf, filledText, hasShape, listOf, numberOf, unwrapped } from "../shared/loose.ts";
import {
  answerFields,
  changedFields,
  choiceFields,
  isOwnUsage,
  readLink,
  readUsage,
  reasoningFields,
} from "./answer-fields.ts";
import { ChoiceReader } from "./read-choice.ts";

type Event = TurnEvent<UpstreamName>;

/** Choices with a larger index are ignored, because no request asks for so many. */
const MOST_CHOICES = 1024;

/** Checks the first entry of a choice; it never reads one. */
const unread = new ChoiceReader(
  0,
  () => "",
  () => {},
);

const answerHead = { id: "filled", created: "number", model: "text", choices: "list" } as const;

class ChatReader implements EventReader {
  readonly #newId: NewId;
  readonly #frames: boolean;
  readonly #asked: number | undefined;
  /** Frames that cannot be forwarded yet: a later frame may show that they need repair. */
  #heldFrames: Frame[] = [];
  #isRepaired = false;
  readonly #runs = new FrameRuns();
  /** By the numbers that the upstream gives them. */
  readonly #choices = new Map<number, ChoiceReader>();
  #areFinished = false;
  #links: Set<string> | undefined;
  #waitingLinks: string[] = [];
  seenFields: Map<string, unknown> | undefined;
  #waitingFields: Fields | undefined;
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
    const trimmed = data.trim();
    if (trimmed === "[DONE]") return this.#readDone(trimmed);
    this.#runs.begin();
    const value = jsonOf(data);
    const raw = unwrapped(value);
    if (raw !== undefined) return this.#readChunk(raw, data, name, raw === value);
    // A frame that the end of the connection truncated is ignored: the missing end reports the cut.
    if (trimmed === "" || partial) return;
    const fault = unreadableFault(trimmed, name);
    if (fault !== undefined) this.#fail(fault);
  }

  whole(text: string, emit: Emit<Event>): void {
    if (this.#over) return;
    this.#out = emit;
    const value = jsonOf(text);
    const raw = unwrapped(value);
    if (raw === undefined) return this.#fail(malformed("answered with something that is not JSON"));
    const list = listOf(raw.choices);
    const fault = upstreamError(raw);
    if (fault !== undefined) return this.#fail(fault);
    if (list === undefined)
      return this.#fail(strayError(raw, true) ?? malformed("answered without `choices`"));
    const forwardable = this.#frames && raw === value && this.#fits(raw, list, true);
    this.#readHead(raw);
    this.#readChoices(raw, list, true);
    for (const choice of this.#choices.values()) choice.close();
    if (this.#frames && !this.#over)
      emit({ type: "frame", data: text, forwardable, ends: "terminal", whole: true });
    this.#over = true;
  }

  /** Reads a run as one frame with the text of all. */
  run(text: string, at: number, emit: Emit<Event>): number {
    const { repeated } = this.#runs;
    if (repeated === undefined || this.#over || this.#mustHoldFrames()) return at;
    const run = this.#runs.take(text, at);
    if (run === undefined) return at;
    const { raw } = repeated;
    const list = listOf(raw.choices) ?? [];
    this.#out = emit;
    const forwardable = this.#frames && this.#fits(raw, list, false);
    this.#readChoices(raw, list, false);
    const frames = text.slice(at, run.end);
    if (this.#frames) this.#emitFrame({ type: "frame", data: "", run: frames, forwardable }, false);
    return run.end;
  }

  done(): boolean {
    return this.#over;
  }

  /** True if a frame or an answer is as the OpenAI API writes it, so that it may be forwarded. */
  #fits(raw: Fields, list: readonly unknown[], isWhole: boolean): boolean {
    if (!this.#hasOwnHead(raw, isWhole)) return false;
    const isCounted =
      raw.usage == null ? fieldsOf(raw.x_groq)?.usage == null : isOwnUsage(raw.usage);
    if (!isCounted || (isWhole ? list.length === 0 : list.length > 1)) return false;
    for (let at = 0; at < list.length; at++) {
      const entry = fieldsOf(list[at]);
      if (entry === undefined || !isIndex(entry.index) || entry.usage != null) return false;
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
    const list = listOf(raw.choices) ?? [];
    // An answer that fails in its first choice has not begun.
    const first = this.#started ? undefined : fieldsOf(list[0]);
    const fault =
      name === "error"
        ? bareError(raw)
        : (upstreamError(raw) ??
          (list.length === 0 ? strayError(raw) : first && upstreamError(first)));
    if (fault !== undefined) return this.#fail(fault);
    const forwardable = this.#frames && isAlone && this.#fits(raw, list, false);
    const isNoise = list.length === 0 && readUsage(raw) === undefined;
    if (this.#started || !isNoise || filledText(raw.id) !== undefined) this.#readHead(raw);
    // A frame that is no part of the answer is not forwarded: it could only confuse.
    if (isNoise && !this.#hasOwnHead(raw, false)) return;
    const hasCount = this.#readChoices(raw, list, false);
    if (this.#over) return;
    const delta = this.#runs.onlyDelta();
    if (!this.#frames && delta === undefined) return;
    const before = this.#areFinished;
    const hold = this.#mustHoldFrames();
    this.#emitFrame(
      {
        type: "frame",
        data,
        name,
        forwardable,
        ends: !before && this.#areFinished ? "terminal" : undefined,
        usageOnly: list.length === 0 && hasCount ? true : undefined,
      },
      hold,
    );
    if (delta === undefined || hold || list.length !== 1) return;
    const place = placeOf(raw, delta);
    if (place !== undefined) this.#runs.learn(data, name, place);
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

  #readDone(data: string): void {
    this.#mustHoldFrames();
    const forwardable = this.#areFinished;
    for (const choice of this.#choices.values()) choice.close();
    if (!this.#over) this.#emitFrame({ type: "frame", data, forwardable, ends: "done" }, false);
    this.#over = true;
  }

  /** Starts the turn. Vendor fields that come later are emitted with the first choice, once there is one. */
  #readHead(raw: Fields): void {
    const extra = changedFields(raw, answerFields, this);
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
  #readChoices(raw: Fields, list: readonly unknown[], isWhole: boolean): boolean {
    let isCounted = raw.usage != null || raw.x_groq != null;
    for (let at = 0; at < list.length; at++) {
      const entry = fieldsOf(list[at]);
      if (entry === undefined) continue;
      isCounted ||= entry.usage != null;
      const { delta, message, text, error, finish_reason: reason } = entry;
      // An entry without content is no choice.
      if ((delta ?? message ?? text ?? error ?? reason) == null) continue;
      const choice = this.#choice(isIndex(entry.index) ? entry.index : at);
      const extra = changedFields(entry, choiceFields, choice);
      if (extra !== undefined) this.#emitVendorExtra("choice", choice, extra);
      choice.each(entry, isWhole);
    }
    if (raw.citations !== undefined || this.#waitingLinks.length > 0) this.#readLinks(raw);
    const usage = isCounted ? readUsage(raw) : undefined;
    if (usage !== undefined) this.#emit({ type: "usage", usage });
    return usage !== undefined;
  }

  #choice(index: number): ChoiceReader {
    const known = this.#choices.get(index);
    if (known !== undefined) return known;
    // An upstream that is asked for one answer may number it otherwise than from 0.
    const number = this.#asked === 1 ? this.#choices.size : index;
    const choice = new ChoiceReader(number, this.#newId, this.#emit);
    this.#choices.set(index, choice);
    return choice;
  }

  /**
   * True if frames have to wait: nothing has been emitted yet, a call waits for its name, or all
   * choices have ended. Some upstreams send more after their end, or after they have counted.
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
      if (typeof url !== "string" || this.#links?.has(url) === true) continue;
      (this.#links ??= new Set()).add(url);
      this.#waitingLinks.push(url);
    }
    const [first] = this.#choices.values();
    if (this.#waitingLinks.length === 0 || first?.hasText !== true) return;
    for (const url of this.#waitingLinks) first.note(readLink(url));
    this.#waitingLinks = [];
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

/** The place of the text in a frame that has one choice. */
function placeOf(raw: Fields, { type, text }: Delta): Repeated | undefined {
  const delta = fieldsOf(fieldsOf(listOf(raw.choices)?.[0])?.delta);
  const place = (key: string | undefined, holder: Fields | undefined): Repeated | undefined =>
    key !== undefined && holder?.[key] === text ? { raw, holder, key } : undefined;
  switch (type) {
    case "text-delta":
      return place("content", delta);
    case "reasoning-delta":
      return place(
        reasoningFields.find((key) => delta?.[key] === text),
        delta,
      );
    case "call-delta": {
      const [entry, ...others] = listOf(delta?.tool_calls) ?? [];
      const call = others.length === 0 ? fieldsOf(entry) : undefined;
      const body = fieldsOf(call?.function ?? call?.custom);
      // A name that comes with every piece may begin another call.
      if (filledText(body?.name) !== undefined) return undefined;
      return place(call?.function === undefined ? "input" : "arguments", body);
    }
    default:
      return type satisfies never;
  }
}

const isIndex = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value < MOST_CHOICES;
