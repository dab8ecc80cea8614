/** Routes of the lists that clients know by an id: conversations, and stored completions with their messages. */

import type { AnswerForm, CompletionForm, DoorDialect } from "../../dialects/dialect.ts";
import { listKey, type Key, type StoredItem } from "../../history/log.ts";
import { noStore } from "../../history/none.ts";
import { isFields, jsonOf } from "../../json/json.ts";
import { Fault } from "../../turn/fault.ts";
import { isStorableId, MAX_STORED_ID } from "../../turn/item-ids.ts";
import type { Fields } from "../../turn/turn.ts";
import { conversationNotFound, isConversationId } from "../history/conversation.ts";
import { bodyWithItems } from "../history/recall.ts";
import type { RequestContext, Route } from "../state.ts";
import { completionPage, listPieces, pagePieces, readPageQuery, unknownAfter } from "./page.ts";
import { withAnyBody } from "./read-body.ts";
import { checkLengths } from "./request-lengths.ts";
import { sendJson, sendPieces } from "./send-json.ts";
import { shownId, wrongParam } from "./to-fault.ts";

/** One kind of list. */
type Lists = {
  /** Lists of another kind have other ids. */
  readonly isOwn: (id: string) => boolean;
  /** The same text for an id that is unknown, expired, deleted or another tenant's. */
  readonly missing: (id: string) => Fault;
  readonly deleted: (id: string) => Fields;
  /** The order of items if the client names none. */
  readonly order: "asc" | "desc";
  /** An item as clients see it. */
  readonly show?: (item: Fields) => Fields;
};

type Row = readonly [method: string, path: string, serve: Route["serve"]];

const routesOf = (door: DoorDialect, rows: readonly Row[]): Route[] =>
  rows.map(([method, path, serve]) => ({ method, path, door, serve }));

/** The routes of one list: show it, change its metadata, delete it. */
const headRows = (path: string, lists: Lists): Row[] => [
  ["GET", path, async (context) => sendPieces(context, [(await headOf(context, lists)).json])],
  ["POST", path, (context) => withAnyBody(context, (body) => updateHead(context, lists, body))],
  ["DELETE", path, (context) => deleteList(context, lists)],
];

function keyOf(
  { tenant, params: { id = "" } }: RequestContext,
  { isOwn, missing }: Pick<Lists, "isOwn" | "missing">,
): Key {
  if (!isOwn(id)) throw missing(id);
  return listKey(tenant, id);
}

type Head = { readonly key: Key; readonly json: string; readonly fields: Fields };

async function headOf(context: RequestContext, lists: Lists): Promise<Head> {
  const key = keyOf(context, lists);
  const json = (await context.state.store.head(key, context.memory.load))?.json ?? "";
  const fields = jsonOf(json);
  if (!isFields(fields)) throw lists.missing(key.id);
  return { key, json, fields };
}

async function updateHead(context: RequestContext, lists: Lists, body: Fields): Promise<void> {
  const { key, fields } = await headOf(context, lists);
  const json = JSON.stringify({ ...fields, metadata: readMetadata(body.metadata) });
  if (!(await context.state.store.setHead(key, json))) throw lists.missing(key.id);
  await sendPieces(context, [json]);
}

async function deleteList(context: RequestContext, lists: Lists): Promise<void> {
  const key = keyOf(context, lists);
  if (!(await context.state.store.drop(key))) throw lists.missing(key.id);
  sendJson(context, 200, lists.deleted(key.id));
}

async function serveItems(context: RequestContext, lists: Lists): Promise<void> {
  const { state, exchange, memory } = context;
  const query = readPageQuery(exchange.query, lists.order);
  const key = keyOf(context, lists);
  const page = await state.store.page(key, query, memory.load);
  if (page.type === "missing") throw lists.missing(key.id);
  await sendPieces(context, pagePieces(page, query, lists.show));
}

/** The limits of the OpenAI API. */
const MAX_PAIRS = 16;
const MAX_KEY = 64;
const MAX_VALUE = 512;
const MAX_ITEMS = 20;

function readMetadata(metadata: unknown): Fields {
  if (metadata === undefined || metadata === null) return {};
  const pairs = isFields(metadata) ? Object.entries(metadata) : [];
  const isFit = pairs.every(
    ([key, value]) =>
      key.length <= MAX_KEY && typeof value === "string" && value.length <= MAX_VALUE,
  );
  if (isFields(metadata) && isFit && pairs.length <= MAX_PAIRS) return metadata;
  const sizes = `keys of up to ${MAX_KEY} and texts of up to ${MAX_VALUE} characters`;
  throw wrongParam("metadata", `must be an object of at most ${MAX_PAIRS} ${sizes}`);
}

const conversations: Lists = {
  isOwn: isConversationId,
  missing: conversationNotFound,
  deleted: (id) => ({ id, object: "conversation.deleted", deleted: true }),
  order: "desc",
};

/** The longer paths first. */
export function conversationRoutes(door: DoorDialect, form: AnswerForm): Route[] {
  const { route } = form.conversations;
  const lists = { ...conversations, show: form.shownItem };
  const one = `${route}/{id}`;
  return routesOf(door, [
    ["GET", `${one}/items/{item}`, (context) => serveItem(context, form)],
    ["DELETE", `${one}/items/{item}`, deleteItem],
    ["GET", `${one}/items`, (context) => serveItems(context, lists)],
    [
      "POST",
      `${one}/items`,
      (context) =>
        withAnyBody(context, async ({ items: given }) => {
          const items = await readItems(context, door, form, given);
          const key = keyOf(context, lists);
          if (!(await context.state.store.extend(key, items))) throw conversationNotFound(key.id);
          await sendPieces(context, listPieces(items, false, form.shownItem));
        }),
    ],
    ...headRows(one, lists),
    [
      "POST",
      route,
      (context) => withAnyBody(context, (body) => createConversation(context, door, form, body)),
    ],
  ]);
}

async function createConversation(
  context: RequestContext,
  door: DoorDialect,
  form: AnswerForm,
  body: Fields,
): Promise<void> {
  const { state, tenant } = context;
  if (state.store === noStore)
    throw new Fault(
      "request.unsupported",
      "This gateway stores no conversations (`store: off`); send the conversation itself.",
    );
  const id = state.newId("conv");
  const created = Math.floor(state.clock.date() / 1000);
  const metadata = readMetadata(body.metadata);
  const conversation = { id, object: "conversation", created_at: created, metadata };
  const items = await readItems(context, door, form, body.items ?? []);
  await state.store.create({ tenant, id, json: JSON.stringify(conversation), items });
  sendJson(context, 200, conversation);
}

async function serveItem(context: RequestContext, { shownItem }: AnswerForm): Promise<void> {
  const { state, params, memory } = context;
  const { item: asked = "" } = params;
  const found = await state.store.item(keyOf(context, conversations), asked, memory.load);
  const item = jsonOf(found ?? "");
  if (!isFields(item)) {
    await headOf(context, conversations);
    throw itemNotFound(asked);
  }
  await sendPieces(context, [JSON.stringify(shownItem(item))]);
}

/** Answers with the conversation. */
async function deleteItem(context: RequestContext): Promise<void> {
  const { item = "" } = context.params;
  const { key, json } = await headOf(context, conversations);
  if (!(await context.state.store.dropItem(key, item))) throw itemNotFound(item);
  await sendPieces(context, [json]);
}

const itemNotFound = (id: string): Fault =>
  new Fault("conversation.item_not_found", `Item with id '${shownId(id)}' not found.`, {
    param: "item_id",
  });

/** Items are checked as the input of a request is. */
async function readItems(
  { state, tenant, memory, exchange: { body: text } }: RequestContext,
  door: DoorDialect,
  form: AnswerForm,
  items: unknown,
): Promise<readonly StoredItem[]> {
  if (!Array.isArray(items)) throw wrongParam("items", "must be a list of items");
  if (items.length > MAX_ITEMS) throw wrongParam("items", `can be ${MAX_ITEMS} at a time`);
  let kept: readonly StoredItem[];
  try {
    const body = { model: "any", input: items };
    checkLengths(door.readRequest(body));
    const request = { tenant, dialect: door, body, text, weigh: memory.load };
    kept = form.inputOf(await bodyWithItems(state, request, form), state.newId);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const param = error.detail.param?.replace(/^input/, "items");
    const message = error.message.replaceAll("`input", "`items");
    throw new Fault(error.code, message, { ...error.detail, param }, error);
  }
  const at = kept.findIndex(({ id }) => !isStorableId(id));
  if (at === -1) return kept;
  const most = `can have ${MAX_STORED_ID} characters, none of them NUL or half of one`;
  throw wrongParam(`items[${at}].id`, most);
}

/** The longer paths first. */
export function completionRoutes(door: DoorDialect, form: CompletionForm): Route[] {
  const lists: Lists = {
    isOwn: (id) => id.startsWith(form.prefix),
    missing: (id) =>
      new Fault("completion.not_found", `Completion with id '${shownId(id)}' not found.`, {
        param: "completion_id",
      }),
    deleted: (id) => ({ object: "chat.completion.deleted", id, deleted: true }),
    order: "asc",
  };
  const one = `${form.route}/{id}`;
  return routesOf(door, [
    ["GET", `${one}/messages`, (context) => serveItems(context, lists)],
    ...headRows(one, lists),
  ]);
}

/** Lists stored completions; `model` and `metadata[key]` in the query filter them. */
export async function serveCompletions(
  context: RequestContext,
  { prefix }: CompletionForm,
): Promise<void> {
  const { state, tenant, exchange, memory } = context;
  const query = readPageQuery(exchange.query, "asc");
  if (query.after !== undefined && !query.after.startsWith(prefix)) throw unknownAfter(query.after);
  const { steps, store } = state;
  const chooses = filterOf(new URLSearchParams(exchange.query));
  const maxBytes = state.config.server.body_limit;
  const options = { store, tenant, prefix, query, chooses, maxBytes, memory, steps };
  const { data, hasMore } = await completionPage(options);
  await sendPieces(context, listPieces(data, hasMore));
}

function filterOf(fields: URLSearchParams): ((one: Fields) => boolean) | undefined {
  const wanted = [...fields].flatMap(([name, value]) => {
    const [, key] = /^metadata\[(.*)\]$/.exec(name) ?? [];
    return key === undefined ? [] : [[key, value] as const];
  });
  const model = fields.get("model");
  if (model === null && wanted.length === 0) return undefined;
  return (one) =>
    (model === null || one.model === model) &&
    wanted.every(([key, value]) => isFields(one.metadata) && one.metadata[key] === value);
}
