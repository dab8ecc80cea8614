import { noStore } from "../../history/none.ts";
import { isFields, jsonOf } from "../../json/json.ts";
import type { Fault } from "../../turn/fault.ts";
import type { Profile } from "../../turn/profile.ts";
import type { DialectName } from "../../turn/turn.ts";
import { haveSeveralTenants } from "../config-problems.ts";
import type { GatewayState } from "../state.ts";

/** The upstream that keeps an answer itself, and the id under which it does. */
type AnswerOrigin = { readonly upstream: string; readonly id: string };

/**
 * Whether an upstream is known to keep answers and to go on from one by its id:
 * its profile names the parameter for that itself. One that only speaks the
 * dialect may pass over the parameter in silence, and would then answer to
 * another conversation.
 */
export const keepsAnswers = (profile: Profile, door: DialectName): boolean =>
  profile.dialect === door && typeof profile.params.previousResponse === "string";

/**
 * Whether ids that are not known here are left to the upstream: where nothing is
 * kept here, and one tenant has the upstream to itself. To the upstream all
 * tenants are one.
 */
export const leavesIds = ({ store, config }: Pick<GatewayState, "store" | "config">): boolean =>
  store === noStore && !haveSeveralTenants(config.server.keys);

export const writeOrigin = ({ upstream, id }: AnswerOrigin): string =>
  JSON.stringify({ upstream, id });

export function readOrigin(text: string | undefined): AnswerOrigin | undefined {
  const value = text === undefined ? undefined : jsonOf(text);
  if (!isFields(value)) return undefined;
  const { upstream, id } = value;
  return typeof upstream === "string" && typeof id === "string" ? { upstream, id } : undefined;
}

/** Whether an upstream says that it does not keep what a request refers to. */
export const isForgotten = ({ code, status, message, detail }: Fault): boolean =>
  (code === "upstream.refused" || code === "upstream.not_found") &&
  (status === 400 || status === 404) &&
  /previous_response|not.?found/i.test(
    `${detail.upstreamCode ?? ""} ${detail.param ?? ""} ${message}`,
  );
