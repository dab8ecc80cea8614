import type { Sql } from "postgres";
import type { Clock } from "../../turn/clock.ts";
import type { Batch, Database } from "../database.ts";
import { PostgresConnection } from "./connection.ts";
import {
  addConversationItems,
  createConversation,
  deleteConversation,
  deleteConversationItem,
  findConversation,
  leaseConversation,
  listConversations,
  loadConversation,
  releaseConversation,
  requireLease,
  secret,
  updateConversation,
} from "./conversations.ts";
import { deleteResponse, sweep } from "./dropping.ts";
import { isWrittenAlready } from "./errors.ts";
import {
  findItems,
  findPlan,
  findResponse,
  findSealOwners,
  loadChain,
  sumUsage,
} from "./reading.ts";
import { spend } from "./rate-limits.ts";
import { addSegment, longTails } from "./segments.ts";
import { writeBatch } from "./writing.ts";

/** A PostgreSQL database, for any number of replicas. */
export function openPostgres(url: string, clock: Clock): Database {
  const connection = new PostgresConnection(url, clock);
  const shifted =
    <Query extends { readonly since: number }, Result>(
      run: (sql: Sql, query: Query) => Promise<Result>,
    ) =>
    (query: Query): Promise<Result> =>
      connection.ask(({ sql, offset }) => run(sql, shift(query, offset)));
  return {
    write: (batch) =>
      connection.ask(async ({ sql, offset }) => {
        try {
          await writeWithConversations(sql, batch, offset);
        } catch (error) {
          if (!isWrittenAlready(error)) throw error;
        }
        await joinLongTails(sql, batch);
        return true;
      }),
    findItems: (query) =>
      connection.ask(async ({ sql, offset }) => {
        const found = await findItems(sql, shift(query, offset));
        if (found.type !== "found") return found;
        const items = [...found.items].map(([id, item]) => [id, local(item, offset)] as const);
        return { type: "found", items: new Map(items) };
      }),
    findPlan: (query) => connection.ask(({ sql, offset }) => findPlan(sql, shift(query, offset))),
    findSealOwners: (query) => connection.ask(({ sql }) => findSealOwners(sql, query)),
    findResponse: (query) =>
      connection.ask(async ({ sql, offset }) =>
        local(await findResponse(sql, shift(query, offset)), offset),
      ),
    loadChain: (query) =>
      connection.ask(async ({ sql, offset }) => {
        const found = await loadChain(sql, shift(query, offset));
        if (found.type !== "found") return found;
        return { ...found, last: local(found.last, offset) };
      }),
    deleteResponse: (query) =>
      connection.ask(({ sql, offset }) => deleteResponse(sql, shift(query, offset))),
    spend: (spent) => connection.ask(({ sql }) => spend(sql, spent)),
    sumUsage: (query) => connection.ask(({ sql }) => sumUsage(sql, query)),
    sweep: (bounds) => connection.ask(({ sql, offset }) => sweep(sql, shift(bounds, offset))),
    createConversation: (conversation) =>
      connection.ask(({ sql, offset }) => createConversation(sql, conversation, offset)),
    addConversationItems: (query) =>
      connection.ask(({ sql, offset }) => addConversationItems(sql, shift(query, offset), offset)),
    listConversations: shifted(listConversations),
    findConversation: shifted(findConversation),
    updateConversation: shifted(updateConversation),
    deleteConversation: shifted(deleteConversation),
    loadConversation: shifted(loadConversation),
    deleteConversationItem: shifted(deleteConversationItem),
    leaseConversation: shifted(leaseConversation),
    releaseConversation: (query) => connection.ask(({ sql }) => releaseConversation(sql, query)),
    secret: (query) => connection.ask(({ sql }) => secret(sql, query)),
    close: () => connection.close(),
  };
}

/** One statement, or one transaction where conversations take in turns. */
async function writeWithConversations(sql: Sql, batch: Batch, offset: number): Promise<void> {
  const inConversations = batch.turns.filter(({ conversation }) => conversation !== null);
  if (inConversations.length === 0) return writeBatch(sql, batch, offset);
  await sql.begin(async (transaction) => {
    await writeBatch(transaction, batch, offset);
    for (const { tenant, at, conversation } of inConversations) {
      if (conversation === null) continue;
      await requireLease(transaction, tenant, conversation);
      await addConversationItems(transaction, { tenant, since: 0, at, ...conversation }, offset);
    }
  });
}

/** What fails here is done with a later turn of the same chain: the turns themselves are written. */
async function joinLongTails(sql: Sql, { turns }: Batch): Promise<void> {
  try {
    for (const { tenant, seq } of await longTails(sql, turns)) await addSegment(sql, tenant, seq);
  } catch {
    // Whoever writes or reads next says what is wrong with the database.
  }
}

/** The same by the clock of the database. */
const shift = <Query extends { readonly since: number }>(query: Query, offset: number): Query => ({
  ...query,
  since: Math.floor(query.since + offset),
});

/** A response with its time by the clock of this process. */
const local = <Found extends { readonly at: number } | undefined>(
  found: Found,
  offset: number,
): Found => (found === undefined ? found : { ...found, at: found.at - offset });
