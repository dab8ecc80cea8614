/** The running gateway that a command is about: one of this user's, or one elsewhere. */

import { setTimeout } from "node:timers/promises";
import {
  askGateway,
  currentSockets,
  environment,
  type Environment,
  findGateways,
  foreignFolders,
  type LocalGateway,
  printError,
  refusal,
  type WatchedBatch,
  watchGateway,
} from "../src/terminal.ts";
import { batchSchema, turnSchema, type TurnView } from "../src/observe/console/wire.ts";
import { exitCode } from "./output.ts";
import { askRemote, type RemoteGateway, rootOf } from "./remote.ts";

export type GatewayOptions = {
  /** Chooses one of several, or one elsewhere. */
  readonly url?: string | undefined;
  /** For a gateway elsewhere. */
  readonly key?: string | undefined;
};

type Chosen =
  | { readonly local: LocalGateway }
  | { readonly remote: RemoteGateway }
  /** No gateway or several: the text to print, and the exit code. */
  | { readonly problem: readonly string[]; readonly code: number };

/** The key for a gateway elsewhere. */
export const keyFor = (
  { key }: Pick<GatewayOptions, "key">,
  { PATCHBAY_API_KEY = "", PROXY_API_KEY = "" }: Environment,
): string | undefined => key ?? (PATCHBAY_API_KEY || PROXY_API_KEY || undefined);

export const noGateway = "No gateway is running on this machine. To start one: patchbay serve";

/** The gateways of this user. Folders that are skipped are named on standard error. */
export function runningGateways(env: Environment): Promise<readonly LocalGateway[]> {
  for (const note of foreignFolders(env)) printError(note);
  return findGateways(env);
}

/** Chooses a gateway. One of this user's is reached by its socket, whatever its keys. */
export async function chooseGateway({ url, key }: GatewayOptions): Promise<Chosen> {
  const env = environment();
  const running = await runningGateways(env);
  if (url !== undefined) {
    const local = running.find((one) => rootOf(one.url) === rootOf(url));
    if (local !== undefined && key === undefined) return { local };
    return { remote: { url: rootOf(url), key: keyFor({ key }, env) } };
  }
  const [only, ...others] = running;
  if (only === undefined) return { problem: [noGateway], code: exitCode.nobody };
  if (others.length === 0) return { local: only };
  const list = running.map(
    ({ url: its, agent }) => `  --url ${its}${agent === undefined ? "" : `  (${agent})`}`,
  );
  return { problem: ["Several gateways are running; choose one:", ...list], code: exitCode.misuse };
}

/** A gateway whose turns are followed. */
export type Followed = {
  readonly url: string;
  /** The number of its processes, if it is known. */
  readonly workers?: number | undefined;
  /** Batches of turns, `last` past ones first; without `follow` only the past ones. */
  watch(
    signal: AbortSignal,
    options?: { readonly last?: number; readonly follow?: boolean },
  ): AsyncIterable<WatchedBatch>;
  /** One turn in full. */
  turn(requestId: string): Promise<TurnView>;
};

/** Chooses a gateway to follow. Undefined without one: then the reason is printed, and the exit code is set. */
export async function chooseFollowed(options: GatewayOptions): Promise<Followed | undefined> {
  const chosen = await chooseGateway(options);
  if ("local" in chosen) return followLocal(chosen.local);
  if ("remote" in chosen) return followRemote(chosen.remote);
  printError(chosen.problem);
  process.exitCode = chosen.code;
  return undefined;
}

function followLocal(gateway: LocalGateway): Followed {
  const current = () => currentSockets(gateway, environment());
  return {
    url: gateway.url,
    workers: gateway.workers,
    async *watch(signal, { last, follow = true } = {}) {
      const ending = new AbortController();
      const both = AbortSignal.any([signal, ending.signal]);
      let open = gateway.sockets.length;
      const options = { last, signal: both, current: follow ? current : undefined };
      for await (const batch of watchGateway(gateway, options)) {
        yield batch;
        // The first batch of each process has all past turns.
        if (!follow && --open === 0) ending.abort();
      }
    },
    async turn(requestId) {
      const path = `/turns/${encodeURIComponent(requestId)}`;
      // Each process knows its own turns.
      const asked = ((await current()) ?? []).map((socket) =>
        askGateway(socket, turnSchema, { path }),
      );
      const views = await Promise.allSettled(asked);
      const found = views.find((view) => view.status === "fulfilled");
      if (found !== undefined) return found.value;
      const failed = views.find((view) => view.status === "rejected");
      throw failed?.reason ?? refusal("The gateway has stopped.");
    },
  };
}

const POLL_MS = 1000;

/** Asks a gateway elsewhere again and again for the turns of the key's tenant. */
const followRemote = (remote: RemoteGateway): Followed => ({
  url: remote.url,
  async *watch(signal, { last = 100, follow = true } = {}) {
    let query = `last=${last}`;
    while (!signal.aborted) {
      const batch = batchSchema.parse(await askRemote(remote, `/v1/turns?${query}`));
      query = `since=${batch.last}`;
      yield { ...batch, socket: remote.url };
      if (!follow) return;
      await setTimeout(POLL_MS, undefined, { signal }).catch(() => {}); // It was ended meanwhile.
    }
  },
  turn: async (requestId) =>
    turnSchema.parse(await askRemote(remote, `/v1/turns/${encodeURIComponent(requestId)}`)),
});
