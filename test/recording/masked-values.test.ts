import { describe, expect, it } from "vitest";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { readBundle } from "../../src/observe/recording/bundle.ts";
import { explain } from "../../src/observe/recording/explain.ts";
import { replayBundle } from "../../src/observe/recording/replay/replay.ts";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, json, type Model } from "../support/fake-upstream.ts";
import { onto } from "../support/serve.ts";
import { recordedGateway } from "./recorded-gateway.ts";

const tool = { type: "object", properties: { city: { type: "string" } } };
const requests = {
  "/v1/chat/completions": {
    model: "m",
    messages: [{ role: "user", content: "Hi" }],
    tools: [{ type: "function", function: { name: "look", parameters: tool } }],
  },
  "/v1/responses": {
    model: "m",
    input: [{ role: "user", content: "Hi" }],
    tools: [{ type: "function", name: "look", parameters: tool }],
  },
  "/v1/messages": {
    model: "m",
    max_tokens: 9,
    messages: [{ role: "user", content: "Hi" }],
    tools: [{ name: "look", input_schema: tool }],
  },
  "/v1beta/models/m:generateContent": {
    contents: [{ role: "user", parts: [{ text: "Hi" }] }],
    tools: [{ functionDeclarations: [{ name: "look", parametersJsonSchema: tool }] }],
  },
};
const keys =
  "user_id code stop stop_sequences type role object status id name namespace event method kind param reason phase effort syntax media_type detail service_tier system_fingerprint encoding format verbosity truncation include modalities betas server_label threadId call_id tool provider display choice of dialect ids required container summary mode user prompt_cache_key safety_identifier anything".split(
    " ",
  );

type Setting = {
  readonly model?: Model;
  readonly names?: "kept" | "masked";
  readonly content?: "masked" | "full";
};

/** The bundle of a turn, and the body of the reply. */
async function recorded(path: string, body: unknown, setting: Setting = {}) {
  const { texts, replies } = await recordedEach(path, [body], setting);
  return { text: texts[0] ?? "", reply: replies[0] ?? "" };
}

/** The same for several turns of one gateway. */
async function recordedEach(path: string, bodies: readonly unknown[], setting: Setting = {}) {
  const { model = ({ body: asked }) => answerInChat(asked, { text: "Hello" }) } = setting;
  const { names = "kept", content = "masked" } = setting;
  await using upstream = await fakeUpstream(model);
  await using test = recordedGateway({
    ...onto("chat", upstream.url),
    models: { m: "fake/m" },
    telemetry: { recording: "all" },
    recording: { names, content },
  });
  const replies: string[] = [];
  for (const body of bodies) replies.push(await test.ask(path, body));
  const texts = test.bundles();
  expect(texts).toHaveLength(bodies.length);
  return { texts, replies };
}

describe.each(Object.entries(requests))("what a client of %s chose", (path, request) => {
  it.each(keys)("is in no masked bundle, though it stands under `%s`", async (key) => {
    const word = "Quokkabeere";
    const bodies = [
      { ...request, [key]: word },
      { ...request, [key]: [word] },
      { ...request, extension: { [key]: word, deeper: [{ [key]: `x/${word}.y` }] } },
      { ...request, [key]: { [key]: word } },
    ];
    const { texts } = await recordedEach(path, bodies);
    for (const text of texts) expect(text.toLowerCase()).not.toContain(word.toLowerCase());
  });

  it("is in none as a number of somebody", async () => {
    const { text } = await recorded(path, {
      ...request,
      user_id: 47_114_711,
      extension: { id: 47_114_711 },
    });
    expect(text).not.toContain("47114711");
  });

  it("is in none of its schemas but by their keys", async () => {
    const parameters = {
      type: "object",
      $id: "https://quokka.example/schema",
      properties: {
        city: { type: "string", pattern: "^Quokka-[a-z]+\\d$", const: "Quokka", format: "quokka" },
        size: { type: "integer", const: 47_114_711, default: 47_114_711 },
      },
      required: ["city", "Quokka"],
      "x-owner": "Quokka",
    };
    const tools =
      path === "/v1/messages"
        ? [{ name: "look", input_schema: parameters }]
        : path === "/v1/responses"
          ? [{ type: "function", name: "look", parameters }]
          : path.startsWith("/v1beta")
            ? [{ functionDeclarations: [{ name: "look", parametersJsonSchema: parameters }] }]
            : [{ type: "function", function: { name: "look", parameters } }];
    const { text } = await recorded(path, { ...request, tools });
    expect(text.toLowerCase()).not.toContain("quokka");
    expect(text).not.toContain("47114711");
    expect(text).toContain("city");
  });
});

it("what a model chose is in no masked bundle, and the turn replays the same", async () => {
  const calls = [
    { id: "Quokka-1", name: "Quokka", arguments: '{"city":"Quokka"}' },
    { id: "call_Quokka", name: "look", arguments: '{"type":"Quokka","role":"Quokka"}' },
  ];
  const model: Model = ({ body }) => answerInChat(body, { text: "Quokka", calls });
  for (const [path, request] of Object.entries(requests)) {
    const { text, reply } = await recorded(path, { ...request, stream: true }, { model });
    expect(reply).toContain("Quokka");
    expect(text).not.toContain("Quokka");
    const platform = nodePlatform();
    const { difference } = await replayBundle(readBundle(text), { platform, paced: false });
    expect(difference).toBeUndefined();
  }
});

it("a stop sequence is masked and still ends the answer where it did", async () => {
  const path = "/v1/chat/completions";
  const body = { ...requests[path], stop: ["zzzQuokka", "Wombat!"], stream: true };
  const model: Model = ({ body: asked }) =>
    answerInChat(asked, { text: "Alas, buzzing pizza Wombat! and more" });
  const { text } = await recorded(path, body, { model });
  expect(text).not.toMatch(/Quokka|Wombat/);
  const platform = nodePlatform();
  const { difference } = await replayBundle(readBundle(text), { platform, paced: false });
  expect(difference).toBeUndefined();
});

describe("sentences of the gateway", () => {
  const path = "/v1/chat/completions";
  /** What a client is told of a request, from the bundle and from the reply. */
  async function told(body: unknown, setting?: Setting) {
    const { text, reply } = await recorded(path, body, setting);
    const { error } = JSON.parse(reply) as { error: { message: string } };
    return { text, said: error.message, sentences: explain(readBundle(text)).sentences.join("\n") };
  }
  const words = "There is no model here, it must be a list of messages such as role user content";

  it.each(["kept", "masked"] as const)("stay in a masked bundle (names %s)", async (names) => {
    const bodies = [
      { ...requests[path], messages: words },
      { ...requests[path], messages: [{ role: words }] },
      { ...requests[path], messages: [{ role: "user", content: words }], tools: words },
    ];
    for (const body of bodies) {
      const { said, sentences } = await told(body, { names });
      expect(sentences).toContain(said);
    }
  });

  it("leave out what they quote of a client", async () => {
    const { text, said, sentences } = await told({ ...requests[path], model: "nowhere/Quokka" });
    expect(said).toContain("nowhere/Quokka");
    expect(text).not.toContain("Quokka");
    expect(sentences).toMatch(/There is no model `\w+\/\w+` here\./);
  });

  it("in a plan keep their words though names are masked", async () => {
    const tools = [
      { type: "custom", custom: { name: "Quokka" } },
      { type: "web_search_preview", name: "Wombat" },
    ];
    const body = {
      ...requests[path],
      tools,
      messages: [{ role: "user", content: "the upstream" }],
    };
    const kept = await recorded(path, body, { content: "full" });
    const masked = await recorded(path, body, { names: "masked" });
    const told = (text: string): string =>
      explain(readBundle(text))
        .sentences.join("\n")
        .replaceAll(/(?<=^ {2})[^:]*:/gm, "");
    expect(masked.text).not.toContain("Quokka");
    const shape = (text: string): string => told(text).replaceAll(/`[^`]*`/g, "``");
    expect(shape(masked.text)).toBe(shape(kept.text));
  });

  it("tell why an upstream refused, and nothing of the conversation", async () => {
    const body = { ...requests[path], messages: [{ role: "user", content: "My name is Quokka" }] };
    const message =
      "Invalid value for messages: input 'My name is Quokka' exceeds the limit of 8192";
    const error = { message, code: "context_length_exceeded", type: "invalid_request_error" };
    const { text, sentences } = await told(body, { model: () => json({ error }, 400) });
    expect(text).not.toContain("Quokka");
    expect(text).toContain("context_length_exceeded");
    expect(sentences).toMatch(
      /Invalid value for messages: input '\w\w name is \w+' exceeds the limit of 8192/,
    );
    expect(sentences).toContain("The upstream is at fault");
    const call = sentences.split("\n").find((one) => one.startsWith("Request 1:"));
    expect(call).toContain("fake answered 400");
    expect(call).toContain("The upstream rejected the request: Invalid value for messages");
    expect(call).toContain("(context_length_exceeded, invalid_request_error)");
  });

  it("tell no more than 300 characters of what an upstream says", async () => {
    const message = `Refused: ${"Wombat ".repeat(60)}`;
    const { text } = await told(requests[path], { model: () => json({ error: { message } }, 400) });
    const { tries } = readBundle(text);
    const [said = ""] = tries.map(({ chunks }) =>
      Buffer.concat(chunks.map(({ bytes }) => bytes)).toString(),
    );
    expect(said).toContain("Refused: Wombat");
    expect(said.match(/Wombat/g)?.length).toBeLessThan(45);
    expect(said).toHaveLength(JSON.stringify({ error: { message } }).length);
  });
});
