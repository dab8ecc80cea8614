import { expect, it } from "vitest";
import type { Fields } from "../turn/turn.ts";
import { page, readPageQuery } from "./page.ts";

const items: readonly Fields[] = ["a", "b", "c"].map((id) => ({ id }));
const same = (item: Fields): Fields => item;
const idsOf = (query: string): unknown => {
  const { data, has_more } = page(items, readPageQuery(query), same);
  return [(data as readonly Fields[]).map(({ id }) => id).join(""), has_more];
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
