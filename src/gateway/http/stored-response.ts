/** What is kept of a response, for the routes that are about one. */

import type { BackgroundForm, StorageForm } from "../../dialects/dialect.ts";
import { responseKey, type StoredEntry } from "../../history/log.ts";
import { Fault } from "../../turn/fault.ts";
import type { RequestContext } from "../state.ts";
import { shownId } from "./to-fault.ts";

export const idOf = ({ params }: RequestContext): string => params.id ?? "";

/** The same words whether it is unknown, has expired, was deleted or is somebody else's. */
export const notFound = (id: string): Fault =>
  new Fault("response.not_found", `Response with id '${shownId(id)}' not found.`, {
    param: "response_id",
  });

async function foundResponse(
  { state, tenant, params, memory }: RequestContext,
  storage: StorageForm,
): Promise<StoredEntry> {
  const { id = "" } = params;
  const found = await state.store.entry(responseKey(tenant, id), memory.load);
  if (found === undefined || !storage.isOwn(found.json)) throw notFound(id);
  return found;
}

type Forms = { readonly storage: StorageForm; readonly form?: BackgroundForm | undefined };

/** Whether an answer is over, which is loaded for this alone. One that nobody makes any more has failed. */
export async function standingOf(
  context: RequestContext,
  { storage, form }: Forms,
): Promise<{ readonly isOver: boolean; readonly isBackground: boolean }> {
  const { state, tenant } = context;
  const id = idOf(context);
  const look = async (): Promise<{ readonly isOver: boolean; readonly isBackground: boolean }> => {
    using held = context.memory.beside();
    const head = await state.store.head(responseKey(tenant, id), held.load);
    if (head === undefined || !storage.isOwn(head.json)) throw notFound(id);
    return form?.stateOf(head.json) ?? { isBackground: false, isOver: true };
  };
  const { isBackground, isOver } = await look();
  if (form === undefined || !isBackground || isOver) return { isBackground, isOver: true };
  if (await state.background.isMade(tenant, id)) return { isBackground, isOver };
  // It may have ended while that was asked.
  const isOverNow = (await look()).isOver || (await giveUp(context, { storage, form }));
  return { isBackground, isOver: isOverNow };
}

/** A response as its client is shown it. */
export async function shownResponse(context: RequestContext, forms: Forms): Promise<string> {
  const { storage, form } = forms;
  if (form !== undefined) await standingOf(context, forms);
  const { json, shared, items } = await foundResponse(context, storage);
  return storage.shownAnswer({ json, shared, items: items.map((item) => item.json) });
}

/** Stores that an answer is lost; its process can then store nothing more of it. False: its process is there after all. */
async function giveUp(
  context: RequestContext,
  { storage, form }: { readonly storage: StorageForm; readonly form: BackgroundForm },
): Promise<boolean> {
  const { state, tenant, memory } = context;
  const { background, store, clock } = state;
  const lease = await background.takeOver(tenant, idOf(context));
  if (lease === undefined) return false;
  try {
    const { id, items, json, ...rest } = await foundResponse(context, storage);
    if (form.stateOf(json).isOver) return true;
    const input = await store.input(responseKey(tenant, id), memory.load);
    const response = { ...rest, input, json: form.failed(json, lost()) };
    const answer = { tenant, at: clock.date(), answerId: id, items, response };
    await store.append({ ...answer, lease });
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
