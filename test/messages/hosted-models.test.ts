import { describe, expect, it } from "vitest";
import { createGateway, type SignRequest } from "../../src/index.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import { fakeUpstream, type Body, type ReceivedRequest } from "../support/fake-upstream.ts";

const chat = { model: "up/claude-opus-4-6", messages: [{ role: "user", content: "Hi" }] };

/** What a service that hosts Claude is asked for a chat request, and what the client is told. */
async function askedBy(
  profile: string,
  more: Body = {},
  sign?: SignRequest,
): Promise<{ request: ReceivedRequest | undefined; status: number; text: string }> {
  await using service = await fakeUpstream(({ body }) =>
    answerInMessages(body, { text: "Hello." }),
  );
  const up = { dialect: "messages" as const, profile, base_url: service.url, retries: 0 };
  const gateway = createGateway(
    { upstreams: { up: sign === undefined ? { ...up, api_key: "token" } : up }, store: "off" },
    sign === undefined ? {} : { sign: { up: sign } },
  );
  const response = await gateway.fetch(
    new Request("http://gateway/v1/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...chat, ...more }),
    }),
  );
  const text = await response.text();
  await gateway.close();
  return { request: service.requests[0], status: response.status, text };
}

describe("Claude on Vertex", () => {
  it.each([
    [false, "rawPredict"],
    [true, "streamRawPredict"],
  ])("is asked by its own path, streamed: %s", async (stream, method) => {
    const { request, text } = await askedBy("anthropic-vertex", { stream, max_tokens: 9 });
    expect(request?.path).toBe(`/v1/models/claude-opus-4-6:${method}`);
    expect(request?.headers).toMatchObject({ authorization: "Bearer token" });
    expect(request?.headers).not.toHaveProperty("x-api-key");
    expect(request?.body).toMatchObject({ anthropic_version: "vertex-2023-10-16", max_tokens: 9 });
    expect(request?.body).not.toHaveProperty("model");
    expect(text).toContain("Hell");
  });
});

describe("Claude on Bedrock", () => {
  it.each([true, false])("is asked for a whole answer, also for a stream: %s", async (stream) => {
    const { request, text } = await askedBy("anthropic-bedrock", { stream });
    expect(request?.path).toBe("/v1/model/claude-opus-4-6/invoke");
    expect(request?.headers).toMatchObject({ accept: "application/json" });
    expect(request?.body).toMatchObject({ anthropic_version: "bedrock-2023-05-31" });
    for (const key of ["model", "stream"]) expect(request?.body).not.toHaveProperty(key);
    expect(text).toContain("Hello.");
  });

  it("is sent what the host's own function signs", async () => {
    const { request, status } = await askedBy("anthropic-bedrock", {}, async (unsigned) => {
      const digest = await crypto.subtle.digest("SHA-256", new Uint8Array(unsigned.body ?? []));
      const { pathname } = new URL(unsigned.url);
      return { Authorization: `SIGNED ${unsigned.method} ${pathname} ${digest.byteLength}` };
    });
    expect(status).toBe(200);
    expect(request?.headers.authorization).toBe("SIGNED POST /v1/model/claude-opus-4-6/invoke 32");
  });

  it("is not asked where nobody could sign", async () => {
    const { request, status, text } = await askedBy("anthropic-bedrock", {}, () => {
      throw new Error("no credentials for you");
    });
    expect(request).toBeUndefined();
    expect(status).toBeGreaterThanOrEqual(400);
    expect(text).toContain("could not be signed");
    expect(text).not.toContain("credentials");
  });
});
