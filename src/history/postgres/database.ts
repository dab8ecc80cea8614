import type { Sql } from "postgres";
import type { Clock } from "../../turn/clock.ts";
import { superseded } from "../leases.ts";
import { AgeWatch } from "../age-watch.ts";
import type { Batch, Database } from "../database.ts";
import type { TurnRecord } from "../record.ts";
import { PostgresConnection } from "./connection.ts";
import {
  addConversationItems,
  createConversation,
  deleteConversationItem,
  findConversation,
  findConversationItem,
  listConversations,
  secret,
  updateConversation,
} from "./conversations.ts";
import { deleteConversation, deleteResponse, sweep } from "./dropping.ts";
import {
  askToStop,
  checkLeases,
  isLeaseHeld,
  releaseLease,
  renewLease,
  takeLease,
} from "./leases.ts";
import { isWrittenAlready } from "./errors.ts";
import {
  findBefore,
  findChainItem,
  findItems,
  findPlan,
  findResponse,
  findSealOwners,
  read,
  segmentTurns,
  sizes,
  sumUsage,
} from "./reading.ts";
import { spend } from "./rate-limits.ts";
import { addSegment, longTails } from "./segments.ts";
import { writeBatch } from "./writing.ts";

/** A PostgreSQL database, for any number of replicas. */
export function openPostgres(url: string, clock: Clock): Database {
  const connection = new PostgresConnection(url, clock);
  const watch = new AgeWatch();
  const asking =
    <Query, Result>(run: (sql: Sql, query: Query) => Promise<Result>) =>
    (query: Query): Promise<Result> =>
      connection.ask((sql) => run(sql, query));
  return {
    write: (batch) =>
      connection.ask(async (sql) => {
        try {
          await writeWithConversations(sql, batch);
        } catch (error) {
          if (!isWrittenAlready(error)) throw error;
        }
        await joinLongTails(sql, batch);
        return true;
      }),
    findItems: asking(findItems),
    findPlan: asking(findPlan),
    findSealOwners: asking(findSealOwners),
    findResponse: asking(findResponse),
    findBefore: asking(findBefore),
    findChainItem: asking(findChainItem),
    segmentTurns: asking(segmentTurns),
    sizes: asking(sizes),
    read: asking(read),
    deleteResponse: asking(deleteResponse),
    spend: asking(spend),
    sumUsage: asking(sumUsage),
    sweep: asking((sql, bounds) => sweep(sql, bounds, watch)),
    createConversation: asking(createConversation),
    addConversationItems: asking(addConversationItems),
    listConversations: asking(listConversations),
    findConversation: asking(findConversation),
    updateConversation: asking(updateConversation),
    deleteConversation: asking(deleteConversation),
    findConversationItem: asking(findConversationItem),
    deleteConversationItem: asking(deleteConversationItem),
    takeLease: asking(takeLease),
    renewLease: asking(renewLease),
    isLeaseHeld: asking(isLeaseHeld),
    askToStop: asking(askToStop),
    releaseLease: asking(releaseLease),
    secret: asking(secret),
    close: () => connection.close(),
  };
}

/** One statement, or one transaction where conversations take in turns or leases are held. */
async function writeWithConversations(sql: Sql, batch: Batch): Promise<void> {
  const inConversations = batch.turns.filter(({ conversation }) => conversation !== null);
  const isLeased = batch.turns.some(({ lease }) => lease !== null);
  if (inConversations.length === 0 && !isLeased) return writeBatch(sql, batch);
  await sql.begin(async (transaction) => {
    const isHeld = await checkLeases(transaction, batch.turns);
    const gone = new Set<TurnRecord>();
    for (const turn of inConversations) {
      const { tenant, conversation, keptFor } = turn;
      if (conversation === null) continue;
      const isKept = await addConversationItems(transaction, { tenant, ...conversation });
      if (isKept && !isHeld(tenant, conversation)) throw superseded();
      if (!isKept && keptFor !== null) gone.add(turn);
    }
    const turns = batch.turns.map((turn) => (gone.has(turn) ? withoutRows(turn) : turn));
    await writeBatch(transaction, { ...batch, turns });
  });
}

/** A turn that leaves nothing but its usage. */
const withoutRows = (turn: TurnRecord): TurnRecord => ({
  ...turn,
  items: [],
  plan: null,
  planShared: null,
  seals: [],
});

/** What fails here is done with a later turn of the same chain: the turns themselves are written. */
async function joinLongTails(sql: Sql, { turns }: Batch): Promise<void> {
  try {
    for (const { tenant, seq } of await longTails(sql, turns)) await addSegment(sql, tenant, seq);
  } catch {
    // Whoever writes or reads next says what is wrong with the database.
  }
}
