import type { AnswerForm } from "../../../dialects/dialect.ts";
import { sseDone } from "../../../stream/sse.ts";
import { Fault } from "../../../turn/fault.ts";
import { jsonOf } from "../../../json/json.ts";
import { KEEP_ALIVE, type Reply, STREAM_HEADERS } from "../../http/exchange.ts";
import type { Weigh } from "../../../history/log.ts";
import type { RequestContext } from "../../state.ts";
import { idOf, shownResponse, standingOf } from "../../http/stored-response.ts";
import { pieceId } from "./runs.ts";

/** The number in `starting_after`, -1 without one; undefined if the request asks for no stream. */
export function streamQuery(query: string): { readonly after: number } | undefined {
  const fields = new URLSearchParams(query);
  if (fields.get("stream") !== "true") return undefined;
  const after = fields.get("starting_after") ?? "-1";
  if (/^-1$|^\d{1,15}$/.test(after)) return { after: Number(after) };
  throw new Fault("request.invalid", "`starting_after` must be the number of an event.", {
    param: "starting_after",
  });
}

/** Sends the past and future events of an answer after the one with the number `after`, whichever process makes the answer. */
export async function reattach(
  context: RequestContext,
  form: AnswerForm,
  after: number,
): Promise<void> {
  const { state, tenant, exchange, requestId } = context;
  const id = idOf(context);
  const { isBackground } = await standingOf(context, form);
  if (!isBackground)
    throw new Fault(
      "response.not_background",
      `Response '${id}' was not made in the background; retrieve it without \`stream\`.`,
      { param: "stream" },
    );
  exchange.reply.head(200, { "x-request-id": requestId, ...STREAM_HEADERS });
  const events =
    state.background.find(tenant, id)?.eventsFrom(after + 1) ??
    storedEvents(context, form, { id, after });
  await sendEvents(exchange.reply, events, sseDone);
}

/** Sends events to a client as fast as it reads. */
export async function sendEvents(
  reply: Reply,
  events: AsyncIterable<string>,
  endMarker: string,
): Promise<void> {
  let isGone = false;
  let goOn = (): void => {};
  reply.onDrain(() => goOn());
  reply.onLeave(() => {
    isGone = true;
    goOn();
  });
  reply.write(""); // This sends the head: a model may think long before its first word.
  try {
    for await (const text of events) {
      if (!isGone && text !== "" && !reply.write(text))
        await new Promise<void>((resolve) => (goOn = resolve));
      if (isGone) return;
    }
  } catch {
    // The head is sent. A client resumes a stream that ends without its last event.
  }
  if (!isGone) reply.end(endMarker);
}

/** Interval between reads of the events that another process stores. */
const POLL_MS = 500;
/** Number of pieces of events that are read at once. */
const PIECES = 16;
const PIECES_BYTES = 64 * 1024 * 1024;

type Asked = { readonly id: string; readonly after: number };

/** The events of an answer from the store, with keep-alives. An empty text lets the caller look whether its client has left. */
async function* storedEvents(
  context: RequestContext,
  form: AnswerForm,
  { id, after }: Asked,
): AsyncGenerator<string> {
  const { state, tenant, memory } = context;
  const { clock, background, config } = state;
  const { keepalive_ms } = config.server;
  let [last, piece, sentAt] = [after, 0, clock.now()];
  for (;;) {
    const { isOver } = await standingOf(context, form);
    // This check precedes the reading: once it is true, no process stores another piece.
    const isComplete = isOver && !(await background.isMade(tenant, id));
    let isMore = false;
    {
      using held = memory.beside();
      const read = await readPieces(context, { id, piece }, held.load);
      for (const text of read.pieces) {
        let out = "";
        let isLast = false;
        for (const frame of text.split(/(?<=\n\n)/)) {
          const number = form.background.sequenceIn(frame) ?? -1;
          isLast ||= form.background.isLast(frame);
          if (number <= last) continue;
          last = number;
          out += frame;
        }
        sentAt = clock.now();
        yield out;
        if (isLast) return;
      }
      piece += read.pieces.length;
      ({ isMore } = read);
    }
    if (isMore) continue;
    if (isComplete) {
      yield form.background.lastFrame(await shownResponse(context, form), last + 1);
      return;
    }
    const isLate = keepalive_ms > 0 && clock.now() + POLL_MS - sentAt > keepalive_ms;
    if (isLate) sentAt = clock.now();
    yield isLate ? KEEP_ALIVE : "";
    await new Promise<void>((resolve) => void clock.at(clock.now() + POLL_MS, resolve));
  }
}

/** Reads the next pieces, or only one if all are too large: its one event may be a whole answer. */
async function readPieces(
  { state, tenant }: RequestContext,
  { id, piece }: { readonly id: string; readonly piece: number },
  weigh: Weigh,
): Promise<{ readonly pieces: readonly string[]; readonly isMore: boolean }> {
  let ids = Array.from({ length: PIECES }, (_, at) => pieceId(id, piece + at));
  let found = await state.store.find({ of: "notes", tenant, ids, maxBytes: PIECES_BYTES }, weigh);
  if (found.type === "too-large") {
    ids = ids.slice(0, 1);
    found = await state.store.find({ of: "notes", tenant, ids, maxBytes: Infinity }, weigh);
  }
  const pieces: string[] = [];
  if (found.type === "too-large") return { pieces, isMore: false };
  for (const one of ids) {
    const text = jsonOf(found.items.get(one)?.json ?? "");
    if (typeof text !== "string") break;
    pieces.push(text);
  }
  return { pieces, isMore: pieces.length === ids.length };
}
