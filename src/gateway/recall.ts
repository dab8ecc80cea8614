import type { DoorDialect, PathParams, RequestHeaders } from "../dialects/dialect.ts";
import { sealsIn } from "../tools/plan/reasoning.ts";
import { Fault } from "../turn/fault.ts";
import type { Tenant } from "../turn/tenant.ts";
import type { Fields, Turn } from "../turn/turn.ts";
import type { Exchange } from "./exchange.ts";
import { fromLastAnswer } from "./last-answer.ts";
import type { RunningTurn } from "./running-turns.ts";
import { sealKey } from "./seals.ts";
import type { GatewayState } from "./state.ts";
import { recallThread, type ThreadEntry, type ThreadRequest } from "./thread.ts";

/** A request with all that it refers to. */
export type Recalled = {
  readonly turn: Turn;
  /** The upstream that sealed reasoning of an earlier answer, if that is known. */
  readonly sealOwner: (seal: string) => string | undefined;
  /** What it adds to a thread that is kept here. */
  readonly thread?: ThreadEntry | undefined;
};

/** A request body that has been read as JSON. */
export type ReadBody = {
  readonly tenant: Tenant;
  readonly dialect: DoorDialect;
  readonly body: Fields;
  /** What the path says. */
  readonly params?: PathParams | undefined;
  readonly headers?: RequestHeaders | undefined;
  /** The body as it came. */
  readonly text: string;
};

type State = Pick<GatewayState, "store" | "config" | "upstreams">;

/**
 * Makes the turn of a request: puts the items in place of the references to
 * them and finds out who sealed the reasoning in it. Most requests refer to
 * nothing; for those nothing is waited for.
 */
export function recall(state: State, request: ReadBody): Recalled | Promise<Recalled> {
  const { dialect, body, params, headers } = request;
  const threaded = threadOf(state, request);
  if (threaded !== undefined) return threaded;
  const ids = dialect.references?.idsIn(body) ?? none;
  if (ids.length > 0) return recallItems(state, request, ids);
  return withSeals(state, request.tenant, dialect.readRequest(body, params, headers));
}

const none: readonly string[] = [];

/** A request that is part of a thread, with all that was said before; undefined for others. */
function threadOf(state: State, request: ReadBody): Recalled | Promise<Recalled> | undefined {
  const { dialect, body, tenant, params, headers } = request;
  const { threads: form } = dialect;
  if (form === undefined || state.config.store.kind === "off") return undefined;
  const asked = form.askedIn(body);
  if (asked === undefined) return undefined;
  const read = (part: ThreadRequest): Recalled | Promise<Recalled> => {
    const whole = withSeals(state, tenant, dialect.readRequest(part.body, params, headers));
    const add = (recalled: Recalled): Recalled => ({ ...recalled, thread: part.entry });
    return whole instanceof Promise ? whole.then(add) : add(whole);
  };
  const part = recallThread(state, { tenant, body, form }, asked);
  return part instanceof Promise ? part.then(read) : read(part);
}

async function recallItems(
  state: State,
  { tenant, dialect, body, params, headers, text }: ReadBody,
  ids: readonly string[],
): Promise<Recalled> {
  const limit = state.config.server.body_limit;
  const found = await state.store.findItems(tenant, ids, limit);
  if (found.type === "too-large") throw tooLarge(limit);
  // One item may be referred to any number of times, and each time it is sent.
  let sum = utf8Length(text);
  const lengths = new Map<string, number>();
  for (const id of ids) {
    const item = found.items.get(id);
    if (item === undefined) continue;
    const length = lengths.get(id) ?? utf8Length(item.json);
    lengths.set(id, length);
    sum += length;
    if (sum > limit) throw tooLarge(limit);
  }
  const whole = dialect.references?.resolve(body, found.items) ?? body;
  return withSeals(state, tenant, dialect.readRequest(whole, params, headers));
}

const encoder = new TextEncoder();
const utf8Length = (text: string): number => encoder.encode(text).byteLength;

const tooLarge = (limit: number): Fault =>
  new Fault(
    "request.too_large",
    `With the items that its references stand for, the request is larger than ${limit} bytes; refer to less, or raise \`server.body_limit\`.`,
    { param: "input" },
  );

const unknownOwner = (): undefined => undefined;

/** A turn whose conversation an upstream has kept goes on from the last round of the answer that it names. */
function withSeals(state: State, tenant: Tenant, turn: Turn): Recalled | Promise<Recalled> {
  if (turn.params.previousResponse === undefined) return withOwners(state, tenant, turn);
  return fromLastAnswer(state.store, tenant, turn, state.config.server.body_limit).then((whole) =>
    withOwners(state, tenant, whole),
  );
}

function withOwners({ store }: State, tenant: Tenant, turn: Turn): Recalled | Promise<Recalled> {
  const seals = sealsIn(turn.items);
  if (seals.length === 0) return { turn, sealOwner: unknownOwner };
  return store.findSealOwners(tenant, seals.map(sealKey)).then((owners) => ({
    turn,
    sealOwner: (seal) => owners.get(sealKey(seal)),
  }));
}

/** A request that waits for the store. */
type Waiting = {
  readonly state: Pick<GatewayState, "running">;
  readonly exchange: Pick<Exchange, "reply">;
  readonly refuse: (fault: Fault) => void;
};

/**
 * Goes on when a request is whole, unless its client has left by then. It counts
 * among the turns under way, for a stop waits for those.
 */
export async function afterRecall(
  { state: { running }, exchange: { reply }, refuse }: Waiting,
  request: Promise<Recalled>,
  then: (request: Recalled) => void,
): Promise<void> {
  const waiting: RunningTurn = {
    place: -1,
    halt() {
      if (running.remove(waiting)) refuse(stopping());
    },
  };
  running.add(waiting);
  reply.onLeave(() => running.remove(waiting));
  let recalled: Recalled;
  try {
    recalled = await request;
  } catch (error) {
    if (running.remove(waiting)) throw error;
    return; // Nobody is there to be told.
  }
  if (running.remove(waiting)) then(recalled);
}

const stopping = (): Fault =>
  new Fault("gateway.stopping", "The gateway is shutting down; send the request again.");
