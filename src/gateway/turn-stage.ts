import { chain, type Stage } from "../stream/stage.ts";
import type { TurnEvent } from "../turn/event.ts";
import type { ClientName } from "../turn/names.ts";
import type { Profile } from "../turn/profile.ts";
import type { Turn } from "../turn/turn.ts";

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
  /** Asked when a round has ended without failure: whether there is another round. */
  continues?(): boolean;
};

/** Makes the stage of one turn, or none where the turn needs none. */
export type MakeTurnStage = (turn: Turn) => TurnStage | undefined;

/** The stages of one turn as one. Only one of them may have `ask`: two could not both say what is asked. */
export function stageOf(turn: Turn, makers: readonly MakeTurnStage[] = []): TurnStage | undefined {
  const stages = makers.flatMap((make) => make(turn) ?? []);
  const [first, ...rest] = stages;
  return first === undefined ? undefined : rest.reduce(chainTwo, first);
}

function chainTwo(first: TurnStage, second: TurnStage): TurnStage {
  const both = [first, second];
  const asking = both.find((stage) => stage.ask !== undefined);
  const continuing = both.filter((stage) => stage.continues !== undefined);
  const joined: TurnStage = chain(first, second);
  if (asking !== undefined) joined.ask = (profile, own) => asking.ask?.(profile, own) ?? own;
  if (continuing.length > 0)
    joined.continues = () => continuing.some((stage) => stage.continues?.() === true);
  return joined;
}
