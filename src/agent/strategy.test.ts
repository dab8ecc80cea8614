import { describe, expect, it } from "vitest";
import { chooseStrategy, supported, type Load, type ToolSupport } from "./strategy.ts";

type Abilities = Partial<ToolSupport["capabilities"]> & { readonly supportsDynamicTools?: boolean };

const on = ({ supportsDynamicTools = true, ...more }: Abilities = {}): ToolSupport => ({
  supportsDynamicTools,
  capabilities: {
    deferred: false,
    cachedTools: true,
    maxTools: 128,
    maxDescription: Infinity,
    ...more,
  },
});
const load = (tools: number, more: Partial<Load> = {}): Load => ({
  tools,
  closedTools: tools,
  bytes: tools * 400,
  history: 100_000,
  ...more,
});
const FIXED = { supportsDynamicTools: false };
const LITTLE = { history: 100 };

describe("the strategy that opens closed sections at the least cost", () => {
  it.each([
    ["a provider that loads tools itself does so", "native", on({ deferred: true }), load(60)],
    ["without a cache the list may grow", "append", on({ cachedTools: false }), load(60)],
    ["with a cache it may grow while little was said", "append", on(), load(2, LITTLE)],
    ["with a cache and a long conversation it stays as it is", "wrap", on(), load(60)],
    ["where tools are fixed it stays as it is too", "wrap", on(FIXED), load(60)],
    ["a restart costs little while little was said", "restart", on(FIXED), load(2, LITTLE)],
    [
      "one that fixes tools cannot load them either",
      "wrap",
      on({ ...FIXED, deferred: true }),
      load(60),
    ],
    [
      "a list does not grow beyond what may be sent",
      "wrap",
      on({ maxTools: 8, cachedTools: false }),
      load(24),
    ],
    ["sections without tools need no such care", "append", on(), load(60, { closedTools: 0 })],
  ] as const)("%s: %s", (_, strategy, support, given) => {
    expect(chooseStrategy(support, given)).toBe(strategy);
  });
});

describe("a strategy that was asked for", () => {
  it("is a restart instead of growth where tools are fixed", () => {
    expect(supported("append", on(FIXED), "codex/m")).toBe("restart");
    expect(supported("append", on(), "chat/m")).toBe("append");
  });

  it("is refused where it would leave deferred tools without a loader", () => {
    expect(() => supported("native", on(), "chat/m")).toThrow(
      "`chat/m` does not load deferred tools",
    );
  });
});
