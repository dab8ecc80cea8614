import type { DoorDialect } from "../../dialects/dialect.ts";
import { Fault } from "../../turn/fault.ts";
import { inputTokens } from "../../upstreams/tokens.ts";
import type { RecalledRequest } from "../history/recall.ts";
import { prepareRound } from "../run/round.ts";
import type { RequestContext } from "../state.ts";
import { routeFor } from "../run/select.ts";
import { sendJson } from "./send-json.ts";

/** A count, and whether the upstream made it. */
type Count = { readonly tokens: number; readonly by: "upstream" | "estimate" };

/** Answers with the tokens of a request: counted by the upstream if it can, else estimated. */
export async function serveTokenCount(
  context: RequestContext,
  request: RecalledRequest,
  { tokenCount, requestIdHeader = "x-request-id" }: DoorDialect,
): Promise<void> {
  const { requestId } = context;
  const { tokens, by } = await count(context, request);
  const headers = { "x-patchbay-token-count": by, [requestIdHeader]: requestId };
  sendJson(context, 200, tokenCount?.body(tokens) ?? {}, headers);
}

async function count(
  { state, tenant, exchange: { reply } }: RequestContext,
  { turn, sealOwner }: RecalledRequest,
): Promise<Count> {
  // An unknown model is refused here as it is for the request itself.
  const [link] = routeFor(state, turn.model).chain;
  try {
    const { prepared } = prepareRound(turn, link, { strict: false, rules: state.rules, sealOwner });
    const counting = prepared.count?.({ tenant, onLeave: (end) => reply.onLeave(end) });
    if (counting !== undefined) return { tokens: await counting, by: "upstream" };
  } catch (error) {
    // An estimate serves better than an error.
    if (!(error instanceof Fault)) throw error;
  }
  return { tokens: inputTokens(turn), by: "estimate" };
}
