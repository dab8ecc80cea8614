import type { Clock } from "../../turn/clock.ts";
import type { OnDecision } from "../../turn/decision.ts";
import type { CallStart, ItemStart, OnLeftOut, TurnEvent } from "../../turn/event.ts";
import type { AnyName } from "../../turn/names.ts";
import { callPath } from "../../turn/path.ts";
import type { Emit, Stage } from "../stage.ts";

export type StopRules = {
  /** How many calls a choice may have. */
  readonly limit: number;
  /** Whether a choice that has them is stopped. */
  readonly stops: boolean;
  /** How long it is waited for another call before the choice is stopped; none: for ever. */
  readonly graceMs?: number | undefined;
};

export type StopOptions = {
  readonly rules: StopRules;
  readonly clock: Pick<Clock, "now">;
  /** Where it is counted what a cap or a stop withheld. */
  readonly figures: { withheld: number; truncated: boolean; stopped: boolean };
  readonly leftOut?: OnLeftOut | undefined;
  readonly report: OnDecision;
};

/**
 * How long a turn that may make no more calls is given to end by itself. Most
 * say their end right behind the last call, and then nothing was cut.
 */
const LINGER_MS = 50;

/**
 * Limits the calls of one choice, and stops it after them. A limit alone
 * withholds what is beyond it and lets the turn go on. Stopping cuts the choice:
 * once it has all the calls it may have, or once no other has begun for a while.
 * A call under way is never cut. The stage is done when the choice was cut, which
 * interrupts the upstream as soon as all choices are.
 */
export const createStopAfterToolsController = <Name extends AnyName>(
  options: StopOptions,
): Stage<TurnEvent<Name>, TurnEvent<Name>> => new StopAfterTools<Name>(options);

class StopAfterTools<Name extends AnyName> implements Stage<TurnEvent<Name>, TurnEvent<Name>> {
  readonly #options: StopOptions;
  #choice = 0;
  #given = 0;
  readonly #open = new Set<number>();
  /** When a call said something last. */
  #lastWord = 0;
  /** What else is open, in case the choice is cut. */
  #block: "text" | "reasoning" | undefined;
  readonly #items = new Map<number, ItemStart>();
  /** Whether the model has gone on to speak behind its last call. */
  #hasMovedOn = false;
  #isCut = false;
  #hasEnded = false;
  #hasToldStop = false;

  constructor(options: StopOptions) {
    this.#options = options;
  }

  each(event: TurnEvent<Name>, emit: Emit<TurnEvent<Name>>): void {
    switch (event.type) {
      case "call-start":
        return this.#begin(event, emit);
      case "call-delta":
      case "call-end":
        // Calls are numbered in the order they begin.
        if (event.call >= this.#options.rules.limit || this.#isCut) return;
        if (event.type === "call-end") this.#open.delete(event.call);
        else this.#lastWord = this.#options.clock.now();
        return emit(event);
      case "turn-end":
        if (this.#hasEnded) return;
        this.#hasEnded = true;
        return emit(this.#isCut ? { ...event, stop: "calls" } : event);
      case "turn-fail":
        this.#hasEnded = true;
        return emit(event);
      default:
        this.#sayOther(event, emit);
    }
  }

  end(emit: Emit<TurnEvent<Name>>): void {
    if (!this.#isCut || this.#hasEnded) return;
    this.#hasEnded = true;
    this.#options.figures.stopped = true;
    // Where the upstream ran on for another choice, it is known whether more calls would have come.
    if (!this.#hasMovedOn) this.#options.figures.truncated = true;
    emit({ type: "turn-end", choice: this.#choice, stop: "calls" });
  }

  due(): number | undefined {
    const { stops, graceMs = Infinity } = this.#options.rules;
    const isWaiting = !this.#isCut && !this.#hasEnded && this.#given > 0 && this.#open.size === 0;
    const patience = stops && this.#isFull() ? Math.min(LINGER_MS, graceMs) : graceMs;
    return isWaiting && patience < Infinity ? this.#lastWord + patience : undefined;
  }

  lapse(_moment: number, emit: Emit<TurnEvent<Name>>): void {
    this.#cut(emit);
  }

  done(): boolean {
    return this.#isCut;
  }

  #isFull(): boolean {
    return this.#given >= this.#options.rules.limit;
  }

  #begin(event: CallStart<Name>, emit: Emit<TurnEvent<Name>>): void {
    if (this.#isCut || this.#isFull()) return this.#withhold(event, emit);
    this.#choice = event.choice;
    this.#given++;
    this.#open.add(event.call);
    this.#lastWord = this.#options.clock.now();
    this.#hasMovedOn = false;
    emit(event);
  }

  #withhold(event: CallStart<Name>, emit: Emit<TurnEvent<Name>>): void {
    const { figures, leftOut, report, rules } = this.#options;
    figures.withheld++;
    leftOut?.(event, "withheld");
    figures.truncated = true;
    const why =
      rules.limit === Infinity
        ? "the turn was stopped after its calls"
        : `a choice may have ${rules.limit}`;
    report({
      path: callPath(event),
      action: "dropped",
      reason: `a call of \`${event.name}\` is withheld: ${why}`,
    });
    if (rules.stops && this.#open.size === 0) this.#cut(emit);
  }

  #sayOther(event: TurnEvent<Name>, emit: Emit<TurnEvent<Name>>): void {
    if (this.#isCut) return;
    if (event.type === "text-delta" && this.#given > 0) this.#hasMovedOn = true;
    // A turn that is stopped once it is full has said all that it may.
    const isThrough = this.#options.rules.stops && this.#isFull() && this.#open.size === 0;
    if (isThrough && !this.#goesOn(event)) return this.#tellStop();
    if (event.type === "text-start") this.#block = "text";
    if (event.type === "reasoning-start") this.#block = "reasoning";
    if (event.type === "text-end" || event.type === "reasoning-end") this.#block = undefined;
    if (event.type === "item-start") this.#items.set(event.item, event);
    if (event.type === "item-end") this.#items.delete(event.item);
    emit(event);
  }

  /** Whether it belongs to what has begun already, and has to be closed by whoever began it. */
  #goesOn(event: TurnEvent<Name>): boolean {
    switch (event.type) {
      case "text-delta":
      case "text-break":
      case "text-note":
      case "refusal-delta":
      case "text-end":
        return this.#block === "text";
      case "reasoning-delta":
      case "reasoning-end":
        return this.#block === "reasoning";
      case "item-note":
      case "item-end":
        return this.#items.has(event.item);
      default:
        return false;
    }
  }

  #tellStop(): void {
    if (this.#hasToldStop) return;
    this.#hasToldStop = true;
    const reason = "what follows the calls is left out: the turn is stopped after them";
    this.#options.report({ path: "output", action: "dropped", reason });
  }

  /** Nothing more of the choice is shown; what was being said is closed as cut off. */
  #cut(emit: Emit<TurnEvent<Name>>): void {
    if (this.#isCut) return;
    this.#isCut = true;
    this.#tellStop();
    const choice = this.#choice;
    if (this.#block !== undefined) emit({ type: `${this.#block}-end`, choice, complete: false });
    for (const [item, { dialect, raw }] of this.#items)
      emit({ type: "item-end", choice, item, dialect, raw });
  }
}
