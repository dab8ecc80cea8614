import { listKey } from "../../history/log.ts";
import { Fault } from "../../turn/fault.ts";
import { isStorableId } from "../../turn/item-ids.ts";
import type { Tenant } from "../../turn/tenant.ts";
import { shownId } from "../http/to-fault.ts";
import type { GatewayState } from "../state.ts";
import type { ItemSource } from "./load-items.ts";

/** A conversation whose lease a turn has. */
export type HeldConversation = {
  readonly id: string;
  /** The owner of the lease. */
  readonly owner: string;
  /** Releases the lease. */
  readonly release: () => Promise<void>;
};

/** A lease lasts this long and is renewed at a third of it, so that it ends soon if its owner is gone. */
const LEASE_MS = 30_000;

type State = Pick<GatewayState, "store" | "clock" | "newId">;

/** True for an id of a conversation. Completions, which are stored as lists too, have other ids. */
export const isConversationId = (id: string): boolean => id.startsWith("conv_") && isStorableId(id);

/** The items of a conversation. Throws a Fault if no conversation can have the id. */
export function conversationOf(tenant: Tenant, id: string): ItemSource {
  if (!isConversationId(id)) throw conversationNotFound(id);
  return {
    key: listKey(tenant, id),
    path: "conversation",
    fields: { conversation: { id } },
    missing: () => conversationNotFound(id),
    tooLarge: (limit) => tooLarge(id, limit),
  };
}

/** Takes the lease of a conversation and renews it until it is released. */
export async function holdConversation(
  { store: { leases }, clock, newId }: State,
  tenant: Tenant,
  id: string,
): Promise<HeldConversation> {
  const owner = newId("lease");
  const lease = { tenant, id, owner, ms: LEASE_MS };
  if (!(await leases.take(lease))) throw locked(id);
  let cancel = (): void => {};
  const renewLater = (): void => {
    cancel = clock.at(clock.now() + LEASE_MS / 3, () => {
      // After a failure the next renewal tries again; two may fail before the lease ends.
      leases.renew(lease).catch(() => {});
      renewLater();
    });
  };
  renewLater();
  let isReleased = false;
  return {
    id,
    owner,
    async release() {
      if (isReleased) return;
      isReleased = true;
      cancel();
      await leases.release({ tenant, id, owner });
    },
  };
}

/** The text is the same if it is unknown, has expired, was deleted or belongs to another tenant. */
export const conversationNotFound = (id: string): Fault =>
  new Fault("conversation.not_found", `Conversation with id '${shownId(id)}' not found.`, {
    param: "conversation",
  });

const locked = (id: string): Fault =>
  new Fault(
    "conversation_locked",
    `Another turn of conversation '${shownId(id)}' is under way; send the request again when it has ended.`,
    { param: "conversation", retryAfter: "1" },
  );

const tooLarge = (id: string, limit: number): Fault =>
  new Fault(
    "request.too_large",
    `With the items of conversation '${shownId(id)}' the request is larger than ${limit} bytes; delete some of its items, begin another conversation, or raise \`server.body_limit\`.`,
    { param: "conversation" },
  );
