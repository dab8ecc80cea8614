import type { AskedThread, ThreadForm } from "../../dialects/dialect.ts";
import { parseExactly } from "../../json/exact.ts";
import { checkPieces } from "../../dialects/shared/request-counts.ts";
import { noStore } from "../../history/none.ts";
import {
  responseKey,
  type EntryHead,
  type ResponseRecord,
  type StoredItem,
  type Weigh,
} from "../../history/log.ts";
import { Fault } from "../../turn/fault.ts";
import { isFields, jsonOf } from "../../json/json.ts";
import type { Tenant } from "../../turn/tenant.ts";
import type { Fields } from "../../turn/turn.ts";
import { loadItems, type ItemSource } from "./load-items.ts";
import type { GatewayState } from "../state.ts";
import type { TurnStage } from "../run/turn-stage.ts";
import { utf8Length } from "../../turn/utf8-length.ts";

/** The part of a thread that is stored with the answer of a request. */
export type ThreadEntry = {
  readonly form: ThreadForm;
  /** The id of the answer that it continues. */
  readonly previous?: string | undefined;
  /** The items of the request as JSON. */
  readonly input: readonly string[];
  readonly head: ThreadHead;
};

/** The fields of a thread. The first answer stores them; later answers store the id of the first. */
type ThreadHead =
  | { readonly type: "thread"; readonly fields: Fields }
  | { readonly type: "thread"; readonly root: string };

/** A request of a thread, rewritten to contain the whole conversation. */
export type ThreadRequest = {
  readonly body: Fields;
  readonly entry: ThreadEntry;
  /** Bytes of the earlier items. */
  readonly bytes?: number | undefined;
};

type State = Pick<GatewayState, "store" | "config" | "steps">;

type Asking = {
  readonly tenant: Tenant;
  readonly body: Fields;
  /** The body before it was parsed. */
  readonly text: string;
  readonly form: ThreadForm;
  readonly weigh: Weigh;
};

/**
 * Recalls a request of a thread. The gateway stores threads itself, even for upstreams with
 * threads: any upstream of a chain can then answer, and calls are restored by the tools of the
 * first request, which later requests do not repeat.
 */
export async function recallThread(
  state: State,
  asking: Asking,
  asked: AskedThread,
): Promise<ThreadRequest> {
  if (asked.type === "continue") return continueThread(state, asking, asked.previous);
  if (state.store === noStore) throw notKept();
  const { body, form } = asking;
  const head: ThreadHead = { type: "thread", fields: form.headOf(body) };
  return { body: form.withoutThread(body), entry: { form, input: form.inputOf(body), head } };
}

async function continueThread(
  state: State,
  { tenant, body, form, text, weigh }: Asking,
  previous: string,
): Promise<ThreadRequest> {
  const { counts, body_limit: limit } = state.config.server;
  const room = limit - utf8Length(text);
  const source: ItemSource = {
    key: responseKey(tenant, previous),
    path: "thread.previous_message_id",
    fields: {},
    parse: parseExactly,
    missing: () => unknown(previous),
    tooLarge,
  };
  const { items, last, bytes } = await loadItems(state, { weigh }, source, room);
  let root: EntryHead | undefined = last;
  const own = headIn(last);
  if (own !== undefined && "root" in own)
    root = await state.store.head(responseKey(tenant, own.root), weigh);
  const first = headIn(root);
  if (root === undefined || first === undefined || "root" in first) throw unknown(previous);
  const whole = bytes + utf8Length(root.json);
  if (whole > room) throw tooLarge(limit);
  const asked = form.wholeOf(body, { head: first.fields, items });
  checkPieces(asked, Infinity, counts);
  const head: ThreadHead = { type: "thread", root: root.id };
  return { body: asked, entry: { form, previous, input: form.inputOf(body), head }, bytes: whole };
}

function headIn(response: EntryHead | undefined): ThreadHead | undefined {
  const head = response === undefined ? undefined : jsonOf(response.json);
  return isFields(head) && head.type === "thread" ? (head as ThreadHead) : undefined;
}

const unknown = (id: string): Fault =>
  new Fault(
    "thread.unknown",
    `No stored thread ends with the answer \`${id.slice(0, 100)}\`; send the whole conversation, as a new thread or without one.`,
    { param: "thread.previous_message_id" },
  );

const notKept = (): Fault =>
  new Fault(
    "request.unsupported",
    "This gateway stores no threads (`store: off`); send the whole conversation.",
    { param: "thread" },
  );

const tooLarge = (limit: number): Fault =>
  new Fault(
    "request.too_large",
    `With the thread that it continues, the request is larger than ${limit} bytes; start another thread, or raise \`server.body_limit\`.`,
    { param: "thread" },
  );

/** Removes the upstream's id of an answer, so that the gateway makes one: upstreams may repeat ids, and threads are found by them. */
export const withOwnId = (): TurnStage => ({
  each(event, emit) {
    if (event.type !== "turn-start") return emit(event);
    const { id: _, ...start } = event;
    emit(start);
  },
});

/** The stored form of a turn of a thread; `text` is its whole answer. */
export function threadRecord(
  { form, previous, input, head }: ThreadEntry,
  id: string,
  text: string,
): { readonly response: ResponseRecord; readonly items: readonly StoredItem[] } {
  const items = input.map((json, at) => ({ id: `${id}:${at}`, json }));
  return {
    response: { previous, input: items, json: JSON.stringify(head) },
    items: [{ id: `${id}:answer`, json: form.answerItem(text) }],
  };
}
