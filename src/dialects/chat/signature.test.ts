import { describe, expect, it } from "vitest";
import { calls, delta, done, read, role } from "../../../test/support/chat-frames.ts";

const extra_content = { google: { thought_signature: "c2ln" } };

describe("what a provider sends with a call", () => {
  it("is kept with the call, for whoever has to give it back", () => {
    const call = { index: 0, id: "a", type: "function", function: { name: "f", arguments: "{}" } };
    const { events } = read([
      role,
      delta({ tool_calls: [{ ...call, extra_content }] }),
      calls,
      done,
    ]);
    expect(events.find(({ type }) => type === "call-start")).toMatchObject({
      extra: { dialect: "chat", fields: { extra_content } },
    });
  });
});
