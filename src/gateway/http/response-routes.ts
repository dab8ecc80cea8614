/** The routes that retrieve, list, cancel and delete what is kept of past answers. */

import type { BackgroundForm, StorageForm } from "../../dialects/dialect.ts";
import { responseKey } from "../../history/log.ts";
import { Fault } from "../../turn/fault.ts";
import { reattach, streamQuery } from "../history/background/reattach.ts";
import { cancelled } from "../history/background/runs.ts";
import { pagePieces, readPageQuery } from "./page.ts";
import type { RequestContext } from "../state.ts";
import { sendJson, sendPieces } from "./send-json.ts";
import { shownId } from "./to-fault.ts";
import { idOf, notFound, shownResponse, standingOf } from "./stored-response.ts";

type Forms = { readonly storage: StorageForm; readonly form?: BackgroundForm | undefined };

export async function serveResponse(context: RequestContext, forms: Forms): Promise<void> {
  const { storage, form } = forms;
  const asked = streamQuery(context.exchange.query);
  if (asked !== undefined && form !== undefined)
    return reattach(context, { storage, form }, asked.after);
  await sendPieces(context, [await shownResponse(context, forms)]);
}

export async function deleteResponse(context: RequestContext, forms: Forms): Promise<void> {
  const { state, tenant } = context;
  const id = idOf(context);
  await standingOf(context, { storage: forms.storage });
  // Another process that makes it loses the lease, and then ends it.
  state.background.find(tenant, id)?.cancel(cancelled());
  if (!(await state.store.drop(responseKey(tenant, id)))) throw notFound(id);
  sendJson(context, 200, { id, object: "response", deleted: true });
}

/** Ends an answer that is made in the background; one that is over stays as it is. */
export async function cancelResponse(
  context: RequestContext,
  { storage, form }: Forms & { readonly form: BackgroundForm },
): Promise<void> {
  const { isBackground } = await standingOf(context, { storage, form });
  if (!isBackground)
    throw new Fault(
      "response.not_background",
      `Response '${shownId(idOf(context))}' was not made in the background; only such can be cancelled.`,
    );
  await cancelRun(context, { storage, form });
  await sendPieces(context, [await shownResponse(context, { storage, form })]);
}

const LOOK_MS = 200;
/** How long a process has to cancel an answer that it makes for another. */
const CANCEL_MS = 10_000;

/** Waits until the answer is over, whoever makes it. */
async function cancelRun(context: RequestContext, forms: Forms): Promise<void> {
  const { state, tenant } = context;
  const { clock, background } = state;
  const id = idOf(context);
  if ((await standingOf(context, forms)).isOver) return;
  const run = background.find(tenant, id);
  if (run !== undefined) {
    run.cancel(cancelled());
    return run.ended;
  }
  await background.askToCancel(tenant, id);
  const end = clock.now() + CANCEL_MS;
  while (clock.now() < end) {
    if ((await standingOf(context, forms)).isOver) return;
    await new Promise<void>((resolve) => void clock.at(clock.now() + LOOK_MS, resolve));
  }
}

/** All that the model saw before it answered, the answers that were continued included. */
export async function serveInputItems(
  context: RequestContext,
  storage: StorageForm,
): Promise<void> {
  const { state, tenant, exchange, memory } = context;
  const query = readPageQuery(exchange.query);
  const id = idOf(context);
  await standingOf(context, { storage });
  const page = await state.store.page(responseKey(tenant, id), query, memory.load);
  if (page.type === "missing") throw notFound(id);
  await sendPieces(context, pagePieces(page, query, storage.shownItem));
}
