import { describe, expect, it } from "vitest";
import { sending, sent } from "../../test/support/profile-requests.ts";
import { capabilitiesSchema } from "../gateway/capabilities.ts";
import type { Fields } from "../turn/turn.ts";
import { profileFor, profiles } from "./profiles.ts";

const weather = { type: "function", name: "weather", parameters: { type: "object" } };
const named = { type: "function", name: "weather" };
const search = {
  type: "web_search",
  search_context_size: "high",
  filters: { allowed_domains: ["a.example"] },
};

/** One call and its result, with something odd about them. */
const called = (id: string, output: unknown = "sunny"): Fields => ({
  tools: [weather],
  input: [
    { type: "message", role: "user", content: "Hi" },
    { type: "function_call", call_id: id, name: "weather", arguments: "{}" },
    { type: "function_call_output", call_id: id, output },
    { type: "message", role: "developer", content: "Be brief." },
  ],
});

describe("profiles", () => {
  it.each([...profiles.values()])("$name is complete and lawful", (profile) => {
    const { name, dialect, provider, ...capabilities } = profile;
    expect(provider ?? "its own").toMatch(/^[a-z][a-z._ ]+$/);
    expect(profileFor(name, dialect)).toBe(profile);
    expect(capabilitiesSchema.parse(capabilities)).toEqual(capabilities);
    const { kinds, names, choice } = profile.tools;
    expect(kinds["*"], "an answer for every kind").toBeDefined();
    expect(choice).toContain("auto");
    expect(profile.formats).toContain("text");
    const { chars, first = chars } = names;
    expect(new RegExp(`^[${first}][${chars}]+$`, "u").test("get_weather")).toBe(true);
  });

  it("fall back to the generic one of a dialect, and only without a name", () => {
    expect(profileFor(undefined, "chat")?.name).toBe("generic-chat");
    expect(profileFor(undefined, "responses")?.name).toBe("generic-responses");
    expect(profileFor("no-such", "chat")).toBe(undefined);
  });

  it("go by one name in every dialect their provider speaks", () => {
    expect(profileFor("openai", "chat")?.name).toBe("openai");
    expect(profileFor("openai", "responses")?.name).toBe("openai-responses");
    expect(profileFor("openai-responses", "responses")?.name).toBe("openai-responses");
    expect(profileFor("xai", "responses")?.name).toBe("xai-responses");
    expect(profileFor("azure", "responses")?.name).toBe("azure-responses");
  });

  it("are none where the dialect is not theirs, but a script can play any", () => {
    expect(profileFor("deepseek", "responses")).toBe(undefined);
    expect(profileFor("generic-responses", "chat")).toBe(undefined);
    expect(profileFor("deepseek", "scripted")?.name).toBe("deepseek");
  });
});

describe("what each provider is sent", () => {
  it.each([
    ["openai", { max_completion_tokens: 9, user: "u", seed: undefined }],
    ["azure", { max_completion_tokens: 9, user: "u" }],
    ["openai-responses", { max_output_tokens: 9, user: "u" }],
    ["xai-responses", { max_output_tokens: 9 }],
    ["generic-chat", { max_tokens: 9, temperature: 0.5 }],
    ["deepseek", { max_tokens: 9, user_id: "u", reasoning_effort: "high" }],
    ["gemini-chat", { max_tokens: 9, user: undefined, reasoning_effort: "high" }],
    ["groq", { max_completion_tokens: 9, reasoning_effort: "high" }],
    ["lmstudio", { max_tokens: 9, reasoning_effort: undefined }],
    ["mimo", { max_completion_tokens: 9, user_id: "u", reasoning_effort: undefined }],
    ["minimax", { max_completion_tokens: 9, reasoning_effort: undefined }],
    ["mistral", { max_tokens: 9, metadata: { a: "b" }, prompt_cache_key: undefined }],
    ["moonshot", { max_completion_tokens: 9, prompt_cache_key: "k", temperature: undefined }],
    ["ollama", { max_tokens: 9, user: undefined, reasoning_effort: "high" }],
    ["openrouter", { max_completion_tokens: 9, prompt_cache_key: "k" }],
    ["qwen", { max_tokens: 9, reasoning_effort: undefined }],
    ["vllm", { max_completion_tokens: 9, metadata: undefined }],
    ["xai", { max_completion_tokens: 9, temperature: 0.5 }],
    ["zhipu", { max_tokens: 9, user_id: "u" }],
  ])("%s has its own words for parameters", (name, expected) => {
    const body = sent(name, {
      max_output_tokens: 9,
      temperature: 0.5,
      user: "u",
      metadata: { a: "b" },
      prompt_cache_key: "k",
      reasoning: { effort: "high" },
    });
    const said = Object.keys(expected).map((key) => [key, body[key]]);
    expect(Object.fromEntries(said)).toEqual(expected);
  });

  it.each([
    ["openai", "required", named],
    ["deepseek", "auto", "auto"],
    ["moonshot", "auto", "auto"],
    ["qwen", "auto", "auto"],
    ["zhipu", "auto", "auto"],
    ["lmstudio", "required", "required"],
    ["mistral", "required", named],
    ["xai-responses", "required", named],
  ])("%s is asked for a tool as far as it lets itself be", (name, required, one) => {
    const tools = [weather, { ...weather, name: "other" }];
    expect(sent(name, { tools, tool_choice: "required" })["tool_choice"]).toBe(required);
    const body = sent(name, { tools, tool_choice: named });
    const isForced = typeof one === "object";
    expect(JSON.stringify(body["tool_choice"])).toContain(isForced ? "weather" : one);
    // Who cannot be told which one is offered no other.
    expect(body["tools"]).toHaveLength(isForced ? 2 : 1);
  });

  it.each([
    [
      "zhipu",
      {
        type: "web_search",
        web_search: {
          enable: true,
          search_engine: "search_std",
          search_result: true,
          content_size: "high",
          search_domain_filter: "a.example",
        },
      },
    ],
    ["mimo", { type: "web_search", max_keyword: 3, limit: 10 }],
    [
      "openrouter",
      {
        type: "openrouter:web_search",
        parameters: { search_context_size: "high", allowed_domains: ["a.example"] },
      },
    ],
    ["xai-responses", { type: "web_search", allowed_domains: ["a.example"] }],
    ["openai-responses", search],
  ])("%s searches the web by its own tool", (name, expected) => {
    expect(sent(name, { tools: [search] })["tools"]).toEqual([expected]);
    const preview = { ...search, type: "web_search_preview" };
    expect(sent(name, { tools: [preview] })["tools"]).toHaveLength(1);
  });

  const contents = [{ role: "user", parts: [{ text: "Hi" }] }];

  it.each([
    ["openai-responses", { type: "web_search" }],
    ["generic-responses", { type: "web_search" }],
    ["xai-responses", { type: "web_search" }],
    ["anthropic", { type: "web_search_20250305", name: "web_search" }],
    ["gemini", { googleSearch: {} }],
  ])("%s searches the web by its own tool for a client of Gemini's API", (name, expected) => {
    const { body, decisions } = sending(name, { contents, tools: [{ googleSearch: {} }] });
    expect(body["tools"]).toEqual([expected]);
    expect(decisions.filter(({ action }) => action !== "reshaped")).toEqual([]);
  });

  it.each(["openai-responses", "anthropic"])(
    "%s is offered no tool of Gemini's API that it has in another form only",
    (name) => {
      const weather = { functionDeclarations: [{ name: "weather", description: "Looks." }] };
      const own = [{ fileSearch: {} }, { mcpServers: [{ name: "lab" }] }, { computerUse: {} }];
      const { tools } = sent(name, { contents, tools: [weather, ...own] });
      expect(tools).toMatchObject([{ name: "weather" }]);
    },
  );

  it.each(["openai", "deepseek", "gemini-chat", "groq", "moonshot", "xai", "generic-chat"])(
    "%s is offered no search that it does not have",
    (name) => {
      expect(sent(name, { tools: [search] })["tools"]).toBe(undefined);
    },
  );

  it("OpenAI's ids have at most 40 characters, in Responses 64, Mistral's nine", () => {
    const ids = (name: string): unknown =>
      JSON.stringify(sent(name, called("functions.weather:0"))).match(
        /"tool_call_id":"([^"]*)"/,
      )?.[1];
    expect(ids("openai")).toBe("functions.weather:0");
    expect(ids("mistral")).toMatch(/^[A-Za-z0-9]{9}$/);
    expect(JSON.stringify(sent("openai", called("x".repeat(41))))).not.toContain("x".repeat(41));
    for (const [length, isKept] of [
      [64, true],
      [65, false],
    ] as const) {
      const id = "x".repeat(length);
      expect(JSON.stringify(sent("openai-responses", called(id))).includes(id)).toBe(isKept);
    }
  });

  it.each([
    ["openai", "developer"],
    ["groq", "developer"],
    ["deepseek", "system"],
    ["mistral", "user"],
    ["vllm", "user"],
  ])("%s hears late instructions from the %s", (name, role) => {
    const { messages } = sent(name, called("call_1"));
    expect((messages as Fields[]).at(-1)?.["role"]).toBe(role);
  });

  it("names begin with a letter where they must", () => {
    const tools = [{ ...weather, name: "21st" }];
    const nameAt = (name: string): string => JSON.stringify(sent(name, { tools })["tools"]);
    expect(nameAt("deepseek")).toContain('"name":"21st"');
    expect(nameAt("moonshot")).toMatch(/"name":"[A-Za-z]\w*21st"/);
    expect(nameAt("gemini-chat")).toMatch(/"name":"_\w*21st"/);
  });

  it("Gemini's schemas are those of OpenAPI", () => {
    const parameters = {
      type: "object",
      properties: {
        place: { $ref: "#/$defs/place" },
        unit: { const: "celsius" },
        day: { type: ["string", "null"], examples: ["Monday"] },
      },
      $defs: { place: { type: "object", properties: { city: { type: "string" } } } },
    };
    const text = JSON.stringify(
      sent("gemini-chat", { tools: [{ ...weather, parameters }] })["tools"],
    );
    for (const word of ["$ref", "$defs", '"const"', '"examples"', '["string"', "oneOf"])
      expect(text).not.toContain(word);
  });
});
