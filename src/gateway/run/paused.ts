import { folding } from "../../stream/fold.ts";
import type { Profile } from "../../turn/profile.ts";
import type { ClientName } from "../../turn/names.ts";
import type { Item, Turn } from "../../turn/turn.ts";
import type { TurnStage } from "./turn-stage.ts";

/** How often an answer is taken up again: a provider pauses after some ten steps of its own. */
const MOST = 5;

/**
 * Takes up an answer that the provider has paused, in a further round: what it
 * said is sent back as it is, with nothing behind it. Clients of the upstream's
 * own dialect do so themselves; only tools that the provider runs cause a pause.
 */
export function pausedStage(turn: Turn, profiles: readonly Profile[]): TurnStage | undefined {
  const mayPause = profiles.some(
    ({ pauses, dialect }) => pauses === true && dialect !== turn.dialect,
  );
  if (!mayPause || !turn.tools.some(({ type }) => type === "builtin")) return undefined;
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
