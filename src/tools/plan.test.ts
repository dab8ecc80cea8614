import { describe, expect, it } from "vitest";
import { runStage } from "../stream/stage.ts";
import { clientName, upstreamName } from "../turn/names.ts";
import type { Profile } from "../turn/profile.ts";
import type { Turn } from "../turn/turn.ts";
import { planTools, summary } from "./plan.ts";
import { restoreCalls } from "./restore.ts";

const profile: Profile = {
  name: "plain",
  dialect: "chat",
  tools: {
    kinds: { function: "native", "*": "ignore" },
    max: 128,
    names: { chars: "A-Za-z0-9_-", max: 64 },
    choice: ["auto", "none", "required", "function"],
    parallel: true,
    declares: "turn",
    deferred: false,
    cached: true,
  },
  params: {},
  formats: ["text"],
  reasoning: "none",
  streamUsage: true,
};
const ask = (turn: Partial<Turn>): Turn => ({
  dialect: "chat",
  model: "m",
  items: [],
  tools: [],
  params: {},
  stream: true,
  usageWanted: false,
  extra: { dialect: "chat", fields: {} },
  body: {},
  ...turn,
});
const tool = (name: string) => ({ type: "function", name: clientName(name) }) as const;

describe("planTools", () => {
  it("leaves a request alone that needs nothing", () => {
    const turn = ask({ tools: [tool("add")] });
    const plan = planTools(turn, profile);
    expect(plan.turn).toBe(turn);
    expect(plan.identical).toBe(true);
    expect(summary(plan)).toBe("native=1 degraded=0 deferred=0 ignored=0");
  });

  it("sends a lawful name for an unlawful one and gives the calls back under the client's", () => {
    const plan = planTools(
      ask({
        tools: [tool("files.read")],
        items: [
          { type: "call", id: "c", kind: "function", name: clientName("files.read"), input: "{}" },
        ],
      }),
      profile,
    );
    expect(plan.turn.tools).toMatchObject([{ name: "files_read" }]);
    expect(plan.turn.items).toMatchObject([{ name: "files_read", input: "{}" }]);
    expect(plan.decisions).toEqual([
      { path: "tools[0]", action: "renamed", reason: "sent as `files_read`" },
    ]);
    const call = {
      type: "call-start",
      choice: 0,
      call: 0,
      id: "d",
      kind: "function",
      name: upstreamName("files_read"),
    } as const;
    expect(runStage(restoreCalls(plan), [call])).toMatchObject([{ name: "files.read", id: "d" }]);
  });
});
