import { expect, it } from "vitest";
import { clientName } from "../turn/names.ts";
import { chat } from "./chat/chat.ts";
import { builtinDialects, dialectRegistry } from "./registry.ts";
import { gemini } from "./gemini/gemini.ts";
import { messages } from "./messages/messages.ts";
import { responses } from "./responses/responses.ts";

/** A request of every dialect at once. */
const request = {
  model: "m",
  input: "Hi",
  messages: [{ role: "user", content: "Hi" }],
  contents: [{ role: "user", parts: [{ text: "Hi" }] }],
};

it.each(builtinDialects.doors)(
  "$name says of itself whether its streams tell the end of a call",
  ({ door, traits }) => {
    const context = { id: "x", created: 7, now: () => 7, newId: (prefix: string) => prefix };
    const turn = door.readRequest({ ...request, stream: true });
    const writer = door.writeEvents(turn, context);
    const at = { choice: 0, call: 0 };
    const call = { ...at, kind: "function", id: "a", name: clientName("look") } as const;
    writer.each({ type: "turn-start" }, () => {});
    writer.each({ type: "call-start", ...call }, () => {});
    let said = "";
    writer.each({ type: "call-end", ...at, complete: true }, (text) => (said += text));
    expect(traits.endsCalls && traits.sendsCallsLast !== true).toBe(said !== "");
    expect(turn.traits).toBe(traits);
  },
);

it.each(builtinDialects.doors)("$name ends a stream with its own marker", ({ door }) => {
  const context = { id: "x", created: 7, now: () => 7, newId: (prefix: string) => prefix };
  const writer = door.writeEvents(door.readRequest({ ...request, stream: true }), context);
  let said = "";
  const hear = (text: string): void => void (said += text);
  writer.each({ type: "turn-start" }, hear);
  writer.each({ type: "turn-end", choice: 0, stop: "end" }, hear);
  writer.end?.(hear);
  expect(said.endsWith(door.endMarker)).toBe(true);
});

it("says how many choices an answer has room for", () => {
  expect([chat.traits.choices, responses.traits.choices]).toEqual([Infinity, 1]);
});

it("makes an answer's id in the form of the dialect", () => {
  const ids = builtinDialects.doors.map(({ door }) => door.newAnswerId((prefix) => `${prefix}_1`));
  expect(ids).toEqual(["chatcmpl-1", "resp_1", "msg_1", "answer_1"]);
});

it("finds the dialect that a body is of", () => {
  const of = (body: object) => builtinDialects.doorFor(body as Record<string, unknown>);
  expect(of({ messages: [] })).toBe(chat.door);
  expect(of({ input: "Hi" })).toBe(responses.door);
  expect(of({ previous_response_id: "resp_1" })).toBe(responses.door);
  expect(of({})).toBe(responses.door);
  expect(of({ contents: [{ parts: [{ text: "Hi" }] }] })).toBe(gemini.door);
  expect(of({ messages: [], system: "Be brief." })).toBe(messages.door);
  expect(of({ messages: [], tools: [{ name: "f", input_schema: {} }] })).toBe(messages.door);
});

it("takes dialects of others, and another in place of a built-in one", () => {
  const own = { ...chat, name: "own", upstream: undefined };
  const other = { ...responses, title: "Other" };
  const registry = dialectRegistry([own, other]);
  expect(registry.all.map(({ name }) => name)).toEqual([
    "chat",
    "responses",
    "messages",
    "gemini",
    "own",
  ]);
  expect(registry.get("responses")).toBe(other);
  expect(registry.doors).toContain(own);
  expect(registry.upstreams).not.toContain(own);
});
