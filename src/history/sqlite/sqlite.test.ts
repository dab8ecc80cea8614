import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, it } from "vitest";
import { describeConversations } from "../../../test/support/conversation-suite.ts";
import { ageSqlite } from "../../../test/support/stored-ages.ts";
import { stillClock } from "../../../test/support/still-clock.ts";
import {
  answer,
  describeStore,
  free,
  item,
  type Age,
  type OpenStore,
} from "../../../test/support/store-suite.ts";
import { newId } from "../../host/platform/ids.ts";
import { itemIds } from "../../turn/item-ids.ts";
import { DatabaseStore } from "../database-store.ts";
import type { Store } from "../store.ts";
import { openSqlite } from "./database.ts";

const folder = mkdtempSync(join(tmpdir(), "patchbay-store-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newPath = (): string => join(folder, `${++files}`, "store.db");

const paths = new WeakMap<Store, string>();
const open: OpenStore = (clock, retention) => {
  const path = newPath();
  const store = new DatabaseStore(openSqlite(path), { clock, retention, gatherMs: 0 });
  paths.set(store, path);
  return store;
};
const age: Age = (store, _, ms) => ageSqlite(paths.get(store) ?? "", ms);
describeStore("SQLite", open, age);
describeConversations("SQLite", open, age);

it("reads what was written when all items of a group were one row", async () => {
  const path = newPath();
  const opened = () => new DatabaseStore(openSqlite(path), { clock: stillClock(), retention });
  const retention = { maxBytes: 1e9, maxAgeMs: 1e9 };
  const store = opened();
  const { group, next } = itemIds(newId);
  const made = [1, 2, 3].map((at) => Object.assign(item(next("msg"), `${at}`), { group }));
  const input = [item("first"), ...made, item("last")];
  const plain = input.map(({ id, json }) => ({ id, json }));
  await store.saveTurn(answer("a", { response: { input, json: "{}" } }));
  await store.close();
  const database = new DatabaseSync(path);
  database.prepare("UPDATE parts SET id = ? WHERE substr(id, 1, 1) = '~'").run(`~${group}`);
  database.exec("UPDATE turns SET input_rows = NULL");
  database.close();
  const later = opened();
  const page = { limit: 9, order: "asc", after: made[0]?.id } as const;
  const listed = await later.listInput("ann", "a", page, free);
  expect(listed).toEqual({ type: "found", items: plain.slice(2), isWhole: true });
  expect((await later.findResponse("ann", "a", free))?.items).toEqual([item("a-out")]);
  const ids = made.map(({ id }) => id);
  const found = await later.findItems("ann", ids, 1e6, free);
  expect(found.type === "found" && [...found.items.keys()]).toEqual(ids);
  await later.close();
});
