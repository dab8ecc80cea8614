/** The routes that list, show, change and delete stored completions. */

import type { CompletionForm, DoorDialect } from "../../dialects/dialect.ts";
import { listKey, type Key } from "../../history/log.ts";
import { Fault } from "../../turn/fault.ts";
import { isFields, jsonOf } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import { readMetadata } from "./metadata.ts";
import { completionPage } from "./completion-list.ts";
import { listPieces, pagePieces, readPageQuery, unknownAfter } from "./page.ts";
import { withAnyBody } from "./read-body.ts";
import type { RequestContext, Route } from "../state.ts";
import { sendJson, sendPieces } from "./send-json.ts";
import { shownId } from "./to-fault.ts";

type Serve = (context: RequestContext, form: CompletionForm, body: Fields) => Promise<void>;

/** The longer paths first. */
export function completionRoutes(door: DoorDialect): Route[] {
  const { completions: form } = door;
  if (form === undefined) return [];
  const one = `${form.route}/{id}`;
  const rows: readonly (readonly [string, string, Serve])[] = [
    ["GET", `${one}/messages`, serveMessages],
    ["GET", one, serveCompletion],
    ["POST", one, updateCompletion],
    ["DELETE", one, deleteCompletion],
  ];
  return rows.map(([method, path, serve]) => ({
    method,
    path,
    door,
    serve: (context) => withAnyBody(context, (body) => serve(context, form, body)),
  }));
}

/** `model` and `metadata[key]` choose among them. */
export async function serveCompletions(
  context: RequestContext,
  { prefix }: CompletionForm,
): Promise<void> {
  const { state, tenant, exchange, memory } = context;
  const fields = new URLSearchParams(exchange.query);
  if (!fields.has("order")) fields.set("order", "asc");
  const query = readPageQuery(fields.toString());
  if (query.after !== undefined && !query.after.startsWith(prefix)) throw unknownAfter(query.after);
  const { steps, store } = state;
  const chooses = chooserOf(fields);
  const maxBytes = state.config.server.body_limit;
  const options = { store, tenant, prefix, query, chooses, maxBytes, memory, steps };
  const { data, hasMore } = await completionPage(options);
  await sendPieces(context, listPieces(data, hasMore));
}

function chooserOf(fields: URLSearchParams): ((one: Fields) => boolean) | undefined {
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

async function serveCompletion(context: RequestContext, form: CompletionForm): Promise<void> {
  await sendPieces(context, [await found(context, form)]);
}

async function updateCompletion(
  context: RequestContext,
  form: CompletionForm,
  { metadata }: Fields,
): Promise<void> {
  const known = jsonOf(await found(context, form));
  const completion = { ...(isFields(known) && known), metadata: readMetadata(metadata) };
  const key = keyOf(context, form);
  const json = JSON.stringify(completion);
  if (!(await context.state.store.setHead(key, json))) throw notFound(key.id);
  await sendPieces(context, [json]);
}

async function deleteCompletion(context: RequestContext, form: CompletionForm): Promise<void> {
  const key = keyOf(context, form);
  const { id } = key;
  if (!(await context.state.store.drop(key))) throw notFound(id);
  sendJson(context, 200, { object: "chat.completion.deleted", id, deleted: true });
}

async function serveMessages(context: RequestContext, form: CompletionForm): Promise<void> {
  const { state, exchange, memory } = context;
  const fields = new URLSearchParams(exchange.query);
  if (!fields.has("order")) fields.set("order", "asc");
  const query = readPageQuery(fields.toString());
  const key = keyOf(context, form);
  const page = await state.store.page(key, query, memory.load);
  if (page.type === "missing") throw notFound(key.id);
  await sendPieces(context, pagePieces(page, query));
}

/** A completion as JSON. */
async function found(context: RequestContext, form: CompletionForm): Promise<string> {
  const { state, memory } = context;
  const key = keyOf(context, form);
  const kept = await state.store.head(key, memory.load);
  if (kept === undefined) throw notFound(key.id);
  return kept.json;
}

/** What else is kept has other ids. */
function keyOf({ tenant, params: { id = "" } }: RequestContext, { prefix }: CompletionForm): Key {
  if (!id.startsWith(prefix)) throw notFound(id);
  return listKey(tenant, id);
}

/** The same words whether it is unknown, has expired, was deleted or is somebody else's. */
const notFound = (id: string): Fault =>
  new Fault("completion.not_found", `Completion with id '${shownId(id)}' not found.`, {
    param: "completion_id",
  });
