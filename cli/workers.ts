/** Several processes that share one port: starts them, replaces those that end, and ends them together. */
import cluster, { type Worker } from "node:cluster";
import type { Config } from "../src/configuration.ts";
import { type Address, type Logger, sharedPort, sumMetrics, urlOf } from "../src/serving.ts";

/** True if this process is one of several that share a port. */
export const isWorker = (): boolean => cluster.isWorker;

/** The problem of a store that processes cannot share; undefined for the others. */
export const workersProblem = ({ kind }: Config["store"]): string | undefined =>
  kind === "memory"
    ? "`--workers` needs a store that processes share, and this one is in memory: set `store.kind` to `sqlite` or `postgres`, or to `off`."
    : undefined;

/** The pause before an ended worker is replaced, in case it ends at its start. */
const RESTART_MS = 1000;

/**
 * Lets a worker end that could not start: the channel to its parent would keep the process alive
 * without a server. A listening server keeps its process by itself.
 */
export const leaveChannel = (): void => process.channel?.unref();

export type WorkersOptions = {
  readonly count: number;
  readonly address: Address;
  readonly log: Logger;
  /** Called once the first of them listens. */
  readonly listening: (url: string) => void;
};

/**
 * Runs several processes that share the port, and replaces those that end. After the first signal
 * all turns may end; the second one does not wait for them.
 */
export async function runWorkers(options: WorkersOptions): Promise<void> {
  const { count, address, log } = options;
  const port = await sharedPort(address);
  gatherMetrics();
  let isStopping = false;
  let hasListened = false;
  // Workers accept connections themselves: a connection that this process passes to a worker which
  // has just died would get no answer and stay open.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  // With port 0, workers share a port only while one of them listens on it: a worker that starts
  // after the death of all others would listen on another port.
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
    // The cause that keeps the first worker from starting keeps the others; it has been printed.
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

/** The delay of changes, so that busy workers send few texts. */
const SEND_MS = 200;
/** The time for workers to send their metrics to the primary. */
const ANSWER_MS = 500;
/** The time for the primary to send the sum to a worker. */
const SUM_MS = 5000;

type ToPrimary =
  | { readonly patchbay: "metrics"; readonly text: string }
  | { readonly patchbay: "sum-metrics"; readonly id: number };
type ToWorker =
  | { readonly patchbay: "send-metrics" }
  | { readonly patchbay: "metrics-sum"; readonly id: number; readonly text: string };

/** The side of a worker. */
type SharedMetrics = {
  /** The metrics of all workers; undefined if the primary does not answer. */
  readonly sum: () => Promise<string | undefined>;
  readonly changed: () => void;
};

/** Connects a worker's own metrics with those of the others. */
export function shareMetrics(own: () => string): SharedMetrics {
  const asked = new Map<number, (text: string | undefined) => void>();
  let lastId = 0;
  let timer: NodeJS.Timeout | undefined;
  const tell = (message: ToPrimary): void => void process.send?.(message);
  const send = (): void => {
    clearTimeout(timer);
    timer = undefined;
    tell({ patchbay: "metrics", text: own() });
  };
  process.on("message", (message: ToWorker) => {
    if (message.patchbay === "send-metrics") send();
    else if (message.patchbay === "metrics-sum") asked.get(message.id)?.(message.text);
  });
  return {
    changed: () => void (timer ??= setTimeout(send, SEND_MS).unref()),
    sum: () =>
      new Promise((resolve) => {
        const id = ++lastId;
        const answer = (text: string | undefined): void => {
          clearTimeout(late);
          asked.delete(id);
          resolve(text);
        };
        const late = setTimeout(() => answer(undefined), SUM_MS);
        asked.set(id, answer);
        send();
        tell({ patchbay: "sum-metrics", id });
      }),
  };
}

/** The side of the primary: keeps the last metrics of each worker, and the sum of those that ended. */
function gatherMetrics(): void {
  const latest = new Map<number, string>();
  let ended = "";
  let waiting: { readonly left: Set<number>; done(): void }[] = [];
  const arrived = (id: number): void => {
    for (const one of waiting) {
      one.left.delete(id);
      if (one.left.size === 0) one.done();
    }
  };
  cluster.on("message", (worker: Worker, message: ToPrimary) => {
    if (message.patchbay === "metrics") {
      latest.set(worker.id, message.text);
      arrived(worker.id);
    } else if (message.patchbay === "sum-metrics") {
      void fresh(worker.id).then(() => {
        const text = sumMetrics([...latest.values()], ended);
        const sum: ToWorker = { patchbay: "metrics-sum", id: message.id, text };
        if (worker.isConnected()) worker.send(sum);
      });
    }
  });
  // The last metrics of a worker may arrive after its end: they are final when its channel is closed too.
  const gone = (worker: Worker): void => {
    const { id } = worker;
    arrived(id);
    if (!worker.isDead() || worker.isConnected()) return;
    ended = sumMetrics([], ended, latest.get(id) ?? "");
    latest.delete(id);
  };
  cluster.on("exit", gone);
  cluster.on("disconnect", gone);

  /** Asks all workers but one for their metrics, and waits for those that answer soon. */
  function fresh(but: number): Promise<void> {
    const others = Object.values(cluster.workers ?? {}).flatMap((one) =>
      one !== undefined && one.id !== but && one.isConnected() && latest.has(one.id) ? [one] : [],
    );
    if (others.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const late = setTimeout(() => one.done(), ANSWER_MS);
      const one = {
        left: new Set(others.map(({ id }) => id)),
        done(): void {
          clearTimeout(late);
          waiting = waiting.filter((other) => other !== one);
          resolve();
        },
      };
      waiting.push(one);
      const ask: ToWorker = { patchbay: "send-metrics" };
      for (const other of others) other.send(ask);
    });
  }
}
