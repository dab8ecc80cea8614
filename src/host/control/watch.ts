import { batchSchema, type Batch } from "../../console/wire.ts";
import { sseReader } from "../../stream/sse.ts";
import { jsonOf } from "../../turn/json.ts";
import { openAnswer } from "./client.ts";
import type { LocalGateway } from "./gateways.ts";

export type WatchOptions = {
  /** How many past turns come first. */
  readonly last?: number | undefined;
  /** Ends it. */
  readonly signal?: AbortSignal | undefined;
};

/** A batch of one process of a gateway. */
export type WatchedBatch = Batch & { readonly socket: string };

/** What happens at a gateway, in batches, from all of its processes; it ends when the last of them has gone. */
export async function* watchGateway(
  { sockets }: Pick<LocalGateway, "sockets">,
  { last = 100, signal }: WatchOptions = {},
): AsyncGenerator<WatchedBatch> {
  const batches: WatchedBatch[] = [];
  let open = sockets.length;
  let wake = (): void => {};
  const push = (batch: WatchedBatch): void => {
    batches.push(batch);
    wake();
  };
  for (const socket of sockets)
    void readFeed(socket, { last, signal }, push).finally(() => {
      open--;
      wake();
    });
  while (true) {
    const next = batches.shift();
    if (next !== undefined) yield next;
    else if (open === 0) return;
    else await new Promise<void>((resolve) => (wake = resolve));
  }
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

type Reading = WatchOptions & { readonly after?: number | undefined };

async function readFeed(
  socket: string,
  { last, after, signal }: Reading,
  push: (batch: WatchedBatch) => void,
): Promise<void> {
  const reader = sseReader((data) => {
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
