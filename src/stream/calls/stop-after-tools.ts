import type { Clock } from "../../turn/clock.ts";
import type { OnDecision } from "../../turn/decision.ts";
import type { CallStart, ItemStart, OnLeftOut, TurnEvent } from "../../turn/event.ts";
import type { ClientName } from "../../turn/names.ts";
import { callPath } from "../../turn/path.ts";
import type { Emit, EventStage } from "../stage.ts";

type Event = TurnEvent<ClientName>;

export type StopRules = {
  /** The most calls of a choice. */
  readonly limit: number;
  /** True if a choice that has so many calls is stopped. */
  readonly stops: boolean;
  /** Milliseconds to wait for another call before the choice is stopped; undefined: forever. */
  readonly graceMs?: number | undefined;
};

export type StopOptions = {
  readonly rules: StopRules;
  readonly clock: Pick<Clock, "now">;
  /** Counts the calls that a limit or a stop withheld. */
  readonly figures: { withheld: number; truncated: boolean; stopped: boolean };
  readonly leftOut?: OnLeftOut | undefined;
  readonly report: OnDecision;
};

/**
 * Milliseconds in which a turn that may make no more calls can end by itself. Most end right after
 * the last call, and then nothing was cut.
 */
const LINGER_MS = 50;

/**
 * Limits the calls of one choice, and stops it after them. A limit alone withholds further calls
 * and lets the turn continue. A stop cuts the choice once it has all the calls it may have, or
 * once no other call has begun for a while. An open call is never cut. The stage is done when the
 * choice was cut, which interrupts the upstream as soon as all choices are done.
 */
export const createStopAfterToolsController = (options: StopOptions): EventStage<ClientName> =>
  new StopAfterTools(options);

class StopAfterTools implements EventStage<ClientName> {
  readonly #options: StopOptions;
  #choice = 0;
  #passed = 0;
  readonly #open = new Set<number>();
  /** The moment of the last event of a call. */
  #lastDelta = 0;
  /** The open block and items: a cut closes them. */
  #block: "text" | "reasoning" | undefined;
  readonly #items = new Map<number, ItemStart>();
  /** True if text followed the last call. */
  #hasMovedOn = false;
  #isCut = false;
  #hasEnded = false;
  #hasReportedStop = false;

  constructor(options: StopOptions) {
    this.#options = options;
  }

  each(event: Event, emit: Emit<Event>): void {
    switch (event.type) {
      case "call-start":
        return this.#begin(event, emit);
      case "call-delta":
      case "call-end":
        // Calls are numbered in the order they begin.
        if (event.call >= this.#options.rules.limit || this.#isCut) return;
        if (event.type === "call-end") this.#open.delete(event.call);
        else this.#lastDelta = this.#options.clock.now();
        return emit(event);
      case "turn-end":
        if (this.#hasEnded) return;
        this.#hasEnded = true;
        return emit(this.#isCut ? { ...event, stop: "calls" } : event);
      case "turn-fail":
        this.#hasEnded = true;
        return emit(event);
      default:
        this.#passOther(event, emit);
    }
  }

  end(emit: Emit<Event>): void {
    if (!this.#isCut || this.#hasEnded) return;
    this.#hasEnded = true;
    this.#options.figures.stopped = true;
    // Text after the last call shows that no more calls would have come.
    if (!this.#hasMovedOn) this.#options.figures.truncated = true;
    emit({ type: "turn-end", choice: this.#choice, stop: "calls" });
  }

  due(): number | undefined {
    const { stops, graceMs = Infinity } = this.#options.rules;
    const isWaiting = !this.#isCut && !this.#hasEnded && this.#passed > 0 && this.#open.size === 0;
    const patience = stops && this.#isFull() ? Math.min(LINGER_MS, graceMs) : graceMs;
    return isWaiting && patience < Infinity ? this.#lastDelta + patience : undefined;
  }

  lapse(_moment: number, emit: Emit<Event>): void {
    this.#cut(emit);
  }

  done(): boolean {
    return this.#isCut;
  }

  #isFull(): boolean {
    return this.#passed >= this.#options.rules.limit;
  }

  #begin(event: CallStart<ClientName>, emit: Emit<Event>): void {
    if (this.#isCut || this.#isFull()) return this.#withhold(event, emit);
    this.#choice = event.choice;
    this.#passed++;
    this.#open.add(event.call);
    this.#lastDelta = this.#options.clock.now();
    this.#hasMovedOn = false;
    emit(event);
  }

  #withhold(event: CallStart<ClientName>, emit: Emit<Event>): void {
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

  #passOther(event: Event, emit: Emit<Event>): void {
    if (this.#isCut) return;
    if (event.type === "text-delta" && this.#passed > 0) this.#hasMovedOn = true;
    // A choice that has all its calls, and is stopped then, may begin nothing new.
    const isFinished = this.#options.rules.stops && this.#isFull() && this.#open.size === 0;
    if (isFinished && !this.#continues(event)) return this.#reportStop();
    if (event.type === "text-start") this.#block = "text";
    if (event.type === "reasoning-start") this.#block = "reasoning";
    if (event.type === "text-end" || event.type === "reasoning-end") this.#block = undefined;
    if (event.type === "item-start") this.#items.set(event.item, event);
    if (event.type === "item-end") this.#items.delete(event.item);
    emit(event);
  }

  /** True for an event of a block or item that is open. */
  #continues(event: Event): boolean {
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

  #reportStop(): void {
    if (this.#hasReportedStop) return;
    this.#hasReportedStop = true;
    const reason = "what follows the calls is left out: the turn is stopped after them";
    this.#options.report({ path: "output", action: "dropped", reason });
  }

  /** Ends the choice: closes its open block and items, and lets nothing follow. */
  #cut(emit: Emit<Event>): void {
    if (this.#isCut) return;
    this.#isCut = true;
    this.#reportStop();
    const choice = this.#choice;
    if (this.#block !== undefined) emit({ type: `${this.#block}-end`, choice, complete: false });
    for (const [item, { dialect, raw }] of this.#items)
      emit({ type: "item-end", choice, item, dialect, raw });
  }
}
