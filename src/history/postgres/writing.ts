import { append } from "../../turn/append.ts";
import type { Sql } from "postgres";
import { FIRST_ITEM_PLACE, PLAN_PLACE, RESPONSE_PLACE } from "../chain-rows.ts";
import type { Batch } from "../database.ts";
import { hasRows, sharedTexts, type TurnRecord } from "../record.ts";
import { batchUsage, MODELS_KEPT, OTHER, usageColumn, usageCounts } from "../usage-sums.ts";
import { ROW_TIME } from "./ages.ts";
import { arrayText } from "./array-text.ts";
import { tailsOf, type Tail } from "./segments.ts";
import { SHARED_FRESH_SECONDS } from "./shared-texts.ts";
import { Fault } from "../../turn/fault.ts";

/** A column of JSON: its texts are passed as one, joined by a character that JSON never has. */
const JOINED = "joined";
const SEPARATOR = "\u0001";

type Cell = string | number | boolean | null;
type Columns = Readonly<Record<string, string>>;

const turnColumns: Columns = {
  n: "integer",
  tenant: "text",
  answer_id: "text",
  previous: "text",
  stored: "boolean",
  inputs: "integer",
  item_bytes: "bigint",
  bytes: "bigint",
  plan_bytes: "bigint",
  origin: "text",
  behind: "text",
  tail: "integer",
  shared: "text",
  plan_shared: "text",
  kept_for: "text",
  input_rows: "integer",
};
const partColumns: Columns = {
  n: "integer",
  place: "integer",
  tenant: "text",
  id: "text",
  bytes: "bigint",
  json: JOINED,
};
const sealColumns: Columns = { n: "integer", tenant: "text", seal: "text", upstream: "text" };
const counts = usageCounts.map(usageColumn);
const usageColumns: Columns = {
  tenant: "text",
  hour: "bigint",
  model: "text",
  ...Object.fromEntries(counts.map((name) => [name, "bigint"])),
};
const sharedColumns: Columns = { tenant: "text", digest: "text", bytes: "bigint", text: JOINED };
const tables = [turnColumns, partColumns, sealColumns, usageColumns, sharedColumns];

/** One statement, and so one transaction and one round trip for all of a batch. */
const statement = writeSql();

/** Writes the turns of a batch. */
export async function writeBatch(sql: Pick<Sql, "unsafe">, { id, turns }: Batch): Promise<void> {
  const turnRows: Cell[][] = [];
  const partRows: Cell[][] = [];
  const seals = new Map<string, Cell[]>();
  const tails = tailsOf(turns);
  for (const [n, turn] of turns.entries()) {
    if (!hasRows(turn)) continue;
    turnRows.push(turnRow(n, turn, tails[n]));
    append(partRows, partsOf(n, turn));
    for (const [seal, upstream] of turn.seals)
      seals.set(`${turn.tenant}\n${seal}`, [n, turn.tenant, seal, upstream]);
  }
  const usageRows = batchUsage(turns).map(({ tenant, hour, model, sum }) =>
    [tenant, hour, model].concat(usageCounts.map((name) => sum[name])),
  );
  const sharedRows = Array.from(sharedTexts(turns), ({ tenant, digest, text }): Cell[] => [
    tenant,
    digest,
    Buffer.byteLength(text),
    text,
  ]);
  const rows = [turnRows, partRows, [...seals.values()], usageRows, sharedRows];
  const parameters = tables.flatMap((columns, table) =>
    Object.values(columns).map((type, at) => {
      const cells = (rows[table] ?? []).map((row) => row[at] ?? null);
      return type === JOINED ? joinedText(cells) : arrayText(cells);
    }),
  );
  await sql.unsafe(statement, [id, ...parameters], { prepare: true });
}

/** Escaped as the elements of an array, long JSON would cost more than all else of a write. */
function joinedText(cells: readonly Cell[]): string {
  if (cells.some((cell) => typeof cell !== "string" || cell === "" || cell.includes(SEPARATOR)))
    throw new Fault("store.refused", "A part of this turn is not JSON.");
  return cells.join(SEPARATOR);
}

function turnRow(n: number, turn: TurnRecord, tail: Tail | undefined): Cell[] {
  const { tenant, answerId, previous, response, inputs, itemBytes, bytes, planBytes } = turn;
  const sizes = [inputs, itemBytes, bytes, planBytes];
  return [
    n,
    tenant,
    answerId,
    previous,
    response !== null,
    ...sizes,
    turn.origin,
    tail?.behind ?? null,
    tail?.length ?? 0,
    turn.shared?.digest ?? null,
    turn.planShared?.digest ?? null,
    turn.keptFor,
    turn.inputRows,
  ];
}

function partsOf(n: number, { tenant, plan, response, items }: TurnRecord): Cell[][] {
  const rows: Cell[][] = items.map(({ id, json }, at) => {
    const bytes = Buffer.byteLength(json);
    return [n, FIRST_ITEM_PLACE + at, tenant, id, bytes, json];
  });
  if (plan !== null) rows.push([n, PLAN_PLACE, null, null, plan.length, plan]);
  if (response !== null) rows.push([n, RESPONSE_PLACE, null, null, response.length, response]);
  return rows;
}

function writeSql(): string {
  let parameter = 1;
  const [turns = "", parts = "", seals = "", usage = "", shared = ""] = tables.map((columns) => {
    const arrays = Object.values(columns).map((type) =>
      type === JOINED
        ? `string_to_array($${++parameter}::text, chr(1))`
        : `$${++parameter}::text::${type}[]`,
    );
    return `unnest(${arrays.join(", ")}) AS given (${Object.keys(columns).join(", ")})`;
  });
  const known =
    "SELECT FROM patchbay.usage u WHERE u.tenant = given.tenant AND u.hour = given.hour";
  return `
WITH batch AS (
  INSERT INTO patchbay.batches (id) VALUES ($1::text::uuid)
), turn AS MATERIALIZED (
  SELECT nextval('patchbay.turn_seq') AS seq, * FROM ${turns}
), turns AS (
  INSERT INTO patchbay.turns
  SELECT seq, tenant, ${ROW_TIME}, answer_id, previous, stored, inputs, item_bytes, bytes, plan_bytes, origin,
    tail + CASE WHEN behind IS NULL THEN 0 ELSE coalesce((
      SELECT CASE WHEN before.segment IS NULL THEN before.tail ELSE 0 END FROM patchbay.turns AS before
      WHERE before.tenant = turn.tenant AND before.stored AND before.answer_id = turn.behind
      ORDER BY before.seq DESC LIMIT 1
    ), 0) END, NULL, NULL, shared, plan_shared, kept_for, input_rows
  FROM turn
), shared AS (
  INSERT INTO patchbay.shared_texts AS old
  SELECT given.tenant, given.digest, clock_timestamp(), given.bytes, given.text FROM ${shared}
  ORDER BY given.tenant, given.digest
  ON CONFLICT (tenant, digest) DO UPDATE SET at = excluded.at
    WHERE old.at < excluded.at - interval '${SHARED_FRESH_SECONDS} seconds'
), parts AS (
  INSERT INTO patchbay.parts
  SELECT seq, given.place, given.tenant, given.id, given.bytes, given.json
  FROM ${parts} JOIN turn USING (n)
), seals AS (
  INSERT INTO patchbay.seals AS old
  SELECT given.tenant, given.seal, seq, given.upstream FROM ${seals} JOIN turn USING (n)
  ORDER BY given.tenant, given.seal
  ON CONFLICT (tenant, seal) DO UPDATE SET turn = excluded.turn, upstream = excluded.upstream
)
INSERT INTO patchbay.usage AS old (tenant, hour, model, ${counts.join(", ")})
SELECT tenant, hour, named, ${counts.map((name) => `sum(${name})`).join(", ")}
FROM (
  SELECT *, CASE
    WHEN EXISTS (${known} AND u.model = given.model) THEN model
    WHEN (SELECT count(*) FROM (${known}) AS models) < ${MODELS_KEPT} THEN model
    ELSE '${OTHER}'
  END AS named FROM ${usage}
) AS bounded
GROUP BY tenant, hour, named ORDER BY tenant, hour, named
ON CONFLICT (tenant, hour, model) DO UPDATE SET
  ${counts.map((name) => `${name} = old.${name} + excluded.${name}`).join(", ")}`;
}
