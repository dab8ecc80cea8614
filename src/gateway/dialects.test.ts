import { expect, it } from "vitest";
import { clientName } from "../turn/names.ts";
import { choicesIn, dialects, endsCalls } from "./dialects.ts";

it.each(Object.values(dialects))(
  "$name says of itself whether its streams tell the end of a call",
  (dialect) => {
    const request = { model: "m", input: "Hi", messages: [{ role: "user", content: "Hi" }] };
    const context = { id: "x", created: 7, now: () => 7, newId: (prefix: string) => prefix };
    const turn = dialect.readRequest({ ...request, stream: true });
    const writer = dialect.writeEvents(turn, context);
    const at = { choice: 0, call: 0 };
    const call = { ...at, kind: "function", id: "a", name: clientName("look") } as const;
    writer.each({ type: "turn-start" }, () => {});
    writer.each({ type: "call-start", ...call }, () => {});
    let said = "";
    writer.each({ type: "call-end", ...at, complete: true }, (text) => (said += text));
    expect(dialect.endsCalls).toBe(said !== "");
    expect(endsCalls(dialect.name)).toBe(dialect.endsCalls);
  },
);

it("takes upstreams without a dialect of ours at their word", () => {
  expect(endsCalls("codex")).toBe(true);
});

it("says how many choices an answer has room for", () => {
  expect([choicesIn("chat"), choicesIn("responses")]).toEqual([Infinity, 1]);
});
