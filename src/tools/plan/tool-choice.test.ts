import { describe, expect, it } from "vitest";
import {
  ask,
  builtin,
  calling,
  custom,
  fn,
  namespace,
  namesOf,
  plain,
  restored,
  whole,
  withTools,
} from "../../../test/support/turns.ts";
import { clientName, upstreamName } from "../../turn/names.ts";
import type { ToolChoiceForm, Profile } from "../../turn/profile.ts";
import type { ToolChoice, ToolRef } from "../../turn/turn.ts";
import { planTools } from "./plan.ts";

const ref = (kind: string, name: string, group?: string): ToolRef => ({
  kind,
  name: clientName(name),
  ...(group === undefined ? {} : { namespace: group }),
});
const tools = [
  fn("look"),
  fn("files.read"),
  custom("patch"),
  builtin("local_shell"),
  builtin("shell"),
  builtin("apply_patch"),
  builtin("tool_search", { execution: "client" }),
  namespace("mcp__git", [fn("status"), custom("commit")]),
  builtin("web_search"),
];
const turn = ask({ tools });
const plan = (toolChoice: ToolChoice | undefined, profile = plain) =>
  planTools({ ...turn, toolChoice }, profile);

/** Each kind of tool, as a choice names it, and what it is called at the upstream. */
const named: [string, ToolRef, string][] = [
  ["a function", ref("function", "look"), "look"],
  ["a renamed function", ref("function", "files.read"), "files_read"],
  ["a custom tool", ref("custom", "patch"), "patch"],
  ["local_shell", ref("local_shell", "local_shell"), "local_shell"],
  ["shell", ref("shell", "shell"), "shell"],
  ["apply_patch", ref("apply_patch", "apply_patch"), "apply_patch"],
  ["tool_search", ref("tool_search", "tool_search"), "tool_search"],
  ["a function in a namespace", ref("function", "status", "mcp__git"), "mcp__git__status"],
  ["a custom tool in a namespace", ref("custom", "commit", "mcp__git"), "mcp__git__commit"],
  ["a custom tool called a function", ref("function", "patch"), "patch"],
  ["a namespaced function by its bare name", ref("function", "status"), "mcp__git__status"],
  ["a namespaced function by one name", ref("function", "mcp__git__status"), "mcp__git__status"],
];
const without = (...forms: ToolChoiceForm[]): Profile =>
  withTools({ choice: plain.tools.choice.filter((form) => !forms.includes(form)) });

describe("a choice of one tool", () => {
  const profiles = [
    plain,
    without("function"),
    without("function", "required"),
    without("function", "required", "none", "auto"),
  ];

  it.each(named)(
    "lets the client see calls of %s alone, whoever can be made to",
    (_, tool, name) => {
      for (const profile of profiles) {
        const { calls, reports } = restored(plan({ type: "tool", tool }, profile), [
          ...calling(name === "look" ? "patch" : "look", ["{}"]),
          ...calling(name, ['{"input":"x"}'], { call: 1 }),
          ...calling("unheard_of", ["{}"], { call: 2 }),
        ]);
        expect(calls).toMatchObject([{ id: "call_1" }]);
        expect(reports.filter(({ action }) => action === "dropped")).toHaveLength(2);
      }
    },
  );

  it("that the provider runs leaves the calls behind it alone", () => {
    const searched = plan({ type: "tool", tool: ref("web_search", "web_search") }, whole);
    expect(restored(searched, calling("look", ["{}"])).calls).toMatchObject([{ name: "look" }]);
  });
});

describe("a choice", () => {
  it.each([
    ["none", ["none"]],
    ["a list", ["none", "allowed"]],
    ["auto alone", []],
  ] as const)(
    "among tools of which none is offered is one of nothing, where there is %s",
    (_, forms) => {
      const profile = withTools({ choice: ["auto", "required", ...forms] });
      const {
        turn: sent,
        limits,
        decisions,
      } = plan(
        { type: "allowed", mode: "required", tools: [ref("web_search", "web_search")] },
        profile,
      );
      const canSayNone = forms.length > 0;
      expect(sent.toolChoice).toEqual(canSayNone ? { type: "none" } : undefined);
      expect(sent.tools.length > 0).toBe(canSayNone);
      expect(limits.allowed).toEqual(new Set());
      expect(decisions.filter(({ path }) => path === "tool_choice")).toEqual([
        {
          path: "tool_choice",
          action: "changed",
          reason: "the upstream gets none of the allowed tools, so the model cannot call one",
        },
        {
          path: "tool_choice",
          action: "dropped",
          reason: "`web_search` is not offered to the upstream, so the model cannot call it",
        },
      ]);
    },
  );

  it("left out stays so", () => {
    expect(plan(undefined).turn.toolChoice).toBeUndefined();
    expect(plan(undefined).limits.allowed).toBeUndefined();
  });

  it.each(["auto", "none", "required"] as const)("of %s is said as it is", (type) => {
    const planned = plan({ type });
    expect(planned.turn.toolChoice).toEqual({ type });
    expect(planned.decisions.filter(({ path }) => path === "tool_choice")).toEqual([]);
  });

  it.each(named)("of %s is said under its upstream name", (_, tool, name) => {
    expect(plan({ type: "tool", tool }).turn.toolChoice).toEqual({
      type: "tool",
      tool: { kind: "function", name, namespace: undefined },
    });
  });

  it.each(named)("of %s offers nothing else where it cannot be forced", (_, tool, name) => {
    const { turn: sent, decisions } = plan({ type: "tool", tool }, without("function"));
    expect(namesOf(sent.tools)).toEqual([name]);
    expect(sent.toolChoice).toEqual({ type: "required" });
    expect(decisions).toContainEqual(
      expect.objectContaining({ path: "tool_choice", action: "reshaped" }),
    );
  });

  it.each(named)(
    "that allows %s offers nothing else, and holds the answer to it",
    (_, tool, name) => {
      for (const mode of ["auto", "required"] as const) {
        const planned = plan({ type: "allowed", mode, tools: [tool] });
        expect(namesOf(planned.turn.tools)).toEqual([name]);
        expect(planned.turn.toolChoice).toEqual({ type: mode });
        const answer = [...calling("look", ["{}"]), ...calling(name, ["{}"], { call: 1 })];
        const { calls } = restored(planned, name === "look" ? calling("look", ["{}"]) : answer);
        expect(calls).toHaveLength(1);
        expect(calls[0]?.name).toBe(
          planned.identity.byAlias({ kind: "function", name: upstreamName(name) })?.client.name,
        );
      }
    },
  );

  it("of one tool that can be neither forced nor required is openly only hoped for", () => {
    const { turn: sent, decisions } = plan(
      { type: "tool", tool: ref("function", "look") },
      without("function", "required"),
    );
    expect(namesOf(sent.tools)).toEqual(["look"]);
    expect(sent.toolChoice).toEqual({ type: "auto" });
    expect(decisions).toContainEqual(
      expect.objectContaining({ path: "tool_choice", action: "changed" }),
    );
  });

  it("of any tool that cannot be required is openly left to the model", () => {
    const { turn: sent, decisions } = plan({ type: "required" }, without("required"));
    expect(sent.toolChoice).toEqual({ type: "auto" });
    expect(decisions).toContainEqual({
      path: "tool_choice",
      action: "changed",
      reason: "the upstream cannot force the model to call a tool",
    });
  });

  it("of none that cannot be said offers no tools", () => {
    const planned = plan({ type: "none" }, without("none"));
    expect(planned.turn.tools).toEqual([]);
    expect(planned.turn.toolChoice).toBeUndefined();
    expect(restored(planned, calling("look", ["{}"])).calls).toEqual([]);
  });

  it("of a tool that is not offered is openly dropped", () => {
    const { turn: sent, decisions } = plan({
      type: "tool",
      tool: ref("web_search_preview", "web_search_preview"),
    });
    expect(sent.toolChoice).toEqual({ type: "auto" });
    expect(decisions).toContainEqual(
      expect.objectContaining({ path: "tool_choice", action: "changed" }),
    );
  });

  it("of a tool that nobody declared is a fault that names what there is", () => {
    expect(() => plan({ type: "tool", tool: ref("function", "lookup") })).toThrow(
      /`tool_choice` names `lookup`, which is not declared; it can be `look`, /,
    );
  });

  it("without tools is a fault only if it asks for a call", () => {
    const bare = (toolChoice: ToolChoice) => planTools(ask({ toolChoice }), plain);
    expect(bare({ type: "auto" }).turn.toolChoice).toBeUndefined();
    expect(bare({ type: "auto" }).decisions).toEqual([
      { path: "tool_choice", action: "repaired", reason: "it has no effect without tools" },
    ]);
    expect(() => bare({ type: "required" })).toThrow(/no tools are declared/);
  });

  it("without tools is left alone between two of one language, if it has a word for it", () => {
    const none = ask({ dialect: "chat", toolChoice: { type: "none" } });
    expect(planTools(none, plain).identical).toBe(true);
    expect(planTools(none, without("none")).turn.toolChoice).toBeUndefined();
  });

  it("of an older name for a built-in means the built-in", () => {
    const search = ask({
      tools: [builtin("web_search")],
      toolChoice: { type: "tool", tool: ref("web_search_preview", "web_search_preview") },
    });
    expect(planTools(search, whole).turn.toolChoice).toMatchObject({
      tool: { kind: "web_search" },
    });
  });

  it("of a server's tool means the server", () => {
    const server = { ...builtin("mcp"), name: clientName("docs") };
    const toolChoice: ToolChoice = { type: "tool", tool: ref("mcp", "search", "docs") };
    expect(planTools(ask({ tools: [server], toolChoice }), whole).turn.toolChoice).toMatchObject({
      tool: { kind: "mcp", name: "docs" },
    });
  });

  it("goes through as it is where the upstream has every form", () => {
    const choice: ToolChoice = {
      type: "allowed",
      mode: "required",
      tools: [
        ref("function", "look"),
        ref("custom", "commit", "mcp__git"),
        ref("web_search", "web_search"),
      ],
    };
    const planned = plan(choice, whole);
    expect(planned.identical).toBe(true);
    expect(planned.turn.toolChoice).toBe(choice);
  });

  it("that allows a namespace allows every tool in it", () => {
    const git = ref("namespace", "mcp__git");
    const choice: ToolChoice = { type: "allowed", mode: "auto", tools: [git] };
    expect(namesOf(plan(choice).turn.tools)).toEqual(["mcp__git__status", "mcp__git__commit"]);
    expect(plan(choice, whole).turn.toolChoice).toEqual({
      ...choice,
      tools: [ref("function", "status", "mcp__git"), ref("custom", "commit", "mcp__git")],
    });
  });

  it("that allows a namespace of which no tool is offered says so", () => {
    const searches = namespace("find", [builtin("web_search")]);
    const toolChoice: ToolChoice = {
      type: "allowed",
      mode: "auto",
      tools: [ref("namespace", "find")],
    };
    const { decisions } = planTools(ask({ tools: [fn("look"), searches], toolChoice }), plain);
    expect(decisions).toContainEqual(
      expect.objectContaining({ path: "tool_choice", action: "changed" }),
    );
  });

  it("of a function by the name of a namespace is a fault that tells how to say it", () => {
    expect(() => plan({ type: "tool", tool: ref("function", "mcp__git") })).toThrow(
      'is a namespace, not a tool; name one of its tools, such as `mcp__git.status`, or allow all of them with {"type":"namespace","name":"mcp__git"}',
    );
  });

  it("that allows something unknown drops that, and something declared stays", () => {
    const planned = plan({
      type: "allowed",
      mode: "auto",
      tools: [ref("function", "look"), ref("web_search", "web_search")],
    });
    expect(namesOf(planned.turn.tools)).toEqual(["look"]);
    expect(planned.decisions).toContainEqual(
      expect.objectContaining({ path: "tool_choice", action: "dropped" }),
    );
  });
});
