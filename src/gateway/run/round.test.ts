import { describe, expect, it } from "vitest";
import { chat } from "../../dialects/chat/chat.ts";
import type { Fields } from "../../turn/turn.ts";
import type { Profile } from "../../turn/profile.ts";
import { genericChat } from "../../profiles/generic.ts";
import type { Upstream } from "../../upstreams/upstream.ts";
import { parseConfig } from "../config.ts";
import { planRound } from "./round.ts";
import { callRules } from "./rules.ts";
import { linkOf } from "./select.ts";

const asked = { rules: callRules(parseConfig({})) };

/** Whether a chat request would be forwarded as it is to a chat upstream. */
const isStraight = (body: Fields, over: Partial<Profile> = {}, emitsFrames = true): boolean => {
  const upstream: Upstream = {
    name: "toy",
    profile: { ...genericChat, ...over },
    emitsFrames,
    prepare: () => ({ decisions: [], open: () => () => expect.unreachable() }),
    close: () => Promise.resolve(),
  };
  const turn = chat.door.readRequest({
    model: "m",
    messages: [{ role: "user", content: "Hi" }],
    ...body,
  });
  return planRound(turn, linkOf(upstream, "m"), asked).straight;
};

describe("the straight lane", () => {
  it("is for requests that the upstream takes as they are", () => {
    expect(isStraight({ temperature: 0.5, max_tokens: 5, unknown: 1 })).toBe(true);
  });

  it("is not for an upstream whose events come without their frames", () => {
    expect(isStraight({}, {}, false)).toBe(false);
  });

  it("is not for a parameter that the upstream calls by another name, or has not", () => {
    expect(isStraight({ max_completion_tokens: 5 })).toBe(false);
    expect(isStraight({ seed: 5 }, { params: { seed: null } })).toBe(false);
  });

  it("is not for a format that the upstream has not", () => {
    const asked = { response_format: { type: "json_object" } };
    expect(isStraight(asked)).toBe(true);
    expect(isStraight(asked, { formats: ["text"] })).toBe(false);
  });

  it("is not for forms that only some upstreams still read", () => {
    const old = { name: "f", arguments: "{}" };
    expect(isStraight({ functions: [{ name: "f" }] })).toBe(false);
    expect(isStraight({ messages: [{ role: "assistant", function_call: old }] })).toBe(false);
    expect(isStraight({ messages: [{ role: "function", name: "f", content: "" }] })).toBe(false);
    // Clients that send back what they were given send null for what it was not.
    const none = { functions: null, function_call: null };
    const said = { role: "assistant", content: "Hi", function_call: null };
    expect(isStraight({ ...none, messages: [said] })).toBe(true);
  });

  it("is not for another dialect", () => {
    expect(isStraight({}, { dialect: "responses" })).toBe(false);
  });
});
