import type { DatabaseSync } from "node:sqlite";
import { inTransaction } from "./transaction.ts";
import { Fault } from "../../turn/fault.ts";

/**
 * Each brings the file one version on; none is ever changed or taken out. The
 * parts of a turn are numbered in the order of writing: what is written together
 * is on the same pages, and only the two indexes are written to in other places.
 */
const migrations: readonly string[] = [
  `
CREATE TABLE turns (
  seq INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  at INTEGER NOT NULL,
  answer_id TEXT,
  previous TEXT,
  stored INTEGER NOT NULL,
  inputs INTEGER NOT NULL,
  item_bytes INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  plan_bytes INTEGER NOT NULL
) STRICT;
CREATE INDEX turns_by_answer ON turns (tenant, answer_id, stored, seq) WHERE answer_id IS NOT NULL;
CREATE TABLE parts (
  part INTEGER PRIMARY KEY,
  tenant TEXT,
  id TEXT,
  bytes INTEGER NOT NULL,
  json TEXT NOT NULL
) STRICT;
CREATE INDEX parts_by_id ON parts (tenant, id, part) WHERE id IS NOT NULL;
CREATE TABLE seals (
  tenant TEXT NOT NULL,
  seal TEXT NOT NULL,
  turn INTEGER NOT NULL,
  upstream TEXT NOT NULL,
  PRIMARY KEY (tenant, seal)
) STRICT, WITHOUT ROWID;
CREATE INDEX seals_by_turn ON seals (turn);
CREATE TABLE usage (
  tenant TEXT NOT NULL,
  hour INTEGER NOT NULL,
  model TEXT NOT NULL,
  requests INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  uncounted INTEGER NOT NULL,
  input INTEGER NOT NULL,
  output INTEGER NOT NULL,
  total INTEGER NOT NULL,
  cached INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  reasoning INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  truncated INTEGER NOT NULL,
  PRIMARY KEY (tenant, hour, model)
) STRICT, WITHOUT ROWID;
`,
  "ALTER TABLE turns ADD COLUMN origin TEXT",
  `
CREATE TABLE secrets (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE conversations (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  at INTEGER NOT NULL,
  json TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  owner TEXT,
  leased_until INTEGER,
  UNIQUE (tenant, id)
) STRICT;
CREATE TABLE conversation_items (
  seq INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL,
  id TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  json TEXT NOT NULL
) STRICT;
CREATE INDEX conversation_items_in_order ON conversation_items (conversation, seq);
`,
  `
ALTER TABLE turns ADD COLUMN tail INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN segment INTEGER;
ALTER TABLE turns ADD COLUMN segment_end INTEGER;
CREATE INDEX turns_by_segment ON turns (segment) WHERE segment IS NOT NULL;
CREATE TABLE segments (
  id INTEGER PRIMARY KEY,
  previous TEXT,
  first INTEGER NOT NULL,
  at INTEGER NOT NULL,
  level INTEGER NOT NULL,
  run INTEGER NOT NULL,
  items BLOB NOT NULL
) STRICT;
`,
  `
CREATE TABLE shared_texts (
  tenant TEXT NOT NULL,
  digest TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (tenant, digest)
) STRICT;
ALTER TABLE turns ADD COLUMN shared TEXT;
CREATE INDEX turns_by_shared ON turns (tenant, shared) WHERE shared IS NOT NULL;
`,
  // From here on a row may be several items, which an older version would take for one.
  `
ALTER TABLE turns ADD COLUMN plan_shared TEXT;
CREATE INDEX turns_by_plan_shared ON turns (tenant, plan_shared) WHERE plan_shared IS NOT NULL;
`,
  "CREATE INDEX conversations_in_order ON conversations (tenant, substr(id, 1, 4), seq)",
  `
CREATE TABLE rate_limits (
  tenant TEXT NOT NULL,
  kind TEXT NOT NULL,
  level REAL NOT NULL,
  at REAL NOT NULL,
  PRIMARY KEY (tenant, kind)
) STRICT;
`,
  `
ALTER TABLE segments DROP COLUMN at;
CREATE TABLE age_state (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  seen INTEGER NOT NULL,
  waited INTEGER
) STRICT;
ALTER TABLE conversations DROP COLUMN owner;
ALTER TABLE conversations DROP COLUMN leased_until;
CREATE TABLE leases (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  owner TEXT NOT NULL,
  since INTEGER NOT NULL,
  until INTEGER NOT NULL,
  asked INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
`,
  "ALTER TABLE usage ADD COLUMN cost INTEGER NOT NULL DEFAULT 0",
  `
ALTER TABLE turns ADD COLUMN kept_for TEXT;
CREATE INDEX turns_by_conversation ON turns (tenant, kept_for) WHERE kept_for IS NOT NULL;
`,
  // From here on the items of a group are several rows, of which an older version would find none.
  "ALTER TABLE turns ADD COLUMN input_rows INTEGER",
];

/** Marks a file as ours: "PBay". */
const APPLICATION_ID = 0x50_42_61_79;

/**
 * Brings a file to this version. Any number of processes may do so at once: the
 * first to get the write lock does it, and the others find it done.
 */
export function migrate(database: DatabaseSync, path: string): void {
  // Read at one moment: another process may bring the file on between two reads, and one that
  // has tables but not our mark yet would be taken for the database of something else.
  const version = inTransaction(database, () => versionOf(database, path), "DEFERRED");
  if (version === migrations.length) return;
  inTransaction(database, () => {
    for (const sql of migrations.slice(versionOf(database, path))) database.exec(sql);
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    database.exec(`PRAGMA user_version = ${migrations.length}`);
  });
}

function versionOf(database: DatabaseSync, path: string): number {
  const pragma = (name: string): number =>
    Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
  const version = pragma("user_version");
  const isOurs = pragma("application_id") === APPLICATION_ID;
  const isEmpty = database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
  if (!isOurs && !isEmpty)
    throw new Fault(
      "store.unusable",
      `${path} is the database of something else; name another file in \`store.path\`.`,
    );
  if (version > migrations.length)
    throw new Fault(
      "store.unusable",
      `${path} was written by a newer Patchbay (version ${version} of its tables, and this one knows ${migrations.length}); update this one, or name another file in \`store.path\`.`,
    );
  return version;
}
