import { checkLengths } from "../http/request-lengths.ts";
import type {
  AnswerForm,
  AskedThread,
  DoorDialect,
  KeptItem,
  PathParams,
  RequestHeaders,
  ThreadForm,
} from "../../dialects/dialect.ts";
import {
  checkCount,
  checkPieces,
  countValues,
  type CountLimits,
} from "../../dialects/shared/request-counts.ts";
import { noStore } from "../../history/none.ts";
import { responseKey, type EntryHead, type Weigh } from "../../history/log.ts";
import { sealsIn } from "../../tools/plan/reasoning.ts";
import { Fault } from "../../turn/fault.ts";
import { isInstructions } from "../../turn/item.ts";
import { itemPath, placesAfter } from "../../turn/path.ts";
import type { Tenant } from "../../turn/tenant.ts";
import type { Fields, Item, Turn } from "../../turn/turn.ts";
import { haveSeveralTenants } from "../config-problems.ts";
import { shownId } from "../http/to-fault.ts";
import { utf8Length } from "../../turn/utf8-length.ts";
import type { GatewayState } from "../state.ts";
import { withThoughts } from "../run/thoughts.ts";
import { conversationOf, holdConversation, type HeldConversation } from "./conversation.ts";
import { loadItems, type ItemSource } from "./load-items.ts";
import { leavesIds, readOrigin, sealId } from "./origin.ts";
import { recallThread, type ThreadEntry } from "./thread.ts";

/** A request whose references are replaced by the stored items. */
export type RecalledRequest = {
  /** The whole conversation. */
  readonly turn: Turn;
  /** The request with its references unchanged, for the upstream that stored the answer. */
  readonly referring?: ReferringTurn | undefined;
  /** The part of the conversation that the request adds. */
  readonly added: Added;
  /** The upstream that sealed the reasoning of an earlier answer; undefined if unknown. */
  readonly sealOwner: (seal: string) => string | undefined;
  /** The part of a stored thread that the request adds. */
  readonly thread?: ThreadEntry | undefined;
  /** The conversation of the request. */
  readonly conversation?: HeldConversation | undefined;
  /** Bytes of the stored items, without those of the body. */
  readonly bytes?: number | undefined;
};

export type ReferringTurn = { readonly upstream: string; readonly turn: Turn };

/** The part of a request that is stored with its answer. */
export type Added = {
  /** The body with its references replaced by items. */
  readonly body: Fields;
  /** The id of the answer that it continues. */
  readonly previous?: string | undefined;
  /** The items of the body, once they have ids. */
  readonly input?: readonly KeptItem[] | undefined;
};

/** A request body that has been read as JSON. */
export type ReadBody = {
  readonly tenant: Tenant;
  readonly dialect: DoorDialect;
  readonly body: Fields;
  /** Parameters in the path of the request. */
  readonly params?: PathParams | undefined;
  readonly headers?: RequestHeaders | undefined;
  /** The body before it was parsed. */
  readonly text: string;
  /** The request adds nothing to its conversation, so it takes no lease of it. */
  readonly readOnly?: true;
  /** Reserves memory for loaded items. */
  readonly weigh: Weigh;
};

type State = Pick<
  GatewayState,
  "store" | "config" | "clock" | "newId" | "upstreams" | "modelRoutes" | "steps"
>;

/**
 * Makes the turn of a request: replaces references by items, inserts the earlier conversation
 * and finds the upstreams that sealed its reasoning. A request without references, as most are,
 * is returned at once. Without a store, the upstream resolves the references.
 */
export function recall(
  state: State,
  request: ReadBody,
): RecalledRequest | Promise<RecalledRequest> {
  const { dialect, body } = request;
  if (!leavesIds(state)) {
    const { history } = dialect;
    if (history?.type === "threads") {
      const thread = history.askedIn(body);
      if (thread !== undefined) return inThread(state, request, history, thread);
    }
    if (history?.type === "answers") {
      const conversation = history.conversations.idIn(body);
      const ids = history.references.idsIn(body, areShared(state));
      const previous = history.previousIn(body);
      if (conversation !== undefined || ids.length > 0 || previous !== undefined)
        return recallAll(state, request, { form: history, ids, previous, conversation });
    }
  }
  const recalled = { turn: readTurn(request, body), added: { body } };
  return withReasoning(state, request, backgroundTurn(state, dialect, recalled));
}

/** True if an upstream, which sees all tenants as one, could return the items of another tenant. */
const areShared = ({ config }: State): boolean => haveSeveralTenants(config.server.keys);

/** A body with references replaced by items, and the bytes of these. `isLess`: some items are missing. */
type Whole = { readonly body: Fields; readonly bytes: number; readonly isLess?: boolean };

/** Replaces references by stored items. An upstream could not resolve the ids, because the gateway or the client made them. */
async function withItems(
  state: State,
  { tenant, body, text, weigh }: ReadBody,
  { references }: AnswerForm,
  ids: readonly string[],
): Promise<Whole> {
  if (ids.length === 0) return { body, bytes: 0 };
  const { counts, body_limit: limit } = state.config.server;
  const found = await state.store.find({ of: "items", tenant, ids, maxBytes: limit }, weigh);
  if (found.type === "too-large") throw tooLarge(limit);
  // Each reference to an item counts, because the upstream receives the item each time.
  let [bytes, values] = [0, 0];
  const sizes = new Map<string, { readonly bytes: number; readonly values: number }>();
  for (const id of ids) {
    const item = found.items.get(id);
    if (item === undefined) continue;
    const size = sizes.get(id) ?? { bytes: utf8Length(item.json), values: countValues(item.json) };
    sizes.set(id, size);
    bytes += size.bytes;
    if (bytes > limit - utf8Length(text)) throw tooLarge(limit);
    values += size.values;
    checkCount("values", values, counts, "input");
  }
  const { missing, ...whole } = references.resolve(body, found.items, areShared(state));
  checkPieces(whole.body, Infinity, counts);
  const vital = missing.find(({ isIdle }) => !isIdle);
  if (vital !== undefined) throw unknownItem(vital.id);
  return { ...whole, bytes, isLess: missing.length > 0 };
}

/** Replaces the references of items that are added to a conversation. Throws a Fault if one is missing. */
export async function bodyWithItems(
  state: State,
  request: ReadBody,
  form: AnswerForm,
): Promise<Fields> {
  const ids = leavesIds(state) ? [] : form.references.idsIn(request.body, areShared(state));
  const whole = await withItems(state, request, form, ids);
  if (whole.isLess === true) throw unknownItem(ids[0] ?? "");
  return whole.body;
}

/** A recalled request without the upstreams of its seals. */
type Unsealed = Omit<RecalledRequest, "sealOwner">;

/** The gateway makes answers in the background itself, so no upstream receives the parameter. */
function backgroundTurn(state: State, { history }: DoorDialect, recalled: Unsealed): Unsealed {
  const { turn } = recalled;
  const field = turn.traits.params.background;
  if (turn.params.background !== true || field === undefined) return recalled;
  if (state.store === noStore || history?.type !== "answers" || !history.isWanted(turn))
    throw new Fault(
      "request.invalid",
      `\`${field}\` needs \`store\`, because an answer that is not stored cannot be retrieved; leave out \`${field}\`, or turn the gateway's store on.`,
      { param: field },
    );
  return {
    ...recalled,
    referring: undefined,
    turn: {
      ...turn,
      params: { ...turn.params, background: undefined },
      gatewayFields: { ...turn.gatewayFields, [field]: true },
    },
  };
}

/** True if the gateway makes the answer of a turn in the background. */
export const isInBackground = ({ traits, gatewayFields }: Turn): boolean =>
  gatewayFields?.[traits.params.background ?? ""] === true;

const readTurn = ({ dialect, params, headers }: ReadBody, body: Fields): Turn =>
  checkLengths(dialect.readRequest(body, params, headers));

/** Recalls a request that begins or continues a thread. */
async function inThread(
  state: State,
  request: ReadBody,
  form: ThreadForm,
  asked: AskedThread,
): Promise<RecalledRequest> {
  const { body, entry, bytes } = await recallThread(state, { ...request, form }, asked);
  const turn = readTurn(request, body);
  return withReasoning(state, request, {
    turn,
    added: { body: request.body },
    thread: entry,
    bytes,
  });
}

/** The ids of a body: of items, of the answer that it continues, of its conversation. */
type Referred = {
  readonly form: AnswerForm;
  readonly ids: readonly string[];
  readonly previous: string | undefined;
  readonly conversation: string | undefined;
};

/** Recalls a request with references. The lease of a conversation lasts until the end of its turn. */
async function recallAll(
  state: State,
  request: ReadBody,
  asked: Referred,
): Promise<RecalledRequest> {
  const { form, conversation: id, previous } = asked;
  const { tenant } = request;
  if (id === undefined) {
    const source = previous === undefined ? undefined : answersUpTo(tenant, previous);
    return recallItems(state, request, asked, source);
  }
  const source = conversationOf(tenant, id);
  const body = form.conversations.without(request.body);
  const held = request.readOnly === true ? undefined : await holdConversation(state, tenant, id);
  try {
    const recalled = await recallItems(state, { ...request, body }, asked, source);
    return { ...recalled, conversation: held };
  } catch (error) {
    await held?.release();
    throw error;
  }
}

const answersUpTo = (tenant: Tenant, id: string): ItemSource => ({
  key: responseKey(tenant, id),
  path: "previous_response_id",
  fields: { previous_response_id: id },
  missing: () => unknownResponse(id),
  tooLarge,
});

/** Recalls a request by loading the items that it names and the earlier conversation in parallel. */
async function recallItems(
  state: State,
  request: ReadBody,
  { form, ids, previous }: Referred,
  source: ItemSource | undefined,
): Promise<RecalledRequest> {
  const { dialect, text } = request;
  const { body_limit: limit, counts } = state.config.server;
  const room = limit - utf8Length(text);
  const [whole, earlier] = await Promise.all([
    withItems(state, request, form, ids),
    source && loadItems(state, request, source, room),
  ]);
  const bytes = whole.bytes + (earlier?.bytes ?? 0);
  if (bytes > room) throw tooLarge(limit);
  const added: Added = { body: whole.body, previous };
  const read = readTurn(request, whole.body);
  let turn = whole.isLess === true ? withoutThoughts(read) : read;
  let referring: ReferringTurn | undefined;
  if (source !== undefined && earlier !== undefined) {
    const { items, last } = earlier;
    turn = withHistory(turn, form, { ...source, items, counts });
    if (previous !== undefined) {
      if (!form.isOwn(last.json)) throw unknownResponse(previous);
      turn = { ...turn, params: { ...turn.params, previousResponse: undefined } };
      if (ids.length === 0) referring = referringTurn(request, last);
    }
  }
  const recalled = { turn, added, referring, bytes };
  return withReasoning(state, request, backgroundTurn(state, dialect, recalled));
}

const withoutThoughts = (turn: Turn): Turn => ({
  ...turn,
  repairs: [
    ...(turn.repairs ?? []),
    {
      path: turn.traits.conversation,
      action: "dropped",
      reason:
        "reasoning that was sent only as the id of an item is left out if the item is not stored",
    },
  ],
});

/** The request for the upstream that stored the answer that it continues; undefined if none did. */
function referringTurn(request: ReadBody, last: EntryHead): ReferringTurn | undefined {
  const origin = readOrigin(last.origin);
  if (origin === undefined) return undefined;
  const { upstream, id: kept } = origin;
  const turn = readTurn(request, request.body);
  const field = turn.traits.params.previousResponse;
  if (field === undefined || kept === turn.params.previousResponse) return { upstream, turn };
  const params = { ...turn.params, previousResponse: kept };
  return { upstream, turn: { ...turn, params, body: { ...turn.body, [field]: kept } } };
}

/** The earlier items of a conversation. */
type EarlierItems = {
  readonly items: readonly unknown[];
  /** The field of the request that names them. */
  readonly path: string;
  /** Fields of the answer that name their source. */
  readonly fields: Fields;
  /** The limits for these items and those of the request together. */
  readonly counts: CountLimits;
};

/** Inserts the earlier items before those of a turn; its instructions stay first. */
export function withHistory(
  own: Turn,
  form: AnswerForm,
  { items: earlier, path, fields, counts }: EarlierItems,
): Turn {
  checkCount("items", earlier.length + own.items.length, counts, path);
  const [first] = own.items;
  const hasInstructions = first !== undefined && isInstructions(first);
  const history = form.readItems(earlier);
  const items = hasInstructions
    ? [first, ...history, ...own.items.slice(1)]
    : [...history, ...own.items];
  checkResults(history, own);
  return checkLengths({
    ...own,
    items,
    places: placesAfter(items, history.length),
    historyPath: path,
    gatewayFields: { ...own.gatewayFields, ...fields },
  });
}

/** Throws a Fault for a result without its call, as the API does: the whole conversation is known here. */
function checkResults(history: readonly Item[], own: Turn): void {
  const calls = new Set<string>();
  for (const item of history) if (item.type === "call") calls.add(item.id);
  for (const [at, item] of own.items.entries()) {
    if (item.type === "call") calls.add(item.id);
    if (item.type !== "result" || calls.has(item.call)) continue;
    const path = itemPath(own, at);
    throw new Fault(
      "request.invalid",
      `\`${path}\` is the result of \`${shownId(item.call)}\`, and the conversation has no such call before it.`,
      { param: path },
    );
  }
}

const tooLarge = (limit: number): Fault =>
  new Fault(
    "request.too_large",
    `With the items that it refers to, the request is larger than ${limit} bytes; refer to fewer items, or raise \`server.body_limit\`.`,
    { param: "input" },
  );

/** The text is the same if the id is unknown, has expired, was deleted or belongs to another tenant. */
const unknownItem = (id: string): Fault =>
  new Fault(
    "item.not_found",
    `Item with id '${shownId(id)}' not found; send the item itself in place of the reference.`,
    { param: "input" },
  );

const unknownResponse = (id: string): Fault =>
  new Fault(
    "previous_response_not_found",
    `Previous response with id '${shownId(id)}' not found; send the conversation itself in \`input\`.`,
    { param: "previous_response_id" },
  );

const unknownOwner = (): undefined => undefined;

/** Adds stored reasoning that the client left out, and finds the upstreams that sealed reasoning. */
function withReasoning(
  state: State,
  request: Pick<ReadBody, "tenant" | "weigh">,
  recalled: Unsealed,
): RecalledRequest | Promise<RecalledRequest> {
  const { store, modelRoutes } = state;
  const mayMiss =
    store !== noStore && modelRoutes.get(recalled.turn.model)?.wantsThoughts !== false;
  const turn = mayMiss ? withThoughts(state, request, recalled.turn) : recalled.turn;
  if (turn instanceof Promise || sealsIn(turn.items).length > 0)
    return withOwners(state, request.tenant, recalled, turn);
  return { ...recalled, turn, sealOwner: unknownOwner };
}

async function withOwners(
  { store }: State,
  tenant: Tenant,
  recalled: Unsealed,
  reading: Turn | Promise<Turn>,
): Promise<RecalledRequest> {
  const turn = await reading;
  const ids = sealsIn(turn.items).map(sealId);
  if (ids.length === 0) return { ...recalled, turn, sealOwner: unknownOwner };
  const found = await store.find({ of: "notes", tenant, ids, maxBytes: Infinity }, () => {});
  const owners = found.type === "found" ? found.items : undefined;
  return { ...recalled, turn, sealOwner: (seal) => owners?.get(sealId(seal))?.json };
}
