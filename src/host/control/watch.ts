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

async function readFeed(
  socket: string,
  { last, signal }: WatchOptions,
  push: (batch: WatchedBatch) => void,
): Promise<void> {
  const reader = sseReader((data) => {
    const batch = batchSchema.safeParse(jsonOf(data));
    if (batch.success) push({ ...batch.data, socket });
  });
  try {
    const answer = await openAnswer(socket, { path: `/feed?last=${last}`, signal });
    for await (const piece of answer.setEncoding("utf8")) reader.feed(String(piece));
  } catch {
    // The gateway has gone, or nobody wants to hear more: either way this is the end.
  }
}
