import { expect, it } from "vitest";
import { free } from "../../../test/support/store-suite.ts";
import { pageOf } from "../../history/memory-log.ts";
import type { Fields } from "../../turn/turn.ts";
import { pagePieces, readPageQuery } from "./page.ts";

const list = ["a", "b", "c"].map((id) => ({ id, json: JSON.stringify({ id }) }));
const idsOf = (text: string): unknown => {
  const query = readPageQuery(text);
  const page = pageOf(list, query, free);
  if (page.type === "missing") throw new Error(page.type);
  const body = JSON.parse([...pagePieces(page, query)].join("")) as Fields;
  const data = body.data as readonly Fields[];
  expect([body.first_id, body.last_id]).toEqual([data[0]?.id ?? null, data.at(-1)?.id ?? null]);
  return [data.map(({ id }) => id).join(""), body.has_more];
};

it("gives the newest first, or the oldest, from behind an item on", () => {
  expect(idsOf("")).toEqual(["cba", false]);
  expect(idsOf("limit=2")).toEqual(["cb", true]);
  expect(idsOf("limit=2&after=b")).toEqual(["a", false]);
  expect(idsOf("order=asc&after=a&limit=1")).toEqual(["b", true]);
  expect(idsOf("after=a")).toEqual(["", false]);
});

it.each([
  "limit=0",
  "limit=101",
  "limit=x",
  "limit=-1",
  "limit=1e1",
  "limit=",
  "order=up",
  "after=d",
])("refuses %s by name", (query) => {
  const [param] = query.split("=");
  expect(() => idsOf(query)).toThrow(`\`${param}\``);
});
