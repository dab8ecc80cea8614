import type { Sql as Client } from "postgres";
import { type Clock, within } from "../../turn/clock.ts";
import { Fault, type FaultCode } from "../../turn/fault.ts";
import { AgeWatch } from "../age-watch.ts";
import { runOn, type Database, type OperationName } from "./operations.ts";
import { type Columns, schema, tables, VERSION } from "./schema.ts";
import type { Cell, Driver, SqlRow, Sql, Value } from "./sql.ts";

const CONNECTIONS = 4;
const CONNECT_SECONDS = 5;
/** A connection is closed if a query takes longer. */
const QUERY_MS = 15_000;

const NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
/** Translates a statement for PostgreSQL. */
const translated = (text: string): string =>
  text
    .replaceAll(/patchbay\.(?:now|lease)_ms\(\)/g, NOW)
    .replaceAll(/\(\$(\d+)::(\w+)\[\]\)/g, "($$$1::text::$2[])");

/** A list in the syntax of PostgreSQL arrays: a batch of any size is one statement with the same parameters. */
const arrayText = (values: readonly Cell[]): string => `{${values.map(elementText).join(",")}}`;
const elementText = (value: Cell): string =>
  typeof value === "string" ? `"${value.replace(/["\\]/g, "\\$&")}"` : String(value);

/** Separates the texts of a JSON column: JSON never contains this character. */
const SEPARATOR = "\u0001";

/** Joins the texts of a JSON column: escaping long JSON as array elements would cost more than the rest of a write. */
function joinedText(cells: readonly Cell[]): string {
  if (cells.some((cell) => typeof cell !== "string" || cell === "" || cell.includes(SEPARATOR)))
    throw new Fault("store.refused", "A part of this turn is not JSON.");
  return cells.join(SEPARATOR);
}

const arrayOf = {
  text: (at: number) => `$${at}::text::text[]`,
  "text?": (at: number) => `$${at}::text::text[]`,
  bigint: (at: number) => `$${at}::text::bigint[]`,
  json: (at: number) => `string_to_array($${at}::text, chr(1))`,
};

type Asking = Pick<Client, "unsafe">;

const sqlOn = (client: Asking): Sql => ({
  all<Found>(text: string, ...values: readonly Value[]) {
    const cells = values.map((value) =>
      value === null ? null : Array.isArray(value) ? arrayText(value) : String(value),
    );
    return client.unsafe<(Found & SqlRow)[]>(translated(text), cells, { prepare: true });
  },
  insert({ table, tail = "" }, rows) {
    if (rows.length === 0) return [];
    const columns: Columns = tables[table];
    const names = Object.keys(columns);
    const types = Object.values(columns);
    const arrays = types.map((type, at) => arrayOf[type](at + 1)).join(", ");
    const given = names.map((name) => `given.${name}`).join(", ");
    // The order of insertion sets the generated numbers.
    const text = `INSERT INTO patchbay.${table} AS old (${names.join(", ")})
      SELECT ${given} FROM unnest(${arrays}) WITH ORDINALITY AS given (${names.join(", ")}, n)
      ORDER BY given.n ${tail}`;
    const values = types.map((type, at) => {
      const cells = rows.map((row) => row[at] ?? null);
      return type === "json" ? joinedText(cells) : arrayText(cells);
    });
    return client.unsafe<SqlRow[]>(text, values, { prepare: true });
  },
});

/** A PostgreSQL database, which any number of replicas may share. */
export const openPostgres = (url: string, clock: Clock): Database =>
  new PostgresConnection(url, clock) as Database;

class PostgresConnection {
  readonly #url: string;
  readonly #clock: Clock;
  readonly #watch = new AgeWatch();
  #client: Client | undefined;
  #made: Promise<void> | undefined;

  constructor(url: string, clock: Clock) {
    this.#url = url;
    this.#clock = clock;
  }

  async ask(name: OperationName, query: unknown): Promise<unknown> {
    try {
      return await this.#bounded(this.#driver().then((driver) => runOn(driver, name, query)));
    } catch (error) {
      const fault = postgresFault(error);
      // The next connection may lead to a database without the tables.
      if (fault.code === "store.unavailable") this.#made = undefined;
      throw fault;
    }
  }

  async close(): Promise<void> {
    await this.#client?.end({ timeout: CONNECT_SECONDS });
  }

  async #driver(): Promise<Driver> {
    const client = await this.#connect();
    this.#made ??= makeTables(client);
    await this.#made;
    return {
      ...sqlOn(client),
      transaction: async (run) =>
        (await client.begin((transaction) => run(sqlOn(transaction)))) as Awaited<
          ReturnType<typeof run>
        >,
      watch: this.#watch,
    };
  }

  /** Imports the client on first use: most gateways have no PostgreSQL. */
  async #connect(): Promise<Client> {
    const { default: postgres } = await import("postgres");
    this.#client ??= postgres(this.#url, {
      max: CONNECTIONS,
      connect_timeout: CONNECT_SECONDS,
      fetch_types: false,
      onnotice: () => {},
      backoff: () => 0,
      connection: { application_name: "patchbay" },
      // Sums and counts are exact as numbers.
      types: { count: { to: 20, from: [20, 1700], serialize: String, parse: Number } },
    }) as Client;
    return this.#client;
  }

  /** Bounds the wait for a result: a connection to an unreachable server may never report an error. */
  #bounded<Result>(asking: Promise<Result>): Promise<Result> {
    return within(this.#clock, QUERY_MS, asking, () => {
      const lost = this.#client;
      this.#client = undefined;
      lost?.end({ timeout: 0 }).catch(() => {}); // This also rejects its other queries.
      return new Fault(
        "store.timeout",
        "The PostgreSQL server of the store did not answer in time; send the request again.",
      );
    });
  }
}

/** The advisory lock for the creation of tables: "Patchbay" in ASCII. */
const LOCK = "5791402270117945721";

/**
 * Makes the tables of a new database. If several replicas start together, the first that gets
 * the lock makes them. A user without the right to create tables can use existing ones.
 */
async function makeTables(client: Client): Promise<void> {
  const known = "SELECT to_regclass('patchbay.versions')::text AS known";
  const [there] = await client.unsafe<SqlRow[]>(known);
  if (typeof there?.["known"] === "string" && (await isMade(client))) return;
  await client.begin(async (transaction) => {
    await transaction`SELECT pg_advisory_xact_lock(${LOCK}::bigint)`;
    await transaction`CREATE SCHEMA IF NOT EXISTS patchbay`;
    await transaction`CREATE TABLE IF NOT EXISTS patchbay.versions (version integer PRIMARY KEY)`;
    if (await isMade(transaction)) return;
    for (const statement of schema("bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"))
      await transaction.unsafe(statement);
    await transaction`INSERT INTO patchbay.versions (version) VALUES (${VERSION})`;
  });
}

/** True if a database has these tables. Throws a Fault if it has others. */
async function isMade(client: Asking): Promise<boolean> {
  const [row] = await client.unsafe<SqlRow[]>(
    "SELECT max(version) AS version FROM patchbay.versions",
  );
  const version = row?.["version"] ?? null;
  if (version === VERSION || version === null) return version === VERSION;
  throw new Fault(
    "store.unusable",
    `The store's database was written by another version of Patchbay (version ${String(version)} of its tables, and this one has ${VERSION}); drop its schema \`patchbay\`, so that new tables are made, or name another database in \`store.url\`.`,
  );
}

/** By SQLSTATE, or by its class. */
const byState: Readonly<Record<string, readonly [FaultCode, string]>> = {
  "08": ["store.unavailable", "lost the connection"],
  "25006": ["store.unavailable", "takes no writes: it is a standby"],
  "28": ["store.unavailable", "refuses the user or the password of `store.url`"],
  "3D000": ["store.unavailable", "has no database of the name in `store.url`"],
  "3F000": ["store.unavailable", "has lost its tables; the next request creates them"],
  "40": ["store.unavailable", "aborted a write that conflicted with another"],
  "42501": ["store.unavailable", "does not let the user of `store.url` create or use its tables"],
  "42P01": ["store.unavailable", "has lost its tables; the next request creates them"],
  "53100": ["store.full", "has a disk that is full"],
  "53": ["store.unavailable", "has no room for another connection"],
  "55P03": ["store.unavailable", "has tables that another client has locked"],
  "57014": ["store.timeout", "took too long"],
  "57": ["store.unavailable", "is starting or shutting down"],
  "58": ["store.unavailable", "reports a system error"],
  XX001: ["store.unusable", "is damaged"],
  XX002: ["store.unusable", "is damaged"],
};

/**
 * The Fault for an error of a query. It contains only the code, because messages of a server may
 * quote values. An error without a code means that there is no connection.
 */
function postgresFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  const { code = "", name } = error as NodeJS.ErrnoException;
  const known = byState[code] ?? byState[code.slice(0, 2)];
  if (known !== undefined) return faultOf(known[0], known[1], code, error);
  if (name === "PostgresError") return faultOf("gateway.internal", "refused a query", code, error);
  return faultOf("store.unavailable", "cannot be reached", code, error);
}

const faultOf = (fault: FaultCode, what: string, code: string, cause: unknown): Fault =>
  new Fault(fault, `The PostgreSQL server of the store ${what} (${code}).`, {}, cause);
