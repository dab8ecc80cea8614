/** The routes that retrieve, list and delete what is kept of past answers. */

import type { StorageForm } from "../dialects/dialect.ts";
import { itemsText, joinedTexts } from "../store/chain-rows.ts";
import type { StoredResponse } from "../store/store.ts";
import { Fault } from "../turn/fault.ts";
import type { Fields } from "../turn/turn.ts";
import { page, readPageQuery } from "./page.ts";
import type { RequestContext } from "./routes.ts";
import { sendJson, sendJsonText } from "./send-json.ts";
import { shownId } from "./shown-id.ts";

export async function serveResponse(context: RequestContext, storage: StorageForm): Promise<void> {
  const { json, items } = await foundResponse(context, storage);
  sendJsonText(context, storage.shownAnswer({ json, items: items.map((item) => item.json) }));
}

export async function deleteResponse(context: RequestContext, storage: StorageForm): Promise<void> {
  const { state, tenant } = context;
  const { id } = await foundResponse(context, storage);
  if (!(await state.store.deleteResponse(tenant, id))) throw notFound(id);
  sendJson(context, 200, { id, object: "response", deleted: true });
}

/** All that the model saw before it answered, the answers that were continued included. */
export async function serveInputItems(
  context: RequestContext,
  storage: StorageForm,
): Promise<void> {
  const { state, tenant, exchange } = context;
  const query = readPageQuery(exchange.query);
  const id = idOf(context);
  const limit = state.config.server.body_limit;
  const found = await state.store.loadChain(tenant, id, limit);
  if (found.type === "missing") throw notFound(id);
  if (found.type === "found" && !storage.isOwn(found.last.json)) throw notFound(id);
  if (found.type === "too-large")
    throw new Fault(
      "request.too_large",
      `The input of '${shownId(id)}' is larger than ${limit} bytes; raise \`server.body_limit\`.`,
    );
  const text = joinedTexts([found.before, itemsText(found.last.input)]);
  const items = JSON.parse(`[${text}]`) as Fields[];
  sendJson(context, 200, page(items, query, storage.shownItem));
}

async function foundResponse(
  context: RequestContext,
  storage: StorageForm,
): Promise<StoredResponse> {
  const id = idOf(context);
  const found = await context.state.store.findResponse(context.tenant, id);
  if (found === undefined || !storage.isOwn(found.json)) throw notFound(id);
  return found;
}

const idOf = ({ params }: RequestContext): string => params.id ?? "";

/** The same words whether it is unknown, has expired, was deleted or is somebody else's. */
const notFound = (id: string): Fault =>
  new Fault("response.not_found", `Response with id '${shownId(id)}' not found.`, {
    param: "response_id",
  });
