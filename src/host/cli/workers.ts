import cluster, { type Worker } from "node:cluster";
import type { Config } from "../../gateway/config.ts";
import type { Log } from "../server/log.ts";

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
 * Runs as many processes, which share the port. One that ends is started again;
 * the first signal lets the turns of all end, and the second does not wait.
 */
export function runWorkers(count: number, log: Log, listening: (url: string) => void): void {
  let isStopping = false;
  // Workers accept for themselves: a connection that this process hands to a worker which has
  // just died would be answered by nobody, and never closed.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.once("listening", (_, { address, port }) => listening(`http://${address}:${port}`));
  cluster.on("exit", (worker: Worker, code: number, signal: string) => {
    if (isStopping) {
      if (Object.keys(cluster.workers ?? {}).length === 0) process.exit(0);
      return;
    }
    log.note(`worker ${worker.id} ended (${signal || code}); another is started`);
    setTimeout(() => {
      if (!isStopping) cluster.fork();
    }, RESTART_MS);
  });
  const pass = (signal: NodeJS.Signals): void => {
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill(signal);
  };
  const stop = (): void => {
    isStopping = true;
    pass("SIGTERM");
    if (Object.keys(cluster.workers ?? {}).length === 0) process.exit(0);
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  process.on("SIGHUP", () => pass("SIGHUP"));
  for (let at = 0; at < count; at++) cluster.fork();
}
