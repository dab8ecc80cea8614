import type { Emit, Stage } from "../stream/stage.ts";
import type { CallStart, TurnEvent } from "../turn/event.ts";
import { clientName, type ClientName, type UpstreamName } from "../turn/names.ts";
import type { Identities, Plan } from "./plan.ts";

/** Gives calls back as the client declared their tools. */
export function restoreCalls(plan: Plan): Stage<TurnEvent<UpstreamName>, TurnEvent<ClientName>> {
  const { identity } = plan;
  return {
    each(event, emit: Emit<TurnEvent<ClientName>>) {
      if (event.type === "call-start") return emit(restoreToolCall(event, identity));
      emit(event);
    },
  };
}

/** A call under the client's name for its tool. One of a tool nobody declared is passed on as such. */
export function restoreToolCall(
  call: CallStart<UpstreamName>,
  identity: Identities,
): CallStart<ClientName> {
  const bound = identity.byAlias(call.name, call.namespace);
  if (bound === undefined) return { ...call, name: clientName(call.name) };
  const { kind, namespace, name } = bound.client;
  return { ...call, kind, namespace, name };
}
