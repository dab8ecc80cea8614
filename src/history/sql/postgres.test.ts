import { describe } from "vitest";
import { missing, newDatabase } from "../../../test/support/postgres-server.ts";
import { describeConversations } from "../../../test/support/conversation-suite.ts";
import { agePostgres } from "../../../test/support/stored-ages.ts";
import { describeStore, type Age, type OpenStore } from "../../../test/support/store-suite.ts";
import { SqlLog } from "../sql-log.ts";
import type { Log } from "../log.ts";
import { openPostgres } from "./postgres.ts";

describe.skipIf(missing !== undefined)(`with a PostgreSQL server${missing ?? ""}`, () => {
  const urls = new WeakMap<Log, string>();
  const open: OpenStore = async (clock, retention) => {
    const url = await newDatabase();
    const store = new SqlLog(openPostgres(url, clock), { clock, retention, gatherMs: 0 });
    urls.set(store, url);
    return store;
  };
  const age: Age = (store, _, ms) => agePostgres(urls.get(store) ?? "", ms);
  describeStore("PostgreSQL", open, age);
  describeConversations("PostgreSQL", open, age);
});
