import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { describeConversations } from "../../../test/support/conversation-suite.ts";
import { describeStore, type OpenStore } from "../../../test/support/store-suite.ts";
import { DatabaseStore } from "../database-store.ts";
import { openSqlite } from "./database.ts";

const folder = mkdtempSync(join(tmpdir(), "patchbay-store-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newPath = (): string => join(folder, `${++files}`, "store.db");

const open: OpenStore = (clock, retention) =>
  new DatabaseStore(openSqlite(newPath()), { clock, retention, gatherMs: 0 });
describeStore("SQLite", open);
describeConversations("SQLite", open);
