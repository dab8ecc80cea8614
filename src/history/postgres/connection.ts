import type { Sql } from "postgres";
import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import { toStoreFault } from "./errors.ts";
import { migrate } from "./migrations.ts";

const CONNECTIONS = 4;
const CONNECT_SECONDS = 5;
/** How long a query may take before its connection is given up. */
const QUERY_MS = 15_000;

/** The way to a PostgreSQL database: connected by the first question, and again after it was lost. */
export class PostgresConnection {
  readonly #url: string;
  readonly #clock: Clock;
  #sql: Sql | undefined;
  #migrated: Promise<void> | undefined;

  constructor(url: string, clock: Clock) {
    this.#url = url;
    this.#clock = clock;
  }

  async ask<Result>(run: (sql: Sql) => Promise<Result>): Promise<Result> {
    try {
      return await this.#bounded(this.#prepared().then(run));
    } catch (error) {
      const fault = toStoreFault(error);
      // It may come back with other tables.
      if (fault.code === "store.unavailable") this.#migrated = undefined;
      throw fault;
    }
  }

  async close(): Promise<void> {
    await this.#sql?.end({ timeout: CONNECT_SECONDS });
  }

  async #prepared(): Promise<Sql> {
    const sql = await this.#connect();
    this.#migrated ??= migrate(sql);
    await this.#migrated;
    return sql;
  }

  /** The client is loaded where it is used: most gateways have no PostgreSQL. */
  async #connect(): Promise<Sql> {
    const { default: postgres } = await import("postgres");
    this.#sql ??= postgres(this.#url, {
      max: CONNECTIONS,
      connect_timeout: CONNECT_SECONDS,
      fetch_types: false,
      onnotice: () => {},
      backoff: () => 0,
      connection: { application_name: "patchbay" },
    });
    return this.#sql;
  }

  /** A connection that says nothing, as after a cable was pulled, would be waited for forever. */
  #bounded<Result>(asking: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.at(this.#clock.now() + QUERY_MS, () => {
        const lost = this.#sql;
        this.#sql = undefined;
        lost?.end({ timeout: 0 }).catch(() => {}); // What it waited for is rejected with it.
        reject(new Fault("store.timeout", "The PostgreSQL server of the store does not answer."));
      });
      asking.then(resolve, reject).finally(cancel);
    });
  }
}
