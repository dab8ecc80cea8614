import Anthropic, { AnthropicError, NotFoundError } from "@anthropic-ai/sdk";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ConfigInput } from "../../src/gateway/config.ts";
import { chatToolLoop, messagesToolLoop, responsesToolLoop } from "../support/fake-dialects.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import { cut, fakeUpstream, sse, type Body } from "../support/fake-upstream.ts";
import { onto, serve, type Served } from "../support/serve.ts";

type Recorded = { readonly client: Anthropic; readonly sent: Body[] };

/** A client, and the bodies that it sends. */
function recorded({ url }: Pick<Served, "url">, apiKey = "unused"): Recorded {
  const sent: Body[] = [];
  const client = new Anthropic({
    baseURL: url,
    apiKey,
    maxRetries: 0,
    fetch: (input, init) => {
      sent.push(JSON.parse(init?.body as string) as Body);
      return fetch(input, init);
    },
  });
  return { client, sent };
}

const tools = ["get_weather", "get_time"].map((name) => ({
  type: "custom" as const,
  name,
  description: name,
  input_schema: { type: "object" as const, properties: { city: { type: "string" } } },
  run: () => `${name} ran`,
  parse: (input: unknown) => input,
}));

const question = {
  model: "m",
  max_tokens: 100,
  system: "Be brief.",
  tools,
  messages: [{ role: "user" as const, content: "The weather in Paris, the time in Tokyo?" }],
};

const loops = { chat: chatToolLoop, responses: responsesToolLoop, messages: messagesToolLoop };

const file = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-threads-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "state.db");
};
const stores: Readonly<Record<"memory" | "sqlite", () => ConfigInput["store"]>> = {
  memory: () => ({ kind: "memory" }),
  sqlite: () => ({ kind: "sqlite", path: file() }),
};

describe.each(["chat", "responses", "messages"] as const)("a thread on a %s upstream", (back) => {
  it.each(["memory", "sqlite"] as const)(
    "sends only what is new, and the model hears all of it (%s)",
    async (kind) => {
      await using upstream = await fakeUpstream(loops[back]);
      await using served = await serve({ ...onto(back, upstream.url), store: stores[kind]() });
      const { client, sent } = recorded(served);
      const answer = await client.beta.messages.toolRunner(question).runUntilDone();
      expect(answer.content).toMatchObject([
        { text: "get_weather said get_weather ran, get_time said get_time ran." },
      ]);
      expect(sent.map(({ thread }) => thread as unknown)).toEqual([
        { type: "create" },
        { type: "continue", previous_message_id: expect.stringMatching(/^msg_/) as string },
      ]);
      expect(sent[1]).not.toHaveProperty("tools");
      const [first, second] = upstream.requests.map(({ body }) => body);
      expect(second?.["tools"]).toEqual(first?.["tools"]);
      expect(upstream.requests[1]?.text).toContain("Be brief.");
      expect(upstream.requests[1]?.text).toContain("The weather in Paris");
    },
  );
});

it("goes on over many turns though its upstream gives every answer the same id", async () => {
  await using upstream = await fakeUpstream(({ body }) => {
    const { length } = body["messages"] as unknown[];
    return answerInMessages(body, { text: `Heard ${length}.` });
  });
  await using served = await serve(onto("messages", upstream.url));
  const thread = recorded(served).client.beta.messages.thread({ model: "m", max_tokens: 9 });
  const said: unknown[] = [];
  for (const content of ["one", "two", "three", "four"]) {
    const answer = await thread.send({ role: "user", content });
    said.push(...answer.content.map((block) => block.type === "text" && block.text));
  }
  expect(said).toEqual(["Heard 1.", "Heard 3.", "Heard 5.", "Heard 7."]);
  expect(upstream.requests.at(-1)?.body["messages"]).toMatchObject([
    { content: "one" },
    { content: [{ text: "Heard 1." }] },
    { content: "two" },
    { content: [{ text: "Heard 3." }] },
    { content: "three" },
    { content: [{ text: "Heard 5." }] },
    { content: "four" },
  ]);
});

it("is refused where nothing is kept, in the words that make the runner send everything", async () => {
  await using upstream = await fakeUpstream(chatToolLoop);
  await using served = await serve({ ...onto("chat", upstream.url), store: "off" });
  const { client, sent } = recorded(served);
  const answer = await client.beta.messages.toolRunner(question).runUntilDone();
  expect(answer.content).toMatchObject([{ type: "text" }]);
  expect(sent.map(({ thread }) => thread !== undefined)).toEqual([true, false, false]);
  const body = { ...question, tools: [], thread: { type: "create" as const } };
  const refused: unknown = await client.beta.messages.create(body).catch((error: unknown) => error);
  expect(refused).toMatchObject({
    status: 400,
    error: { error: { details: { error_code: "thread_unsupported_request", unsupported: [] } } },
  });
});

it("that nobody knows is told so, and the runner sends everything under a new one", async () => {
  await using upstream = await fakeUpstream(chatToolLoop);
  const store = { kind: "memory" } as const;
  await using first = await serve({ ...onto("chat", upstream.url), store });
  await using second = await serve({ ...onto("chat", upstream.url), store });
  const sent: Body[] = [];
  // The second request of the runner comes to a gateway that has never heard of the first.
  const client = new Anthropic({
    baseURL: first.url,
    apiKey: "unused",
    fetch: (input, init) => {
      sent.push(JSON.parse(init?.body as string) as Body);
      const url = (input as string).replace(first.url, sent.length > 1 ? second.url : first.url);
      return fetch(url, init);
    },
  });
  await client.beta.messages.toolRunner(question).runUntilDone();
  expect(sent.map(({ thread }) => (thread as Body)["type"] as string)).toEqual([
    "create",
    "continue",
    "create",
  ]);
});

it("is its tenant's alone", async () => {
  await using upstream = await fakeUpstream(chatToolLoop);
  const keys = [
    { name: "ann", key: "key-of-ann" },
    { name: "bob", key: "key-of-bob" },
  ];
  await using served = await serve({ ...onto("chat", upstream.url), server: { keys } });
  const hi = { model: "m", max_tokens: 9, messages: [{ role: "user" as const, content: "Hi" }] };
  const ann = recorded(served, "key-of-ann").client.beta.messages;
  const { id } = await ann.create({ ...hi, thread: { type: "create" } });
  const thread = { type: "continue" as const, previous_message_id: id };
  const bob = recorded(served, "key-of-bob").client.beta.messages;
  await expect(bob.create({ ...hi, thread })).rejects.toThrow(NotFoundError);
  await expect(ann.create({ ...hi, thread })).resolves.toHaveProperty("id");
});

it("cannot be continued from an answer that was cut off", async () => {
  await using upstream = await fakeUpstream(({ body }) => {
    const { steps } = answerInMessages(body, { text: "A long answer." });
    return sse(...[...(steps as string[])].slice(0, 4), cut);
  });
  await using served = await serve(onto("messages", upstream.url));
  const { messages } = recorded(served).client.beta;
  const hi = { model: "m", max_tokens: 9, messages: [{ role: "user" as const, content: "Hi" }] };
  const stream = messages.stream({ ...hi, thread: { type: "create" } });
  const started = new Promise<string>((resolve) => {
    stream.on("streamEvent", (event) => {
      if (event.type === "message_start") resolve(event.message.id);
    });
  });
  await expect(stream.finalMessage()).rejects.toThrow(AnthropicError);
  const thread = { type: "continue" as const, previous_message_id: await started };
  await expect(messages.create({ ...hi, thread })).rejects.toThrow(NotFoundError);
});

it("keeps the system and the tools that it began with, so neither may be sent again", async () => {
  await using served = await serve({});
  const { messages } = recorded(served).client.beta;
  const thread = { type: "continue" as const, previous_message_id: "msg_1" };
  const { tools: _, ...rest } = question;
  await expect(messages.create({ ...rest, thread })).rejects.toThrow(
    /`system` is set when the thread is created/,
  );
});
