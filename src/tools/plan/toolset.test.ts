import { describe, expect, it } from "vitest";
import {
  ask,
  builtin,
  called,
  calling,
  carrier,
  custom,
  fn,
  namespace,
  namesOf,
  plain,
  restored,
  traitsOf,
  whole,
  withTools,
} from "../../../test/support/turns.ts";
import type { Tool } from "../../turn/turn.ts";
import { planTools, summary } from "./plan.ts";

describe("a list of tools", () => {
  it("says of the members of a namespace that is kept what they are sent as", () => {
    const narrow = withTools({ names: plain.tools.names }, whole);
    const plan = planTools(ask({ tools: [namespace("n", [fn("a.b")])] }), narrow);
    expect(plan.turn.tools).toMatchObject([{ name: "n", tools: [{ name: "a_b" }] }]);
    expect(plan.decisions).toEqual([
      { path: "tools[0].tools[0]", action: "renamed", reason: "sent as `a_b`" },
    ]);
    const { calls } = restored(plan, calling("a_b", ["{}"], { namespace: "n" }));
    expect(calls).toMatchObject([{ kind: "function", namespace: "n", name: "a.b" }]);
  });

  it("keeps kinds, namespaces and carriers where the upstream has them", () => {
    const turn = ask({
      tools: [custom("patch"), namespace("git", [fn("status")]), builtin("web_search")],
      items: [carrier("additional_tools", [{ type: "custom", name: "exec" }])],
    });
    const plan = planTools(turn, whole);
    expect(plan.identical).toBe(true);
    expect(plan.turn).toBe(turn);
    expect(summary(plan)).toBe("native=4 degraded=0 deferred=0 ignored=0");
    expect(plan.turn.tools).toHaveLength(3);
  });

  it("keeps a namespace whose members have to change", () => {
    const kinds = { "*": "native", custom: "degrade" } as const;
    const plan = planTools(
      ask({ tools: [namespace("git", [fn("status"), custom("commit")])] }),
      withTools({ kinds }, whole),
    );
    expect(plan.turn.tools).toMatchObject([
      {
        type: "namespace",
        name: "git",
        tools: [
          { type: "function", name: "status" },
          { type: "function", name: "commit" },
        ],
      },
    ]);
    const call = calling("commit", ['{"input":"x"}'], { namespace: "git" });
    expect(restored(plan, call).calls).toEqual([
      { kind: "custom", namespace: "git", name: "commit", id: "call_0", input: "x" },
    ]);
  });

  it("takes namespaces apart where the dialect has no form for them, whatever the profile says", () => {
    const all = withTools({ kinds: { "*": "native" } });
    const past = called("a", "gone", { namespace: "git" });
    const plan = planTools(
      ask({ tools: [namespace("git", [fn("status")]), namespace("hg", [])], items: [past] }),
      all,
    );
    expect(namesOf(plan.turn.tools)).toEqual(["git__status"]);
    expect(plan.verdicts).toMatchObject([{ verdict: "degraded" }, { verdict: "ignored" }]);
    expect(plan.turn.items[0]).toMatchObject({ name: "git__gone", namespace: undefined });
  });

  it("says what a namespace is about with its members", () => {
    const plan = planTools(
      ask({ tools: [namespace("git", [fn("status")], "Looks after versions.")] }),
      plain,
    );
    expect(plan.turn.tools).toMatchObject([
      { description: "Part of `git`: Looks after versions." },
    ]);
  });

  it("ignores a namespace that holds nothing", () => {
    const plan = planTools(ask({ tools: [namespace("empty", [])] }), plain);
    expect(plan.turn.tools).toEqual([]);
    expect(plan.verdicts).toMatchObject([{ kind: "namespace", name: "empty", verdict: "ignored" }]);
  });

  it("sends a tool once that is declared twice, and says so", () => {
    const plan = planTools(ask({ tools: [fn("a"), fn("a"), fn("a", { type: "object" })] }), plain);
    expect(namesOf(plan.turn.tools)).toEqual(["a"]);
    expect(plan.decisions).toEqual([
      { path: "tools[1]", action: "repaired", reason: "declared before, in `tools[0]`" },
      {
        path: "tools[2]",
        action: "dropped",
        reason: "`tools[0]` declared the same tool first, in another form",
      },
    ]);
    expect(plan.verdicts).toMatchObject([
      { path: "tools[0]", verdict: "native" },
      { path: "tools[1]", verdict: "ignored", reason: plan.decisions[0]?.reason },
      { path: "tools[2]", verdict: "ignored", reason: plan.decisions[1]?.reason },
    ]);
  });

  it("takes a tool of the client's that is declared again for the same, by whatever name", () => {
    const shells = [builtin("local_shell"), builtin("local_shell")];
    const plan = planTools(
      ask({ tools: shells, items: [called("a", "local_shell", { kind: "local_shell" })] }),
      plain,
    );
    expect(namesOf(plan.turn.tools)).toEqual(["local_shell"]);
    const other = builtin("shell", { environment: { type: "local" } });
    const both = planTools(
      ask({ tools: [builtin("shell"), other], items: [called("a", "shell", { kind: "shell" })] }),
      plain,
    );
    expect(namesOf(both.turn.tools)).toEqual(["shell", "shell_2"]);
    expect(both.turn.items[0]).toMatchObject({ type: "call", name: "shell" });
  });

  it("refuses what the profile refuses, and more tools than it takes", () => {
    const refusing = withTools({ kinds: { function: "native", mcp: "refuse" } });
    expect(() => planTools(ask({ tools: [builtin("mcp")] }), refusing)).toThrow(
      "`mcp` cannot be sent: the plain profile refuses mcp tools.",
    );
    const many = Array.from({ length: 3 }, (_, at) => fn(`t${at}`));
    expect(() => planTools(ask({ tools: many }), withTools({ max: 2 }))).toThrow(
      "The plain profile takes at most 2 tools, and the request has 3. Declare fewer, choose another model, or raise `capabilities.tools.max`",
    );
  });

  it("takes as many tools as the profile does, and not one more", () => {
    const tools = Array.from({ length: 129 }, (_, at) => fn(`t${at}`));
    expect(() => planTools(ask({ tools: tools.slice(1) }), plain)).not.toThrow();
    expect(() => planTools(ask({ tools }), plain)).toThrow(
      "at most 128 tools, and the request has 129",
    );
  });

  it("does not count what it ignores", () => {
    expect(() =>
      planTools(ask({ tools: [fn("a"), builtin("web_search")] }), withTools({ max: 1 })),
    ).not.toThrow();
  });
});

describe("a tool that only the provider can run", () => {
  const search = { ...builtin("web_search"), dialect: "messages" };
  const tell = (tools: readonly Tool[], dialect: string) =>
    planTools(ask({ tools, dialect, traits: traitsOf(dialect) }), plain);

  it("is refused where a request is about nothing else, and its client would take the answer for a search", () => {
    expect(() => tell([search], "messages")).toThrow(
      "`web_search` cannot be run: the plain profile has no web_search tools",
    );
  });

  it("is left out and reported beside others, and for clients that ask for it in passing", () => {
    expect(tell([search, fn("look")], "messages").verdicts[0]).toMatchObject({
      verdict: "ignored",
    });
    expect(tell([builtin("web_search")], "responses").verdicts[0]).toMatchObject({
      verdict: "ignored",
    });
  });
});
