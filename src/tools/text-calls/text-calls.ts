import type { Emit, EventStage } from "../../stream/stage.ts";
import type { NewId } from "../../turn/clock.ts";
import type { OnDecision } from "../../turn/decision.ts";
import type { TextDelta, TextNote, TextStart, TurnEvent } from "../../turn/event.ts";
import { isFields } from "../../json/json.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import { isCalledByName, type Bound, type ToolIdentityMap } from "../names/identity.ts";
import { recognise } from "../plan/restore.ts";
import { readUseTool, type Takes } from "./use-tool.ts";
import { BlockScan } from "./scan.ts";

type Event = TurnEvent<UpstreamName>;
type ChoiceEvent = Extract<Event, { readonly choice: number }>;

/** A call read from text, and its tool. */
type Written = { readonly bound: Bound; readonly input: string };

/** Reads a block; undefined if it calls no declared tool. */
type Read = (block: string) => Written | undefined;

/** The dependencies of all choices of a turn. */
type Tools = { readonly read: Read; readonly newId: NewId; readonly report: OnDecision };

/**
 * Turns calls that a model writes into its text into call events, before the stage that makes
 * events lawful. Text that may be a call is held until that is certain; other text passes
 * unchanged. Calls in reasoning are ignored, because the model may not make them.
 */
export function textCalls(
  identity: ToolIdentityMap,
  newId: NewId,
  report: OnDecision = () => {},
): EventStage<UpstreamName> {
  const choices = new Map<number, ChoiceText>();
  const read = reading(identity);
  /** True if the events differ from those of the frames, in content or order. */
  let differs = false;
  const settle = (emit: Emit<Event>): void => {
    for (const choice of choices.values()) choice.settle(emit);
  };
  return {
    each(event, emit) {
      if ("choice" in event) {
        let choice = choices.get(event.choice);
        if (choice === undefined)
          choices.set(
            event.choice,
            (choice = new ChoiceText(event.choice, { read, newId, report })),
          );
        choice.each(event, emit);
        differs ||= choice.differs();
        return;
      }
      if (event.type === "turn-fail") settle(emit);
      emit(
        event.type === "frame" && differs && event.forwardable
          ? { ...event, forwardable: false }
          : event,
      );
    },
    end: settle,
  };
}

function reading(identity: ToolIdentityMap): Read {
  const boundOf = (name: string): Bound | undefined => {
    const bound = recognise({ kind: "function", name: upstreamName(name) }, identity);
    // The provider itself calls tools without a name.
    return isCalledByName(bound?.upstream.kind) ? bound : undefined;
  };
  const takes = (name: string): Takes | undefined => {
    const declaration = boundOf(name)?.declaration;
    if (declaration === undefined) return undefined;
    if (declaration.type === "custom") return { free: true };
    return { schema: declaration.type === "function" ? declaration.schema : undefined };
  };
  return (block) => {
    const call = readUseTool(block, takes);
    const bound = call === undefined ? undefined : boundOf(call.name);
    return call === undefined || bound === undefined ? undefined : { bound, input: call.input };
  };
}

/**
 * The text of one choice. White space alone before, between or after calls would make a separate
 * message, so it is dropped with the calls; next to other text it stays. The probabilities of a
 * call's tokens are dropped with its text.
 */
class ChoiceText {
  readonly #index: number;
  readonly #tools: Tools;
  readonly #scan = new BlockScan();
  /** The text that may belong to a call, and the annotations that arrived with it. */
  #held: (TextDelta | TextNote)[] = [];
  /** White space that is dropped unless other text follows. */
  #blank: TextDelta[] = [];
  /** True if text followed the last call or the start of the message. */
  #hasText = false;
  /** True if the message contained a call. */
  #hasCall = false;
  /** The start of a message that is still empty. */
  #opening: TextStart | undefined;
  #phase: string | undefined;
  /** The new numbers of calls that are no text. */
  readonly #numbers = new Map<number, number>();
  #calls = 0;
  #changed = false;

  constructor(index: number, tools: Tools) {
    this.#index = index;
    this.#tools = tools;
  }

  /** True if the emitted events differ from the received ones, or will. */
  differs(): boolean {
    const waiting = this.#held.length + this.#blank.length;
    return this.#changed || waiting > 0 || this.#opening !== undefined;
  }

  each(event: ChoiceEvent, emit: Emit<Event>): void {
    switch (event.type) {
      case "text-delta":
        if (event.text === "" && event.logprobs === undefined) return emit(event);
        return this.#text(event, emit);
      case "text-note":
        if (this.#scan.holding) return void this.#held.push(event);
        return this.#pass(event, emit);
      case "text-start":
        this.settle(emit);
        this.#begin(event);
        return;
      case "text-break":
        this.settle(emit);
        // A part that held only calls has vanished, and with it the break after it.
        return this.#hasCall && !this.#hasText ? undefined : this.#pass(event, emit);
      case "text-end":
        this.settle(emit);
        if (this.#opening === undefined) emit(event);
        return this.#begin(undefined);
      case "refusal-delta":
        this.settle(emit);
        return this.#pass(event, emit);
      case "call-start":
      case "call-delta":
      case "call-end":
        return this.#call(event, emit);
      case "item-note":
      case "item-end":
      case "vendor-extra":
        return emit(event);
      case "reasoning-start":
      case "reasoning-delta":
      case "reasoning-end":
      case "item-start":
      case "turn-end":
        this.settle(emit);
        this.#hasText = false;
        return emit(event);
      default:
        event satisfies never;
    }
  }

  /** Releases the held text, because no more text follows. */
  settle(emit: Emit<Event>): void {
    this.#scan.reset();
    this.#release(emit);
    // A message that held only calls is not emitted.
    if (!this.#hasCall) {
      this.#open(emit);
      for (const delta of this.#blank) emit(delta);
    }
    this.#blank = [];
  }

  #begin(start: TextStart | undefined): void {
    this.#opening = start;
    this.#phase = start?.phase;
    this.#hasText = false;
    this.#hasCall = false;
  }

  #text(delta: TextDelta, emit: Emit<Event>): void {
    const { text } = delta;
    const scan = this.#scan;
    if (!scan.holding && !text.includes("<")) return this.#pass(delta, emit);
    /** The start of the text that was not passed on yet, and of the text that may be a call. */
    let from = 0;
    let hold = scan.holding ? 0 : -1;
    for (let at = 0; at < text.length;) {
      const { found, to } = scan.read(text, at);
      if (found === "held" && hold === -1) hold = at;
      if (found === "released") {
        this.#release(emit);
        hold = -1;
      }
      if (found === "closed") {
        const start = hold === -1 ? at : hold;
        if (start > from) this.#pass(cut(delta, from, start), emit);
        this.#held.push(cut(delta, start, to));
        this.#close(emit);
        from = to;
        hold = -1;
      }
      at = to;
    }
    const end = hold === -1 ? text.length : hold;
    if (end > from) this.#pass(cut(delta, from, end), emit);
    if (hold !== -1) this.#held.push(cut(delta, hold, text.length));
  }

  /** Reads a complete block: it is a call, or plain text. */
  #close(emit: Emit<Event>): void {
    const block = this.#held.map((one) => (one.type === "text-delta" ? one.text : "")).join("");
    const written = this.#tools.read(block);
    if (written !== undefined) return this.#take(written, emit);
    // An unclosed block may contain the next one.
    const { inner } = this.#scan;
    const last = inner === 0 ? undefined : this.#tools.read(block.slice(inner));
    if (last === undefined) return this.#release(emit);
    this.#releaseUpTo(inner, emit);
    this.#take(last, emit);
  }

  #take({ bound, input }: Written, emit: Emit<Event>): void {
    const choice = this.#index;
    const { kind, name, namespace } = bound.upstream;
    // Annotations stay with the text before the call, if there is any.
    if (this.#hasText)
      for (const one of this.#held) if (one.type === "text-note") this.#pass(one, emit);
    this.#held = [];
    this.#blank = [];
    const call = this.#calls++;
    const id = this.#tools.newId("call");
    const reason = `a call of \`${bound.client.name}\` was written as text`;
    this.#tools.report({ path: "output", action: "reshaped", reason });
    emit({
      type: "call-start",
      choice,
      call,
      id,
      kind,
      name,
      ...(namespace !== undefined && { namespace }),
    });
    if (input !== "") emit({ type: "call-delta", choice, call, text: input });
    emit({ type: "call-end", choice, call, complete: true });
    this.#changed = true;
    this.#hasText = false;
    this.#hasCall = true;
    // Text after the call is a new message, in the same phase.
    if (this.#phase !== undefined && this.#opening === undefined)
      this.#opening = { type: "text-start", choice, phase: this.#phase };
  }

  #release(emit: Emit<Event>): void {
    const held = this.#held;
    if (held.length === 0) return;
    this.#held = [];
    for (const one of held) this.#pass(one, emit);
  }

  /** Releases the first characters of the held text. */
  #releaseUpTo(length: number, emit: Emit<Event>): void {
    const held = this.#held;
    this.#held = [];
    let left = length;
    for (const one of held) {
      const isText = one.type === "text-delta";
      if (left === 0) this.#held.push(one);
      else if (!isText || one.text.length <= left) this.#pass(one, emit);
      else {
        this.#pass(cut(one, 0, left), emit);
        this.#held.push(cut(one, left, one.text.length));
      }
      if (isText) left = Math.max(0, left - one.text.length);
    }
  }

  /** Emits text that is no part of a call; white space waits for other text. */
  #pass(event: Exclude<ChoiceEvent, { readonly type: "text-start" }>, emit: Emit<Event>): void {
    if (!this.#hasText && event.type === "text-delta" && event.text.trim() === "")
      return void this.#blank.push(event);
    this.#hasText = true;
    this.#open(emit);
    if (this.#blank.length > 0) {
      for (const delta of this.#blank) emit(delta);
      this.#blank = [];
    }
    emit(event);
  }

  #open(emit: Emit<Event>): void {
    if (this.#opening === undefined) return;
    emit(this.#opening);
    this.#opening = undefined;
  }

  /** Numbers calls that are no text among those that are. */
  #call(event: Extract<ChoiceEvent, { readonly call: number }>, emit: Emit<Event>): void {
    if (event.type === "call-start") {
      this.settle(emit);
      this.#hasText = false;
      if (!this.#numbers.has(event.call)) this.#numbers.set(event.call, this.#calls++);
    }
    const call = this.#numbers.get(event.call);
    // A delta of a call without a start is dropped.
    if (call !== undefined) emit(call === event.call ? event : { ...event, call });
  }
}

/** A part of a delta, with the tokens that begin in it. */
function cut(delta: TextDelta, from: number, to: number): TextDelta {
  const { type, choice, text, logprobs } = delta;
  if (from === 0 && to === text.length) return delta;
  const part = { type, choice, text: text.slice(from, to) };
  if (logprobs === undefined) return part;
  let at = 0;
  const kept = logprobs.filter((one) => {
    const isIn = at >= from && (at < to || to === text.length);
    if (isFields(one) && typeof one.token === "string") at += one.token.length;
    return isIn;
  });
  return kept.length === 0 ? part : { ...part, logprobs: kept };
}
