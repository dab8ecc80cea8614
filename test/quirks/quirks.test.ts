import { createOpenAI } from "@ai-sdk/openai";
import { createParser } from "eventsource-parser";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { builtinDialects } from "../../src/dialects/registry.ts";
import { StreamNormalizer } from "../../src/stream/normalize.ts";
import { runStage } from "../../src/stream/stage.ts";
import type { TurnEvent } from "../../src/turn/event.ts";
import type { UpstreamName } from "../../src/turn/names.ts";
import { askWithin, doors, readAnswer, readBody, type DoorName } from "../support/client.ts";
import type { ClientAnswer } from "../support/client-answer.ts";
import { cut, json, sse, type Body, type Model } from "../support/fake-upstream.ts";
import { readResponsesEvents } from "../support/responses-reader.ts";
import { sharedGateway } from "../support/shared-gateway.ts";
import { broken } from "../support/stream-grammar.ts";
import { chatCalls } from "./chat-calls.ts";
import { chatEndings } from "./chat-endings.ts";
import { chatText } from "./chat-text.ts";
import { chatErrors } from "./errors.ts";
import { framing } from "./framing.ts";
import { geminiQuirks, worthless } from "./gemini.ts";
import { hostedItems } from "./hosted.ts";
import { written, type Failed, type Quirk, type Seen } from "./quirk.ts";
import { responsesEndings } from "./responses-endings.ts";
import { responsesItems } from "./responses.ts";

type WireName = DoorName | "gemini";
const quirks: Readonly<Record<WireName, readonly Quirk[]>> = {
  chat: [...chatCalls, ...chatText, ...chatEndings, ...chatErrors, ...framing],
  responses: [...responsesItems, ...responsesEndings, ...hostedItems],
  gemini: [...geminiQuirks, ...worthless],
};

type Row = Quirk & { readonly dialect: WireName; readonly model: string };
const rows: Row[] = [];
for (const [dialect, list] of Object.entries(quirks) as [WireName, readonly Quirk[]][])
  for (const quirk of list) rows.push({ ...quirk, dialect, model: `${dialect}/${rows.length}` });
const isSound = (row: Row): row is Row & { readonly sees: Seen } => !("fails" in row.sees);
const sound = rows.filter(isSound);
const failing = rows.filter((row): row is Row & { readonly sees: Failed } => !isSound(row));

/** Sends the row whose place among all rows is the model's name. */
const play: Model = ({ body, path }) => {
  const [, inPath] = /\/models\/(\d+):/.exec(path) ?? [];
  const wire = rows[Number(inPath ?? body["model"])]?.wire;
  if (wire === undefined) return json({ error: { message: "no such quirk" } }, 404);
  if ("body" in wire) return json(wire.body);
  return "severed" in wire ? sse(...written(wire.severed), cut) : sse(...written(wire.stream));
};
const here = sharedGateway(play);

const parameters = { type: "object" };
const tools = {
  chat: [
    { type: "function", function: { name: "look", parameters } },
    { type: "function", function: { name: "find", parameters } },
    { type: "custom", custom: { name: "write" } },
  ],
  responses: [
    { type: "function", name: "look", parameters, strict: false },
    { type: "function", name: "find", parameters, strict: false },
    { type: "custom", name: "write" },
  ],
} as const satisfies {
  readonly chat: readonly OpenAI.ChatCompletionTool[];
  readonly responses: readonly OpenAI.Responses.Tool[];
};

const read = async (row: Row, door: DoorName, stream: boolean) =>
  readAnswer(
    door,
    await askWithin(here.served, door, { model: row.model, stream, tools: tools[door] }),
  );

const stops = {
  chat: { end: "stop", calls: "tool_calls", length: "length", filter: "content_filter" },
  responses: {
    end: "completed",
    calls: "completed",
    length: "max_output_tokens",
    filter: "content_filter",
  },
} as const;

const anyId = expect.stringMatching(/./) as string;
function wanted(door: DoorName, { text = "", refusal = "", calls = [], ...sees }: Seen): object {
  const stop = sees.stop ?? (calls.length > 0 ? "calls" : "end");
  return {
    text,
    refusal,
    reasoning: sees.reasoning ?? "",
    calls: calls.map((call) => ({
      id: call.id ?? anyId,
      kind: call.kind ?? "function",
      name: call.name,
      input: call.input,
      complete: true,
    })),
    stop: stops[door][stop],
    error: undefined,
  };
}

function expectDistinctIds({ calls }: ClientAnswer): void {
  expect(new Set(calls.map(({ id }) => id)).size, "ids are distinct").toBe(calls.length);
}

describe("what providers send", () => {
  it.each(sound)("$dialect, $quirk ($providers): is what it means at both doors", async (row) => {
    for (const door of doors)
      for (const stream of [true, false]) {
        const answer = await read(row, door, stream);
        expect(answer, `${door}, stream=${stream}`).toEqual({
          status: 200,
          ...wanted(door, row.sees),
        });
        expectDistinctIds(answer);
        expect(here.served.turns().at(-1)?.usage ?? {}).toMatchObject(row.sees.usage ?? {});
      }
  });

  const withItems = sound.filter(({ sees }) => sees.items !== undefined);

  it.each(withItems)("$dialect, $quirk ($providers): reaches the responses door", async (row) => {
    for (const stream of [true, false]) {
      const response = await askWithin(here.served, "responses", { model: row.model, stream });
      const text = await response.text();
      const last = stream
        ? readResponsesEvents(text).at(-1)
        : { response: JSON.parse(text) as Body };
      const output = last?.["response"].output as readonly Body[];
      expect(output.map((item) => item["type"] as string)).toEqual(row.sees.items);
    }
  });

  it.each(failing)(
    "$dialect, $quirk ($providers): is an honest failure at both doors",
    async (row) => {
      for (const door of doors) {
        const streamed = await read(row, door, true);
        expect(JSON.stringify(streamed.error)).toMatch(row.sees.fails);
        expect(streamed.text).toBe(row.sees.text ?? "");
        expect(streamed.calls.filter(({ complete }) => complete)).toEqual([]);
        const whole = await read(row, door, false);
        expect(whole.status, "no success").toBeGreaterThanOrEqual(400);
        expect(JSON.stringify(whole.error)).toMatch(row.sees.fails);
      }
    },
  );

  it.each(rows)("$dialect, $quirk ($providers): keeps the grammar of events", (row) => {
    expect(broken(eventsOf(row))).toEqual([]);
  });
});

/** The events that the reader of a dialect makes of a row, normalized. */
function eventsOf({ wire, dialect }: Row): readonly TurnEvent<UpstreamName>[] {
  let made = 0;
  const events: TurnEvent<UpstreamName>[] = [];
  const emit = (event: TurnEvent<UpstreamName>): void => void events.push(event);
  const reader = builtinDialects
    .get(dialect)
    ?.upstream?.readEvents({ newId: (prefix) => `${prefix}_${++made}`, frames: false });
  if (reader === undefined) throw new Error(`no upstream speaks ${dialect}`);
  if ("body" in wire) reader.whole(JSON.stringify(wire.body), emit);
  else {
    const decoder = new TextDecoder();
    const parser = createParser({
      onEvent: ({ event, data }) => reader.frame(data, event, false, emit),
    });
    for (const part of written("stream" in wire ? wire.stream : wire.severed))
      parser.feed(typeof part === "string" ? part : decoder.decode(part, { stream: true }));
  }
  reader.end?.(emit);
  return runStage(new StreamNormalizer<UpstreamName>(), events);
}

const openai = (): OpenAI =>
  new OpenAI({
    baseURL: `${here.served.url}/v1`,
    apiKey: "unused",
    maxRetries: 0,
    fetch: here.served.fetch,
  });

const withOpenai: Readonly<Record<DoorName, (model: string) => Promise<Body>>> = {
  chat: (model) =>
    openai()
      .chat.completions.stream({
        model,
        messages: [{ role: "user", content: "Hi" }],
        tools: [...tools.chat],
      })
      .finalChatCompletion(),
  responses: (model) =>
    openai()
      .responses.stream({
        model,
        input: "Hi",
        tools: [...tools.responses],
      })
      .finalResponse(),
};

describe("the readers of official clients", () => {
  it.each(sound)("of openai take $dialect, $quirk ($providers)", async (row) => {
    for (const door of doors) {
      const answer = readBody(door, await withOpenai[door](row.model));
      // The reader of chat keeps the last fragment of a field that it does not know.
      const known = door === "chat" ? { ...answer, reasoning: row.sees.reasoning ?? "" } : answer;
      expect({ door, ...known }).toEqual({ door, ...wanted(door, row.sees) });
    }
  });

  // The ai package has no custom tools over chat, and reads a refusal at one door alone.
  const plain = sound.filter(
    ({ sees: { calls = [], refusal } }) =>
      refusal === undefined && calls.every(({ kind }) => kind === undefined),
  );

  it.each(plain)("of ai take $dialect, $quirk ($providers)", async (row) => {
    const { text = "", calls = [] } = row.sees;
    for (const door of doors)
      expect({ door, ...(await withAi(door, row.model)) }).toEqual({
        door,
        text,
        calls: calls.map(({ name, input }) => ({ name, input })),
        errors: [],
      });
  });

  it.each(failing)("of both hear of $dialect, $quirk ($providers)", async (row) => {
    for (const door of doors) {
      await expect(withOpenai[door](row.model)).rejects.toThrow(/./);
      const heard = await withAi(door, row.model).catch((error: Error) => ({ errors: [error] }));
      expect(heard.errors).not.toEqual([]);
    }
  });
});

type AiRead = { text: string; calls: unknown[]; errors: unknown[] };

/** What the ai package makes of a stream. */
async function withAi(door: DoorName, model: string): Promise<AiRead> {
  const provider = createOpenAI({
    baseURL: `${here.served.url}/v1`,
    apiKey: "unused",
    fetch: here.served.fetch,
  });
  const { stream } = await provider[door](model).doStream({
    prompt: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
    tools: ["look", "find"].map((name) => ({ type: "function", name, inputSchema: {} })),
  });
  const read: AiRead = { text: "", calls: [], errors: [] };
  for await (const part of stream) {
    if (part.type === "text-delta") read.text += part.delta;
    if (part.type === "error") read.errors.push(part.error);
    if (part.type === "tool-call" && part.providerExecuted !== true)
      read.calls.push({ name: part.toolName, input: part.input });
  }
  return read;
}
