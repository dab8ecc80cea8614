/** Decides which upstream is asked next, and with what. */

import { dropSource } from "../../dialects/shared/source-text.ts";
import type { Emit } from "../../stream/stage.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { reasonOf } from "../../turn/failure-reason.ts";
import type { Fault } from "../../turn/fault.ts";
import type { ClientName } from "../../turn/names.ts";
import type { Item, Turn } from "../../turn/turn.ts";
import { isForgotten } from "../history/origin.ts";
import { planRound, requireWhole, withoutAnswer, type Round } from "./round.ts";
import type { Run } from "./run.ts";
import type { Link } from "./select.ts";
import type { TurnStage } from "./turn-stage.ts";

type Event = TurnEvent<ClientName>;

/**
 * Plans the rounds of a turn: for the first upstream of its chain that takes the request, and
 * for others where that one fails.
 */
export class RoundPlanner {
  readonly #run: Run;
  #at = 0;
  /** What the client was shown of an answer that the next round continues. */
  #said: string | undefined;
  /** Set when the turn is ended from outside: no other upstream is asked. */
  isHalted = false;

  constructor(run: Run) {
    this.#run = run;
  }

  /** The link of the chain that is asked. */
  get link(): Link {
    return this.#run.chain[this.#at] ?? this.#run.chain[0];
  }

  get isLast(): boolean {
    return this.#at + 1 >= this.#run.chain.length;
  }

  /** Plans a round for the first link from the current one on that takes it. */
  plan(): Round {
    for (;;)
      try {
        return this.#planFor(this.link);
      } catch (error) {
        const fault = this.#run.faultOf(error);
        if (!this.#fallBack(fault)) throw fault;
      }
  }

  #planFor(link: Link): Round {
    const run = this.#run;
    const stage = this.#said === undefined ? run.stage : continuing(run.stage, this.#said);
    const planned = planRound(run.turn, link, run, { stage, first: run.chain[0] });
    run.round = planned;
    if (run.options.strict) requireWhole(planned);
    if (!run.generates) run.round = withoutAnswer(planned);
    run.planned();
    if (this.isLast) dropSource(run.turn.body);
    return run.round;
  }

  /** Moves to the next link, if there is one that may do better. */
  #fallBack(fault: Fault): boolean {
    if (this.isLast || this.isHalted || !fault.mayFallBack) return false;
    const from = this.link.name;
    this.#at++;
    const { state, requestId } = this.#run;
    const [to, reason] = [this.link.name, reasonOf(fault)];
    state.report({ type: "fallback", requestId, from, to, fault: fault.code, reason });
    return true;
  }

  /** The upstream failed before its first event: a round in its place. */
  instead(fault: Fault): Round | undefined {
    if (this.#run.round?.refers !== true || !isForgotten(fault))
      return this.#fallBack(fault) ? this.plan() : undefined;
    // The upstream has forgotten what it kept: it is sent the whole conversation.
    this.#run.referring = undefined;
    return this.plan();
  }

  /** The upstream failed behind this text: a round of another upstream that continues it. */
  continue(fault: Fault, said: string): Round | undefined {
    if (!this.#fallBack(fault)) return undefined;
    this.#said = said;
    return this.plan();
  }
}

/**
 * Notes what the client was shown of an answer, and holds back what could not be unsaid: all of
 * an answer that is sent whole, and of a stream what stands beside the choices.
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
 * The stage of the turn, asking for the rest of the text that was shown. Without text the turn is
 * asked again as a copy: an identical turn would be forwarded frame by frame, into a stream that
 * another upstream began.
 */
const continuing = (stage: TurnStage | undefined, said: string): TurnStage => ({
  each: (event, emit) => emit(event),
  ...stage,
  ask(profile, own) {
    const asked = stage?.ask?.(profile, own) ?? own;
    return said === "" ? { ...asked } : { ...asked, items: [...asked.items, ...itemsBehind(said)] };
  },
});

const itemsBehind = (said: string): readonly Item[] => [
  { type: "message", role: "assistant", parts: [{ type: "text", text: said }] },
  { type: "message", role: "user", parts: [{ type: "text", text: CONTINUE }] },
];
