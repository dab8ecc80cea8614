import { describe, expect, it } from "vitest";
import { named } from "../../test/agent/library.ts";
import { chooseStrategy, supported, type Capabilities, type Load } from "./strategy.ts";

const can = (more: Partial<Capabilities> = {}): Capabilities => ({
  deferred: false,
  dynamicTools: true,
  cachedTools: true,
  maxTools: 128,
  maxDescription: Infinity,
  ...more,
});
const load = (count: number, more: Partial<Load> = {}): Load => ({
  tools: Array.from({ length: count }, (_, at) => named(`t${at}`)),
  bytes: count * 400,
  history: 100_000,
  ...more,
});

describe("the strategy that costs least", () => {
  it.each([
    ["few tools are sent as they are", "eager", can(), load(24)],
    ["few tools with long definitions are not", "wrap", can(), load(24, { bytes: 32_001 })],
    ["few tools are folded where even fewer may be sent", "wrap", can({ maxTools: 8 }), load(24)],
    ["a provider that loads tools itself does so", "native", can({ deferred: true }), load(60)],
    ["without a cache the list may grow", "append", can({ cachedTools: false }), load(60)],
    [
      "with a cache it may grow while little was said",
      "append",
      can(),
      load(60, { history: 1000 }),
    ],
    ["with a cache and a long conversation it stays as it is", "wrap", can(), load(60)],
    ["where tools are fixed it stays as it is", "wrap", can({ dynamicTools: false }), load(60)],
  ] as const)("%s: %s", (_, strategy, capabilities, given) => {
    expect(chooseStrategy(capabilities, given)).toBe(strategy);
  });

  it("is a restart where tools are fixed and calls must not be wrapped", () => {
    expect(chooseStrategy(can({ dynamicTools: false }), load(60), { wrap: false })).toBe("restart");
    expect(chooseStrategy(can(), load(60), { wrap: false })).toBe("append");
  });
});

describe("a strategy that was asked for", () => {
  it("is a restart instead of growth where tools are fixed", () => {
    expect(supported("append", can({ dynamicTools: false }), "codex/m")).toBe("restart");
    expect(supported("append", can(), "chat/m")).toBe("append");
  });

  it("is refused where it would leave deferred tools without a loader", () => {
    expect(() => supported("native", can(), "chat/m")).toThrow(
      "`chat/m` does not load deferred tools",
    );
  });
});
