import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chat } from "../../src/dialects/chat/chat.ts";
import { gemini } from "../../src/dialects/gemini/gemini.ts";
import { messages as messagesDialect } from "../../src/dialects/messages/messages.ts";
import type { DoorEntry } from "../../src/dialects/registry.ts";
import { responses } from "../../src/dialects/responses/responses.ts";
import { planTools } from "../../src/tools/plan/plan.ts";
import type { Decision } from "../../src/turn/decision.ts";
import type { Profile } from "../../src/turn/profile.ts";
import type { Fields } from "../../src/turn/turn.ts";
import { writeCodexRequest } from "../../src/upstreams/codex/request.ts";
import { codexProfile } from "../../src/profiles/codex.ts";
import { gemini as geminiProfile } from "../../src/profiles/gemini.ts";
import { genericChat, genericMessages, genericResponses } from "../../src/profiles/generic.ts";
import { zhipu } from "../../src/profiles/zhipu.ts";

/** An upstream that asks a good deal of a conversation. */
const choosy: Profile = { ...genericResponses, history: { ...genericChat.history, empty: false } };

const dialects = { chat, responses, messages: messagesDialect, gemini };

/** What becomes of a request, all told. */
function decided(body: Fields, from: DoorEntry, profile: Profile): readonly Decision[] {
  const plan = planTools(from.door.readRequest({ model: "m", ...body }), profile);
  const to = { profile, model: "m", straight: false };
  const written =
    profile.dialect === "codex"
      ? writeCodexRequest(plan.turn, "m", profile)
      : dialects[profile.dialect as keyof typeof dialects].upstream.writeRequest(plan.turn, to);
  return [...plan.decisions, ...written.decisions];
}

/** The messages or inputs that some decision is about. */
const placesOf = (decisions: readonly Decision[], reason: RegExp): number[] =>
  decisions
    .filter((one) => reason.test(one.reason))
    .map(({ path }) => Number(/^(?:messages|input)\[(\d+)\]/.exec(path)?.[1] ?? -1));

const id = fc.constantFrom("a", "b", "c");
const words = fc.constantFrom("", "So.");
const format = fc.constantFrom(undefined, "json_schema");

describe("a decision about what was said names the client's own place", () => {
  const marked = { x_mark: true };
  const said = fc.oneof(
    fc.record({ role: fc.constantFrom("user", "system", "assistant"), content: words }),
    fc.record({ role: fc.constant("assistant"), tool_calls: fc.array(id, { minLength: 1 }) }),
    fc.record({ role: fc.constant("tool"), tool_call_id: id, content: words }),
    fc.constant({ role: "user", content: "Look", ...marked }),
    fc.constant({ role: "assistant", content: "Well", ...marked }),
  );
  const asChat = ({ tool_calls: ids, ...message }: Fields): Fields =>
    Array.isArray(ids)
      ? {
          ...message,
          content: null,
          tool_calls: ids.map((one: string) => ({
            id: one,
            type: "function",
            function: { name: "f", arguments: "{}" },
          })),
        }
      : message;

  it("at the chat door", () => {
    fc.assert(
      fc.property(fc.array(said, { minLength: 1 }), format, (list, asked) => {
        const messages = (list as Fields[]).map(asChat);
        const response_format = asked && { type: asked, json_schema: { name: "n", schema: {} } };
        const all = decided({ messages, ...(response_format && { response_format }) }, chat, {
          ...choosy,
          formats: ["text"],
        });
        const places = messages.flatMap((one, at) => (one.x_mark === true ? [at] : []));
        expect(placesOf(all, /x_mark/).toSorted((a, b) => a - b)).toEqual(places);
      }),
    );
  });

  it("at the responses door", () => {
    const image = { type: "input_image", file_id: "file_1" };
    const item = fc.oneof(
      fc.record({ role: fc.constantFrom("user", "developer", "assistant"), content: words }),
      id.map((call_id) => ({ type: "function_call", call_id, name: "f", arguments: "" })),
      id.map((call_id) => ({ type: "function_call_output", call_id, output: "1" })),
      fc.constant({ type: "reasoning", summary: [], encrypted_content: "sealed" }),
      fc.constant({ type: "compaction", encrypted_content: "x" }),
      fc.constant({ role: "user", content: [{ type: "input_text", text: " " }, image, image] }),
    );
    // Codex wants to know at least one call that a result is of.
    const answered = [
      { type: "function_call", call_id: "z", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "z", output: "1" },
    ];
    const profile = fc.constantFrom(genericChat, zhipu, codexProfile);
    fc.assert(
      fc.property(fc.array(item), profile, fc.boolean(), (list, to, isTold) => {
        const input: readonly Fields[] = [...answered, ...list];
        const body = { input, ...(isTold && { instructions: "Be brief." }) };
        const all = decided(body, responses, {
          ...to,
          history: { ...to.history, media: ["image"] },
        });
        const places = input.flatMap((one, at) => (Array.isArray(one.content) ? [at] : []));
        const found = new Set(placesOf(all, /file id|data URLs/));
        expect([...found].toSorted((a, b) => a - b)).toEqual(places);
      }),
    );
  });
});

describe("paths at the gemini door", () => {
  const name = fc.constantFrom("f", "g", "a.b", "a_b", "h".repeat(90));
  const kind = fc.constantFrom("googleSearch", "urlContext", "codeExecution", "googleMaps");
  const entry = fc.oneof(
    fc.record({ functionDeclarations: fc.array(name.map((one) => ({ name: one }))) }),
    kind.map((one) => ({ [one]: {} })),
    kind.map((one) => ({ functionDeclarations: [{ name: "f" }], [one]: {} })),
  );
  const mode = fc.constantFrom(undefined, "ANY", "NONE", "VALIDATED");
  const upstreams = {
    chat: genericChat,
    responses: genericResponses,
    messages: genericMessages,
    gemini: geminiProfile,
    codex: codexProfile,
  };

  /** The value at a path of a request; undefined if there is none. */
  const valueAt = (body: Fields, path: string): unknown =>
    path.match(/\w+/g)?.reduce<unknown>((value, step) => (value as Fields | null)?.[step], body);

  it.each(Object.keys(upstreams) as (keyof typeof upstreams)[])(
    "of tools and of their choice exist in a request for %s",
    (to) => {
      fc.assert(
        fc.property(fc.array(entry), mode, (more, choice) => {
          // Some upstreams refuse a request without a function.
          const tools: Fields[] = [{ functionDeclarations: [{ name: "z" }] }, ...more];
          const body = {
            contents: [{ role: "user", parts: [{ text: "Hi" }] }],
            tools,
            ...(choice && { toolConfig: { functionCallingConfig: { mode: choice } } }),
          };
          const declared = tools.flatMap((one) =>
            Object.values(one).flatMap((value) => value as Fields | Fields[]),
          );
          const plan = planTools(gemini.door.readRequest({ model: "m", ...body }), upstreams[to]);
          const placed = plan.verdicts.map(({ path }) => valueAt(body, path));
          expect(new Set(placed)).toEqual(new Set(declared));
          for (const { path } of decided(body, gemini, upstreams[to]))
            expect([path, valueAt(body, path)]).not.toEqual([path, undefined]);
        }),
      );
    },
  );
});
