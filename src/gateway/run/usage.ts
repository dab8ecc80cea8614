/** Counts the tokens of a turn over all its upstream calls, and estimates those that an upstream did not count. */

import { addUsage, type TurnEvent, type Usage } from "../../turn/event.ts";
import type { AnyName } from "../../turn/names.ts";
import type { Turn } from "../../turn/turn.ts";
import { inputTokens, tokensOf } from "../../upstreams/tokens.ts";
import type { Round } from "./round.ts";

/** The turn, and the round that is under way. */
type Metered = { readonly turn: Turn; readonly round: Round | undefined };

/**
 * An upstream that is stopped in mid-answer reports no count or only an early one, and some never
 * report one: the rest is estimated. A request that its upstream refused used nothing.
 */
export class UsageMeter {
  readonly #run: Metered;
  /** Tokens of the upstream calls before the current one. */
  before: Usage | undefined;
  /** The last count of the current upstream, and the characters that it had sent by then. */
  #counted: Usage | undefined;
  #charsCounted = 0;
  /** Characters that its model has written. */
  #chars = 0;
  /** True once the current upstream has sent an event. */
  isAnswered = false;
  #isRefused = false;
  #estimatedInput: number | undefined;

  constructor(run: Metered) {
    this.#run = run;
  }

  /** Counts an event of the upstream. Frames are left out: other events have their content. */
  hear(event: TurnEvent<AnyName>): void {
    // By type, the commonest first: every delta of a stream comes here.
    switch (event.type) {
      case "text-delta":
      case "call-delta":
      case "reasoning-delta":
      case "refusal-delta":
        this.#chars += event.text.length;
        break;
      case "call-start":
        this.#chars += event.name.length;
        break;
      case "usage":
        this.#counted = event.usage;
        this.#charsCounted = this.#chars;
        break;
      case "turn-fail":
        this.#isRefused ||= !this.isAnswered;
        return;
      default:
    }
    this.isAnswered = true;
  }

  /** Another call follows the current one. */
  next(): void {
    this.before = this.total;
    this.#counted = undefined;
    this.#estimatedInput = undefined;
    this.#chars = this.#charsCounted = 0;
    this.isAnswered = this.#isRefused = false;
  }

  /** Tokens of the current upstream call so far. */
  get current(): Usage | undefined {
    if (this.#isRefused) return undefined;
    if (this.#counted !== undefined && this.#charsCounted === this.#chars) return this.#counted;
    const counted = this.#counted ?? this.#estimate();
    const more = tokensOf(this.#chars) - counted.output;
    if (more <= 0) return counted;
    const { output, total } = counted;
    return { ...counted, output: output + more, total: total + more, estimated: true };
  }

  /** Tokens of all upstream calls so far. */
  get total(): Usage | undefined {
    const { current } = this;
    if (this.before === undefined || current === undefined) return current ?? this.before;
    return addUsage(this.before, current);
  }

  #estimate(): Usage {
    const input = (this.#estimatedInput ??= this.#countInput());
    return { input, output: 0, total: input, estimated: true };
  }

  /** An upstream that was sent a reference to an earlier answer reads that answer too. */
  #countInput(): number {
    const { round, turn } = this.#run;
    return round?.refers === false ? inputTokens(round.plan.turn) : inputTokens(turn);
  }
}
