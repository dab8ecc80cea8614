import postgres, { type Sql } from "postgres";
import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import type { Database } from "../database.ts";
import { deleteResponse, sweep } from "./dropping.ts";
import { isWrittenAlready, toStoreFault } from "./errors.ts";
import { migrate } from "./migrations.ts";
import * as reading from "./reading.ts";
import { writeBatch } from "./writing.ts";

const CONNECTIONS = 4;
const CONNECT_SECONDS = 5;
/** How long a query may take before its connection is given up. */
const QUERY_MS = 15_000;

type Ready = {
  /**
   * How far the database's clock is ahead. Rows have its time, so that replicas
   * whose clocks differ agree on what has expired.
   */
  readonly offset: number;
};

/** A PostgreSQL database, connected to by the first call and again after it was lost. */
export function openPostgres(url: string, clock: Clock): Database {
  let sql: Sql | undefined;
  let preparing: Promise<Ready> | undefined;

  const connect = (): Sql =>
    (sql ??= postgres(url, {
      max: CONNECTIONS,
      connect_timeout: CONNECT_SECONDS,
      fetch_types: false,
      onnotice: () => {},
      backoff: () => 0,
      connection: { application_name: "patchbay" },
    }));

  async function prepare(): Promise<Ready> {
    const connected = connect();
    await migrate(connected);
    const [row] =
      await connected`SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now`;
    return { offset: Math.round(Number(row?.["now"]) - clock.now()) };
  }

  function prepared(): Promise<Ready> {
    if (preparing !== undefined) return preparing;
    const begun = prepare();
    preparing = begun;
    begun.catch(() => {
      if (preparing === begun) preparing = undefined;
    });
    return begun;
  }

  /** A connection that says nothing, as after a cable was pulled, would be waited for forever. */
  function bounded<Result>(asking: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const cancel = clock.at(clock.now() + QUERY_MS, () => {
        const lost = sql;
        sql = undefined;
        lost?.end({ timeout: 0 }).catch(() => {}); // What it waited for is rejected with it.
        reject(new Fault("store.timeout", "The PostgreSQL server of the store does not answer."));
      });
      asking.then(resolve, reject).finally(cancel);
    });
  }

  async function ask<Result>(run: (sql: Sql, ready: Ready) => Promise<Result>): Promise<Result> {
    try {
      return await bounded(prepared().then((ready) => run(connect(), ready)));
    } catch (error) {
      const fault = toStoreFault(error);
      // It may come back with other tables, or another clock.
      if (fault.code === "store.unavailable") preparing = undefined;
      throw fault;
    }
  }

  const shift = <Query extends { readonly since: number }>(
    query: Query,
    { offset }: Ready,
  ): Query => ({
    ...query,
    since: Math.floor(query.since + offset),
  });

  return {
    write: (batch) =>
      ask(async (connected, { offset }) => {
        try {
          await writeBatch(connected, batch, offset);
        } catch (error) {
          if (!isWrittenAlready(error)) throw error;
        }
      }),
    findItems: (query) => ask((at, ready) => reading.findItems(at, shift(query, ready))),
    findPlan: (query) =>
      ask(async (at, ready) => {
        const text = await reading.findPlanText(at, shift(query, ready));
        return text === undefined ? undefined : JSON.parse(text);
      }),
    findSealOwners: (query) => ask((at) => reading.findSealOwners(at, query)),
    findResponse: (query) =>
      ask(async (at, ready) => local(await reading.findResponse(at, shift(query, ready)), ready)),
    loadChain: (query) =>
      ask(async (at, ready) => {
        const found = await reading.loadChain(at, shift(query, ready));
        if (found.type !== "found") return found;
        return { ...found, responses: found.responses.map((one) => local(one, ready)) };
      }),
    deleteResponse: (query) => ask((at, ready) => deleteResponse(at, shift(query, ready))),
    sumUsage: (query) => ask((at) => reading.sumUsage(at, query)),
    sweep: (bounds) => ask((at, ready) => sweep(at, shift(bounds, ready))),
    async close() {
      await sql?.end({ timeout: CONNECT_SECONDS });
    },
  };
}

/** A response with its time by the clock of this process. */
const local = <Found extends { readonly at: number } | undefined>(
  found: Found,
  { offset }: Ready,
): Found => (found === undefined ? found : { ...found, at: found.at - offset });
