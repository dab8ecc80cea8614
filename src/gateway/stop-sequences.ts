/** Stop sequences for upstreams that have no such parameter. */

import { takesParam } from "../dialects/shared/params.ts";
import { modelProfile } from "../profiles/models.ts";
import type { Stage } from "../stream/stage.ts";
import type { OnDecision } from "../turn/decision.ts";
import type { TurnEvent } from "../turn/event.ts";
import type { ClientName } from "../turn/names.ts";
import type { Turn } from "../turn/turn.ts";
import { countTokens, inputTokens } from "../upstreams/tokens.ts";
import type { Link } from "./select.ts";

/** More than any API takes; each is looked for in every character of an answer. */
const MOST_SEQUENCES = 64;
const none: readonly string[] = [];

/** The sequences of a turn that the gateway has to see to for one place where its model is to be had. */
export function sequencesFor({ params }: Turn, { upstream, model }: Link): readonly string[] {
  const { stop = none } = params;
  if (stop.length === 0) return none;
  const profile = modelProfile(upstream.profile, model);
  if (takesParam("stop", profile, upstream.traits)) return none;
  return stop.filter((sequence) => sequence !== "").slice(0, MOST_SEQUENCES);
}

type Event = TurnEvent<ClientName>;

/** An upstream that is stopped tells no counts: then an estimate stands in their place. */
export function estimateUsage(
  turn: Turn,
  isStopped: (choice: number) => boolean,
  report: OnDecision,
): Stage<Event, Event> {
  let isCounted = false;
  let said = "";
  return {
    each(event, emit) {
      if (event.type === "usage") isCounted = true;
      else if ("text" in event) said += event.text;
      else if (event.type === "turn-end" && !isCounted && isStopped(event.choice)) {
        isCounted = true;
        const [input, output] = [inputTokens(turn), countTokens(said)];
        emit({ type: "usage", usage: { input, output, total: input + output } });
        const reason = "an estimate: the upstream was stopped before it counted";
        report({ path: "usage", action: "noticed", reason });
      }
      emit(event);
    },
  };
}
