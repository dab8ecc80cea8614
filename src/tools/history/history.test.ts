import { describe, expect, it } from "vitest";
import { paired, planHistory } from "../../../test/support/conversations.ts";
import { ask, called, message, plain, result, withHistory } from "../../../test/support/turns.ts";
import { genericMessages } from "../../profiles/generic.ts";
import type { Item } from "../../turn/turn.ts";
import { planTools } from "../plan/plan.ts";

describe("ids", () => {
  const exactly = withHistory({ ids: { chars: "A-Za-z0-9", max: 9, exact: true } });

  it.each(["", "call_1", "toolu_01A09q90qw90lq917835lq9", "x".repeat(300), "日本", "abcdefgh"])(
    "of nine characters are made of %j",
    (id) => {
      const items = planHistory([called(id), result(id)], exactly).turn.items as Item[];
      expect(items[0]).toMatchObject({ id: expect.stringMatching(/^[A-Za-z0-9]{9}$/) });
      expect(items[1]).toMatchObject({ call: (items[0] as { id: string }).id });
    },
  );

  it("that are lawful are kept", () => {
    const items = [called("abcdefgh9"), result("abcdefgh9")];
    expect(planHistory(items, exactly).turn.items).toBe(items);
  });

  it("that are too long or foreign are bent, always the same way", () => {
    const profile = withHistory({ ids: { chars: "A-Za-z0-9_-", max: 40 } });
    const bent = () =>
      planHistory([called("functions.look:0"), called("y".repeat(99))], profile).turn.items;
    expect(bent()).toEqual(bent());
    for (const item of bent() as readonly unknown[] as { id: string }[])
      expect(item.id).toMatch(/^call_[a-z0-9]{16}$/);
  });
});

describe("what a chat client has in several messages", () => {
  const chat = (places: readonly number[]) => ({ dialect: "chat", places }) as const;
  const items = [message("assistant", "so"), called("a"), called("b"), result("a"), result("b")];

  it("is sent in one if the model said it in one go: results follow all of its calls", () => {
    for (const places of [
      [0, 0, 1, 2, 3],
      [0, 1, 1, 2, 3],
    ]) {
      const { identical, decisions } = planHistory(items, paired, chat(places));
      expect(identical).toBe(false);
      expect(decisions).toEqual([
        {
          path: "messages[1]",
          action: "repaired",
          reason: "the text and the calls of one answer are sent in one message",
        },
      ]);
    }
  });

  it("is left alone if it was said in turns, or to an upstream that does not care", () => {
    expect(planHistory(items, paired, chat([0, 0, 0, 1, 2])).identical).toBe(true);
    expect(planHistory(items, plain, chat([0, 1, 2, 3, 4])).identical).toBe(true);
    const turns = [called("a"), result("a"), called("b"), result("b")];
    expect(planHistory(turns, paired, chat([0, 1, 2, 3])).identical).toBe(true);
  });
});

describe("paths", () => {
  it("count as the client does", () => {
    const instructions: Item = { ...message("system", "be brief"), instructions: true };
    expect(planHistory([instructions, result("ghost")]).decisions).toMatchObject([
      { path: "input[0]" },
    ]);
    const chat = { dialect: "chat", places: [0, 1, 1, 2] } as const;
    const said = [message("user", "hi"), message("assistant", "so"), called("a"), result("ghost")];
    expect(planHistory(said, paired, chat).decisions).toMatchObject([
      { path: "messages[2]", action: "dropped" },
      { path: "messages[1]", action: "repaired" },
    ]);
  });
});

describe("the beginning of an answer", () => {
  const items = [message("user", "Count."), message("assistant", "One, two,")];
  const decided = (dialect: string, profile = plain) =>
    planTools(ask({ dialect, items }), profile).decisions;

  it("that a client of the Messages API gives is reported where the upstream may not go on", () => {
    const reason = "the upstream may write a new answer instead of continuing this text";
    expect(decided("messages")).toEqual([{ path: "messages[1]", action: "changed", reason }]);
  });

  it("is nobody's wish where the client's dialect knows no such thing, or the upstream's does", () => {
    expect(decided("chat")).toEqual([]);
    expect(decided("messages", genericMessages)).toEqual([]);
  });
});
