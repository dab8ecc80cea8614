import type { TurnEnd, TurnEvent } from "../turn/event.ts";
import type { AnyName } from "../turn/names.ts";
import type { Emit } from "./stage.ts";

/**
 * Joins the events of several rounds into those of one turn: the start of the first round, the
 * ends of the last one, and calls and items numbered across the rounds.
 */
export class RoundJoin<Name extends AnyName> {
  #hasStarted = false;
  #ends: TurnEnd[] = [];
  readonly #calls = new Numbering();
  readonly #items = new Numbering();

  each(event: TurnEvent<Name>, emit: Emit<TurnEvent<Name>>): void {
    switch (event.type) {
      case "turn-start":
        if (!this.#hasStarted) emit(event);
        this.#hasStarted = true;
        return;
      case "turn-end":
        this.#ends.push(event);
        return;
      case "call-start":
        return emit({ ...event, call: this.#calls.begin(event.choice, event.call) });
      case "call-delta":
      case "call-end":
        return emit({ ...event, call: this.#calls.find(event.choice, event.call) });
      case "item-start":
        return emit({ ...event, item: this.#items.begin(event.choice, event.item) });
      case "item-note":
      case "item-end":
        return emit({ ...event, item: this.#items.find(event.choice, event.item) });
      default:
        emit(event);
    }
  }

  /** Drops the ends of the round, because another round follows. */
  nextRound(): void {
    this.#ends = [];
    this.#calls.nextRound();
    this.#items.nextRound();
  }

  end(emit: Emit<TurnEvent<Name>>): void {
    for (const event of this.#ends) emit(event);
    this.#ends = [];
  }
}

/**
 * Numbers the calls or items of each choice in the order in which they begin, without gaps across
 * the rounds.
 */
class Numbering {
  readonly #next = new Map<number, number>();
  /** By the choice and the number in the round. */
  readonly #round = new Map<string, number>();

  begin(choice: number, index: number): number {
    const number = this.#next.get(choice) ?? 0;
    this.#next.set(choice, number + 1);
    this.#round.set(`${choice}:${index}`, number);
    return number;
  }

  find(choice: number, index: number): number {
    return this.#round.get(`${choice}:${index}`) ?? index;
  }

  nextRound(): void {
    this.#round.clear();
  }
}
