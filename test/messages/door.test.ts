import Anthropic, { BadRequestError } from "@anthropic-ai/sdk";
import { expect, it } from "vitest";
import { answerInMessages } from "../support/fake-messages.ts";
import { fakeUpstream, json } from "../support/fake-upstream.ts";
import { clientOf } from "../sdk/gateway.ts";
import { onto, serve } from "../support/serve.ts";

const hi = { model: "m", max_tokens: 9, messages: [{ role: "user" as const, content: "Hi" }] };

it("counts tokens by an estimate, and says that it is one", async () => {
  await using served = await serve({});
  const client = new Anthropic({ baseURL: served.url, apiKey: "unused", maxRetries: 0 });
  const { max_tokens: _, ...counted } = hi;
  const { data, response } = await client.messages.countTokens(counted).withResponse();
  expect(data.input_tokens).toBeGreaterThan(0);
  expect(response.headers.get("x-patchbay-token-count")).toBe("estimate");
});

it("has an upstream count that can, and tells it nothing that only an answer needs", async () => {
  await using upstream = await fakeUpstream(() => json({ input_tokens: 4711 }));
  await using served = await serve(onto("messages", upstream.url, { profile: "anthropic" }));
  const client = new Anthropic({ baseURL: served.url, apiKey: "unused", maxRetries: 0 });
  const { max_tokens: _, ...counted } = hi;
  const asked = { ...counted, system: "Be brief." };
  const { data, response } = await client.messages.countTokens(asked).withResponse();
  expect(data.input_tokens).toBe(4711);
  expect(response.headers.get("x-patchbay-token-count")).toBe("upstream");
  expect(upstream.requests[0]).toMatchObject({ path: "/v1/messages/count_tokens", body: asked });
  expect(Object.keys(upstream.requests[0]?.body ?? {}).toSorted()).toEqual([
    "messages",
    "model",
    "system",
  ]);
});

it("has a Responses upstream count for a Messages client", async () => {
  await using upstream = await fakeUpstream(() => json({ input_tokens: 12 }));
  const more = { profile: "openai-responses" };
  await using served = await serve(onto("responses", upstream.url, more));
  const client = new Anthropic({ baseURL: served.url, apiKey: "unused", maxRetries: 0 });
  const { max_tokens: _, ...counted } = hi;
  expect(await client.messages.countTokens(counted)).toEqual({ input_tokens: 12 });
  expect(upstream.requests[0]?.path).toBe("/v1/responses/input_tokens");
});

it("estimates where an upstream that can count does not", async () => {
  await using upstream = await fakeUpstream(() => json({ error: { message: "no" } }, 404));
  await using served = await serve(onto("messages", upstream.url, { profile: "anthropic" }));
  const client = new Anthropic({ baseURL: served.url, apiKey: "unused", maxRetries: 0 });
  const { max_tokens: _, ...counted } = hi;
  const { response } = await client.messages.countTokens(counted).withResponse();
  expect(response.headers.get("x-patchbay-token-count")).toBe("estimate");
});

it("lists models in one body that both families of clients read, page by page", async () => {
  const models = { "claude-glm-5": "demo/glm-5", b: "demo/b", c: "demo/c", "*": "demo/*" };
  await using served = await serve({ upstreams: { demo: { dialect: "scripted" } }, models });
  const client = new Anthropic({ baseURL: served.url, apiKey: "unused", maxRetries: 0 });
  const seen: string[] = [];
  for await (const { id, display_name } of client.models.list({ limit: 2 })) {
    expect(display_name).toBe(id);
    seen.push(id);
  }
  expect(seen.slice(0, 3)).toEqual(["claude-glm-5", "b", "c"]);
  const openai = clientOf(served);
  const listed: string[] = [];
  for await (const { id } of openai.models.list()) listed.push(id);
  expect(listed).toEqual(seen);
  expect(await client.models.retrieve("claude-glm-5")).toMatchObject({ type: "model" });
  expect(await openai.models.retrieve("claude-glm-5")).toMatchObject({ object: "model" });
  // As Claude Code looks for models: those whose ids contain `claude` are offered to its user.
  const found = (await (await fetch(`${served.url}/v1/models?limit=1000`)).json()) as {
    readonly data: readonly { readonly id: string }[];
  };
  expect(found.data.filter(({ id }) => id.includes("claude"))).toHaveLength(1);
});

it("tells an upstream's refusal in the words and under the id that clients look for", async () => {
  const error = { type: "invalid_request_error", message: "no such thing" };
  await using upstream = await fakeUpstream(() => json({ type: "error", error }, 400));
  await using served = await serve(onto("chat", upstream.url));
  const client = new Anthropic({ baseURL: served.url, apiKey: "unused", maxRetries: 0 });
  const refused = await client.messages.create(hi).catch((one: unknown) => one);
  expect(refused).toBeInstanceOf(BadRequestError);
  expect(refused).toMatchObject({
    requestID: expect.stringMatching(/./) as string,
    error: { type: "error", error: { type: "invalid_request_error" } },
  });
});

it("forwards a request, its version and its betas, and every frame of the answer", async () => {
  await using upstream = await fakeUpstream(({ body }) => answerInMessages(body, { text: "Yes." }));
  await using served = await serve(onto("messages", upstream.url));
  const body = { ...hi, stream: true, odd: { kept: true } };
  const response = await fetch(`${served.url}/v1/messages?beta=true`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "anthropic-version": "2026-10-21",
      "anthropic-beta": "a-1,b-2",
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  expect(upstream.requests[0]).toMatchObject({
    body,
    headers: { "anthropic-version": "2026-10-21", "anthropic-beta": "a-1,b-2" },
  });
  const { steps } = answerInMessages(body, { text: "Yes." });
  expect(text).toBe([...(steps as string[])].join(""));
});
