import { describe, expect, it } from "vitest";
import {
  ask,
  called,
  calling,
  custom,
  fn,
  message,
  plain,
  result,
  whole,
} from "../../../test/support/turns.ts";
import { readRequest } from "../../dialects/chat/read-request.ts";
import { anthropic } from "../../profiles/anthropic.ts";
import { openaiResponses } from "../../profiles/openai.ts";
import { fold } from "../../stream/fold.ts";
import { chain, runStage } from "../../stream/stage.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Item, Reasoning } from "../../turn/turn.ts";
import { restoreAnswer } from "./restore.ts";
import { planTools } from "./plan.ts";

const choice = 0;
const origin = "deepseek/v4";
const details = [{ type: "reasoning.encrypted", data: "s3al" }];
const thinking: TurnEvent<UpstreamName>[] = [
  { type: "reasoning-start", choice },
  { type: "reasoning-delta", choice, of: "content", part: 0, text: "Let me " },
  { type: "reasoning-delta", choice, of: "content", part: 0, text: "see." },
  { type: "reasoning-end", choice, details },
];
/** A first turn, through which the client comes by the items. */
const first = planTools(ask({ tools: [custom("patch")], items: [message("user", "go")] }), plain, {
  origin,
});

/** What a client that echoes items has after an answer. */
const heard = (events: readonly TurnEvent<UpstreamName>[]): readonly Item[] =>
  (fold(runStage(chain(restoreAnswer(first)), events)).choices[0]?.items ?? []) as readonly Item[];
const reply = (items: readonly Item[], to: string, profile = plain) =>
  planTools(ask({ tools: [custom("patch")], items }), profile, { origin: to });

describe("reasoning", () => {
  it("comes back whole to the upstream and model that made it", () => {
    const items = heard([...thinking, ...calling("patch", ['{"input":"x"}'])]);
    const { turn, decisions } = reply(
      [...items, result("call_0", "ok", { kind: "custom" })],
      origin,
    );
    expect(turn.items[0]).toMatchObject({ type: "reasoning", content: ["Let me see."], details });
    expect((turn.items[0] as Reasoning).encrypted).toBeUndefined();
    expect(decisions.filter(({ action }) => action === "dropped")).toEqual([]);
  });

  it.each(["messages", "gemini"])(
    "that a provider of the %s dialect has signed is not for one that has items",
    (dialect) => {
      const signed: Reasoning = {
        type: "reasoning",
        summary: ["Hm."],
        content: [],
        encrypted: "c2lnbmF0dXJl",
      };
      const asked = ask({ dialect, items: [message("user", "go"), signed] });
      const { turn, decisions } = planTools(asked, openaiResponses, { origin: "openai/gpt" });
      expect(turn.items).toEqual([message("user", "go")]);
      const reason = "only the model that wrote the reasoning can read it";
      const path = `${asked.traits.conversation}[1]`;
      expect(decisions).toEqual([{ path, action: "dropped", reason }]);
    },
  );

  it("survives a client that gives back nothing but the sealed field", () => {
    const [item] = heard(thinking) as Reasoning[];
    const bare: Reasoning = {
      type: "reasoning",
      summary: [],
      content: [],
      encrypted: item?.encrypted,
    };
    expect(reply([bare], origin).turn.items).toMatchObject([{ content: ["Let me see."], details }]);
  });

  it("is not given to another model, and that is said", () => {
    const { turn, decisions } = reply(heard(thinking), "deepseek/v5");
    expect(turn.items).toEqual([]);
    expect(decisions).toContainEqual({
      path: "input[0]",
      action: "dropped",
      reason: "the reasoning is from deepseek/v4, and another model cannot use it",
    });
  });

  it("that a provider sealed is given only to whom it can mean something", () => {
    const sealed: Reasoning = {
      type: "reasoning",
      summary: ["s"],
      content: [],
      encrypted: "gAAAA",
    };
    expect(reply([sealed], origin).turn.items).toEqual([]);
    const native = { ...plain, dialect: "responses", reasoning: "items" } as const;
    expect(reply([sealed], origin, native).turn.items).toEqual([sealed]);
  });

  it("of a provider's own seal survives too", () => {
    const items = heard([
      { type: "reasoning-start", choice },
      { type: "reasoning-end", choice, encrypted: "gAAAA" },
    ]);
    expect(items).not.toMatchObject([{ encrypted: "gAAAA" }]);
    expect(reply(items, origin).turn.items).toMatchObject([{ encrypted: "gAAAA" }]);
  });

  it("that nobody sealed is given as it is", () => {
    const open: Reasoning = { type: "reasoning", summary: [], content: ["hm"] };
    expect(reply([open], origin).turn.items).toEqual([open]);
  });

  it("carries the signature of a call to the call", () => {
    const extra = {
      dialect: "chat",
      fields: { extra_content: { google: { thought_signature: "sig" } } },
    } as const;
    const items = heard(calling("patch", ['{"input":"x"}'], { extra }));
    const echoed = items.map((item) =>
      item.type === "call"
        ? called(item.id, item.name, { kind: item.kind, input: item.input })
        : item,
    );
    const { turn } = reply([...echoed, result("call_0", "ok", { kind: "custom" })], origin);
    expect(turn.items).toMatchObject([
      { type: "call", id: "call_0", extra: { fields: extra.fields } },
      { type: "result" },
    ]);
    expect(reply(echoed, "other/model").turn.items).toMatchObject([{ type: "call" }]);
  });

  it("is left as it is in the straight lane", () => {
    const plan = planTools(ask({ tools: [fn("look")] }), whole, { origin });
    const events = runStage(chain(restoreAnswer(plan)), thinking);
    expect(events).toEqual(thinking);
  });

  it("that was cut off is not sealed", () => {
    const items = heard([
      ...thinking.slice(0, 3),
      { type: "reasoning-end", choice, complete: false },
    ]);
    expect(items).toMatchObject([{ type: "reasoning", status: "incomplete" }]);
    expect((items[0] as Reasoning).encrypted).toBeUndefined();
  });
});

describe("reasoning that a chat client gives back in details", () => {
  const chat = ask({ dialect: "chat", tools: [fn("look")], items: [message("user", "go")] });
  const claude = planTools(chat, anthropic, { origin: "claude/opus" });
  const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} };
  const answer = runStage(chain(restoreAnswer(claude)), [
    { type: "reasoning-start", choice },
    { type: "reasoning-delta", choice, of: "summary", part: 0, text: "Hm." },
    { type: "reasoning-end", choice, encrypted: "s1g" },
    { type: "item-start", choice, item: 0, dialect: "messages", raw: search },
    { type: "item-end", choice, item: 0, dialect: "messages", raw: search },
    { type: "text-start", choice },
    { type: "text-delta", choice, text: "So." },
    { type: "text-end", choice },
    { type: "reasoning-start", choice },
    { type: "reasoning-end", choice, encrypted: "s2g" },
    ...calling("look", ["{}"]),
  ]);
  const given = fold(answer).choices[0]?.items.flatMap((item) =>
    item.type === "reasoning" ? (item.details ?? []) : [],
  );
  const messages = [
    { role: "user", content: "go" },
    {
      role: "assistant",
      content: "So.",
      reasoning_content: "Hm.",
      reasoning_details: given,
      tool_calls: [{ id: "call_0", type: "function", function: { name: "look", arguments: "{}" } }],
    },
  ];
  const again = (origin: string) =>
    planTools(readRequest({ model: "m", messages, tools: chat.tools }), anthropic, { origin });

  it("stands where it stood, with what the provider did itself", () => {
    expect(again("claude/opus").turn.items.slice(1)).toMatchObject([
      { type: "reasoning", summary: ["Hm."], encrypted: "s1g" },
      { type: "opaque", dialect: "messages", raw: search },
      { type: "message" },
      { type: "reasoning", summary: [], encrypted: "s2g" },
      { type: "call", id: "call_0" },
      { type: "result", call: "call_0" },
    ]);
  });

  it("is left out for another model, and the rest is the same", () => {
    const { turn, decisions } = again("claude/haiku");
    expect(turn.items.slice(1).map(({ type }) => type)).toEqual(["message", "call", "result"]);
    expect(decisions).toContainEqual({
      path: "messages[1]",
      action: "dropped",
      reason: "the reasoning is from claude/opus, and another model cannot use it (3 times)",
    });
  });

  it("has its paragraphs set apart there as in its text", () => {
    const said = (part: number, text: string): TurnEvent<UpstreamName> => ({
      type: "reasoning-delta",
      choice,
      of: "summary",
      part,
      text,
    });
    const events = runStage(chain(restoreAnswer(claude)), [
      { type: "reasoning-start", choice },
      said(0, "First, "),
      said(0, "this."),
      said(1, "Then that."),
      { type: "reasoning-end", choice, encrypted: "s1g" },
    ]);
    expect(events.at(-1)).toMatchObject({ details: [{ text: "First, this.\n\nThen that." }] });
  });
});
