import { describe, expect, it } from "vitest";
import { upstreamName } from "../../turn/names.ts";
import type { Item } from "../../turn/turn.ts";
import { ask } from "../../../test/support/turns.ts";
import { Draft, type TracedItems, Notes } from "./repair.ts";

const call = (id: string): Item<ReturnType<typeof upstreamName>> => ({
  type: "call",
  id,
  kind: "function",
  name: upstreamName("f"),
  input: "{}",
});
const notes = new Notes(ask({}));
const history: TracedItems = { items: [call("a"), call("b"), call("c")], origins: [0, 1, 2] };

describe("a draft", () => {
  it("holds the very items where all are kept", () => {
    const draft = new Draft(history, notes);
    for (const place of [0, 1, 2]) draft.keep(place);
    expect(draft).toMatchObject(history);
    for (const [at, item] of draft.items.entries()) expect(item).toBe(history.items[at]);
  });

  it("remembers where its items come from once one changes", () => {
    const draft = new Draft({ items: history.items, origins: [4, 5, 9] }, notes);
    draft.keep(0);
    draft.add(call("new"), 1);
    draft.keep(2);
    expect(draft).toMatchObject({
      items: [call("a"), call("new"), call("c")],
      origins: [4, 5, 9],
    });
  });

  it("leaves out what is not kept, at the end too", () => {
    const draft = new Draft(history, notes);
    draft.keep(0);
    draft.keep(1);
    expect(draft).toMatchObject({ items: [call("a"), call("b")], origins: [0, 1] });
  });

  it("puts items in another order", () => {
    const draft = new Draft(history, notes);
    for (const place of [0, 2, 1]) draft.keep(place);
    expect(draft).toMatchObject({
      items: [call("a"), call("c"), call("b")],
      origins: [0, 2, 1],
    });
  });
});
