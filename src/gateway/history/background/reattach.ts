import type { AnswerForm } from "../../../dialects/dialect.ts";
import { Fault } from "../../../turn/fault.ts";
import { jsonOf } from "../../../json/json.ts";
import { KEEP_ALIVE, STREAM_HEADERS } from "../../http/exchange.ts";
import type { StoredItem, Weigh } from "../../../history/log.ts";
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
  const run = state.background.find(tenant, id);
  if (run !== undefined) return run.follow(exchange.reply, after + 1);
  await new StoredStream(context, form, { id, after }).send();
}

/** Interval between reads of the events that another process stores. */
const POLL_MS = 500;
/** Number of pieces of events that are read at once. */
const PIECES = 16;
const PIECES_BYTES = 64 * 1024 * 1024;

/** Sends the events of an answer from the store. */
class StoredStream {
  readonly #context: RequestContext;
  readonly #form: AnswerForm;
  readonly #id: string;
  /** The number of the last event that was sent. */
  #last: number;
  #piece = 0;
  /** Time of the last write to the client. */
  #writtenAt: number;
  #isLastSent = false;
  #isGone = false;
  #drained: Promise<void> | undefined;
  #onDrain: () => void = () => {};

  constructor(
    context: RequestContext,
    form: AnswerForm,
    { id, after }: { readonly id: string; readonly after: number },
  ) {
    this.#context = context;
    this.#form = form;
    this.#id = id;
    this.#last = after;
    this.#writtenAt = context.state.clock.now();
    const { reply } = context.exchange;
    reply.onDrain(() => this.#onDrain());
    reply.onLeave(() => {
      this.#isGone = true;
      this.#onDrain();
    });
  }

  async send(): Promise<void> {
    const { exchange } = this.#context;
    try {
      while (!this.#isGone && !this.#isLastSent) {
        const { isOver } = await standingOf(this.#context, this.#form);
        // This check precedes the reading: once it is true, no process stores another piece.
        const isComplete = isOver && !(await this.#isMade());
        const isMore = await this.#sendPieces();
        if (isMore || this.#isLastSent) continue;
        if (isComplete) await this.#sendLast();
        else {
          await this.#keepAlive();
          await this.#wait();
        }
      }
    } catch {
      // The head is sent. A client resumes a stream that ends without its last event.
    }
    if (!this.#isGone) exchange.reply.end("data: [DONE]\n\n");
  }

  #isMade(): Promise<boolean> {
    const { state, tenant } = this.#context;
    return state.background.isMade(tenant, this.#id);
  }

  async #sendLast(): Promise<void> {
    const shown = await shownResponse(this.#context, this.#form);
    await this.#write(this.#form.background.lastFrame(shown, this.#last + 1));
  }

  /** Returns true if there may be more pieces. */
  async #sendPieces(): Promise<boolean> {
    using held = this.#context.memory.beside();
    const ids = Array.from({ length: PIECES }, (_, at) => pieceId(this.#id, this.#piece + at));
    const items = await this.#findPieces(ids, held.load);
    for (const id of ids) {
      const text = jsonOf(items.get(id)?.json ?? "");
      if (typeof text !== "string") return false;
      this.#piece++;
      await this.#write(text);
    }
    return true;
  }

  /** Reads the pieces, or only the first if all are too large: its one event may be a whole answer. */
  async #findPieces(
    ids: readonly string[],
    weigh: Weigh,
  ): Promise<ReadonlyMap<string, StoredItem>> {
    const { state, tenant } = this.#context;
    const found = await state.store.findNotes({ tenant, ids, maxBytes: PIECES_BYTES }, weigh);
    if (found.type === "found") return found.items;
    const one = { tenant, ids: ids.slice(0, 1), maxBytes: Infinity };
    const first = await state.store.findNotes(one, weigh);
    return first.type === "found" ? first.items : new Map();
  }

  async #write(text: string): Promise<void> {
    const { background } = this.#form;
    let out = "";
    for (const piece of text.split("\n\n")) {
      const frame = `${piece}\n\n`;
      const number = background.sequenceIn(frame);
      if (number === undefined) continue;
      this.#isLastSent ||= background.isLast(frame);
      if (number <= this.#last) continue;
      this.#last = number;
      out += frame;
    }
    if (out !== "") await this.#send(out);
  }

  /** Sends a keep-alive if the next one, after the next read, would be late. */
  async #keepAlive(): Promise<void> {
    const { clock, config } = this.#context.state;
    const { keepalive_ms } = config.server;
    const silentMs = clock.now() + POLL_MS - this.#writtenAt;
    if (keepalive_ms > 0 && silentMs > keepalive_ms) await this.#send(KEEP_ALIVE);
  }

  async #send(text: string): Promise<void> {
    if (this.#isGone) return;
    this.#writtenAt = this.#context.state.clock.now();
    if (this.#context.exchange.reply.write(text)) return;
    this.#drained = new Promise((resolve) => {
      this.#onDrain = resolve;
    });
    await this.#drained;
  }

  #wait(): Promise<void> {
    const { clock } = this.#context.state;
    return new Promise((resolve) => void clock.at(clock.now() + POLL_MS, resolve));
  }
}
