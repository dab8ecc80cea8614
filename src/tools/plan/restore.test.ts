import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { timesAsLong } from "../../../test/support/growth.ts";
import {
  ask,
  builtin,
  called,
  calling,
  custom,
  fn,
  namespace,
  plain,
  restored,
  whole,
} from "../../../test/support/turns.ts";
import { runStage } from "../../stream/stage.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { clientName, upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { Turn } from "../../turn/turn.ts";
import { planTools } from "./plan.ts";
import { CallRestorer, restoreToolCall } from "./restore.ts";

const tools = [
  fn("look"),
  fn("files.read"),
  custom("patch"),
  builtin("local_shell"),
  namespace("git", [fn("status")]),
];
const plan = (more: Partial<Turn> = {}, profile = plain) =>
  planTools(ask({ tools, ...more }), profile);
const frame = (forwardable = true): TurnEvent<UpstreamName> => ({
  type: "frame",
  data: "x",
  forwardable,
});

describe("restoreToolCall", () => {
  const start = {
    type: "call-start",
    choice: 0,
    call: 0,
    id: "call_1",
    kind: "function",
    name: upstreamName("git__status"),
  } as const;

  it("gives a call the kind, namespace and name its tool was declared with", () => {
    const bound = plan().identity.byName("status", "git");
    expect(restoreToolCall(start, bound)).toEqual({ ...start, namespace: "git", name: "status" });
  });

  it("leaves a call alone that no tool is known for", () => {
    expect(restoreToolCall(start, undefined)).toBe(start);
  });
});

describe("restoring calls", () => {
  it("hands events on as they are where nothing differs", () => {
    const events = calling("look", ['{"a"', ":1}"]);
    const { events: out } = restored(plan(), events);
    for (const [at, event] of events.entries()) expect(out[at]).toBe(event);
  });

  it("says a custom tool's input while it comes", () => {
    const { calls, deltas } = restored(
      plan(),
      calling("patch", ['{"inp', 'ut":"a', 'b\\nc"', "}"]),
    );
    expect(calls).toMatchObject([{ kind: "custom", name: "patch", input: "ab\nc" }]);
    expect(deltas).toEqual(["a", "b\nc"]);
  });

  it("gives the same for any pieces, of every kind", () => {
    const inputs: Record<string, string> = {
      look: '{"a": "\\u00e9"}',
      files_read: "{}",
      patch: '{"input": "say \\"\\ud83d\\ude00\\"\\n"}',
      local_shell: '{"command": "ls | wc"}',
      git__status: '{"x": [1, 2]}',
    };
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(inputs)), fc.array(fc.nat()), (name, places) => {
        const text = inputs[name] ?? "";
        const at = [
          0,
          ...places.map((place) => place % text.length).toSorted((a, b) => a - b),
          text.length,
        ];
        const pieces = at.slice(1).map((to, index) => text.slice(at[index], to));
        expect(restored(plan(), calling(name, pieces)).calls).toEqual(
          restored(plan(), calling(name, [text])).calls,
        );
      }),
    );
  });

  it("takes plain text for a custom tool's input, and keeps its kind", () => {
    const text = "*** Begin Patch\n*** End Patch";
    expect(restored(plan(), calling("patch", [text])).calls).toMatchObject([
      { kind: "custom", input: text },
    ]);
    const native = restored(plan(), calling("patch", [text], { kind: "custom" }));
    expect(native.calls).toMatchObject([{ kind: "custom", input: text }]);
  });

  it("unwraps what a custom tool was called with though the upstream has custom tools", () => {
    const { calls } = restored(plan({}, whole), calling("patch", ['{"input":"x"}']));
    expect(calls).toMatchObject([{ kind: "custom", input: "x" }]);
  });

  it("keeps malformed arguments and the kind they were for", () => {
    const { calls } = restored(plan(), [
      ...calling("look", ['{"a":']),
      ...calling("local_shell", ['{"command":'], { call: 1 }),
    ]);
    expect(calls).toMatchObject([
      { kind: "function", input: '{"a":' },
      { kind: "local_shell", input: '{"command":' },
    ]);
  });

  it("never completes a call that was cut off", () => {
    const { calls } = restored(plan(), [
      ...calling("patch", ['{"input":"rm -r'], { complete: false }),
      ...calling("local_shell", ['{"command":["rm"'], { call: 1, complete: false }),
    ]);
    expect(calls).toMatchObject([
      { input: "rm -r", status: "incomplete" },
      { input: '{"command":["rm"', status: "incomplete" },
    ]);
  });

  it("takes a call for one of the tool whose name it is like, and reports it", () => {
    const { calls, reports } = restored(plan(), calling("Patch", ['{"input":"x"}']));
    expect(calls).toMatchObject([{ kind: "custom", name: "patch", input: "x" }]);
    expect(reports).toEqual([
      {
        path: "output.choices[0].calls[0]",
        action: "repaired",
        reason: "`Patch` was called and is sent as a call of `patch`",
      },
    ]);
  });

  it.each([
    [['{"input":"x"', ', "why":"y"}'], true],
    [['{"input":"x"}', " and more"], true],
    [['{"why":"y","input":"x"}'], true],
    [['{"input":"x"', " ", "}", "\n"], false],
    [['{"input":"x"}'], false],
    [['{"input":"x"'], false],
  ] as const)("reports what a call held beside its text: %j", (pieces, isMore) => {
    const { calls, reports } = restored(plan(), calling("patch", pieces));
    expect(calls).toMatchObject([{ kind: "custom", input: "x" }]);
    expect(reports).toEqual(
      isMore
        ? [
            {
              path: "output.choices[0].calls[0]",
              action: "dropped",
              reason: "a call of a text tool had other arguments besides its text",
            },
          ]
        : [],
    );
  });

  it("passes on a call of a tool that nobody declared, and reports it", () => {
    const { calls, reports } = restored(plan(), calling("nope", ["{}"]));
    expect(calls).toMatchObject([{ kind: "function", name: "nope", input: "{}" }]);
    expect(reports).toEqual([
      {
        path: "output.choices[0].calls[0]",
        action: "repaired",
        reason: "`nope` was called but is not declared",
      },
    ]);
  });

  it.each([
    ["git.status", undefined],
    ["git__status", undefined],
    ["functions.git__status", undefined],
    ["status", "git"],
    ["status", undefined],
  ])("knows a tool that a model calls %s (in %s)", (name, group) => {
    const { calls, reports } = restored(plan(), calling(name, ["{}"], { namespace: group }));
    expect(calls).toMatchObject([{ namespace: "git", name: "status" }]);
    expect(reports).toEqual([]);
  });

  it("knows a renamed tool by the client's name for it", () => {
    expect(restored(plan(), calling("files.read", ["{}"])).calls).toMatchObject([
      { name: "files.read" },
    ]);
  });

  it("prefers the tool that has the very name", () => {
    const both = planTools(
      ask({ tools: [fn("git.status"), namespace("git", [fn("status")])] }),
      plain,
    );
    const { calls } = restored(both, calling("git.status", ["{}"]));
    expect(calls).toEqual([{ kind: "function", name: "git.status", id: "call_0", input: "{}" }]);
  });

  it("withholds further calls where one at once was allowed, and says so", () => {
    const { calls, reports, events } = restored(plan({ params: { parallelCalls: false } }), [
      ...calling("look", ["{}"]),
      ...calling("files_read", ["{}"], { call: 1 }),
      { type: "turn-end", choice: 0, stop: "calls" },
    ]);
    expect(calls).toMatchObject([{ name: "look" }]);
    expect(reports).toEqual([
      {
        path: "output.choices[0].calls[1]",
        action: "dropped",
        reason: "a call of `files_read` is withheld: only one call per answer is allowed",
      },
    ]);
    expect(events.at(-1)).toEqual({ type: "turn-end", choice: 0, stop: "calls" });
  });

  it("lets every choice have its one call", () => {
    const { events } = restored(plan({ params: { parallelCalls: false } }), [
      ...calling("look", ["{}"]),
      ...calling("look", ["{}"], { choice: 1, id: "other" }),
    ]);
    expect(events.filter(({ type }) => type === "call-start")).toHaveLength(2);
  });

  it("withholds calls that the client did not allow, numbers the rest without gaps, and ends truly", () => {
    const allowed = plan({
      toolChoice: {
        type: "allowed",
        mode: "auto",
        tools: [{ kind: "function", name: clientName("look") }],
      },
    });
    const { calls, reports } = restored(allowed, [
      ...calling("patch", ['{"input":"x"}']),
      ...calling("look", ["{}"], { call: 1 }),
    ]);
    expect(calls).toEqual([{ kind: "function", name: "look", id: "call_1", input: "{}" }]);
    expect(reports[0]?.reason).toBe(
      "a call of `patch` is withheld: the client did not allow this tool",
    );

    const none = restored(plan({ toolChoice: { type: "none" } }), [
      ...calling("look", ["{}"]),
      { type: "turn-end", choice: 0, stop: "calls" },
    ]);
    expect(none.events).toEqual([{ type: "turn-end", choice: 0, stop: "end" }]);
  });

  it("numbers the calls of one id soon, however many there are", () => {
    const events = Array.from({ length: 20_000 }, (_, call) =>
      calling("look", [], { call, id: "call" }),
    ).flat();
    const ids = restored(plan(), events).calls.map(({ id }) => id);
    expect(new Set(ids).size).toBe(20_000);
    expect(ids.slice(0, 3)).toEqual(["call", "call_2", "call_3"]);
  });

  it("gives a new id to a call whose id the conversation has used", () => {
    const seen = plan({ items: [called("call_0"), called("call_0_2")] });
    const { calls } = restored(seen, [
      ...calling("look", ["{}"]),
      ...calling("look", ["{}"], { call: 1, id: "fresh" }),
    ]);
    expect(calls.map(({ id }) => id)).toEqual(["call_0_3", "fresh"]);
  });

  it("lets frames through unless what they say has been changed", () => {
    const one = runStage(new CallRestorer(plan({}, whole)), [...calling("look", ["{}"]), frame()]);
    expect(one.at(-1)).toMatchObject({ forwardable: true });
    const events = runStage(new CallRestorer(plan({ params: { parallelCalls: false } }, whole)), [
      ...calling("look", ["{}"]),
      frame(),
      ...calling("look", ["{}"], { call: 1 }),
      frame(),
      frame(),
    ]);
    const frames = events.filter((event) => event.type === "frame");
    expect(frames.map(({ forwardable }) => forwardable)).toEqual([true, false, true]);
  });

  it("costs as much for each of 16,000 deltas of a custom tool as for each of 1,000", async () => {
    const deltas = (count: number): TurnEvent<UpstreamName>[] =>
      calling("patch", [
        '{"input":"',
        ...Array.from({ length: count }, () => "+ twenty characters\\n"),
        '"}',
      ]);
    const [long, short] = [deltas(16_000), deltas(1000)];
    const planned = plan();
    const take = (events: readonly TurnEvent<UpstreamName>[]): void => {
      const stage = new CallRestorer(planned);
      for (const event of events) stage.each(event, () => {});
    };
    const once = (): void => take(long);
    const inParts = (): void => {
      for (let at = 0; at < 16; at++) take(short);
    };
    expect(await timesAsLong(once, inParts, 4)).toBeLessThan(4);
  });
});
