import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../turn/event.ts";
import { Fault } from "../turn/fault.ts";
import { clientName, type ClientName } from "../turn/names.ts";
import { AnswerFold, fold } from "./fold.ts";

type Event = TurnEvent<ClientName>;
const choice = 0;
const text = (said: string): Event => ({ type: "text-delta", choice, text: said });
const call = (number: number, id: string): Event => ({
  type: "call-start",
  choice,
  call: number,
  id,
  kind: "function",
  name: clientName("look"),
});

const itemsOf = (...events: Event[]) => fold(events).choices[0]?.items;

describe("fold", () => {
  it("joins text deltas into one part of one message", () => {
    expect(
      itemsOf(
        { type: "text-start", choice, id: "msg_1", phase: "commentary" },
        text("Hel"),
        text("lo"),
        { type: "text-end", choice },
      ),
    ).toEqual([
      {
        type: "message",
        role: "assistant",
        id: "msg_1",
        phase: "commentary",
        parts: [{ type: "text", text: "Hello" }],
        status: "completed",
      },
    ]);
  });

  it("begins a new part at a break, and after a refusal", () => {
    const [message] =
      itemsOf(
        { type: "text-start", choice },
        text("one"),
        { type: "text-break", choice },
        text("two"),
        { type: "refusal-delta", choice, text: "I " },
        { type: "refusal-delta", choice, text: "won't" },
        text("three"),
        { type: "text-end", choice },
      ) ?? [];
    expect(message).toMatchObject({
      parts: [
        { type: "text", text: "one" },
        { type: "text", text: "two" },
        { type: "refusal", text: "I won't" },
        { type: "text", text: "three" },
      ],
    });
  });

  it("keeps annotations and logprobs with the part they were said of", () => {
    const [message] =
      itemsOf(
        { type: "text-start", choice },
        { type: "text-delta", choice, text: "a", logprobs: [{ token: "a" }] },
        { type: "text-delta", choice, text: "b", logprobs: [{ token: "b" }] },
        { type: "text-note", choice, annotation: { type: "url_citation" } },
      ) ?? [];
    expect(message).toMatchObject({
      parts: [
        {
          text: "ab",
          logprobs: [{ token: "a" }, { token: "b" }],
          annotations: [{ type: "url_citation" }],
        },
      ],
    });
  });

  it("keeps the paragraphs of reasoning apart and its seal at the end", () => {
    expect(
      itemsOf(
        { type: "reasoning-start", choice, id: "rs_1" },
        { type: "reasoning-delta", choice, of: "summary", part: 1, text: "second" },
        { type: "reasoning-delta", choice, of: "summary", part: 0, text: "first" },
        { type: "reasoning-delta", choice, of: "content", part: 0, text: "thought" },
        { type: "reasoning-end", choice, encrypted: "sealed", details: [1] },
      ),
    ).toEqual([
      {
        type: "reasoning",
        id: "rs_1",
        summary: ["first", "second"],
        content: ["thought"],
        encrypted: "sealed",
        details: [1],
        status: "completed",
      },
    ]);
  });

  it("tells interleaved calls apart", () => {
    const items = itemsOf(
      call(0, "a"),
      call(1, "b"),
      { type: "call-delta", choice, call: 1, text: "{}" },
      { type: "call-delta", choice, call: 0, text: "[" },
      { type: "call-end", choice, call: 1, complete: true },
      { type: "call-end", choice, call: 0, complete: false },
    );
    expect(items).toMatchObject([
      { id: "a", input: "[", status: "incomplete" },
      { id: "b", input: "{}", status: "completed" },
    ]);
  });

  it("keeps what else an item came with", () => {
    const extra = { dialect: "responses", fields: { caller: { type: "program" } } } as const;
    expect(itemsOf({ ...call(0, "a"), extra } as Event)).toMatchObject([{ extra }]);
    expect(
      itemsOf(
        { type: "text-start", choice },
        { type: "text-end", choice, extra },
        { type: "reasoning-start", choice },
        { type: "reasoning-end", choice, extra },
      ),
    ).toMatchObject([{ extra }, { extra }]);
  });

  it("takes an unknown item as it was last seen", () => {
    expect(
      itemsOf(
        {
          type: "item-start",
          choice,
          item: 0,
          dialect: "responses",
          raw: { type: "x_call", status: "in_progress" },
        },
        { type: "item-note", choice, item: 0, dialect: "responses", raw: { type: "x.searching" } },
        {
          type: "item-end",
          choice,
          item: 0,
          dialect: "responses",
          raw: { type: "x_call", status: "completed" },
        },
      ),
    ).toEqual([
      { type: "opaque", dialect: "responses", raw: { type: "x_call", status: "completed" } },
    ]);
  });

  it("does not call a message completed that was cut off or never closed", () => {
    const status = (...events: Event[]) =>
      itemsOf({ type: "text-start", choice }, text("Hel"), ...events);
    expect(status({ type: "text-end", choice, complete: false })).toMatchObject([
      { status: "incomplete" },
    ]);
    expect(status()).toMatchObject([{ status: "incomplete" }]);
  });

  it("gives back the item that an event closed, and nothing for the others", () => {
    const folded = new AnswerFold<ClientName>();
    expect(folded.each({ type: "text-start", choice })).toBeUndefined();
    expect(folded.each(text("Hi"))).toBeUndefined();
    expect(folded.each({ type: "text-end", choice })).toMatchObject({ type: "message" });
    expect(folded.items(choice)).toHaveLength(1);
    expect(folded.items(7)).toEqual([]);
  });

  it("keeps choices apart and what was said of the whole", () => {
    const fault = new Fault("upstream.cut", "gone");
    const answer = fold<ClientName>([
      { type: "turn-start", dialect: "chat", id: "x", model: "m", created: 5, extra: { a: 1 } },
      { type: "text-start", choice: 2 },
      { type: "text-delta", choice: 2, text: "two" },
      { type: "usage", usage: { input: 1, output: 1, total: 2 } },
      { type: "usage", usage: { input: 1, output: 2, total: 3 } },
      { type: "turn-end", choice: 2, stop: "length" },
      { type: "frame", data: "{}", forwardable: true },
      { type: "turn-fail", fault },
    ]);
    expect(answer).toMatchObject({
      dialect: "chat",
      id: "x",
      model: "m",
      created: 5,
      extra: { a: 1 },
      choices: [{ index: 2, stop: "length", items: [{ parts: [{ text: "two" }] }] }],
      usage: { total: 3 },
      fault,
    });
  });
});
