/** Stored responses, found by the id in the path of a request. */

import type { AnswerForm, BackgroundForm } from "../../dialects/dialect.ts";
import { responseKey, type StoredEntry } from "../../history/log.ts";
import { Fault } from "../../turn/fault.ts";
import type { RequestContext } from "../state.ts";
import { shownId } from "./to-fault.ts";

export const idOf = ({ params }: RequestContext): string => params.id ?? "";

/** The same text for a response that is unknown, expired, deleted or another tenant's. */
export const notFound = (id: string): Fault =>
  new Fault("response.not_found", `Response with id '${shownId(id)}' not found.`, {
    param: "response_id",
  });

/** True in `isOver` if the answer has ended, also if its process is gone: then it has failed. */
export async function standingOf(
  context: RequestContext,
  form: AnswerForm,
): Promise<ReturnType<BackgroundForm["stateOf"]>> {
  const { state, tenant } = context;
  const id = idOf(context);
  const look = async (): Promise<ReturnType<BackgroundForm["stateOf"]>> => {
    using held = context.memory.beside();
    const head = await state.store.head(responseKey(tenant, id), held.load);
    if (head === undefined || !form.isOwn(head.json)) throw notFound(id);
    return form.background.stateOf(head.json);
  };
  const { isBackground, isOver } = await look();
  if (!isBackground || isOver) return { isBackground, isOver: true };
  if (await state.background.isMade(tenant, id)) return { isBackground, isOver };
  // The answer may have ended since the first look.
  const isOverNow = (await look()).isOver || (await giveUp(context, form));
  return { isBackground, isOver: isOverNow };
}

/** A response in the form that its client reads. */
export async function shownResponse(context: RequestContext, form: AnswerForm): Promise<string> {
  await standingOf(context, form);
  const { json, shared, items } = await foundResponse(context, form);
  return form.shownAnswer({ json, shared, items: items.map((item) => item.json) });
}

async function foundResponse(
  { state, tenant, params, memory }: RequestContext,
  form: AnswerForm,
): Promise<StoredEntry> {
  const { id = "" } = params;
  const found = await state.store.entry(responseKey(tenant, id), memory.load);
  if (found === undefined || !form.isOwn(found.json)) throw notFound(id);
  return found;
}

/** Stores that an answer is lost; its process can store no more of it. False if that process still runs. */
async function giveUp(context: RequestContext, form: AnswerForm): Promise<boolean> {
  const { state, tenant, memory } = context;
  const { background, store, clock } = state;
  const lease = await background.takeOver(tenant, idOf(context));
  if (lease === undefined) return false;
  try {
    const { id, items, json, ...rest } = await foundResponse(context, form);
    if (form.background.stateOf(json).isOver) return true;
    const input = await store.input(responseKey(tenant, id), memory.load);
    const lost = new Fault(
      "response.lost",
      "The gateway that made this response has stopped or cannot be reached; send the request again.",
    );
    const response = { ...rest, input, json: form.background.failed(json, lost) };
    const answer = { tenant, at: clock.date(), answerId: id, items, response };
    await store.append({ ...answer, lease });
    return true;
  } finally {
    await background.release(tenant, lease);
  }
}
