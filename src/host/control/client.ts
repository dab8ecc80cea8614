/** Asks a gateway by its private socket. */

import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import type { z } from "zod";
import { fieldsIn, fieldsOf, filledText } from "../../dialects/shared/loose.ts";
import { jsonOf } from "../../json/json.ts";
import { type Batch, batchSchema } from "../../observe/console/wire.ts";
import { SseReader } from "../../stream/sse.ts";
import type { Environment } from "../config/env.ts";
import { findGateways, isAlive, type LocalGateway } from "./files.ts";
import { refusal } from "../platform/print.ts";

/** What is asked of a route of the console. */
export type Asking = {
  readonly method?: "GET" | "POST" | "DELETE" | undefined;
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Ends a request that goes on. */
  readonly signal?: AbortSignal | undefined;
};

/** The answer to one request, checked. A refusal is thrown as a Fault with the gateway's words. */
export async function askGateway<Schema extends z.ZodType>(
  socket: string,
  schema: Schema,
  asking: Asking,
): Promise<z.output<Schema>> {
  const answer = schema.safeParse(jsonOf(await text(await openAnswer(socket, asking))));
  if (answer.success) return answer.data;
  throw refusal(
    `The gateway answers ${asking.path} in a form that this version does not know; run the version of patchbay that runs the gateway.`,
  );
}

/** The answer while it comes; what is no success is thrown. */
async function openAnswer(socket: string, asking: Asking): Promise<IncomingMessage> {
  const { method = "GET", path, body, signal } = asking;
  const headers = { "content-type": "application/json", ...asking.headers };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request({ socketPath: socket, method, path, headers, signal });
    sent.once("response", resolve);
    sent.once("error", reject);
    sent.end(body === undefined ? "" : JSON.stringify(body));
  });
  const { statusCode = 0 } = answer;
  if (statusCode >= 200 && statusCode < 300) return answer;
  const said = fieldsOf(fieldsIn(await text(answer))?.error)?.message;
  throw refusal(filledText(said) ?? `The gateway answers ${path} with ${statusCode}.`);
}

export type WatchOptions = {
  /** How many past turns come first. */
  readonly last?: number | undefined;
  /** Ends it. */
  readonly signal?: AbortSignal | undefined;
  /** The sockets of its processes as they are now; undefined when the gateway has gone. */
  readonly current?: (() => Promise<readonly string[] | undefined>) | undefined;
};

/** A batch of one process of a gateway. */
export type WatchedBatch = Batch & {
  readonly socket: string;
  /** How many processes of the gateway are watched as it comes; none of one elsewhere. */
  readonly answering?: number | undefined;
};

/** How often missing workers are looked for. */
const LOOK_MS = 1000;

const nothing = { lost: 0, unsent: 0, turns: [], running: [], notices: [] };

/**
 * What happens at a gateway, in batches, from all of its processes; it ends when the last of them
 * has gone. With `current` also from workers that are started later, until that finds no gateway.
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
      // What it was at when it died is not under way any more.
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

/** The sockets of a gateway's processes as they are now; undefined when the gateway has gone. */
export async function currentSockets(
  { pid, url }: LocalGateway,
  env: Environment,
): Promise<readonly string[] | undefined> {
  const found = (await findGateways(env)).find((one) => one.pid === pid && one.url === url);
  return found?.sockets ?? (isAlive(pid) ? [] : undefined);
}

/** All turns of one process behind the one of this number; undefined if it has gone. */
export async function batchSince(socket: string, number: number): Promise<Batch | undefined> {
  const ending = new AbortController();
  let batch: Batch | undefined;
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
    const asking =
      after === undefined
        ? { path: `/feed?last=${last}` }
        : { path: "/feed", headers: { "last-event-id": String(after) } };
    const answer = await openAnswer(socket, { ...asking, signal });
    for await (const piece of answer.setEncoding("utf8")) reader.feed(String(piece));
  } catch {
    // The gateway has gone, or nobody wants to hear more: either way this is the end.
  }
}
