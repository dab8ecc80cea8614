import type { AnswerForm, KeptAnswer, WriteContext } from "../../../dialects/dialect.ts";
import type { Lease } from "../../../history/leases.ts";
import { responseKey, type ResponseRecord } from "../../../history/log.ts";
import { within } from "../../../turn/clock.ts";
import { Fault } from "../../../turn/fault.ts";
import { Rounds } from "../../run/rounds.ts";
import type { Run } from "../../run/run.ts";
import { STREAM_HEADERS } from "../../http/exchange.ts";
import type { RequestContext } from "../../state.ts";
import { turnHeaders } from "../../http/turn-headers.ts";
import { sendPieces } from "../../http/send-json.ts";
import { sendEvents } from "./reattach.ts";

/** Makes the answer of a turn in the background. The client receives the unfinished response, or follows its stream. */
export async function startInBackground(
  context: RequestContext,
  run: Run,
  form: AnswerForm,
): Promise<void> {
  const { state, tenant, exchange } = context;
  const { store, clock, newId } = state;
  const { dialect, added } = run;
  const isStreamed = run.turn.stream;
  run.turn = { ...run.turn, stream: true };
  const id = dialect.newAnswerId(newId);
  const now = (): number => Math.floor(clock.date() / 1000);
  const writing: WriteContext = { id, created: now(), now, newId };
  const begun = form.background.begun(run.turn, writing);
  const input = form.inputOf(added.body, newId);
  const { previous } = added;
  const lease = await saveBegun(context, id, { ...begun.kept, previous, input }).catch(
    (error: unknown) => {
      run.leave();
      throw error;
    },
  );
  const background = state.background.add({ tenant, form: form.background, lease });
  /** Stores an answer that failed before its first event, and ends the streams of its followers. */
  const fail = async (fault: Fault): Promise<void> => {
    let text = "";
    let kept: Omit<KeptAnswer, "items"> = { json: "" };
    const record: WriteContext["record"] = (json, shared) => void (kept = { json, shared });
    const writer = dialect.writeEvents(run.turn, { ...writing, record });
    writer.each({ type: "turn-fail", fault }, (piece) => void (text += piece));
    const response = { previous, input, ...kept };
    try {
      await store.append({ tenant, at: clock.date(), answerId: id, items: [], response, lease });
    } catch {
      // An answer without a stored end is later reported as lost.
    }
    background.reply.end(text);
  };
  let refusal: Fault | undefined;
  let isStarting = true;
  run.added = { ...added, input };
  run.presetId = id;
  run.lease = lease;
  run.reply = background.reply;
  run.refuse = (fault) => {
    if (isStarting) refusal = fault;
    else void fail(fault);
  };
  const rounds = new Rounds(run);
  rounds.begin();
  isStarting = false;
  background.onCancel((fault) => rounds.cancel(fault));
  if (refusal !== undefined) {
    background.end();
    await store.drop(responseKey(tenant, id));
    return context.refuse(refusal);
  }
  if (!isStreamed) return sendPieces(context, [begun.shown]);
  exchange.reply.head(200, { ...turnHeaders(run, undefined), ...STREAM_HEADERS });
  void sendEvents(exchange.reply, background.eventsFrom(0), dialect.endMarker);
}

/** The longest wait for storing the beginning of an answer. */
const SAVE_MS = 5000;

/** Stores the unfinished response before its turn starts. Returns the lease of its id. */
async function saveBegun(
  { state: { store, clock, background }, tenant }: RequestContext,
  id: string,
  response: ResponseRecord,
): Promise<Lease> {
  const trouble = store.trouble();
  if (trouble !== undefined) throw trouble;
  const lease = await background.lease(tenant, id);
  if (lease === undefined) throw new Error("a new id has no lease");
  const at = clock.date();
  const saving = store.append({ tenant, at, answerId: id, items: [], response, lease });
  const slow = (): Fault =>
    new Fault("store.timeout", "The store is too slow; send the request again.");
  try {
    if (saving !== undefined) await within(clock, SAVE_MS, saving, slow);
    return lease;
  } catch (error) {
    // A queued write fails without the lease.
    void background.release(tenant, lease).catch(() => {});
    throw error;
  }
}
