import { describe, expect, it } from "vitest";
import { paired, planHistory } from "../../../test/support/conversations.ts";
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
  withTools,
} from "../../../test/support/turns.ts";
import type { Item } from "../../turn/turn.ts";
import { planTools } from "../plan/plan.ts";

describe("past calls", () => {
  it("go by the names and forms of today", () => {
    const { turn } = planHistory(
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
    const { turn, decisions } = planHistory(
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
      const { turn } = planHistory([call, result(id, "ok", { kind: "local_shell" })], paired);
      expect(turn.items).toMatchObject([{ id: "c1" }, { call: "c1", kind: "function" }]);
      expect(turn.items).toHaveLength(2);
    }
  });

  it("do not make a cached plan remember them", () => {
    const tools = [fn("x.y")];
    planHistory([called("a", "x_y")], plain, { tools });
    expect(planHistory([called("a", "x/y")], plain, { tools }).turn.items).toMatchObject([
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
    const { turn, decisions } = planHistory([opaque, message("user", "hi")]);
    expect(turn.items).toEqual([message("user", "hi")]);
    expect(decisions).toEqual([
      {
        path: "input[0]",
        action: "dropped",
        reason: "the upstream does not support web_search_call items",
      },
    ]);
  });

  it("are kept for their own", () => {
    const items = [opaque];
    expect(planHistory(items, { ...plain, dialect: "responses" }).turn.items).toBe(items);
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
    const { turn, decisions } = planHistory([
      message("user", "hi"),
      ran,
      message("assistant", "so"),
    ]);
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
        reason:
          "the call and result of a tool that the provider ran are sent as those of a function",
      },
    ]);
    expect(turn.places).toEqual([0, 1, 1, 2]);
  });

  it("stays as it is where it came from, and is left out without a result", () => {
    const items = [ran];
    expect(planHistory(items, whole).turn.items).toBe(items);
    const failed: Item = { ...ran, raw: { ...ran.raw, output: null, error: { code: 5 } } };
    expect(planHistory([failed])).toMatchObject({
      turn: { items: [] },
      decisions: [{ path: "input[0]", action: "dropped" }],
    });
  });
});
