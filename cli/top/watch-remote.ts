import { setTimeout } from "node:timers/promises";
import { batchSchema, turnSchema } from "../../src/observe/console/wire.ts";
import type { WatchedBatch } from "../../src/host/control/watch.ts";
import { askRemote, type RemoteGateway } from "../gateway-choice.ts";
import { turnLines } from "../turn-lines.ts";

const POLL_MS = 1000;

/** Follows a gateway elsewhere: it is asked again and again for the turns of the key's tenant. */
export const watchRemote = (remote: RemoteGateway) => ({
  url: remote.url,
  watch: (signal: AbortSignal, last = 100) => pollTurns(remote, signal, last),
  turn: async (requestId: string): Promise<readonly string[]> =>
    turnLines(
      turnSchema.parse(await askRemote(remote, `/v1/turns/${encodeURIComponent(requestId)}`)),
    ),
});

async function* pollTurns(
  remote: RemoteGateway,
  signal: AbortSignal,
  last: number,
): AsyncGenerator<WatchedBatch> {
  let query = `last=${last}`;
  while (!signal.aborted) {
    const batch = batchSchema.parse(await askRemote(remote, `/v1/turns?${query}`));
    query = `since=${batch.last}`;
    yield { ...batch, socket: remote.url };
    await setTimeout(POLL_MS, undefined, { signal }).catch(() => {}); // It was ended meanwhile.
  }
}
