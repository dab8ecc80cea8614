import { describe, expect, it } from "vitest";
import { clientName } from "../turn/names.ts";
import { headOverridesIn, Session, type SessionEvent } from "./session.ts";

const set = (path: string, visibility: "full" | "summary" = "full"): SessionEvent => ({
  type: "visibility-set",
  path,
  visibility,
  by: "caller",
  timestamp: 1,
});
const started: SessionEvent = {
  type: "thread-started",
  adapter: "a/b",
  strategy: "wrap",
  role: "system",
  timestamp: 2,
};

describe("a session", () => {
  it("is the same after it was saved, openings and all", () => {
    const call = {
      type: "call",
      id: "c",
      kind: "function",
      name: clientName("x"),
      input: "{}",
    } as const;
    const session = new Session([
      set("a.b"),
      started,
      { type: "item-added", item: call, wrapped: '{"name":"x"}' },
      { type: "tools-injected", sectionKey: "a.b", toolNames: ["x"], timestamp: 3 },
    ]);
    const resumed = Session.from(JSON.parse(JSON.stringify(session)));
    expect(resumed.events).toEqual(session.events);
    expect(resumed.overrides).toEqual(new Map([["a.b", "full"]]));
  });

  it("counts the last word on each path", () => {
    expect(new Session([set("a"), set("a", "summary")]).overrides.get("a")).toBe("summary");
  });

  it("knows what was open when its conversation began", () => {
    const { events } = new Session([set("a"), started, set("b")]);
    expect([...headOverridesIn(events).keys()]).toEqual(["a"]);
  });

  it("is not made of anything else, and says where that differs", () => {
    expect(() => Session.from({ version: 2, events: [] })).toThrow(
      "not a saved session of version 1",
    );
    expect(() => Session.from({ version: 1, events: [{ type: "x" }] })).toThrow("events.0");
    expect(() => Session.from({ version: 1, events: [{ type: "item-added", item: {} }] })).toThrow(
      "is not an item of a conversation",
    );
  });
});
