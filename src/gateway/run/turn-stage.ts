import { chain, type Stage } from "../../stream/stage.ts";
import type { Plan } from "../../tools/plan/plan.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { ClientName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { DialectName, Item, Turn } from "../../turn/turn.ts";
import { folding } from "../../stream/fold.ts";

type Event = TurnEvent<ClientName>;

/**
 * A step of one turn between the restored answer and the gateway's rules for
 * calls. It sees every round of the turn; `end` tells it that a round is over.
 * With `ask` and `continues` it asks the upstream more than once in one turn,
 * such as to answer a call itself: what it does not emit, the client never sees.
 */
export type TurnStage = Stage<Event, Event> & {
  /** The turn as the next round asks it of an upstream with this profile; `own` is the client's. */
  ask?(profile: Profile, own: Turn): Turn;
  /** The plan of what it asks, in the words of the client's own request. */
  amend?(plan: Plan): Plan;
  /** Asked when a round has ended without failure: whether there is another round. */
  continues?(): boolean;
};

/** Makes the stage of one turn, or none where the turn needs none. */
export type MakeTurnStage = (turn: Turn) => TurnStage | undefined;

/** The stages of one turn as one: requests pass them from the last to the first, answers from the first to the last. */
export function joinStages(stages: readonly TurnStage[]): TurnStage | undefined {
  const [first, ...rest] = stages;
  if (first === undefined || rest.length === 0) return first;
  const joined: TurnStage = stages.reduce<Stage<Event, Event>>(
    (one, other) => chain(one, other),
    same,
  );
  if (stages.some((stage) => stage.ask !== undefined))
    joined.ask = (profile, own) =>
      stages.reduceRight((turn, stage) => stage.ask?.(profile, turn) ?? turn, own);
  if (stages.some((stage) => stage.amend !== undefined))
    joined.amend = (plan) => stages.reduce((so, stage) => stage.amend?.(so) ?? so, plan);
  const continuing = stages.filter((stage) => stage.continues !== undefined);
  if (continuing.length > 0)
    // Each of them must hear that the round is over.
    joined.continues = () => continuing.map((stage) => stage.continues?.()).includes(true);
  return joined;
}

const same: Stage<Event, Event> = { each: (event, emit) => emit(event) };

/** How often an answer is taken up again: a provider pauses after some ten steps of its own. */
const MOST = 5;

/**
 * Takes up an answer that the provider has paused, in a further round: what it
 * said is sent back as it is, with nothing behind it. Clients of the upstream's
 * own dialect do so themselves; only tools that the provider runs cause a pause.
 */
export function pausedStage(turn: Turn, pausing: readonly DialectName[]): TurnStage | undefined {
  if (!pausing.some((dialect) => dialect !== turn.dialect)) return undefined;
  if (!turn.tools.some(({ type }) => type === "builtin")) return undefined;
  let said: readonly Item[] = [];
  let round = folding<ClientName>();
  let rounds = 0;
  return {
    each(event, emit) {
      round.each(event);
      emit(event);
    },
    ask: (_, own) => (said.length === 0 ? own : { ...own, ...behind(own, said) }),
    continues() {
      const [choice] = round.answer().choices;
      round = folding<ClientName>();
      if (choice?.stop !== "pause" || rounds === MOST) return false;
      rounds++;
      said = [...said, ...choice.items];
      return true;
    },
  };
}

/** The conversation with what the model has said so far, which the client finds behind its own last message. */
function behind({ items, places }: Turn, said: readonly Item[]): Pick<Turn, "items" | "places"> {
  const last = places?.at(-1) ?? 0;
  return {
    items: [...items, ...said],
    ...(places !== undefined && { places: [...places, ...said.map(() => last)] }),
  };
}
