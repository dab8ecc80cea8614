import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { serve } from "../support/serve.ts";

const messages = [{ role: "user" as const, content: "Hello" }];

describe.each(["", "/", "/v1", "/v1/", "/v1/v1"])("a base URL that ends in `%s`", (path) => {
  it("works for the OpenAI SDK at both of its doors", async () => {
    await using served = await serve({});
    const client = new OpenAI({ baseURL: served.url + path, apiKey: "unused", maxRetries: 0 });
    const completion = await client.chat.completions.create({ model: "demo", messages });
    expect(completion.choices[0]?.message.content).not.toBe("");
    const response = await client.responses.create({ model: "demo", input: "Hello" });
    expect(response.status).toBe("completed");
    expect((await client.responses.retrieve(response.id)).id).toBe(response.id);
    expect((await client.models.list()).data.length).toBeGreaterThan(0);
  });

  it("works for the Anthropic SDK", async () => {
    await using served = await serve({});
    const client = new Anthropic({ baseURL: served.url + path, apiKey: "unused", maxRetries: 0 });
    const message = await client.messages.create({ model: "demo", max_tokens: 99, messages });
    expect(message.stop_reason).toBe("end_turn");
    const count = await client.messages.countTokens({ model: "demo", messages });
    expect(count.input_tokens).toBeGreaterThan(0);
  });
});

describe("GET /", () => {
  it("shows a browser the state and how to point an agent here", async () => {
    await using served = await serve({});
    const response = await fetch(served.url, { headers: { accept: "text/html,*/*" } });
    const page = await response.text();
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page).toContain("Patchbay is running.");
    expect(page).toContain("demo: ready");
    for (const agent of ["Claude Code:", "Codex:", "OpenAI SDKs:"]) expect(page).toContain(agent);
    expect(page).toContain(`ANTHROPIC_BASE_URL=${served.url} claude`);
  });

  it("shows no names where requests need a key, and needs none itself", async () => {
    await using served = await serve({ server: { keys: ["secret"] } });
    const response = await fetch(served.url, { headers: { accept: "text/html" } });
    const page = await response.text();
    expect(response.status).toBe(200);
    expect(page).toContain("Requests need a key");
    expect(page).not.toContain("demo");
  });

  it("writes nothing of a `host` header that is no address", async () => {
    await using served = await serve({});
    const response = await served.gateway.fetch(
      new Request("http://here/", { headers: { accept: "text/html", host: "<b>x</b>" } }),
    );
    expect(await response.text()).not.toContain("<b>");
  });
});

it("an unknown path is answered in one sentence with the nearest route", async () => {
  await using served = await serve({});
  const response = await fetch(`${served.url}/v1/chat/completion`, { method: "POST" });
  const { error } = (await response.json()) as { error: { message: string } };
  expect(response.status).toBe(404);
  expect(error.message).toBe(
    "There is no /v1/chat/completion here; the nearest route is /v1/chat/completions.",
  );
});
