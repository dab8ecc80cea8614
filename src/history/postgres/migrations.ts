import type { Sql } from "postgres";
import { Fault } from "../../turn/fault.ts";

/** Each brings the schema one version on; none is ever changed or taken out. */
const migrations: readonly string[] = [
  `
CREATE SEQUENCE patchbay.turn_seq;
CREATE TABLE patchbay.batches (
  id uuid PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE patchbay.turns (
  seq bigint PRIMARY KEY,
  tenant text NOT NULL,
  at bigint NOT NULL,
  answer_id text,
  previous text,
  stored boolean NOT NULL,
  inputs integer NOT NULL,
  item_bytes bigint NOT NULL,
  bytes bigint NOT NULL,
  plan_bytes bigint NOT NULL
);
CREATE INDEX turns_by_answer ON patchbay.turns (tenant, answer_id, stored, seq) WHERE answer_id IS NOT NULL;
CREATE INDEX turns_by_tenant ON patchbay.turns (tenant, seq);
CREATE TABLE patchbay.parts (
  turn bigint NOT NULL,
  place integer NOT NULL,
  tenant text,
  id text,
  bytes bigint NOT NULL,
  json text NOT NULL,
  PRIMARY KEY (turn, place)
);
CREATE INDEX parts_by_id ON patchbay.parts (tenant, id, turn, place) WHERE id IS NOT NULL;
CREATE TABLE patchbay.seals (
  tenant text NOT NULL,
  seal text NOT NULL,
  turn bigint NOT NULL,
  upstream text NOT NULL,
  PRIMARY KEY (tenant, seal)
);
CREATE INDEX seals_by_turn ON patchbay.seals (turn);
CREATE TABLE patchbay.usage (
  tenant text NOT NULL,
  hour bigint NOT NULL,
  model text NOT NULL,
  requests bigint NOT NULL,
  failures bigint NOT NULL,
  uncounted bigint NOT NULL,
  input bigint NOT NULL,
  output bigint NOT NULL,
  total bigint NOT NULL,
  cached bigint NOT NULL,
  cache_write bigint NOT NULL,
  reasoning bigint NOT NULL,
  calls bigint NOT NULL,
  truncated bigint NOT NULL,
  PRIMARY KEY (tenant, hour, model)
);
`,
  "ALTER TABLE patchbay.turns ADD COLUMN origin text",
  `
CREATE TABLE patchbay.secrets (
  name text PRIMARY KEY,
  value text NOT NULL
);
CREATE TABLE patchbay.conversations (
  seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  tenant text NOT NULL,
  id text NOT NULL,
  at bigint NOT NULL,
  json text NOT NULL,
  bytes bigint NOT NULL,
  owner text,
  leased_until bigint,
  PRIMARY KEY (tenant, id)
);
CREATE TABLE patchbay.conversation_items (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant text NOT NULL,
  conversation text NOT NULL,
  id text NOT NULL,
  bytes bigint NOT NULL,
  json text NOT NULL
);
CREATE INDEX conversation_items_in_order ON patchbay.conversation_items (tenant, conversation, seq);
`,
  `
ALTER TABLE patchbay.turns
  ADD COLUMN tail integer NOT NULL DEFAULT 0,
  ADD COLUMN segment bigint,
  ADD COLUMN segment_end bigint;
CREATE INDEX turns_by_segment ON patchbay.turns (segment) WHERE segment IS NOT NULL;
CREATE TABLE patchbay.segments (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  previous text,
  first bigint NOT NULL,
  at bigint NOT NULL,
  level integer NOT NULL,
  run integer NOT NULL,
  items bytea NOT NULL
);
`,
  `
CREATE TABLE patchbay.rate_limits (
  tenant text NOT NULL,
  kind text NOT NULL,
  per_minute double precision NOT NULL,
  level double precision NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (tenant, kind)
);
`,
  `
CREATE TABLE patchbay.shared_texts (
  tenant text NOT NULL,
  digest text NOT NULL,
  at timestamptz NOT NULL,
  bytes bigint NOT NULL,
  text text NOT NULL,
  PRIMARY KEY (tenant, digest)
);
ALTER TABLE patchbay.turns ADD COLUMN shared text;
CREATE INDEX turns_by_shared ON patchbay.turns (tenant, shared) WHERE shared IS NOT NULL;
`,
  // From here on a row may be several items, which an older version would take for one.
  `
ALTER TABLE patchbay.turns ADD COLUMN plan_shared text;
CREATE INDEX turns_by_plan_shared ON patchbay.turns (tenant, plan_shared) WHERE plan_shared IS NOT NULL;
`,
  "CREATE INDEX conversations_in_order ON patchbay.conversations (tenant, left(id, 4), seq)",
  `
ALTER TABLE patchbay.segments DROP COLUMN at;
CREATE TABLE patchbay.age_state (
  one integer PRIMARY KEY CHECK (one = 1),
  seen bigint NOT NULL,
  waited bigint
);
ALTER TABLE patchbay.conversations DROP COLUMN owner, DROP COLUMN leased_until;
CREATE TABLE patchbay.leases (
  tenant text NOT NULL,
  id text NOT NULL,
  owner text NOT NULL,
  since bigint NOT NULL,
  until bigint NOT NULL,
  asked boolean NOT NULL,
  PRIMARY KEY (tenant, id)
);
`,
  "ALTER TABLE patchbay.usage ADD COLUMN cost bigint NOT NULL DEFAULT 0",
  `
ALTER TABLE patchbay.turns ADD COLUMN kept_for text;
CREATE INDEX turns_by_conversation ON patchbay.turns (tenant, kept_for) WHERE kept_for IS NOT NULL;
`,
  // From here on the items of a group are several rows, of which an older version would find none.
  "ALTER TABLE patchbay.turns ADD COLUMN input_rows integer",
];

/** The advisory lock of those who bring the schema on: "Patchbay" in ASCII. */
const LOCK = "5791402270117945721";

/**
 * Brings the database to this version. Any number of replicas may do so at once:
 * the first to get the lock does it, and the others find it done. Who may not
 * create anything can still use what is there.
 */
export async function migrate(sql: Sql): Promise<void> {
  const [there] = await sql`SELECT to_regclass('patchbay.versions') IS NOT NULL AS known`;
  if (there?.["known"] === true && (await versionOf(sql)) === migrations.length) return;
  await sql.begin(async (transaction) => {
    await transaction`SELECT pg_advisory_xact_lock(${LOCK}::bigint)`;
    await transaction`CREATE SCHEMA IF NOT EXISTS patchbay`;
    await transaction`CREATE TABLE IF NOT EXISTS patchbay.versions (
      version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now()
    )`;
    const version = await versionOf(transaction);
    for (const [at, statements] of [...migrations.entries()].slice(version)) {
      await transaction.unsafe(statements);
      await transaction`INSERT INTO patchbay.versions (version) VALUES (${at + 1})`;
    }
  });
}

async function versionOf(sql: Pick<Sql, "unsafe">): Promise<number> {
  const [row] = await sql.unsafe(
    "SELECT coalesce(max(version), 0) AS version FROM patchbay.versions",
  );
  const version = Number(row?.["version"]);
  if (version > migrations.length)
    throw new Fault(
      "store.unusable",
      `The store's database was written by a newer Patchbay (version ${version} of its tables, and this one knows ${migrations.length}); update this one, or name another database in \`store.url\`.`,
    );
  return version;
}
