import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, json, type Answer } from "../support/fake-upstream.ts";
import { serve } from "../support/serve.ts";

/** Refusals that the same request meets again, however often it is sent. */
const refusals: Readonly<Record<string, Answer>> = {
  "a wrong key": json({ error: { message: "Bad key.", code: "invalid_api_key" } }, 401),
  "an unpaid account": json({ error: { message: "Insufficient Balance" } }, 402),
  "a quota that is used up": json(
    { error: { message: "You exceeded your quota.", code: "insufficient_quota" } },
    429,
    { "retry-after": "1" },
  ),
  "a quota that its type names": json(
    { error: { message: "No.", type: "insufficient_quota", code: null } },
    429,
    { "retry-after-ms": "10" },
  ),
  "an unknown model": json({ error: { message: "No m.", code: "model_not_found" } }, 404),
  "an unknown model as a bad request": json(
    { error: { message: "No m.", code: "model_not_found" } },
    400,
  ),
};

const message = { role: "user", content: "Hi" } as const;

/** One request of each official client, which tries again as it does by itself. */
const clients: Readonly<Record<string, (url: string, fetch: typeof globalThis.fetch) => unknown>> =
  {
    chat: (url, fetch) =>
      new OpenAI({ baseURL: `${url}/v1`, apiKey: "k", fetch }).chat.completions.create({
        model: "m",
        messages: [message],
      }),
    responses: (url, fetch) =>
      new OpenAI({ baseURL: `${url}/v1`, apiKey: "k", fetch }).responses.create({
        model: "m",
        input: "Hi",
        stream: true,
      }),
    messages: (url, fetch) =>
      new Anthropic({ baseURL: url, apiKey: "k", fetch }).messages.create({
        model: "m",
        max_tokens: 9,
        messages: [message],
      }),
  };

describe.each(Object.entries(clients))("the official %s client", (_, ask) => {
  it.each(Object.entries(refusals))(
    "sends a request once that meets %s",
    async (_name, refusal) => {
      await using upstream = await fakeUpstream(() => refusal);
      await using served = await serve({
        upstreams: { fake: { dialect: "chat", base_url: upstream.url, retries: 2 } },
        models: { "*": "fake/*" },
      });
      const heads: Headers[] = [];
      const counting: typeof fetch = async (input, init) => {
        const response = await fetch(input, init);
        heads.push(response.headers);
        return response;
      };
      await expect(Promise.resolve(ask(served.url, counting))).rejects.toThrow(/Upstream `fake`/);
      expect([heads.length, upstream.requests.length]).toEqual([1, 1]);
      expect(heads[0]?.get("x-should-retry")).toBe("false");
      expect(heads[0]?.get("retry-after")).toBeNull();
    },
  );
});

it.each(Object.entries(refusals))(
  "%s sends a turn on to the next of its chain",
  async (_, refusal) => {
    await using first = await fakeUpstream(() => refusal);
    await using second = await fakeUpstream(({ body }) => answerInChat(body, { text: "Hello." }));
    await using served = await serve({
      upstreams: {
        a: { dialect: "chat", base_url: first.url },
        b: { dialect: "chat", base_url: second.url },
      },
      models: { m: ["a/m", "b/m"] },
    });
    const client = new OpenAI({ baseURL: `${served.url}/v1`, apiKey: "k" });
    const answer = await client.chat.completions.create({ model: "m", messages: [message] });
    expect(answer.choices[0]?.message.content).toBe("Hello.");
    expect([first.requests.length, second.requests.length]).toEqual([1, 1]);
  },
);

it("a model that the gateway does not know is asked for once", async () => {
  await using upstream = await fakeUpstream(() => json({}, 500));
  await using served = await serve({
    upstreams: { fake: { dialect: "chat", base_url: upstream.url } },
    models: { known: "fake/m" },
  });
  let sent = 0;
  const counting: typeof fetch = (input, init) => {
    sent++;
    return fetch(input, init);
  };
  const client = new OpenAI({ baseURL: `${served.url}/v1`, apiKey: "k", fetch: counting });
  const asked = client.chat.completions.create({ model: "unknown", messages: [message] });
  await expect(asked).rejects.toMatchObject({ status: 404 });
  // The upstream is asked for its list alone.
  const methods = upstream.requests.map(({ method }) => method);
  expect([sent, methods]).toEqual([1, ["GET"]]);
});
