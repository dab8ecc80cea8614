import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerInGemini } from "../support/fake-gemini.ts";
import { fakeUpstream, type Body, type FakeUpstream } from "../support/fake-upstream.ts";
import { checkGeminiError } from "../support/gemini-reader.ts";
import { serve, type Served } from "../support/serve.ts";

const KEY = "canary-key";
let upstream: FakeUpstream;
let served: Served;
beforeAll(async () => {
  upstream = await fakeUpstream(({ path }) => answerInGemini(path, { text: "So." }));
  served = await serve({
    server: { keys: [KEY] },
    upstreams: { up: { dialect: "gemini", base_url: upstream.url, api_key: "up-key", retries: 0 } },
    models: {
      m: "up/m",
      "a/b.c": "up/slash",
      "a:b": "up/colon",
      "tunedModels/t": "up/tuned",
      "gemini-*": "up/any",
    },
  });
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

const hi = { contents: [{ role: "user", parts: [{ text: "Hi" }] }] };
const tools = [{ functionDeclarations: [{ name: "f" }] }];

type Sent = { readonly method?: string; readonly body?: unknown; readonly headers?: object };
const ask = (path: string, { method = "POST", body = hi, headers }: Sent = {}): Promise<Response> =>
  fetch(served.url + path, {
    method,
    headers: { "x-goog-api-key": KEY, "content-type": "application/json", ...headers },
    ...(method === "POST" && { body: JSON.stringify(body) }),
  });
const errorOf = async (response: Response): Promise<Body> =>
  ((await response.json()) as Body)["error"] as Body;

describe("paths of a model", () => {
  const vertex = "projects/p/locations/global/publishers/google/models";
  it.each([
    ["/v1beta/models/m:generateContent", "m"],
    ["/v1/models/m:generateContent", "m"],
    ["/v1alpha/models/m:generateContent", "m"],
    ["/v1beta/models/m%3AgenerateContent", "m"],
    ["/v1beta/models/models/m:generateContent", "m"],
    ["/v1beta/models/models%2Fm:generateContent", "m"],
    ["/v1beta/models/a/b.c:generateContent", "slash"],
    ["/v1beta/models/a%2Fb.c:generateContent", "slash"],
    ["/v1beta/models/a:b:generateContent", "colon"],
    ["/v1beta/tunedModels/t:generateContent", "tuned"],
    ["/v1beta1/publishers/google/models/m:generateContent", "m"],
    ["/v1/publishers/google/models/m:generateContent", "m"],
    [`/v1/${vertex}/m:generateContent`, "m"],
    [`/v1beta1/${vertex}/m:generateContent`, "m"],
    ["/v1beta/models/gemini-9:generateContent", "any"],
    ["/v1beta/models/up/x:generateContent", "x"],
  ])("%s asks for %s", async (path, model) => {
    expect((await ask(path)).status).toBe(200);
    expect(upstream.requests.findLast(({ method }) => method === "POST")?.path).toBe(
      `/v1/models/${model}:generateContent`,
    );
  });

  it.each(["m", "a/b.c", "a%2Fb.c", "gemini-9", "up/x", "models/m"])(
    "finds the model %s by its name",
    async (name) => {
      const body = (await (await ask(`/v1beta/models/${name}`, { method: "GET" })).json()) as Body;
      const bare = decodeURIComponent(name).replace(/^models\//, "");
      expect(body).toMatchObject({ name: `models/${bare}`, baseModelId: bare });
    },
  );

  it.each([
    ["POST", "/v1beta/models/none:generateContent"],
    ["GET", "/v1beta/models/none"],
    ["POST", "/v1beta/models/m:embedContent"],
    ["POST", "/v1beta/models/m:batchEmbedContents"],
    ["POST", "/v1beta/models/m:batchGenerateContent"],
    ["POST", "/v1beta1/publishers/google/models/m:computeTokens"],
    ["POST", "/v1beta/cachedContents"],
    ["GET", "/v1beta/cachedContents/x"],
    ["GET", "/v1beta/files"],
    ["POST", "/upload/v1beta/files"],
    ["POST", "/v1beta/interactions"],
    ["GET", "/v1beta/tunedModels"],
    ["POST", "/v1beta/corpora/x:query"],
    ["POST", "/v1beta/openai/chat/completions"],
    ["POST", "/v1beta1/projects/p/locations/l/endpoints/7:predict"],
  ])("%s %s is a 404 in the API's form", async (method, path) => {
    const response = await ask(path, { method });
    expect(response.status).toBe(404);
    const error = await errorOf(response);
    checkGeminiError(error);
    expect(error).toMatchObject({ code: 404, status: "NOT_FOUND" });
    expect(error["message"]).toMatch(/generateContent/);
  });
});

describe("the form of an answer", () => {
  it.each([
    ["", "application/json"],
    ["?alt=json", "application/json"],
    ["?$alt=json;enum-encoding=int", "application/json"],
    ["?alt=sse", "text/event-stream"],
    ["?$alt=sse", "text/event-stream"],
    ["?key=x&alt=sse", "text/event-stream"],
  ])("of a stream asked for by %j is %s", async (query, type) => {
    const response = await ask(`/v1beta/models/m:streamGenerateContent${query}`);
    expect(response.headers.get("content-type")).toMatch(type);
    expect((await response.text()).startsWith(type === "application/json" ? "[{" : "data: {")).toBe(
      true,
    );
  });

  it.each(["?alt=sse", "?alt=json"])("that is whole is JSON in spite of %s", async (query) => {
    const response = await ask(`/v1beta/models/m:generateContent${query}`);
    expect(await response.json()).toMatchObject({ candidates: [{ finishReason: "STOP" }] });
  });

  it("is refused if it is another", async () => {
    const response = await ask("/v1beta/models/m:streamGenerateContent?alt=proto");
    expect(await errorOf(response)).toMatchObject({ code: 400, message: /`alt` must be/ });
  });
});

it("sends no key of the client on, and writes none down", async () => {
  const none = { "x-goog-api-key": "" };
  const ways: [string, object][] = [
    [`?key=${KEY}`, none],
    [`?alt=sse&key=${KEY}`, none],
    [`?%6bey=${KEY}`, none],
    ["", { "x-goog-api-key": KEY }],
    ["", { ...none, authorization: `Bearer ${KEY}` }],
  ];
  for (const action of ["generateContent", "streamGenerateContent", "countTokens", "embedContent"])
    for (const [query, headers] of ways) {
      const response = await ask(`/v1beta/models/m:${action}${query}`, { headers });
      expect(response.status).toBe(action === "embedContent" ? 404 : 200);
      expect(await response.text()).not.toContain(KEY);
    }
  const sent = upstream.requests.map(({ path, headers }) => ({ path, headers }));
  expect(JSON.stringify(sent)).not.toContain(KEY);
  expect(sent.at(-1)?.headers["x-goog-api-key"]).toBe("up-key");
  expect(JSON.stringify(served.happenings)).not.toContain(KEY);
});

const part = (one: unknown): Body => ({ contents: [{ role: "user", parts: [one] }] });
const declared = (one: unknown): Body => ({ ...hi, tools: [{ functionDeclarations: [one] }] });
const config = (one: unknown): Body => ({ ...hi, generationConfig: one });
const calling = (one: unknown): Body => ({
  ...hi,
  tools,
  toolConfig: { functionCallingConfig: one },
});
const MODE = "toolConfig.functionCallingConfig";

describe("a wrong body", () => {
  it.each<[string, Body]>([
    ["contents", {}],
    ["contents", { contents: "Hi" }],
    ["contents", { messages: [{ role: "user", content: "Hi" }] }],
    ["contents[0]", { contents: ["Hi"] }],
    ["contents[0].role", { contents: [{ role: "assistant", parts: [{ text: "Hi" }] }] }],
    ["contents[0].parts", { contents: [{ role: "user" }] }],
    ["contents[0].parts[0]", part({})],
    ["contents[0].parts[0].text", part({ text: 5 })],
    ["contents[0].parts[0].inlineData.data", part({ inline_data: { mime_type: "image/png" } })],
    ["contents[0].parts[0].fileData.fileUri", part({ fileData: {} })],
    ["contents[0].parts[0].functionCall.name", part({ functionCall: { args: {} } })],
    ["systemInstruction", { ...hi, systemInstruction: 4 }],
    ["tools", { ...hi, tools: "x" }],
    ["tools[0].type", { ...hi, tools: [{ type: "function", function: { name: "f" } }] }],
    ["tools[0].functionDeclarations[0].name", declared({})],
    ["tools[0].functionDeclarations[0].parameters", declared({ name: "f", parameters: "x" })],
    [`${MODE}.mode`, calling({ mode: "SOMETIMES" })],
    [MODE, calling({ mode: "ANY", allowedFunctionNames: ["g"] })],
    ["generationConfig", config("x")],
    ["generationConfig.temperature", config({ temperature: "hot" })],
    ["generationConfig.maxOutputTokens", config({ max_output_tokens: 0 })],
    [
      "generationConfig.thinkingConfig.thinkingLevel",
      config({ thinkingConfig: { thinkingLevel: "X" } }),
    ],
    [
      "generationConfig.thinkingConfig.thinkingBudget",
      config({ thinkingConfig: { thinkingBudget: -5 } }),
    ],
  ])("is blamed on %s", async (field, body) => {
    const before = upstream.requests.length;
    const response = await ask("/v1beta/models/m:generateContent", { body });
    const error = await errorOf(response);
    checkGeminiError(error);
    expect(error).toMatchObject({ code: 400, status: "INVALID_ARGUMENT" });
    const violations = (error["details"] as Body[]).flatMap((one) => one["fieldViolations"] ?? []);
    expect(violations).toEqual([{ field, description: error["message"] as string }]);
    expect(error["message"]).toMatch(/must|is missing|can be|Declare/);
    expect(upstream.requests).toHaveLength(before);
  });
});
