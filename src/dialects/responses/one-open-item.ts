import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { ItemContext } from "./item-context.ts";

type Event = TurnEvent<UpstreamName>;

/**
 * Only one message, reasoning or call speaks at a time, and nothing else begins
 * while it does: what others have to say waits until it has finished.
 */
export class OneOpenItem {
  readonly #to: Pick<ItemContext, "say" | "bent">;
  #owner: object | undefined;
  readonly #waiting = new Map<object, Event[]>();
  #passing = false;

  constructor(to: Pick<ItemContext, "say" | "bent">) {
    this.#to = to;
  }

  say(owner: object, event: Event): void {
    if (this.#owner !== undefined && this.#owner !== owner) {
      this.#to.bent();
      const events = this.#waiting.get(owner);
      if (events === undefined) this.#waiting.set(owner, [event]);
      else events.push(event);
      return;
    }
    this.#to.say(event);
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
    // Who ends while the floor is being passed on leaves it to the next in line.
    if (this.#passing) return;
    this.#passing = true;
    for (const [next, events] of this.#waiting) {
      if (this.#owner !== undefined) break;
      this.#waiting.delete(next);
      for (const event of events) this.say(next, event);
    }
    this.#passing = false;
  }
}
