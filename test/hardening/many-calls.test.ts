import { afterAll, beforeAll, expect, it } from "vitest";
import { ask } from "../support/client.ts";
import { answerInGemini } from "../support/fake-gemini.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import { answerInChat, answerInResponses } from "../support/fake-model.ts";
import { fakeUpstream, type Body, type FakeUpstream } from "../support/fake-upstream.ts";
import { endlessCounts, ontoEach, serve, type Served } from "../support/serve.ts";

const COUNT = 100_000;
let upstream: FakeUpstream;
let served: Served;
beforeAll(async () => {
  const say = { text: "Done." };
  upstream = await fakeUpstream(({ body, path }) => {
    if (path.includes(":generateContent")) return answerInGemini(path, say);
    if (path.endsWith("/responses")) return answerInResponses(body, say);
    return path.endsWith("/messages") ? answerInMessages(body, say) : answerInChat(body, say);
  });
  served = await serve({ ...ontoEach(upstream.url), server: { counts: endlessCounts } });
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

const ids = Array.from({ length: COUNT }, (_, at) => `c${at}`);
const chat = (): Body => ({
  messages: [
    { role: "user", content: "Hi" },
    {
      role: "assistant",
      tool_calls: ids.map((id) => ({
        id,
        type: "function",
        function: { name: "f", arguments: "{}" },
      })),
    },
    ...ids.map((id) => ({ role: "tool", tool_call_id: id, content: "" })),
  ],
});
const responses = (): Body => ({
  input: [
    { role: "user", content: "Hi" },
    ...ids.map((call_id) => ({ type: "function_call", call_id, name: "f", arguments: "{}" })),
    ...ids.map((call_id) => ({ type: "function_call_output", call_id, output: "" })),
  ],
});

const gemini = (): Body => ({
  contents: [
    { role: "user", parts: [{ text: "Hi" }] },
    { role: "model", parts: ids.map((id) => ({ functionCall: { id, name: "f", args: {} } })) },
    {
      role: "user",
      parts: ids.map((id) => ({ functionResponse: { id, name: "f", response: {} } })),
    },
  ],
});
const requests = { chat, responses, gemini };

/** What one dialect asks is written for another: each is read once, and each is written once. */
const pairs = [
  ["chat", "responses"],
  ["chat", "messages"],
  ["chat", "gemini"],
  ["responses", "chat"],
  ["gemini", "chat"],
] as const;

it.each(pairs)(
  "100,000 flat calls of a %s client are not nested too deep (%s upstream)",
  async (door, dialect) => {
    const response = await ask(served, door, { model: `${dialect}/m`, ...requests[door]() });
    expect(await response.text()).toContain("Done.");
    expect(response.status).toBe(200);
  },
);
