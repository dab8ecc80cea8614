/** Notes what the client was shown of an answer that another upstream may continue. */

import type { Emit } from "../../stream/stage.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { ClientName } from "../../turn/names.ts";
import type { Item, Turn } from "../../turn/turn.ts";
import type { TurnStage } from "./turn-stage.ts";

type Event = TurnEvent<ClientName>;

/**
 * Notes what the client was shown of an answer. Holds back the events that another upstream would
 * repeat: all of a whole answer, and of a stream the fields beside the choices.
 */
export class Continuation {
  readonly #turn: Turn;
  #unsent: Event[] = [];
  #isBound = false;
  /** The text that was shown. */
  said = "";

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  /** False once something was shown that no other model can continue. */
  get isPossible(): boolean {
    return !this.#isBound;
  }

  /**
   * True if another model may continue behind the text shown: the turn has one choice, and the
   * text, if there is any, is free, because half of a JSON text has no certain rest.
   */
  get isAllowed(): boolean {
    const { params, format } = this.#turn;
    const isFree = format === undefined || format.type === "text";
    return (params.n ?? 1) === 1 && (this.said === "" || isFree);
  }

  note(event: Event, emit: Emit<Event>): void {
    if (!this.#turn.stream) return void this.#unsent.push(event);
    switch (event.type) {
      case "text-delta":
        this.said += event.text;
        break;
      case "vendor-extra":
        if (event.of === "choice" || event.of === "answer") return void this.#unsent.push(event);
        break;
      case "refusal-delta":
      case "call-start":
      case "item-start":
      case "turn-end":
        this.#isBound = true;
        this.release(emit);
        break;
      case "frame":
        if ((event.stops?.length ?? 0) > 0) this.#isBound = true;
        break;
      default:
    }
    emit(event);
  }

  /** Emits what was held back. */
  release(emit: Emit<Event>): void {
    for (const event of this.#unsent) emit(event);
    this.#unsent = [];
  }

  /** Forgets what was held back: the next upstream says it again. */
  drop(): void {
    this.#unsent = [];
  }
}

/** The user's message behind the text that the client was shown. */
const CONTINUE =
  "Your answer above was cut off. Go on exactly where it ends: do not repeat, rephrase or mention any of it.";

/**
 * Plans a round as the stage of the turn does, and asks for the rest of the text that was shown.
 * Without text the turn is asked again as a copy: an identical turn would be forwarded frame by
 * frame, into a stream that another upstream began.
 */
export const continuing = (stage: TurnStage | undefined, said: string): TurnStage => ({
  each: (event, emit) => emit(event),
  amend: (plan) => stage?.amend?.(plan) ?? plan,
  ask(profile, own) {
    const asked = stage?.ask?.(profile, own) ?? own;
    return said === "" ? { ...asked } : { ...asked, items: [...asked.items, ...itemsBehind(said)] };
  },
});

const itemsBehind = (said: string): readonly Item[] => [
  { type: "message", role: "assistant", parts: [{ type: "text", text: said }] },
  { type: "message", role: "user", parts: [{ type: "text", text: CONTINUE }] },
];
