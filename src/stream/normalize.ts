import {
  isCut,
  type Frame,
  type StopReason,
  type TurnEnd,
  type TurnEvent,
  type TurnStart,
  type ItemEnd,
  type ItemStart,
} from "../turn/event.ts";
import { Fault } from "../turn/fault.ts";
import type { AnyName } from "../turn/names.ts";
import type { Extra } from "../turn/turn.ts";
import type { Emit, Stage } from "./stage.ts";

/** Where one choice stands. */
type Choice = {
  readonly index: number;
  open: "text" | "reasoning" | undefined;
  /** Every call begun so far. */
  readonly calls: Map<number, { readonly kind: string; empty: boolean; open: boolean }>;
  /** Whether one of them was closed before it was whole. */
  hasCutCall: boolean;
  /** Every item begun so far, as it was begun; undefined once it is closed. */
  readonly items: Map<number, ItemStart | ItemEnd | undefined>;
  /** The call last written to, unless anything else was since. */
  current: number | undefined;
  stop: StopReason | undefined;
  /** What else was said of its end. */
  ending: Extra | undefined;
};

/** What is said within a choice. */
type Said<Name extends AnyName> = Exclude<
  Extract<TurnEvent<Name>, { readonly choice: number }>,
  { readonly type: "turn-end" }
>;

/** What was cut short: nothing, what was being written when it happened, or all that is open. */
type Cut = "none" | "last" | "all";

/**
 * Makes the events of a reader lawful, so that no writer has to wonder: opens
 * and closes blocks, holds each choice's end back until the stream is over
 * (text and counts may follow a finish), and lets nothing pass a failure. A
 * stream that ends before its choices did becomes a failure. `asked` is how
 * many choices the client wants, `most` how many it has room for: what others
 * say is not there. `isStopped` tells of those that a rule behind has stopped,
 * who says their end too: once they are all that has not ended, nothing more is
 * needed.
 */
export const normalizeStream = <Name extends AnyName>(
  asked = 1,
  isStopped: (choice: number) => boolean = () => false,
  most = Infinity,
): Stage<TurnEvent<Name>, TurnEvent<Name>> => new StreamNormalizer<Name>(asked, isStopped, most);

class StreamNormalizer<Name extends AnyName> implements Stage<TurnEvent<Name>, TurnEvent<Name>> {
  readonly #asked: number;
  readonly #isStopped: (choice: number) => boolean;
  readonly #most: number;
  readonly #choices = new Map<number, Choice>();
  #last: Choice | undefined;
  #started = false;
  #failed = false;
  /** How many choices have ended. */
  #ended = 0;
  /** The choices that ended since the last frame. */
  #stops: number[] = [];
  /** Frames that came before anything was said: they wait, since nothing has begun. */
  #early: Frame[] = [];

  constructor(asked: number, isStopped: (choice: number) => boolean, most: number) {
    this.#asked = asked;
    this.#isStopped = isStopped;
    this.#most = most;
  }

  each(event: TurnEvent<Name>, emit: Emit<TurnEvent<Name>>): void {
    if (this.#failed) return;
    if (!this.#started && event.type !== "turn-fail") {
      if (event.type === "frame") return void this.#early.push(event);
      this.#start(event.type === "turn-start" ? event : { type: "turn-start" }, emit);
    }
    switch (event.type) {
      case "turn-start":
        return;
      case "usage":
        return emit(event);
      case "frame":
        if (this.#stops.length === 0) return emit(event);
        emit({ ...event, stops: this.#stops });
        this.#stops = [];
        return;
      case "turn-end":
        return this.#stop(event);
      case "turn-fail":
        if (this.#spoils(event.fault)) this.#fail(event.fault, emit);
        return;
      default: {
        const choice = this.#choice(event.choice);
        if (choice !== undefined) say(choice, event, emit);
      }
    }
  }

  end(emit: Emit<TurnEvent<Name>>): void {
    if (this.#failed) return;
    if (this.#choices.size === 0) return this.#fail(empty(), emit);
    const { size } = this.#choices;
    // Who gives fewer choices than were asked for still ends those it gives, also one that was stopped.
    const isShort = size < this.#asked && this.#ended < size;
    if (isShort || !this.#isOver()) return this.#fail(cutOff(), emit);
    for (const choice of this.#choices.values()) {
      if (choice.stop === undefined) continue;
      const stop = settleStop(choice);
      closeAll(choice, isCut(stop) ? "last" : "none", emit);
      const { index, ending: extra } = choice;
      emit({ type: "turn-end", choice: index, stop, ...(extra !== undefined && { extra }) });
    }
  }

  done(): boolean {
    const { size } = this.#choices;
    // An answer whose choices have all ended has counts to tell yet.
    return size >= this.#asked && this.#ended < size && this.#isOver();
  }

  #choice(index: number): Choice | undefined {
    if (this.#last?.index === index) return this.#last;
    let choice = this.#choices.get(index);
    if (choice === undefined) {
      if (this.#choices.size >= this.#most) return undefined;
      this.#choices.set(index, (choice = newChoice(index)));
    }
    this.#last = choice;
    return choice;
  }

  /** Whether every choice that began has ended, or was stopped. */
  #isOver(): boolean {
    for (const { index, stop } of this.#choices.values())
      if (stop === undefined && !this.#isStopped(index)) return false;
    return this.#choices.size > 0;
  }

  /**
   * An answer whose choices have all ended needs no more to be heard. But who
   * says then that it failed does not mean what it said: its end is still ours
   * to tell, unless a rule told one before.
   */
  #spoils(fault: Fault): boolean {
    const { size } = this.#choices;
    return size < this.#asked || !this.#isOver() || (fault.isFromUpstream && this.#ended === size);
  }

  #start(event: TurnStart, emit: Emit<TurnEvent<Name>>): void {
    this.#started = true;
    emit(event);
    for (const frame of this.#early) emit(frame);
    this.#early = [];
  }

  #stop({ choice: index, stop, extra }: TurnEnd): void {
    const choice = this.#choice(index);
    if (choice === undefined) return;
    if (choice.stop === undefined) {
      this.#ended++;
      this.#stops.push(index);
    }
    // Upstreams may say it twice; being cut off is not taken back.
    if (choice.stop !== undefined && isCut(choice.stop)) return;
    choice.stop = stop;
    choice.ending = extra ?? choice.ending;
  }

  #fail(fault: Fault, emit: Emit<TurnEvent<Name>>): void {
    this.#failed = true;
    for (const choice of this.#choices.values()) closeAll(choice, "all", emit);
    emit({ type: "turn-fail", fault });
  }
}

const newChoice = (index: number): Choice => ({
  index,
  open: undefined,
  calls: new Map(),
  hasCutCall: false,
  items: new Map(),
  current: undefined,
  stop: undefined,
  ending: undefined,
});

function say<Name extends AnyName>(
  choice: Choice,
  event: Said<Name>,
  emit: Emit<TurnEvent<Name>>,
): void {
  switch (event.type) {
    case "text-delta":
      if (event.text === "" && event.logprobs === undefined) return;
      openBlock(choice, "text", emit);
      return emit(event);
    case "refusal-delta":
      if (event.text === "") return;
      openBlock(choice, "text", emit);
      return emit(event);
    case "text-note":
    case "text-break":
      openBlock(choice, "text", emit);
      return emit(event);
    case "reasoning-delta":
      if (event.text === "") return;
      openBlock(choice, "reasoning", emit);
      return emit(event);
    case "text-start":
    case "reasoning-start":
      closeBlock(choice, true, emit);
      choice.open = event.type === "text-start" ? "text" : "reasoning";
      choice.current = undefined;
      return emit(event);
    case "text-end":
      if (choice.open !== "text") return;
      choice.open = undefined;
      return emit(event);
    case "reasoning-end":
      // Sealed reasoning may come without a word that can be read.
      if (event.encrypted !== undefined || event.details !== undefined)
        openBlock(choice, "reasoning", emit);
      if (choice.open !== "reasoning") return;
      choice.open = undefined;
      return emit(event);
    case "vendor-extra":
      if (event.of === "reasoning") openBlock(choice, "reasoning", emit);
      return emit(event);
    case "call-start":
    case "call-delta":
    case "call-end":
      return sayCall(choice, event, emit);
    case "item-start":
    case "item-note":
    case "item-end":
      return sayItem(choice, event, emit);
    default:
      event satisfies never;
  }
}

function sayCall<Name extends AnyName>(
  choice: Choice,
  event: Extract<Said<Name>, { readonly call: number }>,
  emit: Emit<TurnEvent<Name>>,
): void {
  const call = choice.calls.get(event.call);
  if (event.type === "call-start") {
    if (call !== undefined) return;
    closeBlock(choice, true, emit);
    choice.calls.set(event.call, { kind: event.kind, empty: true, open: true });
    choice.current = event.call;
    return emit(event);
  }
  if (call?.open !== true) return;
  if (event.type === "call-end") return closeCall(choice, event.call, event.complete, emit);
  if (event.text === "") return;
  if (call.empty && event.text.trim() !== "") call.empty = false;
  choice.current = event.call;
  emit(event);
}

function sayItem<Name extends AnyName>(
  choice: Choice,
  event: Extract<Said<Name>, { readonly item: number }>,
  emit: Emit<TurnEvent<Name>>,
): void {
  const { item, raw } = event;
  if (event.type !== "item-note" && !choice.items.has(item)) {
    closeBlock(choice, true, emit);
    choice.current = undefined;
    choice.items.set(item, event);
    emit({ type: "item-start", choice: choice.index, item, dialect: event.dialect, raw });
  }
  if (event.type === "item-start" || choice.items.get(item) === undefined) return;
  choice.current = undefined;
  if (event.type === "item-end") choice.items.set(item, undefined);
  emit(event);
}

function openBlock<Name extends AnyName>(
  choice: Choice,
  block: "text" | "reasoning",
  emit: Emit<TurnEvent<Name>>,
): void {
  choice.current = undefined;
  if (choice.open === block) return;
  closeBlock(choice, true, emit);
  choice.open = block;
  emit({ type: block === "text" ? "text-start" : "reasoning-start", choice: choice.index });
}

function closeBlock<Name extends AnyName>(
  choice: Choice,
  complete: boolean,
  emit: Emit<TurnEvent<Name>>,
): void {
  if (choice.open === undefined) return;
  const type = choice.open === "text" ? "text-end" : "reasoning-end";
  choice.open = undefined;
  emit(complete ? { type, choice: choice.index } : { type, choice: choice.index, complete });
}

function closeCall<Name extends AnyName>(
  choice: Choice,
  call: number,
  complete: boolean,
  emit: Emit<TurnEvent<Name>>,
): void {
  const state = choice.calls.get(call);
  if (state?.open !== true) return;
  state.open = false;
  choice.hasCutCall ||= !complete;
  // A function called with nothing, or with blanks, has no arguments: readers parse what they get.
  if (complete && state.empty && state.kind === "function")
    emit({ type: "call-delta", choice: choice.index, call, text: "{}" });
  emit({ type: "call-end", choice: choice.index, call, complete });
}

function closeAll<Name extends AnyName>(
  choice: Choice,
  cut: Cut,
  emit: Emit<TurnEvent<Name>>,
): void {
  const { index, current, calls, items } = choice;
  const whole = (call: number | undefined): boolean =>
    cut === "none" || (cut === "last" && call !== current);
  closeBlock(choice, whole(undefined), emit);
  for (const call of calls.keys()) closeCall(choice, call, whole(call), emit);
  for (const [item, begun] of items) {
    if (begun === undefined) continue;
    items.set(item, undefined);
    const { dialect, raw } = begun;
    emit({ type: "item-end", choice: index, item, dialect, raw });
  }
}

/**
 * Providers disagree on what they call a stop for calls; whether calls were made
 * is a fact. Clients run the calls of an answer that ends with them, so one in
 * which a call is incomplete has been cut, whatever its upstream says.
 */
function settleStop({ stop, calls, hasCutCall }: Choice): StopReason {
  if (stop !== undefined && isCut(stop)) return stop;
  if (hasCutCall) return "length";
  return calls.size > 0 ? "calls" : "end";
}

const empty = (): Fault =>
  new Fault("upstream.empty", "The upstream ended its answer before it began; try again.");

const cutOff = (): Fault =>
  new Fault(
    "upstream.cut",
    "The upstream closed the stream before the answer was complete; try again.",
  );
