import { afterAll, beforeAll, describe } from "vitest";
import {
  missing,
  postgresServer,
  type PostgresServer,
} from "../../../test/support/postgres-server.ts";
import { describeStore } from "../../../test/support/store-suite.ts";
import { DatabaseStore } from "../database-store.ts";
import { openPostgres } from "./database.ts";

if (missing !== undefined) console.warn(`The PostgreSQL store is not tested: it ${missing}.`);

describe.skipIf(missing !== undefined)("with a PostgreSQL server", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await postgresServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  describeStore("PostgreSQL", async (clock, retention) => {
    const url = await server.createDatabase();
    return new DatabaseStore(openPostgres(url, clock), { clock, retention, gatherMs: 0 });
  });
});
