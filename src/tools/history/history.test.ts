import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ask,
  builtin,
  called,
  custom,
  fn,
  message,
  namespace,
  plain,
  result,
  said,
  whole,
  withHistory,
  withTools,
} from "../../../test/turns.ts";
import type { HistoryRule, Profile } from "../../turn/profile.ts";
import type { Item, Part, Turn } from "../../turn/turn.ts";
import { planTools } from "../plan.ts";

const paired = withHistory({ paired: true });
const tell = (items: readonly Item[], profile: Profile = paired, more: Partial<Turn> = {}) =>
  planTools(ask({ items, tools: [fn("look")], ...more }), profile);
/** A conversation in short: what each item is, by id or text. */
const short = (items: readonly unknown[]): string[] =>
  (items as Item[]).map((item) => {
    if (item.type === "call") return `call ${item.id}`;
    if (item.type === "result") return `result ${item.call}`;
    return item.type === "message" ? `${item.role} ${textOf(item.parts)}` : item.type;
  });
const textOf = (parts: readonly Part[]): string =>
  parts.map((part) => (part.type === "text" ? part.text : part.type)).join("|");
const thought: Item = { type: "reasoning", summary: [], content: ["hm"] };
const image: Part = { type: "image", url: "data:image/png;base64,AA" };

/** What a strict upstream would refuse. */
function flaws(items: readonly unknown[]): string[] {
  const found: string[] = [];
  const seen = new Set<string>();
  let open: string[] = [];
  for (const item of items as Item[]) {
    if (item.type === "call") {
      if (seen.has(item.id)) found.push(`${item.id} twice`);
      seen.add(item.id);
      open.push(item.id);
    } else if (item.type === "result") {
      if (!open.includes(item.call)) found.push(`result of ${item.call} without a call`);
      open = open.filter((waiting) => waiting !== item.call);
    } else if (open.length > 0) found.push(`${item.type} before the result of ${open.join()}`);
  }
  return [...found, ...open];
}

describe("calls and results", () => {
  it("that are in order stay as they are", () => {
    const items = [
      message("user", "hi"),
      thought,
      called("a"),
      called("b"),
      result("a"),
      result("b"),
      message("assistant", "so"),
      called("c"),
      result("c"),
    ];
    const plan = tell(items);
    expect(plan.turn.items).toBe(items);
    expect(plan.decisions).toEqual([]);
  });

  it("are paired where a call has no result", () => {
    const { turn, decisions } = tell([called("a"), message("user", "never mind")]);
    expect(turn.items).toEqual([
      expect.objectContaining({ type: "call", id: "a" }),
      {
        type: "result",
        call: "a",
        kind: "function",
        parts: said("There is no result: the call was broken off."),
      },
      message("user", "never mind"),
    ]);
    expect(decisions).toEqual([
      {
        path: "input[0]",
        action: "repaired",
        reason: "the call has no result; the model is told so",
      },
    ]);
  });

  it("are paired where a result has no call, or comes again", () => {
    const { turn, decisions } = tell([
      result("ghost"),
      called("a"),
      result("a", "1"),
      result("a", "2"),
    ]);
    expect(turn.items).toEqual([called("a"), result("a", "1")]);
    expect(decisions).toEqual([
      { path: "input[0]", action: "dropped", reason: "no call has this id" },
      { path: "input[3]", action: "dropped", reason: "the call has been answered before" },
    ]);
  });

  it("are put in one order", () => {
    const { turn, decisions } = tell([called("a"), called("b"), result("b"), result("a")]);
    expect(short(turn.items)).toEqual(["call a", "call b", "result a", "result b"]);
    expect(decisions).toMatchObject([{ path: "input[3]", action: "repaired" }]);
  });

  it("are freed of what stands between them", () => {
    const { turn } = tell([
      called("a"),
      message("assistant", "one more thing"),
      thought,
      called("b"),
      message("user", "hurry"),
      result("a"),
      message("developer", "note"),
      result("b"),
      message("user", "well?"),
    ]);
    expect(short(turn.items)).toEqual([
      "assistant one more thing",
      "reasoning",
      "call a",
      "call b",
      "result a",
      "result b",
      "user hurry",
      "developer note",
      "user well?",
    ]);
  });

  it("that follow each other one by one stay so", () => {
    const items = [called("a"), result("a"), called("b"), result("b")];
    expect(tell([...items, called("c")]).turn.items.slice(0, 4)).toEqual(items);
  });

  it("are told one by one to an upstream that makes no calls at once", () => {
    const profile = withHistory({ paired: true }, withTools({ parallel: false }));
    const { turn, decisions } = tell([called("a"), called("b"), result("a"), result("b")], profile);
    expect(short(turn.items)).toEqual(["call a", "result a", "call b", "result b"]);
    expect(decisions).toMatchObject([{ action: "reshaped" }]);
  });

  it("whose ids are used again are told apart", () => {
    const { turn } = tell([
      called("call_0"),
      result("call_0", "1"),
      called("call_0"),
      result("call_0", "2"),
      called(""),
      result("", "3"),
    ]);
    const items = turn.items as Item[];
    const ids = items.flatMap((item) => (item.type === "call" ? item.id : []));
    expect(new Set(ids).size).toBe(3);
    expect(ids[0]).toBe("call_0");
    for (let at = 0; at < 6; at += 2) expect(items[at + 1]).toMatchObject({ call: ids[at / 2] });
  });

  it("come out lawful and the same each time, whatever went in", () => {
    const id = fc.constantFrom("a", "b", "c", "");
    const item: fc.Arbitrary<Item> = fc.oneof(
      id.map((one) => called(one)),
      id.map((one) => result(one)),
      fc.constantFrom<Item>(message("user", "u"), message("assistant", "m"), thought),
    );
    fc.assert(
      fc.property(fc.array(item, { maxLength: 14 }), (items) => {
        const { turn } = tell(items);
        expect(tell(structuredClone(items)).turn.items).toEqual(turn.items);
        expect(flaws(turn.items)).toEqual([]);
        const count = (type: string, among: readonly { type: string }[]): number =>
          among.filter((one) => one.type === type).length;
        for (const type of ["call", "message", "reasoning"])
          expect(count(type, turn.items)).toBe(count(type, items));
      }),
    );
  });

  it("are left alone where the upstream does not ask", () => {
    const items = [result("ghost"), called("a")];
    expect(tell(items, plain).turn.items).toBe(items);
  });
});

describe("ids", () => {
  const exactly = withHistory({ ids: { chars: "A-Za-z0-9", max: 9, exact: true } });

  it.each(["", "call_1", "toolu_01A09q90qw90lq917835lq9", "x".repeat(300), "日本", "abcdefgh"])(
    "of nine characters are made of %j",
    (id) => {
      const items = tell([called(id), result(id)], exactly).turn.items as Item[];
      expect(items[0]).toMatchObject({ id: expect.stringMatching(/^[A-Za-z0-9]{9}$/) });
      expect(items[1]).toMatchObject({ call: (items[0] as { id: string }).id });
    },
  );

  it("that are lawful are kept", () => {
    const items = [called("abcdefgh9"), result("abcdefgh9")];
    expect(tell(items, exactly).turn.items).toBe(items);
  });

  it("that are too long or foreign are bent, always the same way", () => {
    const profile = withHistory({ ids: { chars: "A-Za-z0-9_-", max: 40 } });
    const bent = () =>
      tell([called("functions.look:0"), called("y".repeat(99))], profile).turn.items;
    expect(bent()).toEqual(bent());
    for (const item of bent() as readonly unknown[] as { id: string }[])
      expect(item.id).toMatch(/^call_[a-z0-9]{16}$/);
  });
});

describe("past calls", () => {
  it("go by the names and forms of today", () => {
    const { turn } = tell(
      [
        called("a", "files.read"),
        called("b", "patch", { kind: "custom", input: "x" }),
        result("a"),
        { ...result("b"), kind: "custom" },
        called("c", "status", { namespace: "git" }),
      ],
      plain,
      { tools: [fn("files.read"), custom("patch"), namespace("git", [fn("status")])] },
    );
    expect(turn.items).toMatchObject([
      { name: "files_read" },
      { kind: "function", name: "patch", input: '{"input":"x"}' },
      { kind: "function", call: "a" },
      { kind: "function", call: "b" },
      { name: "git__status", namespace: undefined },
    ]);
  });

  it("of a built-in tool are none of a tool that only has its name", () => {
    const items = [called("a", "shell", { kind: "shell", input: '{"commands":["ls"]}' })];
    const tools = [custom("shell")];
    expect(planTools(ask({ items, tools }), whole).turn.items).toEqual(items);
    expect(planTools(ask({ items, tools }), plain).turn.items).toMatchObject([
      { kind: "function", name: "shell_2", input: '{"commands":["ls"]}' },
    ]);
    const functions = [called("a", "shell", { input: '{"command":["ls"]}' })];
    const shell = { items: functions, tools: [builtin("shell")] };
    expect(planTools(ask(shell), whole).turn.items).toEqual(functions);
    expect(planTools(ask({ ...shell, dialect: "chat" }), whole).turn.items).toMatchObject([
      { kind: "shell" },
    ]);
  });

  it("keep the kind that their tool was of when it was called", () => {
    const items = [
      called("a", "f.x", { kind: "custom", input: "text\n" }),
      called("b", "c.x", { input: '{"input":"x"}' }),
    ];
    const tools = [fn("f.x"), custom("c.x")];
    const narrow = withTools({ kinds: whole.tools.kinds });
    expect(planTools(ask({ items, tools }), narrow).turn.items).toMatchObject([
      { kind: "custom", name: "f_x", input: "text\n" },
      { kind: "function", name: "c_x", input: '{"input":"x"}' },
    ]);
    expect(planTools(ask({ items, tools }), plain).turn.items).toMatchObject([
      { kind: "function", name: "f_x", input: '{"input":"text\\n"}' },
      { kind: "function", name: "c_x", input: '{"input":"x"}' },
    ]);
  });

  it("of tools that are no longer declared get lawful names that nobody else has", () => {
    const { turn, decisions } = tell(
      [
        called("a", "a.b"),
        called("b", "old patch", { kind: "custom", input: "x" }),
        called("c", "status", { namespace: "git" }),
        called("d", "a_b"),
      ],
      plain,
      { tools: [fn("a.b!"), fn("a_b")] },
    );
    expect(turn.items).toMatchObject([
      { name: "a_b_2" },
      { kind: "function", name: "old_patch", input: '{"input":"x"}' },
      { name: "git__status", namespace: undefined },
      { name: "a_b" },
    ]);
    expect(decisions.filter(({ path }) => path.startsWith("input"))).toHaveLength(3);
  });

  it("of a shell are answered by the id of the call, or of the item that made it", () => {
    const call = called("c1", "local_shell", { kind: "local_shell", itemId: "lsh_1" });
    for (const id of ["c1", "lsh_1"]) {
      const { turn } = tell([call, result(id, "ok", { kind: "local_shell" })], paired);
      expect(turn.items).toMatchObject([{ id: "c1" }, { call: "c1", kind: "function" }]);
      expect(turn.items).toHaveLength(2);
    }
  });

  it("do not make a cached plan remember them", () => {
    const tools = [fn("x.y")];
    tell([called("a", "x_y")], plain, { tools });
    expect(tell([called("a", "x/y")], plain, { tools }).turn.items).toMatchObject([
      { name: "x_y_2" },
    ]);
  });
});

describe("items of another dialect", () => {
  const opaque: Item = {
    type: "opaque",
    dialect: "responses",
    raw: { type: "web_search_call", id: "ws" },
  };

  it("are left out, and that is said", () => {
    const { turn, decisions } = tell([opaque, message("user", "hi")]);
    expect(turn.items).toEqual([message("user", "hi")]);
    expect(decisions).toEqual([
      {
        path: "input[0]",
        action: "dropped",
        reason: "web_search_call items are unknown to the upstream",
      },
    ]);
  });

  it("are kept for their own", () => {
    const items = [opaque];
    expect(tell(items, { ...plain, dialect: "responses" }).turn.items).toBe(items);
  });
});

describe("messages", () => {
  const under = (history: HistoryRule, ...items: Item[]) => tell(items, withHistory(history));

  it("go under roles that the upstream knows, which is said once", () => {
    const { turn, decisions } = under(
      { roles: ["system", "user", "assistant"] },
      message("developer", "a"),
      message("user", "b"),
      message("developer", "c"),
    );
    expect(short(turn.items)).toEqual(["system a", "user b", "system c"]);
    expect(decisions).toEqual([
      {
        path: "input[0]",
        action: "reshaped",
        reason: "developer messages are sent as system messages (2 times)",
      },
    ]);
  });

  it("of the system come first and once, where the upstream wants that", () => {
    const { turn } = under(
      { roles: ["system", "user", "assistant"], lateSystem: false },
      message("system", "a"),
      message("developer", "b"),
      message("user", "c"),
      message("developer", "d"),
    );
    expect(short(turn.items)).toEqual(["system a|\n\n|b", "user c", "user d"]);
  });

  it("do not come empty where the upstream takes nothing empty", () => {
    const { turn, decisions } = under(
      { empty: false },
      message("user", ""),
      { ...message("user", " "), parts: [...said(" "), ...said("x")] },
      called("a"),
      result("a", ""),
    );
    expect(short(turn.items)).toEqual(["user x", "call a", "result a"]);
    expect(turn.items.at(-1)).toMatchObject({ parts: said("(no output)") });
    expect(decisions).toMatchObject([{ path: "input[0]", action: "repaired" }]);
  });

  it("show images of results behind the results, where those can only be text", () => {
    const { turn, decisions } = under(
      { paired: true, resultMedia: [] },
      called("a"),
      called("b"),
      { ...result("a"), parts: [...said("seen"), image] },
      result("b"),
    );
    expect(turn.items.slice(2)).toEqual([
      {
        ...result("a"),
        parts: [...said("seen"), ...said("(The image follows in the next message.)")],
      },
      result("b"),
      { type: "message", role: "user", parts: [...said("From the result of call a:"), image] },
    ]);
    expect(decisions).toMatchObject([{ path: "input[2]", action: "reshaped" }]);
  });

  it("say so where there was something that the upstream cannot be shown", () => {
    const { turn, decisions } = under(
      { media: [], resultMedia: [] },
      { ...message("user", "look"), parts: [image] },
    );
    expect(turn.items).toMatchObject([{ parts: said("(Here was image that cannot be shown.)") }]);
    expect(decisions).toEqual([
      { path: "input[0]", action: "dropped", reason: "the upstream takes no image here" },
    ]);
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
      const { identical, decisions } = tell(items, paired, chat(places));
      expect(identical).toBe(false);
      expect(decisions).toEqual([
        {
          path: "messages[1]",
          action: "repaired",
          reason: "what the model said and called in one go is sent in one message",
        },
      ]);
    }
  });

  it("is left alone if it was said in turns, or to an upstream that does not care", () => {
    expect(tell(items, paired, chat([0, 0, 0, 1, 2])).identical).toBe(true);
    expect(tell(items, plain, chat([0, 1, 2, 3, 4])).identical).toBe(true);
    const turns = [called("a"), result("a"), called("b"), result("b")];
    expect(tell(turns, paired, chat([0, 1, 2, 3])).identical).toBe(true);
  });
});

describe("what a provider called itself", () => {
  const ran: Item = {
    type: "opaque",
    dialect: "responses",
    raw: {
      type: "mcp_call",
      id: "mcp_1",
      server_label: "docs",
      name: "search",
      arguments: '{"q":1}',
      output: "found",
    },
  };

  it("is told to another as a call and its result", () => {
    const { turn, decisions } = tell([message("user", "hi"), ran, message("assistant", "so")]);
    expect(turn.items.slice(1, 3)).toEqual([
      expect.objectContaining({
        type: "call",
        id: "mcp_1",
        name: "docs__search",
        input: '{"q":1}',
      }),
      { type: "result", call: "mcp_1", kind: "function", parts: said("found") },
    ]);
    expect(decisions).toEqual([
      {
        path: "input[1]",
        action: "reshaped",
        reason: "what the provider called itself is told as a call of a function, with its result",
      },
    ]);
    expect(turn.places).toEqual([0, 1, 1, 2]);
  });

  it("stays as it is where it came from, and is left out without a result", () => {
    const items = [ran];
    expect(tell(items, whole).turn.items).toBe(items);
    const failed: Item = { ...ran, raw: { ...ran.raw, output: null, error: { code: 5 } } };
    expect(tell([failed])).toMatchObject({
      turn: { items: [] },
      decisions: [{ path: "input[0]", action: "dropped" }],
    });
  });
});

describe("system messages", () => {
  it("are sent as one only as far as they are text", () => {
    const seen: Item = { ...message("system", "see"), parts: [image] };
    const { turn } = tell(
      [message("system", "a"), message("system", "b"), seen, message("system", "c")],
      withHistory({ lateSystem: false }),
    );
    expect(short(turn.items)).toEqual(["system a|\n\n|b", "user image", "user c"]);
  });
});

describe("paths", () => {
  it("count as the client does", () => {
    const instructions: Item = { ...message("system", "be brief"), instructions: true };
    expect(tell([instructions, result("ghost")]).decisions).toMatchObject([{ path: "input[0]" }]);
    const chat = { dialect: "chat", places: [0, 1, 1, 2] } as const;
    const said = [message("user", "hi"), message("assistant", "so"), called("a"), result("ghost")];
    expect(tell(said, paired, chat).decisions).toMatchObject([
      { path: "messages[2]", action: "dropped" },
      { path: "messages[1]", action: "repaired" },
    ]);
  });
});
