import { chain, type Emit, type EventStage } from "../../stream/stage.ts";
import type { Plan } from "../../tools/plan/plan.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { ClientName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Extra, Item, Turn } from "../../turn/turn.ts";
import { AnswerFold } from "../../stream/fold.ts";

/**
 * A stage of one turn between the restored answer and the gateway's rules for calls. It receives
 * the events of every round; `end` is called when a round has ended. With `ask` and `continues`
 * it asks the upstream more than once in one turn, for example to answer a call itself. The
 * client receives only the events that it emits.
 */
export type TurnStage = EventStage<ClientName> & {
  /** The turn as the next round asks it of an upstream with this profile; `own` is the client's. */
  ask?(profile: Profile, own: Turn): Turn;
  /** The plan of what it asks, in the words of the client's own request. */
  amend?(plan: Plan): Plan;
  /** Called when a round has ended without failure; true: another round follows. */
  continues?(): boolean;
  /** True: if the first upstream breaks off, another one may continue its answer. */
  readonly mayChangeUpstream?: boolean;
};

/** Makes the stage of one turn; undefined if the turn needs none. */
export type MakeTurnStage = (turn: Turn) => TurnStage | undefined;

/** Joins the stages of one turn: requests pass from the last to the first, answers from the first to the last. */
export function joinStages(stages: readonly TurnStage[]): TurnStage | undefined {
  const [first, ...rest] = stages;
  if (first === undefined || rest.length === 0) return first;
  const joined: TurnStage = chain(stages);
  if (stages.some((stage) => stage.ask !== undefined))
    joined.ask = (profile, own) =>
      stages.reduceRight((turn, stage) => stage.ask?.(profile, turn) ?? turn, own);
  if (stages.some((stage) => stage.amend !== undefined))
    joined.amend = (plan) => stages.reduce((so, stage) => stage.amend?.(so) ?? so, plan);
  const continuing = stages.filter((stage) => stage.continues !== undefined);
  if (continuing.length === 0) return joined;
  return Object.assign(joined, {
    // Each of them is called, also after one has asked for another round.
    continues: () => continuing.map((stage) => stage.continues?.()).includes(true),
    mayChangeUpstream: continuing.every((stage) => stage.mayChangeUpstream === true),
  });
}

/** Rounds that continue a paused answer: a provider pauses after about ten steps. */
const MOST = 5;

/**
 * Continues an answer that the provider has paused by another round, whose request ends with the
 * answer so far, or has the token of the pause. A pause without a token is caused by tools that the
 * provider runs, and clients of its own dialect continue after it themselves.
 */
export function pausedStage(turn: Turn, pausing: readonly Profile[]): TurnStage | undefined {
  const givesToken = ({ pauses }: Profile): boolean => pauses === "continuation";
  const hasOwnTools = turn.tools.some(({ type }) => type === "builtin");
  const concerns = (one: Profile): boolean =>
    givesToken(one) || (hasOwnTools && one.dialect !== turn.dialect);
  if (!pausing.some(concerns)) return undefined;
  let continuation: Extra | undefined;
  let said: readonly Item[] = [];
  let round = new AnswerFold<ClientName>();
  let rounds = 0;
  return {
    mayChangeUpstream: true,
    each(event, emit) {
      round.each(event);
      emit(event);
    },
    ask(_, own) {
      if (continuation !== undefined) return { ...own, continuation };
      return said.length === 0 ? own : { ...own, ...behind(own, said) };
    },
    continues() {
      const [choice] = round.answer().choices;
      round = new AnswerFold<ClientName>();
      if (choice?.stop !== "pause" || rounds === MOST) return false;
      rounds++;
      said = [...said, ...choice.items];
      const by = choice.ending?.dialect;
      continuation = pausing.some((one) => givesToken(one) && one.dialect === by)
        ? choice.ending
        : undefined;
      return true;
    },
  };
}

/** The conversation with the answer so far; its items have the place of the last message. */
function behind({ items, places }: Turn, said: readonly Item[]): Pick<Turn, "items" | "places"> {
  const last = places?.at(-1) ?? 0;
  return {
    items: [...items, ...said],
    ...(places !== undefined && { places: [...places, ...said.map(() => last)] }),
  };
}

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
