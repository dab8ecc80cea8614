import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { AnswerContext } from "./item-context.ts";

type Event = TurnEvent<UpstreamName>;

/**
 * Only one message, reasoning or call is open at a time: events of others wait
 * until it has ended.
 */
export class OneOpenItem {
  readonly #to: Pick<AnswerContext, "emit" | "markRepaired">;
  #owner: object | undefined;
  readonly #waiting = new Map<object, Event[]>();
  #passing = false;

  constructor(to: Pick<AnswerContext, "emit" | "markRepaired">) {
    this.#to = to;
  }

  emit(owner: object, event: Event): void {
    if (this.#owner !== undefined && this.#owner !== owner) {
      this.#to.markRepaired();
      const events = this.#waiting.get(owner);
      if (events === undefined) this.#waiting.set(owner, [event]);
      else events.push(event);
      return;
    }
    this.#to.emit(event);
    switch (event.type) {
      case "text-start":
      case "reasoning-start":
      case "call-start":
        this.#owner = owner;
        return;
      case "text-end":
      case "reasoning-end":
      case "call-end":
        return this.leave(owner);
      default:
    }
  }

  leave(owner: object): void {
    if (this.#owner !== owner) return;
    this.#owner = undefined;
    // An item that ends while waiting events are emitted: the loop below goes on.
    if (this.#passing) return;
    this.#passing = true;
    for (const [next, events] of this.#waiting) {
      if (this.#owner !== undefined) break;
      this.#waiting.delete(next);
      for (const event of events) this.emit(next, event);
    }
    this.#passing = false;
  }
}
