import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ask,
  builtin,
  called,
  calling,
  custom,
  fn,
  message,
  namespace,
  namesOf,
  plain,
  restored,
  whole,
  withTools,
} from "../../../test/support/turns.ts";
import { clientName } from "../../turn/names.ts";
import type { DialectName, JsonSchema, Tool } from "../../turn/turn.ts";
import { planTools, summary } from "./plan.ts";

describe("planTools", () => {
  it("leaves a request alone that needs nothing", () => {
    const turn = ask({ tools: [fn("add")], items: [message("user", "hi")] });
    const plan = planTools(turn, plain);
    expect(plan.turn).toBe(turn);
    expect(plan.identical).toBe(true);
    expect(plan.decisions).toEqual([]);
    expect(summary(plan)).toBe("native=1 degraded=0 deferred=0 ignored=0");
  });

  it("says of every tool what becomes of it, and why", () => {
    const grammar = { type: "grammar", syntax: "lark", definition: "start: x" };
    const plan = planTools(
      ask({
        tools: [
          fn("files.read"),
          custom("patch", grammar),
          namespace("git", [fn("status")]),
          builtin("web_search_preview"),
          builtin("hologram"),
        ],
      }),
      plain,
    );
    expect(plan.verdicts).toEqual([
      {
        path: "tools[0]",
        kind: "function",
        name: "files.read",
        verdict: "native",
        upstreamName: "files_read",
        reason: "the upstream accepts it",
      },
      {
        path: "tools[1]",
        kind: "custom",
        name: "patch",
        verdict: "degraded",
        upstreamName: "patch",
        reason:
          "the upstream has no tool of this kind, so a function replaces it; its grammar is described but not enforced",
      },
      {
        path: "tools[2].tools[0]",
        kind: "function",
        namespace: "git",
        name: "status",
        verdict: "degraded",
        upstreamName: "git__status",
        reason: "offered outside its namespace `git`; its calls get the namespace back",
      },
      {
        path: "tools[3]",
        kind: "web_search_preview",
        name: "web_search_preview",
        verdict: "ignored",
        reason: "the plain profile has no web_search_preview tools",
      },
      {
        path: "tools[4]",
        kind: "hologram",
        name: "hologram",
        verdict: "ignored",
        reason: "hologram is an unknown kind, and the plain profile does not support it",
      },
    ]);
    expect(summary(plan)).toBe("native=1 degraded=2 deferred=0 ignored=2");
    expect(plan.decisions.map(({ path, action }) => `${path} ${action}`)).toEqual([
      "tools[0] renamed",
      "tools[1] reshaped",
      "tools[1] changed",
      "tools[2].tools[0] reshaped",
      "tools[3] dropped",
      "tools[4] dropped",
    ]);
  });

  it("gives calls back as what the client declared, byte for byte", () => {
    const tools: Tool[] = [
      fn("files.read"),
      custom("patch"),
      builtin("local_shell"),
      builtin("shell"),
      builtin("apply_patch"),
      builtin("tool_search", { execution: "client" }),
      namespace("mcp__git", [fn("status"), custom("commit")]),
    ];
    const made = [
      called("a", "files.read", { input: '{ "path":"ü" }' }),
      called("b", "patch", { kind: "custom", input: '*** "quoted"\n\\u' }),
      called("c", "local_shell", {
        kind: "local_shell",
        input: '{"type":"exec","command":["ls"],"env":{}}',
      }),
      called("d", "shell", { kind: "shell", input: '{"commands":["ls"],"timeout_ms":5}' }),
      called("e", "apply_patch", {
        kind: "apply_patch",
        input: '{"type":"delete_file","path":"x"}',
      }),
      called("f", "tool_search", { kind: "tool_search", input: '{"query":"git","limit":3}' }),
      called("g", "status", { namespace: "mcp__git", input: "{}" }),
      called("h", "commit", { kind: "custom", namespace: "mcp__git", input: "text" }),
    ];
    const plan = planTools(ask({ tools, items: made }), plain);
    const told = plan.turn.items.filter((item) => item.type === "call");
    const answer = told.flatMap(({ name, kind, input }, call) =>
      calling(name, [input], { kind, call, id: `new_${call}` }),
    );
    const { calls, reports } = restored(plan, answer);
    expect(reports).toEqual([]);
    expect(calls).toEqual(
      made.map(({ kind, name, namespace: group, input }, at) => ({
        kind,
        name,
        namespace: group,
        id: `new_${at}`,
        input,
      })),
    );
  });

  it("gives back any name and input, whatever else is declared and in whatever order", () => {
    const name = fc.oneof(
      fc.string({ minLength: 1, maxLength: 300 }),
      fc.constantFrom("a.b", "a b", "a_b", "工具", "shell", "web_search"),
    );
    const entry = fc.record({
      kind: fc.constantFrom("function", "custom"),
      name,
      group: fc.option(name, { nil: undefined }),
      input: fc.string(),
    });
    const declare = (
      entries: readonly { kind: string; name: string; group: string | undefined }[],
    ) =>
      planTools(
        ask({
          tools: entries.map(({ kind, name: own, group }) => {
            const tool = kind === "function" ? fn(own) : custom(own);
            return group === undefined ? tool : namespace(group, [tool]);
          }),
        }),
        plain,
      );
    fc.assert(
      fc.property(
        fc.uniqueArray(entry, {
          maxLength: 8,
          selector: (one) => JSON.stringify([one.kind, one.name, one.group]),
        }),
        (entries) => {
          const plan = declare(entries);
          const reversed = declare(entries.toReversed());
          for (const { kind, name: own, group, input } of entries) {
            const identity = { kind, name: clientName(own), namespace: group };
            const bound = plan.identity.byIdentity(identity);
            const sent = bound?.form?.encode(input) ?? input;
            const { calls } = restored(plan, calling(bound?.upstream.name ?? "", [sent]));
            expect(calls[0]).toMatchObject({ kind, name: own, input });
            expect(calls[0]?.namespace).toBe(group);
            expect(reversed.identity.byIdentity(identity)?.upstream.name).toBe(
              bound?.upstream.name,
            );
          }
        },
      ),
    );
  });

  it("keeps what it planned for the same tools, and plans a choice on top", () => {
    const tools = [custom("a.b")];
    const first = planTools(ask({ tools }), plain);
    const again = planTools(ask({ tools, items: [message("user", "more")] }), plain);
    expect(again.verdicts).toBe(first.verdicts);
    expect(again.turn.tools).toBe(first.turn.tools);
    expect(planTools(ask({ tools, toolChoice: { type: "required" } }), plain).turn.tools).toBe(
      first.turn.tools,
    );
    expect(planTools(ask({ tools }), { ...plain }).verdicts).not.toBe(first.verdicts);
  });

  it("lets the client's own function keep a name that a built-in would have", () => {
    const plan = planTools(
      ask({ tools: [builtin("shell"), fn("shell"), builtin("web_search"), fn("web_search")] }),
      plain,
    );
    expect(namesOf(plan.turn.tools)).toEqual(["shell_2", "shell", "web_search"]);
    const { calls } = restored(plan, [
      ...calling("shell", ['{"a":1}']),
      ...calling("web_search", ['{"query":"x"}'], { call: 1 }),
      ...calling("shell_2", ['{"commands":["ls"]}'], { call: 2 }),
    ]);
    expect(calls.map(({ kind, name }) => [kind, name])).toEqual([
      ["function", "shell"],
      ["function", "web_search"],
      ["shell", "shell"],
    ]);
  });

  it("passes on a tool it does not know if client and upstream speak the same language", () => {
    const tool = { ...builtin("retrieval", { retrieval: {} }), dialect: "chat" as const };
    const plan = planTools(ask({ dialect: "chat", tools: [tool] }), plain);
    expect(plan.identical).toBe(true);
  });

  it("declares a built-in of one dialect to an upstream of another that has it", () => {
    const search = { ...builtin("web_search"), dialect: "chat" as const };
    const only = planTools(ask({ dialect: "chat", tools: [search] }), whole);
    expect(only.turn.tools).toMatchObject([{ kind: "web_search", dialect: "responses" }]);
    const plan = planTools(ask({ dialect: "chat", tools: [{ ...search, kind: "odd" }] }), whole);
    expect(plan.verdicts[0]).toMatchObject({
      verdict: "ignored",
      reason: "odd exists only in the chat dialect",
    });
  });

  it("offers deferred tools at once where the provider's search is missing", () => {
    const deferred = {
      ...fn("rare"),
      extra: { dialect: "responses", fields: { defer_loading: true } },
    } as const;
    const plan = planTools(
      ask({ tools: [deferred, builtin("tool_search", { execution: "server" })] }),
      plain,
    );
    expect(namesOf(plan.turn.tools)).toEqual(["rare"]);
    expect(plan.verdicts[1]).toMatchObject({
      verdict: "ignored",
      reason: "the upstream has no tool search, so every deferred tool is offered at once",
    });
  });

  it("writes a built-in as the upstream has it", () => {
    const profile = withTools({
      kinds: { function: "native", web_search: "native", file_search: "native" },
      builtins: {
        web_search: {
          type: "web_search",
          web_search: {
            enable: true,
            content_size: { $from: "search_context_size", map: { high: "high" }, else: "medium" },
            search_domain_filter: { $from: "filters.allowed_domains.0" },
          },
        },
        file_search: {
          type: "retrieval",
          retrieval: { knowledge_id: { $from: "vector_store_ids.0" } },
        },
      },
    });
    const plan = planTools(
      ask({
        tools: [
          builtin("web_search_preview", { search_context_size: "low" }),
          builtin("file_search", { vector_store_ids: ["a", "b"] }),
        ],
      }),
      profile,
    );
    expect(plan.turn.tools).toMatchObject([
      {
        dialect: "chat",
        raw: { type: "web_search", web_search: { enable: true, content_size: "medium" } },
      },
      { dialect: "chat", raw: { type: "retrieval", retrieval: { knowledge_id: "a" } } },
    ]);
    expect(plan.decisions).toContainEqual({
      path: "tools[1]",
      action: "changed",
      reason: "the upstream takes one entry of `vector_store_ids`, not 2",
    });
  });

  it("is strict towards an upstream only where both dialects are strict about its schema", () => {
    const open = { type: "object", properties: { a: { type: "string" } } };
    const closed = { ...open, required: ["a"], additionalProperties: false };
    const strictOf = (dialect: DialectName, schema: JsonSchema) => {
      const tool = { ...fn("run", schema), strict: true };
      const { turn, decisions } = planTools(ask({ dialect, tools: [tool] }), withTools({}));
      const [sent] = turn.tools;
      return [sent?.type === "function" && sent.strict === true, decisions.length];
    };
    expect(strictOf("messages", open)).toEqual([false, 1]);
    expect(strictOf("messages", closed)).toEqual([true, 0]);
    expect(strictOf("responses", open)).toEqual([true, 0]);
  });

  it("is not strict where its schema had to be put into another that nobody could be held to", () => {
    const closed = { type: "object", properties: {}, required: [], additionalProperties: false };
    const tool = { ...fn("run", { anyOf: [closed, closed] }), strict: true };
    const { turn, decisions } = planTools(
      ask({ tools: [tool] }),
      withTools({ schema: { anyRoot: false } }),
    );
    expect(turn.tools).toMatchObject([{ schema: { properties: { value: {} } } }]);
    expect(turn.tools).not.toMatchObject([{ strict: true }]);
    expect(decisions.map(({ action }) => action)).toEqual(["reshaped", "changed"]);
  });

  it("reaches the part of JSON Schema that the upstream takes, and takes arguments back from it", () => {
    const profile = withTools({
      schema: { maps: false, formats: [], keywords: [], strict: false },
    });
    const schema = {
      type: "object",
      properties: {
        env: { type: "object", additionalProperties: { type: "string" } },
        when: { type: "string", format: "date", description: "The day." },
      },
    };
    const plan = planTools(ask({ tools: [{ ...fn("run", schema), strict: true }] }), profile);
    expect(plan.turn.tools).toMatchObject([
      {
        schema: {
          properties: {
            env: { type: "array" },
            when: { description: 'The day. (format: "date")' },
          },
        },
      },
    ]);
    expect(plan.decisions).toEqual([
      { path: "tools[0]", action: "changed", reason: "the upstream does not support `strict`" },
      {
        path: "tools[0]",
        action: "reshaped",
        reason: "sends objects of any keys as lists of pairs",
      },
      {
        path: "tools[0]",
        action: "changed",
        reason: "the upstream does not support format, so only the description states it",
      },
    ]);
    const { calls } = restored(plan, calling("run", ['{"env":[{"key":"A",', '"value":"1"}]}']));
    expect(calls[0]?.input).toBe('{"env":{"A":"1"}}');
    expect(restored(plan, calling("run", ['{"env": [broken'])).calls[0]?.input).toBe(
      '{"env": [broken',
    );
    expect(restored(plan, calling("run", ['{ "when": "x" }'])).calls[0]?.input).toBe(
      '{ "when": "x" }',
    );
  });

  it("tells an upstream what it cannot be told of parallel calls by holding it to one", () => {
    const profile = { ...plain, params: { parallelCalls: null } };
    const turn = ask({ tools: [fn("a")], params: { parallelCalls: false, temperature: 1 } });
    const plan = planTools(turn, profile);
    expect(plan.turn.params).toEqual({ temperature: 1 });
    expect(plan.decisions).toMatchObject([{ path: "parallel_tool_calls", action: "reshaped" }]);
    const { calls } = restored(plan, [
      ...calling("a", ["{}"]),
      ...calling("a", ["{}"], { call: 1 }),
    ]);
    expect(calls).toHaveLength(1);
  });
});
