import { Worker } from "node:worker_threads";
import { Fault, type FaultCode } from "../../turn/fault.ts";
import { closed } from "../write-queue.ts";
import type { Database, OperationName } from "./operations.ts";

/** A call of the thread of a database. */
export type ThreadCall = {
  readonly id: number;
  readonly name: OperationName | "close";
  readonly query?: unknown;
};

export type ThreadReply = {
  readonly id: number;
  readonly value?: unknown;
  readonly fault?: { readonly code: FaultCode; readonly message: string };
};

type Waiting = { resolve(value: unknown): void; reject(fault: Fault): void };
type Thread = { readonly worker: Worker; readonly waiting: Map<number, Waiting> };

/** The script of the thread, in the source and in the published package. */
const script = new URL(
  import.meta.url.endsWith(".ts") ? "./sqlite.ts" : "./sqlite.js",
  import.meta.url,
);

/**
 * A SQLite file in a separate thread. SQLite blocks its caller, so a slow disk, a lock
 * or a checkpoint would otherwise delay every stream of the process. An idle thread does not
 * keep the process alive.
 */
export function openSqlite(path: string): Database {
  let thread: Thread | undefined;
  let calls = 0;
  let isClosed = false;

  function start(): Thread {
    const worker = new Worker(script, { workerData: path, execArgv: [], name: "store" });
    const waiting: Thread["waiting"] = new Map();
    const started = { worker, waiting };
    worker.on("message", ({ id, value, fault }: ThreadReply) => {
      const call = waiting.get(id);
      waiting.delete(id);
      if (waiting.size === 0) worker.unref();
      if (fault === undefined) call?.resolve(value);
      else call?.reject(new Fault(fault.code, fault.message));
    });
    const end = (reason: unknown): void => {
      if (thread === started) thread = undefined;
      const gone = new Fault("store.unavailable", "The store's thread ended.", {}, reason);
      for (const call of waiting.values()) call.reject(gone);
      waiting.clear();
    };
    worker.on("error", end);
    worker.on("exit", end);
    return started;
  }

  async function ask(name: OperationName, query: unknown): Promise<unknown> {
    // A call would start the thread again, and make the file again if it was deleted.
    if (isClosed) throw closed();
    return call(name, query);
  }

  function call(name: ThreadCall["name"], query?: unknown): Promise<unknown> {
    const { worker, waiting } = (thread ??= start());
    const id = ++calls;
    worker.ref();
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      worker.postMessage({ id, name, query } satisfies ThreadCall, []);
    });
  }

  return {
    ask: ask as Database["ask"],
    async close() {
      isClosed = true;
      const open = thread;
      if (open === undefined) return;
      await call("close");
      thread = undefined;
      await open.worker.terminate();
    },
  };
}
