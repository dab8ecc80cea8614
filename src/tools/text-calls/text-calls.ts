import type { Emit, Stage } from "../../stream/stage.ts";
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
type Said = Extract<Event, { readonly choice: number }>;

/** A call that was read, and the tool it is of. */
type Written = { readonly bound: Bound; readonly input: string };

/** Reads a block; nothing if no declared tool is called by it. */
type Read = (block: string) => Written | undefined;

/** What the choices of a turn share. */
type Means = { readonly read: Read; readonly newId: NewId; readonly report: OnDecision };

/**
 * Takes the calls that a model writes in its text for calls. It stands before
 * the stage that makes events lawful. Text that may be a call is held until that
 * is settled; what turns out to be none goes on as it came. Reasoning is not
 * looked at: a model may think of a call and not make it.
 */
export function textCalls(
  identity: ToolIdentityMap,
  newId: NewId,
  report: OnDecision = () => {},
): Stage<Event, Event> {
  const choices = new Map<number, ChoiceText>();
  const read = reading(identity);
  /** Whether frames have said anything else, or at another time, than we do. */
  let bent = false;
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
        bent ||= choice.isBent();
        return;
      }
      if (event.type === "turn-fail") settle(emit);
      emit(
        event.type === "frame" && bent && event.forwardable
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
    // What has no name of its own is the provider's to call.
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
 * The text of one choice. White space that stands alone before, between or
 * behind calls says nothing and would be a message of its own, so it goes with
 * them; beside other words it stays. The probabilities of a call's tokens go
 * with the call, since they are those of text that is no longer there.
 */
class ChoiceText {
  readonly #index: number;
  readonly #means: Means;
  readonly #scan = new BlockScan();
  /** What may belong to a call, and the annotations that came meanwhile. */
  #held: (TextDelta | TextNote)[] = [];
  /** White space of which it is not known yet whether it stands alone. */
  #blank: TextDelta[] = [];
  /** Whether anything but white space was said since the last call or beginning. */
  #worded = false;
  /** Whether a call was taken out of the message. */
  #taken = false;
  /** The beginning of a message, until there is something in it. */
  #opening: TextStart | undefined;
  #phase: string | undefined;
  /** The numbers of calls that came as such. */
  readonly #numbers = new Map<number, number>();
  #calls = 0;
  #changed = false;

  constructor(index: number, means: Means) {
    this.#index = index;
    this.#means = means;
  }

  /** Whether it has said or is about to say anything else than it was told. */
  isBent(): boolean {
    const waiting = this.#held.length + this.#blank.length;
    return this.#changed || waiting > 0 || this.#opening !== undefined;
  }

  each(event: Said, emit: Emit<Event>): void {
    switch (event.type) {
      case "text-delta":
        if (event.text === "" && event.logprobs === undefined) return emit(event);
        return this.#text(event, emit);
      case "text-note":
        if (this.#scan.holding) return void this.#held.push(event);
        return this.#say(event, emit);
      case "text-start":
        this.settle(emit);
        this.#begin(event);
        return;
      case "text-break":
        this.settle(emit);
        // A part that was nothing but calls is not there to be broken off.
        return this.#taken && !this.#worded ? undefined : this.#say(event, emit);
      case "text-end":
        this.settle(emit);
        if (this.#opening === undefined) emit(event);
        return this.#begin(undefined);
      case "refusal-delta":
        this.settle(emit);
        return this.#say(event, emit);
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
        this.#worded = false;
        return emit(event);
      default:
        event satisfies never;
    }
  }

  /** No more text follows what there is: what is held is no call. */
  settle(emit: Emit<Event>): void {
    this.#scan.reset();
    this.#release(emit);
    // A message that was nothing but calls never was.
    if (!this.#taken) {
      this.#open(emit);
      for (const delta of this.#blank) emit(delta);
    }
    this.#blank = [];
  }

  #begin(start: TextStart | undefined): void {
    this.#opening = start;
    this.#phase = start?.phase;
    this.#worded = false;
    this.#taken = false;
  }

  #text(delta: TextDelta, emit: Emit<Event>): void {
    const { text } = delta;
    const scan = this.#scan;
    if (!scan.holding && !text.includes("<")) return this.#say(delta, emit);
    /** Where text begins that has not been passed on, and what may be a call. */
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
        if (start > from) this.#say(cut(delta, from, start), emit);
        this.#held.push(cut(delta, start, to));
        this.#close(emit);
        from = to;
        hold = -1;
      }
      at = to;
    }
    const end = hold === -1 ? text.length : hold;
    if (end > from) this.#say(cut(delta, from, end), emit);
    if (hold !== -1) this.#held.push(cut(delta, hold, text.length));
  }

  /** A block is there: a call, or text like any other. */
  #close(emit: Emit<Event>): void {
    const block = this.#held.map((one) => (one.type === "text-delta" ? one.text : "")).join("");
    const written = this.#means.read(block);
    if (written !== undefined) return this.#take(written, emit);
    // A block that was never closed reaches into the next one.
    const { inner } = this.#scan;
    const last = inner === 0 ? undefined : this.#means.read(block.slice(inner));
    if (last === undefined) return this.#release(emit);
    this.#releaseUpTo(inner, emit);
    this.#take(last, emit);
  }

  #take({ bound, input }: Written, emit: Emit<Event>): void {
    const choice = this.#index;
    const { kind, name, namespace } = bound.upstream;
    // What was said about text stays with the text, if there is any.
    if (this.#worded)
      for (const one of this.#held) if (one.type === "text-note") this.#say(one, emit);
    this.#held = [];
    this.#blank = [];
    const call = this.#calls++;
    const id = this.#means.newId("call");
    const reason = `a call of \`${bound.client.name}\` was written as text`;
    this.#means.report({ path: "output", action: "reshaped", reason });
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
    this.#worded = false;
    this.#taken = true;
    // What follows is a message of its own, in the same phase.
    if (this.#phase !== undefined && this.#opening === undefined)
      this.#opening = { type: "text-start", choice, phase: this.#phase };
  }

  #release(emit: Emit<Event>): void {
    const held = this.#held;
    if (held.length === 0) return;
    this.#held = [];
    for (const one of held) this.#say(one, emit);
  }

  /** Lets go of the first characters that are held. */
  #releaseUpTo(length: number, emit: Emit<Event>): void {
    const held = this.#held;
    this.#held = [];
    let left = length;
    for (const one of held) {
      const isText = one.type === "text-delta";
      if (left === 0) this.#held.push(one);
      else if (!isText || one.text.length <= left) this.#say(one, emit);
      else {
        this.#say(cut(one, 0, left), emit);
        this.#held.push(cut(one, left, one.text.length));
      }
      if (isText) left = Math.max(0, left - one.text.length);
    }
  }

  /** Says what is no part of a call, white space only once it stands beside something. */
  #say(event: Exclude<Said, { readonly type: "text-start" }>, emit: Emit<Event>): void {
    if (!this.#worded && event.type === "text-delta" && event.text.trim() === "")
      return void this.#blank.push(event);
    this.#worded = true;
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

  /** Calls that came as such keep their order among those that were written. */
  #call(event: Extract<Said, { readonly call: number }>, emit: Emit<Event>): void {
    if (event.type === "call-start") {
      this.settle(emit);
      this.#worded = false;
      if (!this.#numbers.has(event.call)) this.#numbers.set(event.call, this.#calls++);
    }
    const call = this.#numbers.get(event.call);
    // A piece of a call that never began belongs to nothing, least of all to one of ours.
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
