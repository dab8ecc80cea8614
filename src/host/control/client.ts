/** Asks a gateway by its private socket. */

import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import type { z } from "zod";
import { fieldsIn, fieldsOf, filledText } from "../../dialects/shared/loose.ts";
import { jsonOf } from "../../json/json.ts";
import { type FeedBatch, batchSchema } from "../../observe/console/wire.ts";
import { SseReader } from "../../stream/sse.ts";
import type { Environment } from "../config/env.ts";
import { findGateways, isAlive, type LocalGateway } from "./files.ts";
import { refusal } from "../platform/print.ts";

/** A request to a route of the console. */
type SocketRequest = {
  readonly method?: "GET" | "POST" | "DELETE" | undefined;
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Ends a request whose answer is a stream. */
  readonly signal?: AbortSignal | undefined;
};

/** The answer to one request, checked. Throws a Fault with the gateway's message if it is refused. */
export async function askGateway<Schema extends z.ZodType>(
  socket: string,
  schema: Schema,
  asked: SocketRequest,
): Promise<z.output<Schema>> {
  const answer = schema.safeParse(jsonOf(await text(await openAnswer(socket, asked))));
  if (answer.success) return answer.data;
  throw refusal(
    `The answer of the gateway to ${asked.path} has an unknown form; use the version of patchbay that runs the gateway.`,
  );
}

/** The answer while it arrives. Throws if it is no success. */
async function openAnswer(socket: string, asked: SocketRequest): Promise<IncomingMessage> {
  const { method = "GET", path, body, signal } = asked;
  const headers = { "content-type": "application/json", ...asked.headers };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request({ socketPath: socket, method, path, headers, signal });
    sent.once("response", resolve);
    sent.once("error", reject);
    sent.end(body === undefined ? "" : JSON.stringify(body));
  });
  const { statusCode = 0 } = answer;
  if (statusCode >= 200 && statusCode < 300) return answer;
  const said = fieldsOf(fieldsIn(await text(answer))?.error)?.message;
  throw refusal(filledText(said) ?? `The gateway answered ${path} with status ${statusCode}.`);
}

export type WatchOptions = {
  /** Past turns in the first batch. */
  readonly last?: number | undefined;
  /** Ends the watch. */
  readonly signal?: AbortSignal | undefined;
  /** The current sockets of its processes; undefined if the gateway has ended. */
  readonly current?: (() => Promise<readonly string[] | undefined>) | undefined;
};

/** A batch of one process of a gateway. */
export type WatchedBatch = FeedBatch & {
  readonly socket: string;
  /** Watched processes of the gateway at this time; left out for a gateway on another machine. */
  readonly answering?: number | undefined;
};

/** Milliseconds between two searches for missing workers. */
const LOOK_MS = 1000;

const nothing = { lost: 0, unsent: 0, turns: [], running: [], notices: [] };

/**
 * The turns and notices of a gateway, in batches, from all of its processes; ends after the last
 * of them. With `current`, workers that start later are followed too, until it finds no gateway.
 */
export async function* watchGateway(
  { sockets, workers }: Pick<LocalGateway, "sockets" | "workers">,
  { last = 100, signal, current }: WatchOptions = {},
): AsyncGenerator<WatchedBatch> {
  const batches: WatchedBatch[] = [];
  const known = new Set<string>();
  let open = 0;
  let mayReturn = current !== undefined && workers > 1;
  let wake = (): void => {};
  const push = (batch: WatchedBatch): void => {
    batches.push({ ...batch, answering: open });
    wake();
  };
  const follow = (socket: string): void => {
    if (known.has(socket)) return;
    known.add(socket);
    open++;
    let latest: WatchedBatch | undefined;
    const add = (batch: WatchedBatch): void => push((latest = batch));
    void readFeed(socket, { last, signal }, add).finally(() => {
      open--;
      // The turns of a process that has ended are under way no more.
      if (mayReturn && latest !== undefined) push({ ...latest, ...nothing });
      wake();
    });
  };
  sockets.forEach(follow);
  const look = async (): Promise<void> => {
    const found = open < workers ? await current?.() : [];
    mayReturn = found !== undefined && signal?.aborted !== true;
    found?.forEach(follow);
    wake();
  };
  signal?.addEventListener("abort", () => wake(), { once: true });
  const looking = mayReturn ? setInterval(() => void look(), LOOK_MS) : undefined;
  try {
    while (true) {
      const next = batches.shift();
      if (next !== undefined) yield next;
      else if (open === 0 && (!mayReturn || signal?.aborted === true)) return;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    clearInterval(looking);
  }
}

/** The current sockets of a gateway's processes; undefined if the gateway has ended. */
export async function currentSockets(
  { pid, url }: LocalGateway,
  env: Environment,
): Promise<readonly string[] | undefined> {
  const found = (await findGateways(env)).find((one) => one.pid === pid && one.url === url);
  return found?.sockets ?? (isAlive(pid) ? [] : undefined);
}

/** All turns of one process after the turn of this number; undefined if the process has ended. */
export async function batchSince(socket: string, number: number): Promise<FeedBatch | undefined> {
  const ending = new AbortController();
  let batch: FeedBatch | undefined;
  await readFeed(socket, { after: number, signal: ending.signal }, (first) => {
    batch ??= first;
    ending.abort();
  });
  return batch;
}

type Reading = Omit<WatchOptions, "current"> & { readonly after?: number | undefined };

async function readFeed(
  socket: string,
  { last, after, signal }: Reading,
  push: (batch: WatchedBatch) => void,
): Promise<void> {
  const reader = new SseReader((data) => {
    const batch = batchSchema.safeParse(jsonOf(data));
    if (batch.success) push({ ...batch.data, socket });
  });
  try {
    const asked =
      after === undefined
        ? { path: `/feed?last=${last}` }
        : { path: "/feed", headers: { "last-event-id": String(after) } };
    const answer = await openAnswer(socket, { ...asked, signal });
    for await (const piece of answer.setEncoding("utf8")) reader.feed(String(piece));
  } catch {
    // The gateway has ended, or the watch was ended.
  }
}
