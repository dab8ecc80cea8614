/** Several processes that share one port: starts them, replaces those that end, and ends them together. */

import cluster, { type Worker } from "node:cluster";
import type { Config } from "../src/gateway/config.ts";
import { sharedPort, urlOf, type Address } from "../src/host/server/address.ts";
import type { Log } from "../src/host/server/log.ts";
import { gatherMetrics } from "./worker-metrics.ts";

/** Whether this process is one of several that share a port. */
export const isWorker = (): boolean => cluster.isWorker;

/** What several processes cannot share, if the store is one that they cannot. */
export const workersProblem = ({ kind }: Config["store"]): string | undefined =>
  kind === "memory"
    ? "`--workers` needs a store that processes share, and this one is in memory: set `store.kind` to `sqlite` or `postgres`, or to `off`."
    : undefined;

/** A worker that ends as soon as it began is not started again at once. */
const RESTART_MS = 1000;

/**
 * Lets a worker end that could not start: the channel to its parent would keep the process,
 * which serves nobody and is not replaced. What listens keeps it by itself.
 */
export const leaveChannel = (): void => process.channel?.unref();

export type WorkersOptions = {
  readonly count: number;
  readonly address: Address;
  readonly log: Log;
  /** Called once the first of them listens. */
  readonly listening: (url: string) => void;
};

/**
 * Runs as many processes, which share the port. One that ends is started again;
 * the first signal lets the turns of all end, and the second does not wait.
 */
export async function runWorkers(options: WorkersOptions): Promise<void> {
  const { count, address, log } = options;
  const port = await sharedPort(address);
  gatherMetrics();
  let isStopping = false;
  let hasListened = false;
  // Workers accept for themselves: a connection that this process hands to a worker which has
  // just died would be answered by nobody, and never closed.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  // Workers that each ask for any port share one only while another holds it: one that starts
  // after all others have died would listen where nobody looks for it.
  if (address.port === 0)
    cluster.setupPrimary({ args: [...process.argv.slice(2), "--port", String(port)] });
  cluster.once("listening", () => {
    hasListened = true;
    options.listening(urlOf({ ...address, port }));
  });
  const isLeft = (): boolean => Object.values(cluster.workers ?? {}).some((one) => !one?.isDead());
  const pass = (signal: NodeJS.Signals): void => {
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill(signal);
  };
  const stop = (): void => {
    isStopping = true;
    pass("SIGTERM");
    if (!isLeft()) process.exit();
  };
  cluster.on("exit", (worker: Worker, code: number | null, signal: string | null) => {
    if (isStopping) return isLeft() ? undefined : process.exit();
    // What keeps the first of them from starting keeps the others; they have said what it is.
    if (!hasListened && code !== null && code !== 0) {
      process.exitCode = code;
      return stop();
    }
    log.note(`worker ${worker.id} ended (${signal ?? code}); another is started`);
    setTimeout(() => {
      if (!isStopping) fork();
    }, RESTART_MS);
  });
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  process.on("SIGHUP", () => pass("SIGHUP"));
  process.on("exit", log.flush);
  for (let at = 0; at < count; at++) fork();
}

/** One arena of glibc's allocator saves 40 to 50 MB a process; it must be set before the start. */
const fork = (): Worker => cluster.fork({ MALLOC_ARENA_MAX: "1" });
