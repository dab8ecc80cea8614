import type { BackgroundForm, KeptAnswer, WriteContext } from "../../../dialects/dialect.ts";
import type { Lease } from "../../../history/leases.ts";
import { responseKey, type ResponseRecord } from "../../../history/log.ts";
import { Fault } from "../../../turn/fault.ts";
import { Rounds } from "../../run/rounds.ts";
import type { Run } from "../../run/run.ts";
import { STREAM_HEADERS } from "../../http/exchange.ts";
import type { RequestContext } from "../../state.ts";
import { turnHeaders } from "../../http/turn-headers.ts";
import { sendPieces } from "../../http/send-json.ts";
import type { BackgroundRun } from "./run.ts";

/** Makes an answer while nobody waits: it is stored that it has begun, and its client is told so, or follows it. */
export async function startInBackground(
  context: RequestContext,
  run: Run,
  form: BackgroundForm,
): Promise<void> {
  const { state, tenant, exchange } = context;
  const { dialect, added } = run;
  const isStreamed = run.turn.stream;
  run.turn = { ...run.turn, stream: true };
  const id = dialect.newAnswerId(state.newId);
  const writing = writeContext(context, id);
  const begun = form.begun(run.turn, writing);
  const input = dialect.storage?.inputOf(added.body, state.newId) ?? [];
  const response = { ...begun.kept, previous: added.previous, input };
  const lease = await saveBegun(context, id, response).catch((error: unknown) => {
    run.leave();
    throw error;
  });
  const background = state.background.add({ tenant, form, endMarker: dialect.endMarker, lease });
  let refusal: Fault | undefined;
  let isAtOnce = true;
  run.added = { ...added, input };
  run.presetId = id;
  run.lease = lease;
  run.reply = background.reply;
  run.refuse = (fault) => {
    if (isAtOnce) refusal = fault;
    else void fail(run, lease, { background, fault, writing, input });
  };
  const rounds = new Rounds(run);
  rounds.begin();
  isAtOnce = false;
  background.onCancel((fault) => rounds.cancel(fault));
  if (refusal !== undefined) {
    background.end();
    await state.store.drop(responseKey(tenant, id));
    return context.refuse(refusal);
  }
  if (!isStreamed) return sendPieces(context, [begun.shown]);
  exchange.reply.head(200, { ...turnHeaders(run, undefined), ...STREAM_HEADERS });
  background.follow(exchange.reply, 0);
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
  const answer = { tenant, at: clock.date(), answerId: id, items: [], response };
  const saving = store.append({ ...answer, lease });
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
  readonly background: BackgroundRun;
  readonly fault: Fault;
  readonly writing: WriteContext;
  readonly input: ResponseRecord["input"];
};

/** The upstream said nothing at all: the answer is stored as failed, and whoever follows it is told. */
async function fail(
  { state: { store, clock }, tenant, dialect, turn, added }: Run,
  lease: Lease,
  { background, fault, writing, input }: Failed,
): Promise<void> {
  let text = "";
  let kept: Omit<KeptAnswer, "items"> = { json: "" };
  const record: WriteContext["record"] = (json, shared) => void (kept = { json, shared });
  const writer = dialect.writeEvents(turn, { ...writing, record });
  writer.each({ type: "turn-fail", fault }, (piece) => void (text += piece));
  const response = { previous: added.previous, input, ...kept };
  const answerId = background.id;
  const answer = { tenant, at: clock.date(), answerId, items: [], response };
  try {
    await store.append({ ...answer, lease });
  } catch {
    // Without a stored end, the answer is found to be lost.
  }
  background.reply.end(text);
}

function writeContext({ state: { clock, newId } }: RequestContext, id: string): WriteContext {
  const now = (): number => Math.floor(clock.date() / 1000);
  return { id, created: now(), now, newId };
}
