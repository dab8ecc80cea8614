/** The thread of a SQLite store: one call after the other, each with a reply. */

import { parentPort, workerData } from "node:worker_threads";
import type { Operations } from "../database.ts";
import { Fault } from "../../turn/fault.ts";
import { SqliteConnection } from "./connection.ts";
import type { Call, Reply } from "./database.ts";

const connection = new SqliteConnection(String(workerData));

parentPort?.on("message", ({ id, name, argument }: Call) => {
  if (name === "close") connection.close();
  parentPort?.postMessage(name === "close" ? { id } : reply(id, name, argument), []);
});

function reply(id: number, name: keyof Operations, argument: unknown): Reply {
  try {
    return { id, value: connection.call(name, argument as never) };
  } catch (error) {
    const { code, message } =
      error instanceof Fault ? error : new Fault("gateway.internal", String(error));
    return { id, fault: { code, message } };
  }
}
