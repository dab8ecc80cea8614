import { expect, it } from "vitest";
import { newId } from "../host/platform/ids.ts";
import { groupOf, itemIds } from "./item-ids.ts";

it("makes ids that differ, and whose group can be told from each", () => {
  const { group, next } = itemIds(newId);
  const ids = Array.from({ length: 10_001 }, (_, at) => next(at % 2 === 0 ? "msg" : "rs"));
  expect(new Set(ids).size).toBe(ids.length);
  expect(new Set(ids.map(groupOf))).toEqual(new Set([group]));
  expect(itemIds(newId).group).not.toBe(group);
});

it("knows no group of an id that was made otherwise", () => {
  for (const id of ["", "msg_1", newId("msg"), `${newId("msg")}x`, "0000", "MSG_" + "a".repeat(24)])
    expect(groupOf(id)).toBeUndefined();
});
