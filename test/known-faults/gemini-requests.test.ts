import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { geminiChunk, geminiFrame } from "../support/fake-gemini.ts";
import { fakeUpstream, json, sse, type Body } from "../support/fake-upstream.ts";
import { sending } from "../support/profile-requests.ts";
import { onto, serve, type Served } from "../support/serve.ts";
import {
  signaturesIn,
  signingGemini,
  type SayParts,
  type SigningGemini,
} from "../support/signing-gemini.ts";
import { geminiRefusal } from "../support/strict-gemini.ts";

// Each row is what clients of another gateway saw, by the thread that tells of it.

const DUMMY = "skip_thought_signature_validator";
const third = "gemini-3.5-flash";
const call = (id: string, at = id, name = "look"): Body => ({
  functionCall: { id, name, args: { at } },
});
const schema = { type: "object", properties: { at: { type: "string" } } };
const chatTool = (parameters: unknown = schema, name = "look"): Body => ({
  type: "function",
  function: { name, parameters },
});
const chatCall = (id: string, name = "look", input = "{}"): Body => ({
  id,
  type: "function",
  function: { name, arguments: input },
});
const user = { role: "user", content: "Hi" };
const calling = (...calls: Body[]): Body => ({
  role: "assistant",
  content: null,
  tool_calls: calls,
});
const result = (id: string, content: unknown = "x"): Body => ({
  role: "tool",
  tool_call_id: id,
  content,
});

/** What Gemini is sent for chat messages; it must not be refused. */
function sentFor(messages: readonly Body[], more: Body = {}, model = third): Body {
  const { body } = sending("gemini", { messages, tools: [chatTool()], ...more }, model);
  expect(geminiRefusal(body, { model })).toBeUndefined();
  return body;
}
const contentsFor = (...messages: Body[]): Body[] => sentFor(messages)["contents"] as Body[];
const partsIn = (body: Body): Body[] =>
  (body["contents"] as Body[]).flatMap(({ parts }) => parts as Body[]);
const toolsFor = (parameters: unknown, model: string): Body =>
  (sentFor([user], { tools: [chatTool(parameters)] }, model)["tools"] as Body[])[0]?.[
    "functionDeclarations"
  ][0] as Body;

/** The gateway before signing upstreams, `a` and `b`. */
async function signing(
  say: SayParts,
): Promise<AsyncDisposable & { a: SigningGemini; b: SigningGemini; served: Served }> {
  const [a, b] = await Promise.all([signingGemini(say), signingGemini(say)]);
  const of = (url: string) => ({
    dialect: "gemini" as const,
    base_url: url,
    retries: 0,
    api_key: "k",
  });
  const served = await serve({
    upstreams: { a: of(a.upstream.url), b: { ...of(b.upstream.url), profile: "vertex" } },
    store: { kind: "memory" },
  });
  return {
    a,
    b,
    served,
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await Promise.all([a, b].map((one) => one[Symbol.asyncDispose]()));
    },
  };
}
const ask = async (served: Served, body: Body, path = "/v1/chat/completions"): Promise<Body> => {
  const response = await served.fetch(served.url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: `a/${third}`, tools: [chatTool()], messages: [user], ...body }),
  });
  const answer = (await response.json()) as Body;
  expect([response.status, answer["error"] ?? null]).toEqual([200, null]);
  return answer;
};
const callsThen: SayParts = (contents) =>
  contents.length > 1 ? [{ text: "Done." }] : [{ text: "Hm.", thought: true }, call("k7w2e9rt")];

describe("signatures of Gemini", () => {
  it("ids hold them: over 64 characters (litellm#18160, #16893, #41534)", async () => {
    await using here = await signing(callsThen);
    const { choices } = await ask(here.served, {});
    expect((choices as Body[])[0]?.["message"].tool_calls[0].id).toBe("k7w2e9rt");
  });

  it("clients normalise ids, or drop fields that they do not know (litellm#37849, opencodex#1735)", async () => {
    await using here = await signing(callsThen);
    await ask(here.served, {});
    const forgetful = [user, calling(chatCall("k7w2e9rt", "look", '{"at":"k7w2e9rt"}'))];
    await ask(here.served, { messages: [...forgetful, result("k7w2e9rt")] });
    expect(signaturesIn(here.a.last())).toEqual(Object.fromEntries(here.a.signed));
    const renamed = [user, calling(chatCall("mine", "look", '{"at":"k7w2e9rt"}')), result("mine")];
    await ask(here.served, { messages: renamed });
    expect(here.a.refusals).toEqual([]);
  });

  it("those of another service are refused as corrupted (litellm#32140, vercel/ai#13060, #11413)", async () => {
    await using here = await signing(callsThen);
    const { choices } = await ask(here.served, {});
    const messages = [user, (choices as Body[])[0]?.["message"], result("k7w2e9rt")];
    await ask(here.served, { messages, model: `b/${third}` });
    expect(signaturesIn(here.b.last())).toEqual({ k7w2e9rt: DUMMY });
  });

  it("those that a Gemini client has of another model are refused as corrupted (litellm#32140)", async () => {
    await using here = await signing(callsThen);
    const contents: Body[] = [{ role: "user", parts: [{ text: "Hi" }] }];
    const tools = [{ functionDeclarations: [{ name: "look", parametersJsonSchema: schema }] }];
    const path = (model: string): string => `/v1beta/models/${model}:generateContent`;
    const asked = { model: undefined, messages: undefined, tools, contents };
    const { candidates } = await ask(here.served, asked, path(`a/${third}`));
    const response = { id: "k7w2e9rt", name: "look", response: { output: "x" } };
    contents.push((candidates as Body[])[0]?.["content"], {
      role: "user",
      parts: [{ functionResponse: response }],
    });
    const { responseId } = await ask(here.served, asked, path("a/gemini-4-argon"));
    const plan = await here.served.fetch(`${here.served.url}/v1/plans/${String(responseId)}`);
    expect(((await plan.json()) as Body)["decisions"]).toContainEqual({
      path: "contents",
      action: "changed",
      reason:
        "the upstream refused the signatures of reasoning, so the request was sent again without them",
    });
    expect(here.a.refusals).toEqual(["Corrupted thought signature."]);
    expect(signaturesIn(here.a.last())).toEqual({ k7w2e9rt: DUMMY });
    // The model of the signature still gets it.
    await ask(here.served, asked, path(`a/${third}`));
    expect(signaturesIn(here.a.last())).toEqual(Object.fromEntries(here.a.signed));
  });

  it.each([false, true])(
    "they come back in one mode only, streamed: %s (opencodex#1930, bifrost#1437, gateway#1442)",
    async (stream) => {
      await using here = await signing(callsThen);
      const options = { apiKey: "k", maxRetries: 0, fetch: here.served.fetch };
      const openai = new OpenAI({ baseURL: `${here.served.url}/v1`, ...options });
      const model = `a/${third}`;
      const chat = {
        model,
        messages: [user as OpenAI.ChatCompletionMessageParam],
        tools: [chatTool() as OpenAI.ChatCompletionTool],
      };
      const { choices } = stream
        ? await openai.chat.completions.stream(chat).finalChatCompletion()
        : await openai.chat.completions.create(chat);
      await ask(here.served, { messages: [user, choices[0]?.message, result("k7w2e9rt")] });
      const asked = {
        model,
        store: false,
        input: "Hi",
        tools: [{ type: "function" as const, name: "look", parameters: schema, strict: false }],
      };
      const { output } = stream
        ? await openai.responses.stream(asked).finalResponse()
        : await openai.responses.create(asked);
      const answered = { type: "function_call_output", call_id: "k7w2e9rt", output: "x" };
      const input = [user, ...(output as Body[]), answered];
      await ask(here.served, { ...asked, messages: undefined, input }, "/v1/responses");
      const { messages } = new Anthropic({ baseURL: here.served.url, ...options });
      const said = {
        model,
        max_tokens: 9000,
        messages: [user as Anthropic.MessageParam],
        tools: [{ name: "look", input_schema: schema as Anthropic.Tool.InputSchema }],
      };
      const { content } = stream
        ? await messages.stream(said).finalMessage()
        : await messages.create(said);
      const back = { type: "tool_result" as const, tool_use_id: "k7w2e9rt", content: "x" };
      const history = [
        ...said.messages,
        { role: "assistant", content },
        { role: "user", content: [back] },
      ];
      await ask(here.served, { ...said, messages: history }, "/v1/messages");
      const sent = here.a.upstream.requests.filter(({ body }) => body["contents"].length > 1);
      expect(sent.map(({ body }) => signaturesIn(body["contents"] as Body[])["k7w2e9rt"])).toEqual(
        expect.not.arrayContaining([DUMMY, undefined]),
      );
      expect([sent.length, here.a.refusals]).toEqual([3, []]);
    },
  );

  it("parallel calls lie in two contents: the second is unsigned (js-genai#1275, pipecat#3420)", () => {
    const contents = contentsFor(
      user,
      calling(chatCall("a")),
      calling(chatCall("b")),
      result("a"),
      result("b"),
    );
    const model = contents.filter(({ role }) => role === "model");
    expect(model.map(({ parts }) => (parts as Body[]).length)).toEqual([2]);
  });

  it("one of Anthropic is sent to Gemini (CLIProxyAPIPlus#178, proxypal#146)", () => {
    const thought = { type: "thinking", thinking: "Hm.", signature: "RXJyZXVy" };
    const use = { type: "tool_use", id: "a", name: "look", input: {} };
    const messages = [
      user,
      { role: "assistant", content: [thought, use] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "x" }] },
    ];
    const tools = [{ name: "look", input_schema: schema }];
    const { body } = sending("gemini", { max_tokens: 9000, messages, tools }, third);
    expect(signaturesIn(body["contents"] as Body[])).toEqual({ a: DUMMY });
  });

  it("bytes are cut at a limit, or two are glued (gemini-cli#14368, ruby_llm#521, snow-cli#84)", async () => {
    const long = Buffer.alloc(64_000, 7).toString("base64");
    const parts = [
      { text: "So", thoughtSignature: "Zmlyc3Q=" },
      { text: ".", thoughtSignature: "c2Vjb25k" },
      { ...call("a"), thoughtSignature: long },
    ];
    await using upstream = await fakeUpstream(({ path }) =>
      path.includes("stream")
        ? sse(
            ...parts.map((part) => geminiFrame(geminiChunk([part]))),
            geminiFrame(geminiChunk([], "STOP")),
          )
        : json(geminiChunk(parts, "STOP")),
    );
    await using served = await serve(onto("gemini", upstream.url));
    const { choices } = await ask(served, { model: third });
    await ask(served, {
      model: third,
      messages: [user, (choices as Body[])[0]?.["message"], result("a")],
    });
    expect(partsIn(upstream.requests[1]?.body ?? {}).slice(1, 3)).toEqual([
      { text: "So.", thoughtSignature: "c2Vjb25k" },
      { ...call("a"), thoughtSignature: long },
    ]);
  });

  it("they are within the call (claude-relay-service#967, TanStack/ai#459)", () => {
    const [, , part] = partsIn(
      sentFor([user, { role: "assistant", content: "So." }, calling(chatCall("a")), result("a")]),
    );
    expect(part).toMatchObject({ functionCall: { id: "a" }, thoughtSignature: DUMMY });
    expect(part?.["functionCall"]).not.toHaveProperty("thoughtSignature");
  });

  it("the stand-in of one service is refused by the other (pydantic-ai#3881)", () => {
    const asked = { messages: [user, calling(chatCall("a")), result("a")], tools: [chatTool()] };
    for (const profile of ["gemini", "vertex"])
      expect(signaturesIn(sending(profile, asked, third).body["contents"] as Body[])).toEqual({
        a: DUMMY,
      });
  });

  it("parts of the provider's own tools lose theirs (vercel/ai#14840, Aether#836, kelivo#1002)", async () => {
    const own = [
      { toolCall: { id: "t", toolType: "GOOGLE_SEARCH_WEB", args: {} }, thoughtSignature: "YQ==" },
      { toolResponse: { id: "t", toolType: "GOOGLE_SEARCH_WEB" }, thoughtSignature: "Yg==" },
      { ...call("a"), thoughtSignature: "Yw==" },
    ];
    await using upstream = await fakeUpstream(() => json(geminiChunk(own, "STOP")));
    await using served = await serve(onto("gemini", upstream.url));
    const tools = [{ type: "function", name: "look", parameters: schema }];
    const asked = { model: third, store: false, messages: undefined, tools };
    const { output } = await ask(served, { ...asked, input: "Hi" }, "/v1/responses");
    const input = [
      user,
      ...(output as Body[]),
      { type: "function_call_output", call_id: "a", output: "x" },
    ];
    await ask(served, { ...asked, input }, "/v1/responses");
    expect(partsIn(upstream.requests[1]?.body ?? {}).slice(1, 4)).toEqual(own);
  });
});

describe("ids and results for Gemini", () => {
  const two = calling(chatCall("a"), chatCall("b"));

  it("ids are left out for Vertex: the answer is empty (litellm#28324, #34603)", () => {
    const asked = { messages: [user, two, result("a"), result("b")], tools: [chatTool()] };
    const parts = partsIn(sending("vertex", asked, third).body);
    const ids = parts.map((one) => (one["functionCall"] ?? one["functionResponse"])?.id as unknown);
    expect(ids).toEqual([undefined, "a", "b", "a", "b"]);
  });

  it("ids are a 400 at some regions of Vertex (vercel/ai#15891, #17030, fantasy#265, kimi-cli#1582)", async () => {
    const message = `Invalid JSON payload received. Unknown name "id" at 'contents[1].parts[0].function_call': Cannot find field.`;
    await using upstream = await fakeUpstream(({ text }) =>
      text.includes('"id":"a"')
        ? json({ error: { code: 400, message, status: "INVALID_ARGUMENT" } }, 400)
        : json(geminiChunk([{ text: "So." }], "STOP")),
    );
    const more = { profile: "vertex", api_key: "k" };
    await using served = await serve(onto("gemini", upstream.url, more));
    const body = { model: third, messages: [user, calling(chatCall("a")), result("a")] };
    await ask(served, body);
    expect(upstream.requests).toHaveLength(2);
    await ask(served, body);
    expect(upstream.requests).toHaveLength(3);
  });

  it("results are paired by their position, though they have ids (CLIProxyAPI#3878, #5199, #5355)", () => {
    const parts = partsIn(sentFor([user, two, result("b", "of b"), result("a", "of a")])).slice(-2);
    expect(parts.map(({ functionResponse }) => functionResponse as Body)).toEqual([
      { id: "a", name: "look", response: { output: "of a" } },
      { id: "b", name: "look", response: { output: "of b" } },
    ]);
  });

  it("two calls of one tool get one id, or one result (cherry-studio#16921, brainlid/langchain#620)", () => {
    const made = { functionCall: { name: "look", args: {} } };
    const answer = (output: string): Body => ({
      functionResponse: { name: "look", response: { output } },
    });
    const contents = [
      { role: "user", parts: [{ text: "Hi" }] },
      { role: "model", parts: [made, made] },
      { role: "user", parts: [answer("one"), answer("two")] },
    ];
    const { body } = sending("openai", { contents });
    const [, said, ...results] = body["messages"] as readonly Body[];
    const ids = ((said ?? {})["tool_calls"] as Body[]).map(({ id }) => id as string);
    expect(new Set(ids).size).toBe(2);
    expect(results.map((one) => [one["tool_call_id"], one["content"]])).toEqual([
      [ids[0], "one"],
      [ids[1], "two"],
    ]);
  });

  it("made ids collide with those of the client (CLIProxyAPI#5149)", () => {
    const made = { functionCall: { name: "look", args: {} } };
    const contents = (...parts: Body[]): Body[] => [
      { role: "user", parts: [{ text: "Hi" }] },
      { role: "model", parts },
    ];
    const idsFor = (...parts: Body[]): string[] => {
      const { body } = sending("openai", { contents: contents(...parts) });
      return body.messages.flatMap((one) =>
        ((one["tool_calls"] ?? []) as Body[]).map(({ id }) => id as string),
      );
    };
    const [, second = ""] = idsFor(made, made);
    const ids = idsFor({ functionCall: { ...made.functionCall, id: second } }, made);
    expect([ids[0], new Set(ids).size]).toEqual([second, 2]);
  });

  it("the name of a result is empty, or the id of its call (CLIProxyAPI#5098, #2104)", () => {
    const named = { ...result("a"), name: "" };
    const parts = partsIn(sentFor([user, calling(chatCall("a")), named]));
    expect(parts.at(-1)).toMatchObject({ functionResponse: { name: "look" } });
  });

  it("of several calls in one chunk one is dropped, merged or doubled (langchain#40392, hermes-agent#57939)", async () => {
    await using upstream = await fakeUpstream(() =>
      sse(
        geminiFrame(geminiChunk([call("a"), call("b")])),
        geminiFrame(geminiChunk([call("c")])),
        geminiFrame(geminiChunk([{ text: "" }], "STOP")),
      ),
    );
    await using served = await serve(onto("gemini", upstream.url));
    const client = new OpenAI({ baseURL: `${served.url}/v1`, apiKey: "k", maxRetries: 0 });
    const { choices } = await client.chat.completions
      .stream({ model: "m", messages: [{ role: "user", content: "Hi" }] })
      .finalChatCompletion();
    expect(choices[0]?.message.tool_calls?.map(({ id }) => id)).toEqual(["a", "b", "c"]);
  });

  it.each<[string, readonly Body[]]>([
    ["after compaction", [calling(chatCall("a")), result("a"), user]],
    [
      "behind an answer",
      [user, { role: "assistant", content: "So." }, calling(chatCall("a")), result("a")],
    ],
    [
      "before a late note",
      [user, calling(chatCall("a")), { role: "system", content: "!" }, result("a")],
    ],
    ["and no user", [{ role: "assistant", content: "So." }]],
  ])(
    "a call in a wrong place is a 400 for good: %s (gemini-cli#26956, #26486, #11814, #4217)",
    (_, messages) => {
      expect(contentsFor(...messages)[0]).toMatchObject({ role: "user" });
    },
  );

  it.each<[string, readonly Body[]]>([
    ["one is missing", [user, two, result("a")]],
    ["they are apart", [user, two, result("a"), user, result("b")]],
    [
      "a text is before them",
      [user, two, { role: "user", content: "Wait" }, result("a"), result("b")],
    ],
    ["one has no call", [user, two, result("a"), result("b"), result("c")]],
  ])(
    "the results are not as many as the calls: %s (litellm#26755, eino-ext#571, crewAI#4693)",
    (_, messages) => {
      const results = contentsFor(...messages).map(({ parts }) =>
        (parts as Body[]).filter((one) => one["functionResponse"] !== undefined),
      );
      expect(results.map((one) => one.length).filter((one) => one > 0)).toEqual([2]);
    },
  );

  it("an empty text is a part without content (CLIProxyAPI#1292, vercel/ai#3775, Roo-Code#10728)", () => {
    const empty = {
      role: "user",
      content: [
        { type: "text", text: "" },
        { type: "text", text: "Hi" },
      ],
    };
    expect(partsIn(sentFor([empty, { role: "assistant", content: "" }, user]))).toEqual([
      { text: "Hi" },
      { text: "Hi" },
    ]);
  });

  it.each([
    ['["a"]', { output: '["a"]' }],
    ["", { output: "(no output)" }],
    ["null", { output: "null" }],
    ['{"a":1}', { a: 1 }],
    ['{"$ref":"#/a"}', { output: '{"$ref":"#/a"}' }],
  ])(
    "a result is a list or a text, or a reference in it is read: %s (symfony/ai#2040, litellm#29325)",
    (content, response) => {
      const parts = partsIn(sentFor([user, calling(chatCall("a")), result("a", content)]));
      expect(parts.at(-1)).toMatchObject({ functionResponse: { response } });
    },
  );

  it("images in results are lost (CLIProxyAPI#5039, bifrost#4202)", () => {
    const source = { type: "base64", media_type: "image/png", data: "aWJt" };
    const image = { type: "tool_result", tool_use_id: "a", content: [{ type: "image", source }] };
    const use = { type: "tool_use", id: "a", name: "look", input: {} };
    const messages = [
      user,
      { role: "assistant", content: [use] },
      { role: "user", content: [image] },
    ];
    const inline = { inlineData: { mimeType: "image/png", data: "aWJt" } };
    const lastPart = (model: string): unknown =>
      partsIn(sending("gemini", { max_tokens: 9000, messages }, model).body).at(-1);
    expect(lastPart(third)).toMatchObject({ functionResponse: { parts: [inline] } });
    expect(lastPart("gemini-2.5-pro")).toEqual(inline);
  });
});

it.each(["openai", "openai-responses", "anthropic", "gemini"])(
  "a result of no call is a 400 for good, or is lost: %s (gemini-cli#26956)",
  (to) => {
    const response = { functionResponse: { name: "look", response: { output: "canary" } } };
    const contents = [{ role: "user", parts: [{ text: "Hi" }, response] }];
    const { body, decisions } = sending(to, { contents }, third);
    expect(JSON.stringify(body)).toContain("canary");
    expect(JSON.stringify(body)).not.toMatch(/call_id|tool_use_id|functionResponse/);
    expect(decisions).toMatchObject([{ path: "contents[0]", action: "changed" }]);
  },
);

describe("tools for Gemini", () => {
  const proto = "gemini-2.0-flash";
  const odd = {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: {
      const: { const: "a" },
      list: { type: ["string", "null"] },
      step: { type: "integer", multipleOf: 5, exclusiveMinimum: 0 },
      tuple: { type: "array", prefixItems: [{ type: "string" }, { type: "integer" }] },
      one: { oneOf: [{ type: "string" }, { type: "integer" }] },
      numbers: { enum: [1, 2, 7] },
      date: { type: "string", format: "uri" },
      empty: { type: "object" },
      any: {},
      items: { type: "array" },
      text: { type: "string", items: { type: "string" } },
      both: { description: "d", anyOf: [{ type: "string" }, { type: "integer" }] },
      node: { $ref: "#/$defs/node" },
    },
    $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } },
    required: ["const", "missing"],
    additionalProperties: false,
  };

  it.each([proto, "gemini-2.5-pro", third])(
    "one keyword is a 400 for all tools, on %s (zed#44875, #53919, CLIProxyAPI#97, 9router#2309)",
    (model) => {
      const { parameters, parametersJsonSchema } = toolsFor(odd, model);
      expect(Object.keys((parameters ?? parametersJsonSchema).properties as Body)).toEqual(
        Object.keys(odd.properties),
      );
    },
  );

  it("keywords are dropped in silence: numbers became an object, alternatives nothing (new-api#7455, litellm)", () => {
    const { properties } = toolsFor(odd, proto)["parameters"] as Body;
    expect(properties).toMatchObject({
      const: { type: "STRING", enum: ["a"] },
      list: { type: "STRING", nullable: true },
      numbers: { type: "STRING", enum: ["1", "2", "7"] },
      one: { anyOf: [{ type: "STRING" }, { type: "INTEGER" }] },
    });
    expect(properties.step.description).toMatch(/multipleOf: 5/);
    const plain = toolsFor(odd, third)["parametersJsonSchema"] as Body;
    expect(plain["properties"]).toMatchObject({
      numbers: { enum: [1, 2, 7] },
      one: { oneOf: [{}, {}] },
    });
  });

  it.each(["gemini", "openai", "openai-responses", "anthropic"])(
    "the second of two fields for one is dropped unsaid, on %s",
    (to) => {
      const contents = [{ role: "user", parts: [{ text: "Hi" }] }];
      const both = { name: "look", parameters: schema, parametersJsonSchema: schema };
      const bare = { name: "other", parametersJsonSchema: schema };
      const tools = [{ functionDeclarations: [both, bare] }];
      const generationConfig = {
        responseMimeType: "application/json",
        responseSchema: schema,
        responseJsonSchema: schema,
      };
      const sent = sending(to, { contents, tools, generationConfig }, third);
      const refusal = to === "gemini" && geminiRefusal(sent.body, { model: third });
      expect(refusal || undefined).toBeUndefined();
      const dropped = sent.decisions.filter(({ action }) => action === "dropped");
      expect(dropped.map(({ path }) => path)).toEqual([
        "tools[0].functionDeclarations[0].parameters",
        "generationConfig.responseSchema",
      ]);
    },
  );

  it("numbers come back as texts, or values that were not allowed (weave-os/router#65, gemini-cli#3178)", async () => {
    const numbered = { functionCall: { name: "look", args: { numbers: "7" } } };
    await using upstream = await fakeUpstream(() => json(geminiChunk([numbered], "STOP")));
    await using served = await serve(onto("gemini", upstream.url));
    const { choices } = await ask(served, { model: proto, tools: [chatTool(odd)] });
    const { message } = (choices as Body[])[0] ?? {};
    expect(JSON.parse(message.tool_calls[0].function.arguments as string)).toEqual({ numbers: 7 });
  });

  it("names with a slash, a digit first or over 64 characters (gemini-cli#20987, #2966, litellm#12543)", () => {
    const names = ["files/read", "1st", "n".repeat(80), "mcp_my-lab_weather.now"];
    const tools = names.map((name) => chatTool(schema, name));
    const [list] = sentFor([user], { tools })["tools"] as Body[];
    const sent = ((list ?? {})["functionDeclarations"] as Body[]).map(({ name }) => name as string);
    expect(new Set(sent).size).toBe(4);
    expect(sent[3]).toBe(names[3]);
  });

  it("`too many states` has no remedy (cline#7897, ghidra-mcp#440)", async () => {
    const message =
      "The specified schema produces a constraint that has too many states for serving.";
    const error = { code: 400, message, status: "INVALID_ARGUMENT" };
    await using upstream = await fakeUpstream(() => json({ error }, 400));
    await using served = await serve(onto("gemini", upstream.url));
    const response = await served.fetch(`${served.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: third, messages: [user], tools: [chatTool()] }),
    });
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining("too many states"),
    ]);
  });

  it("tools in snake case or with `parameters` have no arguments (Antigravity-Manager#1312, litellm)", () => {
    const declared = (key: string, of: object): Body => ({
      function_declarations: [{ name: "look", [key]: of }],
    });
    const proto = { type: "OBJECT", properties: { at: { type: "STRING" } } };
    for (const tool of [
      declared("parameters", proto),
      declared("parameters_json_schema", schema),
    ]) {
      const { body } = sending("openai", {
        contents: [{ parts: [{ text: "Hi" }] }],
        tools: [tool],
      });
      expect((body["tools"] as Body[])[0]?.["function"].parameters).toMatchObject(schema);
    }
  });

  it("search beside functions is a 400 (litellm#26882, langchainjs#10676, eino-ext#761, ag2#3145)", () => {
    const asked = {
      input: "Hi",
      tools: [{ type: "web_search" }, { type: "function", name: "look", parameters: schema }],
    };
    const sent = (profile: string, model: string): Body => sending(profile, asked, model).body;
    const kinds = ({ tools }: Body): string[] => (tools as Body[]).flatMap(Object.keys);
    expect(kinds(sent("gemini", "gemini-2.5-pro"))).toEqual(["functionDeclarations"]);
    expect(kinds(sent("gemini", third))).toEqual(["functionDeclarations", "googleSearch"]);
    expect(sent("gemini", third)["toolConfig"]).toEqual({ includeServerSideToolInvocations: true });
    expect(sent("vertex", third)["toolConfig"]).toBeUndefined();
    const none = sending("gemini", { ...asked, tool_choice: "none" }, third).body;
    expect(kinds(none)).toEqual(["functionDeclarations"]);
  });

  it.each<[string, unknown, Body | undefined]>([
    ["auto", "auto", { mode: "AUTO" }],
    ["required", "required", { mode: "ANY" }],
    ["none", "none", { mode: "NONE" }],
    ["one", { type: "function", name: "look" }, { mode: "ANY", allowedFunctionNames: ["look"] }],
    [
      "some of them",
      { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "look" }] },
      { mode: "VALIDATED", allowedFunctionNames: ["look"] },
    ],
    [
      "one of some",
      { type: "allowed_tools", mode: "required", tools: [{ type: "function", name: "look" }] },
      { mode: "ANY", allowedFunctionNames: ["look"] },
    ],
  ])(
    "names beside AUTO are a 400, or force a call: %s (tensorzero#4872, #4875, agent-framework#5322)",
    (_, tool_choice, config) => {
      const tools = ["look", "read"].map((name) => ({
        type: "function",
        name,
        parameters: schema,
      }));
      const { body } = sending("gemini", { input: "Hi", tools, tool_choice }, third);
      expect(body["toolConfig"]).toEqual({ functionCallingConfig: config });
    },
  );

  it("JSON mode beside functions is a 400 before Gemini 3 (python-genai#867)", () => {
    const json_schema = { name: "it", schema };
    const response_format = { type: "json_schema", json_schema };
    const second = sentFor([user], { response_format }, "gemini-2.5-pro");
    expect(JSON.stringify(second["systemInstruction"])).toContain("JSON");
    const config = sentFor([user], { response_format })["generationConfig"] as Body;
    expect(config["responseMimeType"]).toBe("application/json");
  });
});

describe("settings for Gemini", () => {
  it("references of a format lead out of `$defs`, as zod writes them (gcli2api#374)", () => {
    const item = { type: "object", properties: { at: { $ref: "#/definitions/at" } } };
    const root = { ...item, definitions: { at: { type: "string" } } };
    const response_format = { type: "json_schema", json_schema: { name: "it", schema: root } };
    const sent = sentFor([user], { response_format });
    expect(sent["generationConfig"]?.responseJsonSchema).toEqual({
      type: "object",
      properties: { at: { $ref: "#/$defs/at" } },
      $defs: { at: { type: "string" } },
    });
  });

  it.each([
    ["gemini-2.5-pro", "none", { thinkingBudget: 128 }],
    ["gemini-2.5-pro", undefined, undefined],
    ["gemini-2.5-flash", "none", { thinkingBudget: 0 }],
    ["gemini-2.5-flash", "high", { thinkingBudget: 24_576, includeThoughts: true }],
    ["gemini-3-pro-preview", "minimal", { thinkingLevel: "LOW", includeThoughts: true }],
    [third, "none", { thinkingLevel: "MINIMAL" }],
    ["gemini-4-argon", "max", { thinkingLevel: "HIGH", includeThoughts: true }],
    ["gemini-2.0-flash", "high", undefined],
  ])(
    "a budget or level that the model refuses: %s, %s (vercel/ai#8027, neurolink#1707, bifrost#2697)",
    (model, reasoning_effort, thinkingConfig) => {
      const sent = sentFor([user], { reasoning_effort }, model);
      expect(sent["generationConfig"]?.thinkingConfig).toEqual(thinkingConfig);
    },
  );

  it("tools beside `cachedContent` are a 400 (litellm#17304, langchain-google#978, instructor#2580)", () => {
    const asked = {
      contents: [{ role: "user", parts: [{ text: "Hi" }] }],
      systemInstruction: { parts: [{ text: "Be brief." }] },
      cachedContent: "cachedContents/a",
    };
    // A client of this API is told by the API; others cannot name such content.
    expect(sending("gemini", asked, third).body).toMatchObject(asked);
    expect(() => sending("openai", asked)).toThrow("cachedContent");
  });
});
