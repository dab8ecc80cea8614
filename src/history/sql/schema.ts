import { usageColumn, usageCounts } from "../usage-sums.ts";

/** The version of these tables. A database with another version is refused. */
export const VERSION = 20;

/** Ids of different kinds of lists differ in their first characters. */
export const KIND_LENGTH = 4;

const key = (seq: string): string => `
CREATE TABLE patchbay.entries (
  seq ${seq},
  tenant text NOT NULL,
  kind integer NOT NULL,
  at bigint NOT NULL,
  id text,
  parent text,
  kept_for text,
  origin text,
  shared text,
  input_rows integer NOT NULL,
  item_bytes bigint NOT NULL,
  bytes bigint NOT NULL
)`;

/** The statements that make all tables; `seq`: the declaration of a column that numbers rows. */
export const schema = (seq: string): readonly string[] => [
  key(seq),
  "CREATE INDEX entries_by_id ON patchbay.entries (tenant, id, kind, seq) WHERE id IS NOT NULL",
  "CREATE INDEX entries_kept_for ON patchbay.entries (tenant, kept_for) WHERE kept_for IS NOT NULL",
  "CREATE INDEX entries_by_shared ON patchbay.entries (tenant, shared) WHERE shared IS NOT NULL",
  "CREATE INDEX entries_by_age ON patchbay.entries (at)",
  `CREATE INDEX lists_in_order ON patchbay.entries (tenant, substr(id, 1, ${KIND_LENGTH}), seq) WHERE kind = 2`,
  // `tenant` is set only for items and notes that are found by their ids.
  `CREATE TABLE patchbay.parts (
  entry bigint NOT NULL,
  place bigint NOT NULL,
  tenant text,
  id text,
  bytes bigint NOT NULL,
  json text NOT NULL,
  PRIMARY KEY (entry, place)
)`,
  "CREATE INDEX parts_by_id ON patchbay.parts (tenant, id, entry, place) WHERE tenant IS NOT NULL",
  `CREATE TABLE patchbay.shared_texts (
  tenant text NOT NULL,
  digest text NOT NULL,
  at bigint NOT NULL,
  bytes bigint NOT NULL,
  text text NOT NULL,
  PRIMARY KEY (tenant, digest)
)`,
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
