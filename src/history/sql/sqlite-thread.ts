/** The thread of a SQLite database: one call after the other, each with a reply. */

import { parentPort, workerData } from "node:worker_threads";
import { Fault } from "../../turn/fault.ts";
import { SqliteConnection } from "./sqlite.ts";
import type { Call, Reply } from "./sqlite-database.ts";

const connection = new SqliteConnection(String(workerData));

parentPort?.on("message", (call: Call) => void reply(call));

async function reply({ id, name, query }: Call): Promise<void> {
  const send = (answer: Omit<Reply, "id">): void => parentPort?.postMessage({ id, ...answer }, []);
  try {
    if (name !== "close") return send({ value: await connection.call(name, query) });
    connection.close();
    send({});
  } catch (error) {
    const { code, message } =
      error instanceof Fault ? error : new Fault("gateway.internal", String(error));
    send({ fault: { code, message } });
  }
}
