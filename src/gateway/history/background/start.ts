import type { BackgroundForm, KeptAnswer, WriteContext } from "../../../dialects/dialect.ts";
import type { Lease } from "../../../history/leases.ts";
import type { ResponseRecord } from "../../../history/store.ts";
import { Fault } from "../../../turn/fault.ts";
import { runTurn, type Job } from "../../run/turn-run.ts";
import { STREAM_HEADERS } from "../../run/door.ts";
import type { RequestContext } from "../../http/routes.ts";
import { sendPieces } from "../../http/send-json.ts";
import type { BackgroundRun } from "./run.ts";

/** Makes an answer while nobody waits: it is stored that it has begun, and its client is told so, or follows it. */
export async function startInBackground(
  context: RequestContext,
  job: Job,
  form: BackgroundForm,
): Promise<void> {
  const { state, tenant, exchange } = context;
  const { dialect } = job;
  const turn = { ...job.turn, stream: true };
  const id = dialect.newAnswerId(state.newId);
  const writing = writeContext(context, id);
  const begun = form.begun(turn, writing);
  const input = dialect.storage?.inputOf(job.added.body, state.newId) ?? [];
  const response = { ...begun.kept, previous: job.added.previous, input };
  const lease = await saveBegun(context, id, response).catch((error: unknown) => {
    job.permit?.leave(0);
    throw error;
  });
  const run = state.background.add({ tenant, form, endMarker: dialect.endMarker, lease });
  let refusal: Fault | undefined;
  let isAtOnce = true;
  const refuse = (fault: Fault): void => {
    if (isAtOnce) refusal = fault;
    else void fail(context, { ...job, turn, lease }, { run, fault, writing, input });
  };
  const added = { ...job.added, input };
  const { reply } = run;
  const running = runTurn(state, { ...job, turn, added, answerId: id, lease, reply, refuse });
  isAtOnce = false;
  run.onCancel((fault) => running.cancel(fault));
  if (refusal !== undefined) {
    run.end();
    await state.store.deleteResponse(tenant, id);
    return context.refuse(refusal);
  }
  if (!job.turn.stream) return sendPieces(context, [begun.shown]);
  exchange.reply.head(200, { ...job.headers(undefined), ...STREAM_HEADERS });
  run.follow(exchange.reply, 0);
}

/** How long it may take to store that an answer has begun. */
const SAVE_MS = 5000;

/** Stores that an answer has begun; without that it is not begun. Returns its lease. */
async function saveBegun(
  { state: { store, clock, background }, tenant }: RequestContext,
  id: string,
  response: ResponseRecord,
): Promise<Lease> {
  const trouble = store.trouble();
  if (trouble !== undefined) throw trouble;
  const lease = await background.lease(tenant, id);
  if (lease === undefined) throw new Error("a new id has no lease");
  const answer = { tenant, at: clock.date(), answerId: id, items: [], seals: [], response };
  const saving = store.saveTurn({ ...answer, lease });
  let cancel: (() => void) | undefined;
  const late = new Promise<never>((_, reject) => {
    cancel = clock.at(clock.now() + SAVE_MS, () =>
      reject(new Fault("store.timeout", "The store is too slow; send the request again.")),
    );
  });
  try {
    await Promise.race([saving, late]);
    return lease;
  } catch (error) {
    // A write that is still queued then fails.
    void background.release(tenant, lease).catch(() => {});
    throw error;
  } finally {
    cancel?.();
  }
}

type Failed = {
  readonly run: BackgroundRun;
  readonly fault: Fault;
  readonly writing: WriteContext;
  readonly input: ResponseRecord["input"];
};

/** The upstream said nothing at all: the answer is stored as failed, and whoever follows it is told. */
async function fail(
  { state: { store, clock }, tenant }: RequestContext,
  { dialect, turn, added, lease }: Job & { readonly lease: Lease },
  { run, fault, writing, input }: Failed,
): Promise<void> {
  let text = "";
  let kept: Omit<KeptAnswer, "items"> = { json: "" };
  const record: WriteContext["record"] = (json, shared) => void (kept = { json, shared });
  const writer = dialect.writeEvents(turn, { ...writing, record });
  writer.each({ type: "turn-fail", fault }, (piece) => void (text += piece));
  const response = { previous: added.previous, input, ...kept };
  const answer = { tenant, at: clock.date(), answerId: run.id, items: [], seals: [], response };
  try {
    await store.saveTurn({ ...answer, lease });
  } catch {
    // Without a stored end, the answer is found to be lost.
  }
  run.reply.end(text);
}

function writeContext({ state: { clock, newId } }: RequestContext, id: string): WriteContext {
  const now = (): number => Math.floor(clock.date() / 1000);
  return { id, created: now(), now, newId };
}
