import {
  isCut,
  type Frame,
  type ItemEnd,
  type ItemStart,
  type StopReason,
  type TurnEnd,
  type TurnEvent,
} from "../turn/event.ts";
import { Fault } from "../turn/fault.ts";
import type { AnyName } from "../turn/names.ts";
import type { Extra } from "../turn/turn.ts";
import type { Emit, EventStage } from "./stage.ts";

/** An event about a call or an item of a choice. */
type OfCall<Name extends AnyName> = Extract<TurnEvent<Name>, { readonly call: number }>;
type OfItem<Name extends AnyName> = Extract<TurnEvent<Name>, { readonly item: number }>;

/** The open parts that are cut off: none, the one that was written last, or all. */
type Cut = "none" | "last" | "all";

type Block = "text" | "reasoning";

/**
 * Makes the events of a reader lawful, so that writers need no checks: it opens and closes blocks,
 * holds the end of each choice back until the stream has ended (text and counts may follow a
 * finish), and lets nothing follow a failure. A stream that ends before its choices becomes a
 * failure.
 */
export class StreamNormalizer<Name extends AnyName> implements EventStage<Name> {
  readonly #asked: number;
  readonly #isStopped: ((choice: number) => boolean) | undefined;
  readonly #most: number;
  readonly #choices = new Map<number, Choice<Name>>();
  #last: Choice<Name> | undefined;
  #started = false;
  #failed = false;
  /** The number of choices that have ended. */
  #ended = 0;
  /** The choices that ended since the last frame. */
  #stops: number[] = [];
  /** Frames before the first event of another type: they wait, since nothing has begun. */
  #early: Frame[] = [];
  /** Left out if no rule can stop a choice: then only the source ends the stream. */
  readonly done?: () => boolean;

  /**
   * `asked`: the number of choices that the client wants. Events of choices beyond `most` are left
   * out. `isStopped` is true for choices that a later rule has stopped, and whose end it emits:
   * once no other choice is open, nothing more is needed.
   */
  constructor(asked = 1, isStopped?: (choice: number) => boolean, most = Infinity) {
    this.#asked = asked;
    this.#isStopped = isStopped;
    this.#most = most;
    // An answer whose choices have all ended may still bring counts.
    if (isStopped !== undefined)
      this.done = () => {
        const { size } = this.#choices;
        return size >= asked && this.#ended < size && this.#isOver();
      };
  }

  each(event: TurnEvent<Name>, emit: Emit<TurnEvent<Name>>): void {
    if (this.#failed) return;
    if (!this.#started && event.type !== "turn-fail") {
      if (event.type === "frame") return void this.#early.push(event);
      this.#started = true;
      emit(event.type === "turn-start" ? event : { type: "turn-start" });
      for (const frame of this.#early) emit(frame);
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
        const { choice: index } = event;
        const choice = this.#last?.index === index ? this.#last : this.#choice(index);
        choice?.each(event, emit);
      }
    }
  }

  end(emit: Emit<TurnEvent<Name>>): void {
    if (this.#failed) return;
    const { size } = this.#choices;
    if (size === 0) return this.#fail(empty(), emit);
    // If an answer has fewer choices than were asked for, those that it has still end.
    const isShort = size < this.#asked && this.#ended < size;
    if (isShort || (this.#ended < size && !this.#isOver())) return this.#fail(cutOff(), emit);
    for (const choice of this.#choices.values()) choice.end(emit);
  }

  #choice(index: number): Choice<Name> | undefined {
    let choice = this.#choices.get(index);
    if (choice === undefined) {
      if (this.#choices.size >= this.#most) return undefined;
      this.#choices.set(index, (choice = new Choice(index)));
    }
    return (this.#last = choice);
  }

  /** True if every choice that began has ended, or was stopped. */
  #isOver(): boolean {
    for (const { index, stop } of this.#choices.values())
      if (stop === undefined && this.#isStopped?.(index) !== true) return false;
    return this.#choices.size > 0;
  }

  /**
   * An answer whose choices have all ended is complete. A failure that the upstream reports
   * afterwards still counts, because the ends have not been emitted, except those by a rule.
   */
  #spoils(fault: Fault): boolean {
    const { size } = this.#choices;
    return size < this.#asked || !this.#isOver() || (fault.isFromUpstream && this.#ended === size);
  }

  #stop({ choice: index, stop, extra }: TurnEnd): void {
    const choice = this.#choice(index);
    if (choice === undefined) return;
    if (choice.stop === undefined) {
      this.#ended++;
      this.#stops.push(index);
    }
    // Some upstreams send two ends; one that cut the choice off is final.
    if (choice.stop !== undefined && isCut(choice.stop)) return;
    choice.stop = stop;
    choice.ending = extra ?? choice.ending;
  }

  #fail(fault: Fault, emit: Emit<TurnEvent<Name>>): void {
    this.#failed = true;
    for (const choice of this.#choices.values()) choice.close("all", emit);
    emit({ type: "turn-fail", fault });
  }
}

class Choice<Name extends AnyName> {
  readonly index: number;
  stop: StopReason | undefined;
  /** Other fields of the upstream's end. */
  ending: Extra | undefined;
  #open: Block | undefined;
  readonly #calls = new Map<number, { readonly kind: string; empty: boolean; open: boolean }>();
  /** True if one of them was closed before it was whole. */
  #hasCutCall = false;
  /** Every item begun so far, as it was begun; undefined once it is closed. */
  #items: Map<number, ItemStart | ItemEnd | undefined> | undefined;
  /** The call that was written last; undefined if another part was. */
  #current: number | undefined;

  constructor(index: number) {
    this.index = index;
  }

  each(
    event: Exclude<Extract<TurnEvent<Name>, { readonly choice: number }>, TurnEnd>,
    emit: Emit<TurnEvent<Name>>,
  ): void {
    switch (event.type) {
      case "call-start":
      case "call-delta":
      case "call-end":
        return this.#call(event, emit);
      case "item-start":
      case "item-note":
      case "item-end":
        return this.#item(event, emit);
      case "text-start":
      case "reasoning-start":
        this.#close(true, emit);
        this.#open = event.type === "text-start" ? "text" : "reasoning";
        this.#current = undefined;
        break;
      case "text-delta":
        if (event.text === "" && event.logprobs === undefined) return;
        this.#begin("text", emit);
        break;
      case "refusal-delta":
        if (event.text === "") return;
        this.#begin("text", emit);
        break;
      case "text-note":
      case "text-break":
        this.#begin("text", emit);
        break;
      case "reasoning-delta":
        if (event.text === "") return;
        this.#begin("reasoning", emit);
        break;
      case "vendor-extra":
        if (event.of === "reasoning") this.#begin("reasoning", emit);
        break;
      case "text-end":
        if (this.#open !== "text") return;
        this.#open = undefined;
        break;
      case "reasoning-end":
        // Sealed reasoning may come without readable text.
        if (event.encrypted !== undefined || event.details !== undefined)
          this.#begin("reasoning", emit);
        if (this.#open !== "reasoning") return;
        this.#open = undefined;
        break;
      default:
        event satisfies never;
    }
    emit(event);
  }

  #call(event: OfCall<Name>, emit: Emit<TurnEvent<Name>>): void {
    const call = this.#calls.get(event.call);
    if (event.type === "call-start") {
      if (call !== undefined) return;
      this.#close(true, emit);
      this.#calls.set(event.call, { kind: event.kind, empty: true, open: true });
      this.#current = event.call;
      return emit(event);
    }
    if (call?.open !== true) return;
    if (event.type === "call-end") return this.#endCall(event.call, event.complete, emit);
    if (event.text === "") return;
    if (call.empty && event.text.trim() !== "") call.empty = false;
    this.#current = event.call;
    emit(event);
  }

  #item(event: OfItem<Name>, emit: Emit<TurnEvent<Name>>): void {
    const { item, raw, dialect } = event;
    const items = (this.#items ??= new Map());
    if (event.type !== "item-note" && !items.has(item)) {
      this.#close(true, emit);
      this.#current = undefined;
      items.set(item, event);
      emit({ type: "item-start", choice: this.index, item, dialect, raw });
    }
    if (event.type === "item-start" || items.get(item) === undefined) return;
    this.#current = undefined;
    if (event.type === "item-end") items.set(item, undefined);
    emit(event);
  }

  /** Opens a block, unless it is open. */
  #begin(block: Block, emit: Emit<TurnEvent<Name>>): void {
    this.#current = undefined;
    if (this.#open === block) return;
    this.#close(true, emit);
    this.#open = block;
    emit({ type: block === "text" ? "text-start" : "reasoning-start", choice: this.index });
  }

  #close(complete: boolean, emit: Emit<TurnEvent<Name>>): void {
    if (this.#open === undefined) return;
    const type = this.#open === "text" ? "text-end" : "reasoning-end";
    this.#open = undefined;
    emit(complete ? { type, choice: this.index } : { type, choice: this.index, complete });
  }

  #endCall(call: number, complete: boolean, emit: Emit<TurnEvent<Name>>): void {
    const state = this.#calls.get(call);
    if (state?.open !== true) return;
    state.open = false;
    this.#hasCutCall ||= !complete;
    // Readers parse the arguments of a function, so blank ones become an empty object.
    if (complete && state.empty && state.kind === "function")
      emit({ type: "call-delta", choice: this.index, call, text: "{}" });
    emit({ type: "call-end", choice: this.index, call, complete });
  }

  /** Closes all that is open. */
  close(cut: Cut, emit: Emit<TurnEvent<Name>>): void {
    this.#close(cut === "none" || (cut === "last" && this.#current !== undefined), emit);
    for (const call of this.#calls.keys())
      this.#endCall(call, cut === "none" || (cut === "last" && call !== this.#current), emit);
    if (this.#items === undefined) return;
    for (const [item, begun] of this.#items) {
      if (begun === undefined) continue;
      this.#items.set(item, undefined);
      const { dialect, raw } = begun;
      emit({ type: "item-end", choice: this.index, item, dialect, raw });
    }
  }

  /** Closes all that is open and emits the end, if the choice has ended. */
  end(emit: Emit<TurnEvent<Name>>): void {
    if (this.stop === undefined) return;
    let { stop } = this;
    // Providers disagree on the stop reason of an answer with calls, so the calls decide. Clients
    // run the calls of an answer that ends with `calls`, so one with an incomplete call was cut.
    const wasCut = isCut(stop);
    if (!wasCut && this.#hasCutCall) stop = "length";
    else if (!wasCut) stop = this.#calls.size > 0 ? "calls" : "end";
    this.close(isCut(stop) ? "last" : "none", emit);
    const end: TurnEnd = { type: "turn-end", choice: this.index, stop };
    emit(this.ending === undefined ? end : { ...end, extra: this.ending });
  }
}

const empty = (): Fault =>
  new Fault("upstream.empty", "The upstream ended its answer before it began; try again.");

const cutOff = (): Fault =>
  new Fault(
    "upstream.cut",
    "The upstream closed the stream before the answer was complete; try again.",
  );
