/** What is kept of a response, for the routes that are about one. */

import type { BackgroundForm, StorageForm } from "../dialects/dialect.ts";
import type { StoredResponse } from "../store/store.ts";
import { Fault } from "../turn/fault.ts";
import { isFields, jsonOf } from "../turn/json.ts";
import type { Fields } from "../turn/turn.ts";
import type { RequestContext } from "./routes.ts";
import { shownId } from "./shown-id.ts";

export const idOf = ({ params }: RequestContext): string => params.id ?? "";

/** The same words whether it is unknown, has expired, was deleted or is somebody else's. */
export const notFound = (id: string): Fault =>
  new Fault("response.not_found", `Response with id '${shownId(id)}' not found.`, {
    param: "response_id",
  });

export async function foundResponse(
  context: RequestContext,
  storage: StorageForm,
): Promise<StoredResponse> {
  const id = idOf(context);
  const found = await context.state.store.findResponse(context.tenant, id);
  if (found === undefined || !storage.isOwn(found.json)) throw notFound(id);
  return found;
}

/** Stored items, from their JSON separated by commas. A damaged row may hold anything. */
export function storedValues(text: string): readonly unknown[] {
  const items = jsonOf(`[${text}]`);
  if (Array.isArray(items)) return items;
  throw new Fault(
    "store.unusable",
    "A stored item is damaged: it is not JSON. Delete what it belongs to, and send that again.",
  );
}

/** The same for lists, which leave out values that are no items. */
export const storedItems = (text: string): readonly Fields[] => storedValues(text).filter(isFields);

type Forms = { readonly storage: StorageForm; readonly form?: BackgroundForm | undefined };

/** A response as its client is shown it, and whether it is over. One that nobody makes any more has failed. */
export async function shownResponse(
  context: RequestContext,
  { storage, form }: Forms,
): Promise<{ readonly shown: string; readonly isOver: boolean; readonly id: string }> {
  const { id, json, shared, items } = await foundResponse(context, storage);
  const show = (text: string): string =>
    storage.shownAnswer({ json: text, shared, items: items.map((item) => item.json) });
  if (form === undefined) return { id, shown: show(json), isOver: true };
  const { isBackground, isOver } = form.stateOf(json);
  if (!isBackground || isOver) return { id, shown: show(json), isOver: true };
  const { state, tenant } = context;
  if (await state.background.isMade(tenant, id)) return { id, shown: show(json), isOver };
  // It may have ended while that was asked.
  const later = await foundResponse(context, storage);
  if (form.stateOf(later.json).isOver || (await giveUp(context, { storage, form })))
    return shownResponse(context, { storage });
  return { id, shown: show(json), isOver };
}

/** Stores that an answer is lost; its process can then store nothing more of it. False: its process is there after all. */
async function giveUp(
  context: RequestContext,
  { storage, form }: { readonly storage: StorageForm; readonly form: BackgroundForm },
): Promise<boolean> {
  const { state, tenant } = context;
  const { background, store, clock } = state;
  const lease = await background.takeOver(tenant, idOf(context));
  if (lease === undefined) return false;
  try {
    const { id, items, json, ...response } = await foundResponse(context, storage);
    if (form.stateOf(json).isOver) return true;
    const failed = { ...response, json: form.failed(json, lost()) };
    const answer = { tenant, at: clock.date(), answerId: id, items, seals: [], response: failed };
    await store.saveTurn({ ...answer, lease });
    return true;
  } finally {
    await background.release(tenant, lease);
  }
}

const lost = (): Fault =>
  new Fault(
    "response.lost",
    "The gateway that made this response has stopped or cannot be reached; send the request again.",
  );
