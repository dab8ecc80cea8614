import { uptime } from "node:os";
import type { DatabaseSync } from "node:sqlite";
import type { Operations, Swept } from "../database.ts";
import { sqliteConversations } from "./conversations.ts";
import { sqliteDropping } from "./dropping.ts";
import { mustReopen, toStoreFault } from "./errors.ts";
import { fileId, openFile } from "./file.ts";
import { sqliteLeases } from "./leases.ts";
import { sqliteRateLimits } from "./rate-limits.ts";
import { sqliteReading } from "./reading.ts";
import { sqliteWriting } from "./writing.ts";

/** The machine's clocks, in milliseconds. All processes that have the file open share them. */
export type HostClock = {
  /** Time since the epoch; an administrator or NTP may set it. */
  date(): number;
  /** Uptime of the machine, including suspension. */
  uptime(): number;
  /** Monotonic time. */
  steady(): number;
};

const hostClock: HostClock = {
  date: () => Date.now(),
  uptime: () => uptime() * 1000,
  steady: () => Number(process.hrtime.bigint() / 1_000_000n),
};

type Open = {
  readonly database: DatabaseSync;
  readonly operations: Operations;
  readonly id: string | undefined;
};

/** A database file, for one thread. It is opened by the first call, and anew after it was moved away or failed. */
export class SqliteConnection {
  readonly #path: string;
  readonly #clock: HostClock;
  #open: Open | undefined;

  constructor(path: string, clock = hostClock) {
    this.#path = path;
    this.#clock = clock;
  }

  call<Name extends keyof Operations>(
    name: Name,
    argument: Parameters<Operations[Name]>[0],
  ): ReturnType<Operations[Name]> {
    try {
      // Under a file that was moved or deleted SQLite would go on writing to what nobody finds.
      if (this.#open !== undefined && fileId(this.#path) !== this.#open.id) this.close();
      this.#open ??= opened(this.#path, this.#clock);
      const operation = this.#open.operations[name] as (
        value: typeof argument,
      ) => ReturnType<Operations[Name]>;
      const result = operation(argument);
      if (isDeletion(name, result)) this.#checkpoint();
      return result;
    } catch (error) {
      const fault = toStoreFault(error, this.#path);
      if (mustReopen(fault, error)) this.close();
      throw fault;
    }
  }

  /** Moves deleted text, which deletion overwrites in the file, out of the log too. */
  #checkpoint(): void {
    try {
      this.#open?.database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch {
      // The deletion is committed; the next sweep tries again.
    }
  }

  close(): void {
    const open = this.#open;
    this.#open = undefined;
    try {
      open?.database.close();
    } catch {
      // It was damaged or taken away; what is committed is on the disk.
    }
  }
}

const deletions: ReadonlySet<keyof Operations> = new Set([
  "deleteResponse",
  "deleteConversation",
  "deleteConversationItem",
] as const);

const isDeletion = (name: keyof Operations, result: unknown): boolean =>
  (deletions.has(name) && result === true) || (name === "sweep" && !(result as Swept).more);

function opened(path: string, clock: HostClock): Open {
  const database = openFile(path);
  const operations = {
    ...sqliteWriting(database, clock),
    ...sqliteReading(database),
    ...sqliteDropping(database, clock),
    ...sqliteConversations(database, clock),
    ...sqliteLeases(database, clock),
    ...sqliteRateLimits(database),
  };
  return { database, operations, id: fileId(path) };
}
