import { usageColumn, usageCounts } from "../usage-sums.ts";

/** The version of these tables. A database with another version is refused. */
export const VERSION = 20;

/** Ids of different kinds of lists differ in their first characters. */
export const KIND_LENGTH = 4;

/** The type of a column, with `?` if it may be null. The texts of a `json` column are long, and none is empty. */
type Column = "text" | "text?" | "bigint" | "json";
export type Columns = Readonly<Record<string, Column>>;

/** The tables into which rows are inserted by lists. Other columns are generated. */
export const tables = {
  entries: {
    tenant: "text",
    kind: "bigint",
    at: "bigint",
    id: "text?",
    parent: "text?",
    kept_for: "text?",
    origin: "text?",
    shared: "text?",
    input_rows: "bigint",
    item_bytes: "bigint",
    bytes: "bigint",
  },
  // `tenant` is set only for items and notes that are found by their ids.
  parts: {
    entry: "bigint",
    place: "bigint",
    tenant: "text?",
    id: "text?",
    bytes: "bigint",
    json: "json",
  },
  shared_texts: { tenant: "text", digest: "text", at: "bigint", bytes: "bigint", text: "json" },
} as const satisfies Record<string, Columns>;
export type TableName = keyof typeof tables;

/** The statement that makes a table; `more`: its generated columns and its key. */
function tableSql(table: TableName, more: string): string {
  const columns = Object.entries<Column>(tables[table]).map(([name, type]) =>
    type === "text?" ? `${name} text` : `${name} ${type === "json" ? "text" : type} NOT NULL`,
  );
  return `CREATE TABLE patchbay.${table} (${[...columns, more].join(", ")})`;
}

/** The statements that make all tables; `seq`: the declaration of a column that numbers rows. */
export const schema = (seq: string): readonly string[] => [
  tableSql("entries", `seq ${seq}`),
  "CREATE INDEX entries_by_id ON patchbay.entries (tenant, id, kind, seq) WHERE id IS NOT NULL",
  "CREATE INDEX entries_kept_for ON patchbay.entries (tenant, kept_for) WHERE kept_for IS NOT NULL",
  "CREATE INDEX entries_by_shared ON patchbay.entries (tenant, shared) WHERE shared IS NOT NULL",
  "CREATE INDEX entries_by_age ON patchbay.entries (at)",
  `CREATE INDEX lists_in_order ON patchbay.entries (tenant, substr(id, 1, ${KIND_LENGTH}), seq) WHERE kind = 2`,
  tableSql("parts", "PRIMARY KEY (entry, place)"),
  "CREATE INDEX parts_by_id ON patchbay.parts (tenant, id, entry, place) WHERE tenant IS NOT NULL",
  tableSql("shared_texts", "PRIMARY KEY (tenant, digest)"),
  `CREATE TABLE patchbay.usage (
  tenant text NOT NULL,
  hour bigint NOT NULL,
  model text NOT NULL,
  ${usageCounts.map((name) => `${usageColumn(name)} bigint NOT NULL`).join(", ")},
  PRIMARY KEY (tenant, hour, model)
)`,
  `CREATE TABLE patchbay.leases (
  tenant text NOT NULL,
  id text NOT NULL,
  owner text NOT NULL,
  since bigint NOT NULL,
  until bigint NOT NULL,
  asked integer NOT NULL,
  PRIMARY KEY (tenant, id)
)`,
  `CREATE TABLE patchbay.rate_limits (
  tenant text NOT NULL,
  kind text NOT NULL,
  level double precision NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (tenant, kind)
)`,
  "CREATE TABLE patchbay.batches (id text PRIMARY KEY, at bigint NOT NULL)",
  "CREATE TABLE patchbay.secrets (name text PRIMARY KEY, value text NOT NULL)",
  "CREATE TABLE patchbay.age_state (one integer PRIMARY KEY, seen bigint NOT NULL, waited bigint)",
  "INSERT INTO patchbay.age_state VALUES (1, 0, NULL)",
];
