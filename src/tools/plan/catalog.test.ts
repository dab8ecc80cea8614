import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  ask,
  builtin,
  calling,
  carrier,
  chatTools,
  fn,
  namesOf,
  plain,
  readItems,
  restored,
  sentName,
  whole,
  withTools,
} from "../../../test/support/turns.ts";
import type { Fields, Item } from "../../turn/turn.ts";
import { planTools, summary } from "./plan.ts";

describe("the catalog", () => {
  it("declares the tools that the conversation brings", () => {
    const plan = planTools(
      ask({
        tools: [fn("look"), builtin("tool_search", { execution: "client" })],
        items: [
          carrier("additional_tools", [
            {
              type: "namespace",
              name: "functions",
              description: "",
              tools: [{ type: "custom", name: "exec" }],
            },
          ]),
          ...readItems(
            { type: "tool_search_call", call_id: "s", arguments: { query: "git" } },
            {
              type: "tool_search_output",
              call_id: "s",
              tools: [
                {
                  type: "namespace",
                  name: "mcp__git",
                  tools: [{ type: "function", name: "status", parameters: {} }],
                },
                {
                  type: "function",
                  function: { name: "chat_style", parameters: { type: "object" } },
                },
              ],
            },
          ),
        ],
      }),
      plain,
    );
    expect(namesOf(plan.turn.tools)).toEqual([
      "look",
      "tool_search",
      "functions__exec",
      "mcp__git__status",
      "chat_style",
    ]);
    expect(plan.turn.items).toMatchObject([
      { type: "call", kind: "function", name: "tool_search" },
      {
        type: "result",
        kind: "function",
        parts: [
          {
            text: "Found these tools, which can be called from now on: mcp__git__status, chat_style.",
          },
        ],
      },
    ]);
    expect(plan.verdicts.map(({ path }) => path)).toEqual([
      "tools[0]",
      "tools[1]",
      "input[0].tools[0].tools[0]",
      "input[2].tools[0].tools[0]",
      "input[2].tools[1]",
    ]);
    const { calls } = restored(plan, calling("functions__exec", ['{"input":"text(1)"}']));
    expect(calls).toMatchObject([
      { kind: "custom", namespace: "functions", name: "exec", input: "text(1)" },
    ]);
  });

  it("takes a tool that is brought again as it was brought last", () => {
    const brought = (description: string) =>
      carrier("additional_tools", [{ type: "function", name: "look", description }]);
    const plan = planTools(ask({ items: [brought("old"), brought("new"), brought("new")] }), plain);
    expect(plan.turn.tools).toMatchObject([{ name: "look", description: "new" }]);
    expect(plan.turn.tools).toHaveLength(1);
  });

  it("leaves a tool its name though it is brought again otherwise", () => {
    const brought = (description: string) =>
      carrier("additional_tools", [{ type: "function", name: "look", description }]);
    const items = [brought("old"), carrier("additional_tools", [{ type: "custom", name: "look" }])];
    const names = (more: readonly Item[]): string[] =>
      planTools(ask({ items: more }), plain).verdicts.map(
        ({ kind, upstreamName }) => `${kind} ${upstreamName}`,
      );
    expect(names(items)).toEqual(["function look", "custom look_2"]);
    expect(names([...items, brought("new")])).toEqual(["function look", "custom look_2"]);
  });

  it("expands a namespace that came through the chat door", () => {
    const tools = chatTools({
      type: "namespace",
      name: "git",
      tools: [{ type: "function", function: { name: "status" } }],
    });
    const plan = planTools(ask({ dialect: "chat", tools }), plain);
    expect(namesOf(plan.turn.tools)).toEqual(["git__status"]);
  });

  it("sends a namespace from the chat door as one where there are such", () => {
    const tools = chatTools({
      type: "namespace",
      name: "git",
      tools: [{ type: "function", function: { name: "status" } }],
    });
    const plan = planTools(ask({ dialect: "chat", tools }), whole);
    expect(plan.turn.tools).toMatchObject([
      { type: "namespace", name: "git", tools: [{ type: "function", name: "status" }] },
    ]);
  });

  it("says of members it cannot read that it cannot, whoever declared them", () => {
    const members = [{ type: "function", name: "a" }, { type: "function" }, 7];
    const raw = { type: "namespace", name: "n", tools: members };
    const lost = (path: string) => ({
      path,
      action: "dropped",
      reason: "it cannot be read as a tool",
    });
    const brought = planTools(ask({ items: [carrier("additional_tools", [raw])] }), plain);
    expect(brought.decisions).toEqual(
      expect.arrayContaining([
        lost("input[0].tools[0].tools[1]"),
        lost("input[0].tools[0].tools[2]"),
      ]),
    );
    const declared = planTools(ask({ dialect: "chat", tools: chatTools(raw) }), whole);
    expect(declared.decisions).toEqual([lost("tools[0].tools[1]"), lost("tools[0].tools[2]")]);
    expect(summary(declared)).toBe("native=1 degraded=0 deferred=0 ignored=2");
  });

  it("counts those it cannot read in the places of the others", () => {
    const members = [7, { type: "function", name: "a" }, {}, { type: "function", name: "b" }];
    const raw = { type: "namespace", name: "n", tools: members };
    const plan = planTools(ask({ items: [carrier("additional_tools", [null, raw])] }), plain);
    expect(plan.verdicts.map(({ name, path }) => [name, path])).toEqual([
      ["a", "input[0].tools[1].tools[1]"],
      ["b", "input[0].tools[1].tools[3]"],
      ["", "input[0].tools[1].tools[0]"],
      ["", "input[0].tools[1].tools[2]"],
      ["", "input[0].tools[0]"],
    ]);
  });

  it("says so too of those that stood beside tools which had to be taken out of their item", () => {
    const narrow = withTools({ kinds: whole.tools.kinds });
    const beside = (name: string) =>
      planTools(
        ask({ items: [carrier("additional_tools", [{ type: "function", name }, 7])] }),
        narrow,
      ).decisions.filter(({ action }) => action === "dropped");
    expect(beside("lawful")).toEqual([]);
    expect(beside("not.lawful")).toMatchObject([{ path: "input[0].tools[1]" }]);
  });

  it("does not rename a tool when the conversation brings another", () => {
    const tools = [fn("a.b")];
    const before = planTools(ask({ tools }), plain);
    const later = carrier("additional_tools", [{ type: "function", name: "a b" }]);
    const after = planTools(ask({ tools, items: [later] }), plain);
    expect(namesOf(before.turn.tools)).toEqual(["a_b"]);
    expect(namesOf(after.turn.tools)).toEqual(["a_b", "a_b_2"]);
  });

  it("says of a declaration it cannot read that it cannot", () => {
    const plan = planTools(
      ask({ items: [carrier("additional_tools", [null, { type: "function" }])] }),
      plain,
    );
    expect(plan.turn.tools).toEqual([]);
    expect(plan.decisions).toEqual([
      { path: "input[0].tools[0]", action: "dropped", reason: "it cannot be read as a tool" },
      { path: "input[0].tools[1]", action: "dropped", reason: "it cannot be read as a tool" },
    ]);
  });

  it("takes the tools that a provider's own search has found", () => {
    const found = carrier("tool_search_output", [{ type: "function", name: "late" }]);
    expect(namesOf(planTools(ask({ items: [found] }), plain).turn.tools)).toEqual(["late"]);
  });
});

const fixtures = join(import.meta.dirname, "../../../../shared/fixtures/codex");
const models = [
  "gpt-5.4",
  "gpt-5.5",
  "gpt-5.6-luna",
  "gpt-6-astra",
  "gpt-6.1-sol",
  "totally-unknown",
];

describe.skipIf(!existsSync(fixtures))("the tools of the real codex", () => {
  it.each(models)("as %s gets them are offered, all but the search of the provider's", (model) => {
    const read = JSON.parse(readFileSync(join(fixtures, `tools-${model}.json`), "utf8")) as {
      tools: Fields[] | null;
      additional_tools: Fields[] | null;
    };
    const items = readItems(...(read.additional_tools ?? []));
    const plan = planTools(
      ask({ items: [...items, carrier("additional_tools", read.tools ?? [])] }),
      plain,
    );
    const left = plan.verdicts
      .filter(({ verdict }) => verdict === "ignored")
      .map(({ kind }) => kind);
    expect(left).toEqual(
      model.startsWith("gpt-5.6") || model.startsWith("gpt-6") ? [] : ["web_search"],
    );
    for (const { kind, name, namespace: group, verdict } of plan.verdicts) {
      if (verdict === "ignored") continue;
      const { calls } = restored(plan, calling(sentName(plan, name, group), ["{}"]));
      expect(calls[0]).toMatchObject({ kind, name });
      expect(calls[0]?.namespace).toBe(group);
    }
    expect(plan.turn.items).toEqual([]);
  });
});
