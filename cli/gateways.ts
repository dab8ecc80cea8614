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
} from "../src/terminal.ts";
import {
  batchSchema,
  type FeedBatch,
  turnSchema,
  type TurnView,
} from "../src/observe/console/wire.ts";
import type { Options } from "./options.ts";
import { exitCode } from "./output.ts";
import { askRemote, type RemoteGateway, rootOf } from "./remote.ts";

export type GatewayOptions = Pick<Options, "url" | "key">;

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

/** A batch of one process of a gateway. */
export type WatchedBatch = FeedBatch & {
  readonly socket: string;
  /** The processes that answer at this time. */
  readonly answering: number;
};

export type Followed = {
  readonly url: string;
  /** The number of its processes, if it is known. */
  readonly workers?: number | undefined;
  /** Batches of turns, `last` past ones first; without `follow` only the past ones. */
  watch(
    signal: AbortSignal,
    options?: { readonly last?: number; readonly follow?: boolean },
  ): AsyncIterable<WatchedBatch>;
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

type Polled = {
  /** The sockets of its processes, or the address of a gateway elsewhere. */
  readonly sockets: readonly string[];
  readonly workers: number;
  /** A batch of one process; undefined if the process has ended. */
  readonly ask: (
    socket: string,
    query: string,
    signal: AbortSignal,
  ) => Promise<FeedBatch | undefined>;
  readonly everyMs: number;
  /** The present sockets of workers, which are started again; undefined if the gateway has ended. */
  readonly present?: (() => Promise<readonly string[] | undefined>) | undefined;
};

/** Turns without a problem in one batch after the first; others are only counted. */
const MOST_WELL = 50;
const nothing = { lost: 0, unsent: 0, turns: [], running: [], notices: [] };

/** Asks all processes of a gateway for news again and again, until the last of them has ended. */
const watching = ({ sockets, workers, ask, everyMs, present }: Polled): Followed["watch"] =>
  async function* (signal, { last = 100, follow = true } = {}) {
    const latest = new Map<string, FeedBatch>();
    let open: readonly string[] | undefined = sockets;
    while (open !== undefined && !signal.aborted) {
      const asked = open.map(async (socket) => {
        const before = latest.get(socket);
        const query =
          before === undefined
            ? `last=${last}`
            : `since=${before.last}&notices=${before.lastNotice}&most=${MOST_WELL}`;
        return { socket, before, batch: await ask(socket, query, signal) };
      });
      const answers = await Promise.all(asked);
      if (signal.aborted) return;
      const answering = answers.filter(({ batch }) => batch !== undefined).length;
      for (const { socket, before, batch } of answers) {
        if (batch !== undefined) latest.set(socket, batch);
        if (batch !== undefined && isNews(batch, before)) yield { ...batch, socket, answering };
        // The turns of a process that has ended are under way no more.
        else if (batch === undefined && before !== undefined)
          yield { ...before, ...nothing, socket, answering };
      }
      if (!follow) return;
      if (answering < workers) open = await present?.();
      await setTimeout(everyMs, undefined, { signal }).catch(() => {}); // It was ended meanwhile.
    }
  };

const isNews = (batch: FeedBatch, before: FeedBatch | undefined): boolean =>
  before === undefined ||
  batch.lost + batch.unsent > 0 ||
  [batch.turns, batch.notices, batch.running, before.running].some((list) => list.length > 0);

function followLocal(gateway: LocalGateway): Followed {
  const { url, workers, sockets } = gateway;
  const current = () => currentSockets(gateway, environment());
  return {
    url,
    workers,
    watch: watching({
      sockets,
      workers,
      ask: (socket, query, signal) =>
        askGateway(socket, batchSchema, { path: `/feed?${query}`, signal }).catch(() => undefined),
      everyMs: 250,
      present: workers > 1 ? current : undefined,
    }),
    async turn(requestId) {
      const path = `/turn?id=${encodeURIComponent(requestId)}`;
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

/** Follows the turns of the key's tenant. */
const followRemote = (remote: RemoteGateway): Followed => ({
  url: remote.url,
  watch: watching({
    sockets: [remote.url],
    workers: 1,
    ask: async (_, query) => batchSchema.parse(await askRemote(remote, `/v1/turns?${query}`)),
    everyMs: 1000,
  }),
  turn: async (requestId) =>
    turnSchema.parse(await askRemote(remote, `/v1/turns/${encodeURIComponent(requestId)}`)),
});
