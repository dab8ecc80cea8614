import { afterAll, beforeAll, describe } from "vitest";
import {
  missing,
  postgresServer,
  type PostgresServer,
} from "../../../test/support/postgres-server.ts";
import { describeConversations } from "../../../test/support/conversation-suite.ts";
import { describeStore, type OpenStore } from "../../../test/support/store-suite.ts";
import { DatabaseStore } from "../database-store.ts";
import { openPostgres } from "./database.ts";

describe.skipIf(missing !== undefined)(`with a PostgreSQL server${missing ?? ""}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await postgresServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const open: OpenStore = async (clock, retention) => {
    const url = await server.createDatabase();
    return new DatabaseStore(openPostgres(url, clock), { clock, retention, gatherMs: 0 });
  };
  describeStore("PostgreSQL", open);
  describeConversations("PostgreSQL", open);
});
