/** The routes that create, show, change and delete conversations and their items. */

import type { DoorDialect, StorageForm } from "../../dialects/dialect.ts";
import { noStore } from "../../history/none.ts";
import { listKey, type Key, type StoredItem } from "../../history/log.ts";
import { Fault } from "../../turn/fault.ts";
import { isStorableId, MAX_STORED_ID } from "../../turn/item-ids.ts";
import { isFields, jsonOf } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import { conversationNotFound, isConversationId } from "../history/conversation.ts";
import { readMetadata } from "./metadata.ts";
import { bodyWithItems } from "../history/recall.ts";
import { listPieces, pagePieces, readPageQuery } from "./page.ts";
import { withAnyBody } from "./read-body.ts";
import { checkLengths } from "./request-lengths.ts";
import type { RequestContext, Route } from "../state.ts";
import { sendJson, sendPieces } from "./send-json.ts";
import { shownId } from "./to-fault.ts";

type Form = { readonly door: DoorDialect; readonly storage: StorageForm };

/** As the API has it. */
const MAX_ITEMS = 20;

/** The longer paths first. */
export function conversationRoutes(door: DoorDialect): Route[] {
  const { storage } = door;
  const route = storage?.conversations?.route;
  if (storage === undefined || route === undefined) return [];
  const form = { door, storage };
  const one = `${route}/{id}`;
  type Serve = (context: RequestContext, of: Form, body: Fields) => Promise<void>;
  const rows: readonly (readonly [string, string, Serve])[] = [
    ["GET", `${one}/items/{item}`, serveItem],
    ["DELETE", `${one}/items/{item}`, deleteItem],
    ["GET", `${one}/items`, serveItems],
    ["POST", `${one}/items`, createItems],
    ["GET", one, serveConversation],
    ["POST", one, updateConversation],
    ["DELETE", one, deleteConversation],
    ["POST", route, createConversation],
  ];
  return rows.map(([method, path, serve]) => ({
    method,
    path,
    door,
    serve: (context) => withAnyBody(context, (body) => serve(context, form, body)),
  }));
}

async function createConversation(
  context: RequestContext,
  form: Form,
  body: Fields,
): Promise<void> {
  const { state, tenant } = context;
  if (state.store === noStore) throw nothingKept();
  const id = state.newId("conv");
  const created = Math.floor(state.clock.date() / 1000);
  const metadata = readMetadata(body.metadata);
  const conversation = { id, object: "conversation", created_at: created, metadata };
  const items = await readItems(context, form, body.items ?? []);
  const json = JSON.stringify(conversation);
  await state.store.create({ tenant, id, json, items });
  sendJson(context, 200, conversation);
}

async function serveConversation(context: RequestContext): Promise<void> {
  sendJson(context, 200, await foundConversation(context));
}

async function updateConversation(context: RequestContext, _: Form, body: Fields): Promise<void> {
  const { state } = context;
  const found = await foundConversation(context);
  const conversation = { ...found, metadata: readMetadata(body.metadata) };
  const key = keyOf(context);
  if (!(await state.store.setHead(key, JSON.stringify(conversation))))
    throw conversationNotFound(key.id);
  sendJson(context, 200, conversation);
}

async function deleteConversation(context: RequestContext): Promise<void> {
  const key = keyOf(context);
  const { id } = key;
  if (!(await context.state.store.drop(key))) throw conversationNotFound(id);
  sendJson(context, 200, { id, object: "conversation.deleted", deleted: true });
}

async function serveItems(context: RequestContext, { storage }: Form): Promise<void> {
  const { state, exchange, memory } = context;
  const query = readPageQuery(exchange.query);
  const key = keyOf(context);
  const page = await state.store.page(key, query, memory.load);
  if (page.type === "missing") throw conversationNotFound(key.id);
  await sendPieces(context, pagePieces(page, query, storage.shownItem));
}

async function createItems(context: RequestContext, form: Form, body: Fields): Promise<void> {
  const items = await readItems(context, form, body.items);
  const key = keyOf(context);
  if (!(await context.state.store.extend(key, items))) throw conversationNotFound(key.id);
  await sendPieces(context, listPieces(items, false, form.storage.shownItem));
}

async function serveItem(context: RequestContext, { storage }: Form): Promise<void> {
  const { state, params, memory } = context;
  const { item: asked = "" } = params;
  const found = await state.store.item(keyOf(context), asked, memory.load);
  const item = found === undefined ? undefined : jsonOf(found);
  if (!isFields(item)) {
    await foundConversation(context);
    throw itemNotFound(asked);
  }
  await sendPieces(context, [JSON.stringify(storage.shownItem(item))]);
}

async function deleteItem(context: RequestContext): Promise<void> {
  const { item = "" } = context.params;
  const conversation = await foundConversation(context);
  if (!(await context.state.store.dropItem(keyOf(context), item))) throw itemNotFound(item);
  sendJson(context, 200, conversation);
}

/** What else is kept has other ids. */
function keyOf({ tenant, params: { id = "" } }: RequestContext): Key {
  if (!isConversationId(id)) throw conversationNotFound(id);
  return listKey(tenant, id);
}

async function foundConversation(context: RequestContext): Promise<Fields> {
  const { state, memory } = context;
  const key = keyOf(context);
  const found = await state.store.head(key, memory.load);
  const conversation = found === undefined ? undefined : jsonOf(found.json);
  if (!isFields(conversation)) throw conversationNotFound(key.id);
  return conversation;
}

/** Items are held to what a request with them would be. */
async function readItems(
  { state, tenant, memory, exchange: { body: text } }: RequestContext,
  { door, storage }: Form,
  items: unknown,
): Promise<readonly StoredItem[]> {
  if (!Array.isArray(items)) throw wrong("items", "must be a list of items");
  if (items.length > MAX_ITEMS) throw wrong("items", `can be ${MAX_ITEMS} at a time`);
  let kept: readonly StoredItem[];
  try {
    const body = { model: "any", input: items };
    checkLengths(door.readRequest(body));
    kept = storage.inputOf(
      await bodyWithItems(state, { tenant, dialect: door, body, text, weigh: memory.load }),
      state.newId,
    );
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const param = error.detail.param?.replace(/^input/, "items");
    const message = error.message.replaceAll("`input", "`items");
    throw new Fault(error.code, message, { ...error.detail, param }, error);
  }
  const at = kept.findIndex(({ id }) => !isStorableId(id));
  if (at === -1) return kept;
  const most = `can have ${MAX_STORED_ID} characters, none of them NUL or half of one`;
  throw wrong(`items[${at}].id`, most);
}

const wrong = (param: string, problem: string): Fault =>
  new Fault("request.invalid", `\`${param}\` ${problem}.`, { param });

const itemNotFound = (id: string): Fault =>
  new Fault("conversation.item_not_found", `Item with id '${shownId(id)}' not found.`, {
    param: "item_id",
  });

const nothingKept = (): Fault =>
  new Fault(
    "request.unsupported",
    "This gateway keeps nothing (`store: off`), and so no conversations; send the conversation itself.",
  );
