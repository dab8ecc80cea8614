/**
 * Metrics of all workers as one. Each worker sends its metrics to the primary
 * process shortly after they change, so that a killed worker's counts are not
 * lost. The worker that is scraped asks the primary for the sum.
 */

import cluster, { type Worker } from "node:cluster";
import { sumMetrics } from "../src/observe/sum-metrics.ts";

/** How long a change may wait until it is sent, so that busy workers send few texts. */
const SEND_MS = 200;
/** How long the primary waits for workers that were asked for their metrics. */
const ANSWER_MS = 500;
/** How long a worker waits for the sum. */
const SUM_MS = 5000;

type ToPrimary =
  | { readonly patchbay: "metrics"; readonly text: string }
  | { readonly patchbay: "sum-metrics"; readonly id: number };
type ToWorker =
  | { readonly patchbay: "send-metrics" }
  | { readonly patchbay: "metrics-sum"; readonly id: number; readonly text: string };

/** A worker's end. */
export type SharedMetrics = {
  /** The metrics of all workers; undefined if the primary does not answer. */
  readonly sum: () => Promise<string | undefined>;
  /** Called when a number has changed. */
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

/** The primary's end: keeps what each worker sent last, and what those that ended had counted. */
export function gatherMetrics(): void {
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
  // What a worker sent last may arrive after its end: its counts are final once its channel is closed too.
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
