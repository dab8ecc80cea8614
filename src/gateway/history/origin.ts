import { noStore } from "../../history/none.ts";
import type { StoredItem } from "../../history/log.ts";
import { isFields, jsonOf } from "../../json/json.ts";
import type { Fault } from "../../turn/fault.ts";
import type { Profile } from "../../turn/profile.ts";
import type { DialectName } from "../../turn/turn.ts";
import { haveSeveralTenants } from "../config-problems.ts";
import type { GatewayState } from "../state.ts";

/** The upstream that stored an answer, and the id that it gave it. */
type AnswerOrigin = { readonly upstream: string; readonly id: string };

/**
 * True if an upstream is known to continue a stored answer by its id: its own profile names the
 * parameter. Another upstream of the dialect may ignore the parameter, and would answer a
 * conversation without its beginning.
 */
export const keepsAnswers = (profile: Profile, door: DialectName): boolean =>
  profile.dialect === door && typeof profile.params.previousResponse === "string";

/**
 * True if the upstream resolves ids: the gateway stores nothing, and only one tenant uses the
 * upstream, which cannot distinguish tenants.
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

/** True if an upstream reports that it has not stored the answer of a request's reference. */
export const isForgotten = ({ code, status, message, detail }: Fault): boolean =>
  (code === "upstream.refused" || code === "upstream.not_found") &&
  (status === 400 || status === 404) &&
  /previous_response|not.?found/i.test(
    `${detail.upstreamCode ?? ""} ${detail.param ?? ""} ${message}`,
  );

/**
 * The id of the note that names the upstream of a seal on reasoning. Seals end with their
 * authentication tag, so their last characters differ.
 */
export const sealId = (seal: string): string => `seal:${seal.length}:${seal.slice(-48)}`;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** That note. Encoding copies its id: a substring would keep the whole seal in memory. */
export const sealNote = (seal: string, upstream: string): StoredItem => ({
  id: decoder.decode(encoder.encode(sealId(seal))),
  json: upstream,
});
