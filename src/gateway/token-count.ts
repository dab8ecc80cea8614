import type { DoorDialect, TokenCountForm } from "../dialects/dialect.ts";
import type { Turn } from "../turn/turn.ts";
import { inputTokens } from "../upstreams/tokens.ts";
import type { RequestContext } from "./routes.ts";
import { selectChain } from "./select.ts";
import { sendJson } from "./send-json.ts";

/** Counts by an estimate of ours: what a request becomes differs with every upstream of a chain. */
export function serveTokenCount(
  context: RequestContext,
  turn: Turn,
  { door, form }: { readonly door: DoorDialect; readonly form: TokenCountForm },
): void {
  const { state, requestId } = context;
  // A model that nobody has is refused here as it would be with the request itself.
  selectChain(turn.model, state.config, state.upstreams);
  const { requestIdHeader = "x-request-id" } = door;
  const headers = { "x-patchbay-token-count": "estimate", [requestIdHeader]: requestId };
  sendJson(context, 200, form.body(inputTokens(turn)), headers);
}
