import type { ConversationForm } from "../../dialects/dialect.ts";
import { listKey } from "../../history/log.ts";
import { Fault } from "../../turn/fault.ts";
import { isStorableId } from "../../turn/item-ids.ts";
import type { Tenant } from "../../turn/tenant.ts";
import { leavesIds } from "./origin.ts";
import { parseItems } from "./parse-items.ts";
import { behindHistory, recall, withReasoning, type ReadBody, type Recalled } from "./recall.ts";
import { shownId } from "../http/to-fault.ts";
import type { GatewayState } from "../state.ts";
import { utf8Length } from "../../turn/utf8-length.ts";

/** A conversation that a turn has to itself. */
export type HeldConversation = {
  readonly id: string;
  /** Who holds its lease. */
  readonly owner: string;
  /** Lets others have it. */
  readonly release: () => Promise<void>;
};

/** A lease lasts this long and is renewed at a third of it: one whose owner is gone ends soon. */
const LEASE_MS = 30_000;

type State = Pick<
  GatewayState,
  "store" | "config" | "clock" | "newId" | "upstreams" | "modelRoutes" | "steps"
>;

/** Completions are kept beside conversations, under other ids. */
export const isConversationId = (id: string): boolean => id.startsWith("conv_") && isStorableId(id);

/**
 * Makes the turn of a request that belongs to a conversation: its items come before the request's
 * own. Undefined for other requests.
 */
export function recallConversation(
  state: State,
  request: ReadBody,
  form: ConversationForm,
): Promise<Recalled> | undefined {
  const id = leavesIds(state) ? undefined : form.idIn(request.body);
  if (id === undefined) return undefined;
  if (!isConversationId(id)) throw conversationNotFound(id);
  return behindConversation(state, { ...request, body: form.without(request.body) }, id);
}

async function behindConversation(state: State, request: ReadBody, id: string): Promise<Recalled> {
  const { tenant, dialect, text } = request;
  const limit = state.config.server.body_limit;
  const conversation = request.readOnly === true ? undefined : await hold(state, tenant, id);
  try {
    const room = limit - utf8Length(text);
    const found = await state.store.load(listKey(tenant, id), Math.max(0, room), request.weigh);
    if (found.type === "missing") throw conversationNotFound(id);
    if (found.type === "too-large") throw tooLarge(id, limit);
    const conversationBytes = found.bytes;
    const own = await recall(state, { ...request, conversationBytes });
    const path = "conversation";
    const items = await parseItems(state, found.texts, path);
    const { counts } = state.config.server;
    const fields = { conversation: { id } };
    const turn = behindHistory(own.turn, dialect, { items, path, fields, counts });
    const bytes = conversationBytes + (own.bytes ?? 0);
    const whole = await withReasoning(state, request, {
      ...own,
      turn,
      bytes,
      referring: undefined,
    });
    return { ...whole, conversation };
  } catch (error) {
    await conversation?.release();
    throw error;
  }
}

/** Has the conversation to itself until it is released, whichever replica others ask. */
async function hold(
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
      // What fails is tried again by the next one; two of them may fail before the lease ends.
      leases.renew(lease).catch(() => {});
      renewLater();
    });
  };
  renewLater();
  let isOver = false;
  return {
    id,
    owner,
    async release() {
      if (isOver) return;
      isOver = true;
      cancel();
      await leases.release({ tenant, id, owner });
    },
  };
}

/** The same words whether it is unknown, has expired, was deleted or is somebody else's. */
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
    `With the items of conversation '${shownId(id)}' the request is larger than ${limit} bytes; delete some of them, begin another, or raise \`server.body_limit\`.`,
    { param: "conversation" },
  );
