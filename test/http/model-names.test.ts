import { describe, expect, it } from "vitest";
import type { ConfigInput } from "../../src/gateway/config.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { serve, type Served } from "../support/serve.ts";

/** Services that have a path of its own for every model, and that path. */
const services = {
  "anthropic-bedrock": (model: string) => `/v1/model/${model}/invoke`,
  "anthropic-vertex": (model: string) => `/v1/models/${model}:rawPredict`,
} as const;
const profiles = Object.keys(services) as (keyof typeof services)[];

const to = (profile: string, url: string): ConfigInput => ({
  upstreams: { up: { dialect: "messages", profile, base_url: url, api_key: "k", retries: 0 } },
  models: { "*": "up/*" },
});

const ask = (served: Served, model: string): Promise<Response> =>
  fetch(`${served.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }] }),
  });

const hostile: readonly string[] = [
  "..",
  ".",
  "../x",
  "a/../../x",
  "a/./b",
  "a//b",
  "/a",
  "a/",
  "a\\..\\b",
  "a?b=c",
  "a#b",
  "%2e%2e",
  "%2E%2E/x",
  "a%2fb",
  "..;/x",
  "\ud800",
  "a\udc00b",
  "a\u0000b",
  "a\r\nb",
  "a\tb",
  "a b",
  "\u0085",
  "\u2028",
];

describe.each(profiles)("a name of a model in the path of %s", (profile) => {
  it.each(hostile.map((name) => [JSON.stringify(name), name]))(
    "is refused where it could be read as another path: %s",
    async (_, model) => {
      await using service = await fakeUpstream(({ body }) => answerInMessages(body, { text: "x" }));
      await using served = await serve(to(profile, service.url));
      for (const name of [model, `up/${model}`]) {
        const response = await ask(served, name);
        const { error } = (await response.json()) as Body;
        expect([response.status, error]).toMatchObject([
          400,
          { code: "request.invalid", param: "model" },
        ]);
      }
      expect(service.requests).toEqual([]);
    },
  );

  it.each([
    ["claude-sonnet-4@20250514", "claude-sonnet-4%4020250514"],
    ["anthropic.claude-3-5-sonnet-20241022-v2:0", "anthropic.claude-3-5-sonnet-20241022-v2%3A0"],
    [
      "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude",
      "arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.anthropic.claude",
    ],
    ["...", "..."],
    ["modèle", "mod%C3%A8le"],
  ])("is one part of it: %s", async (model, part) => {
    await using service = await fakeUpstream(({ body }) => answerInMessages(body, { text: "x" }));
    await using served = await serve(to(profile, service.url));
    expect((await ask(served, model)).status).toBe(200);
    expect(service.requests[0]?.path).toBe(services[profile](part));
  });
});

it.each(hostile.map((name) => [JSON.stringify(name), name]))(
  "a name of a model is a text like any other where it is in no path: %s",
  async (_, model) => {
    await using upstream = await fakeUpstream(({ body }) => answerInChat(body, { text: "x" }));
    await using served = await serve({
      upstreams: { up: { dialect: "chat", base_url: upstream.url, retries: 0 } },
      models: { "*": "up/*" },
    });
    expect((await ask(served, model)).status).toBe(200);
    expect(upstream.requests[0]?.body["model"]).toBe(model);
  },
);
