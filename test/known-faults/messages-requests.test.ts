import { describe, expect, it } from "vitest";
import { askWithin } from "../support/client.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import { answerInChat, answerInResponses } from "../support/fake-model.ts";
import { fakeUpstream, type Body, type Model } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";
import { askMessages, look, type Asked, type Asking } from "./messages.ts";

// Each row is what clients of another gateway saw, by the thread that tells of it.

const chat: Model = ({ body }) => answerInChat(body, { text: "Yes." });
const responses: Model = ({ body }) => answerInResponses(body, { text: "Yes." });
const messages: Model = ({ body }) => answerInMessages(body, { text: "Yes." });

const png = { type: "image", source: { type: "base64", media_type: "image/png", data: "aWJt" } };
const use = (id: string, name = "look"): Body => ({ type: "tool_use", id, name, input: {} });
const result = (id: string, content: unknown): Body => ({
  type: "tool_result",
  tool_use_id: id,
  content,
});
/** A conversation in which calls were made and answered. */
const loop = (said: readonly Body[], results: readonly Body[], more: Body = {}): Body => ({
  tools: [look],
  ...more,
  messages: [
    { role: "user", content: "Hi" },
    { role: "assistant", content: said },
    { role: "user", content: results },
  ],
});
const rolesIn = ({ sent }: Asked): string[] =>
  (sent["messages"] as Body[]).map(({ role }) => role as string);

/** Asks a chat or Responses door with a Messages upstream behind it; gives what that was sent. */
async function sentBy(
  door: "chat" | "responses",
  more: Body,
  profile = "anthropic",
): Promise<Body> {
  await using upstream = await fakeUpstream(messages);
  await using served = await serve(onto("messages", upstream.url, { profile }));
  const response = await askWithin(served, door, { model: "claude-opus-4-5", ...more });
  if (response.status !== 200) throw new Error(await response.text());
  return upstream.requests.at(-1)?.body ?? {};
}

describe("a Messages request on another dialect", () => {
  const ways: readonly (readonly [string, Asking])[] = [
    ["chat", { says: chat }],
    ["responses", { to: "responses", says: responses }],
  ];

  it.each(ways)(
    "`thinking` parts are left in the messages, a 400 on %s (litellm#22997)",
    async (_, asking) => {
      const thought = { type: "thinking", thinking: "Hm.", signature: "sig" };
      const asked = await askMessages(loop([thought, use("a")], [result("a", "x")]), asking);
      expect(asked.status).toBe(200);
      expect(JSON.stringify(asked.sent)).not.toContain('"type":"thinking"');
    },
  );

  it("names of MCP tools over 64 characters are a 400 (litellm#17904)", async () => {
    const name = `mcp__${"server".repeat(8)}__${"tool".repeat(8)}`;
    const says: Model = ({ body }) =>
      answerInChat(body, {
        calls: [
          {
            id: "a",
            name: (body["tools"] as Body[])[0]?.["function"].name as string,
            arguments: "{}",
          },
        ],
      });
    const { sent, answer } = await askMessages(
      { tools: [{ ...look, name }] },
      { says, profile: "openai" },
    );
    expect((sent["tools"] as Body[])[0]?.["function"].name.length).toBeLessThanOrEqual(64);
    expect(answer["content"]).toMatchObject([{ type: "tool_use", name }]);
  });

  it("images in results are dropped or sent as text (litellm#23712, llama.cpp#22536)", async () => {
    const body = loop([use("a")], [result("a", [png])]);
    const { sent } = await askMessages(body, { says: chat, profile: "openai" });
    expect(JSON.stringify(sent)).toContain('"image_url"');
    const toResponses = await askMessages(body, { to: "responses", says: responses });
    expect(JSON.stringify(toResponses.sent)).toContain('"input_image"');
  });

  it.each(ways)(
    "a PDF without a title has no file name, a 400 on %s (laravel/ai#324, openai-agents-python#1513)",
    async (_, asking) => {
      const source = { type: "base64", media_type: "application/pdf", data: "JVBERi0=" };
      const pdf = { type: "document", source };
      const body = loop([use("a")], [result("a", [pdf]), pdf]);
      const { sent, status } = await askMessages(body, asking);
      expect(status).toBe(200);
      const names = [...JSON.stringify(sent).matchAll(/"filename":"(.*?)"/g)];
      expect(names.map(([, name]) => name)).toEqual(["document.pdf", "document.pdf"]);
    },
  );

  it("media are moved between results, which are unpaired then (pi#2052, CLIProxyAPI#497)", async () => {
    const body = loop([use("a"), use("b")], [result("a", [png]), result("b", [png])]);
    const asked = await askMessages(body, { says: chat, profile: "openai" });
    expect(rolesIn(asked)).toEqual(["user", "assistant", "tool", "tool", "user"]);
  });

  it("results come in another order than the calls, and are mixed up", async () => {
    const body = loop([use("a"), use("b")], [result("b", "of b"), result("a", "of a")]);
    const { sent } = await askMessages(body, { says: chat });
    const told = (sent["messages"] as Body[]).filter(({ role }) => role === "tool");
    expect(told).toMatchObject([
      { tool_call_id: "a", content: "of a" },
      { tool_call_id: "b", content: "of b" },
    ]);
  });

  it("`role: system` inside `messages` is refused (CLIProxyAPI#3608, ollama#16372, lmstudio#1399)", async () => {
    const late = {
      messages: [
        { role: "user", content: "Hi" },
        { role: "system", content: "Be brief." },
      ],
    };
    for (const profile of ["openai", "vllm", "lmstudio", "mistral"]) {
      const { status, sent } = await askMessages(late, { says: chat, profile });
      expect([status, JSON.stringify(sent).includes("Be brief.")]).toEqual([200, true]);
    }
    const other = await askMessages(late, {
      to: "messages",
      profile: "generic-messages",
      says: messages,
    });
    expect([other.status, JSON.stringify(other.sent)]).toEqual([
      200,
      expect.stringContaining("Be brief."),
    ]);
  });

  it.each(ways)(
    "`tool_reference` is refused, and the conversation stuck on %s (CLIProxyAPI#4405, gproxy#239)",
    async (_, asking) => {
      const found = { ...look, name: "found", defer_loading: true };
      const reference = [{ type: "tool_reference", tool_name: "found" }];
      const body = loop([use("a")], [result("a", reference)], { tools: [look, found] });
      const { status, sent } = await askMessages(body, asking);
      expect(status).toBe(200);
      expect(JSON.stringify(sent["tools"])).toContain('"found"');
      expect(JSON.stringify(sent)).not.toContain("tool_reference");
    },
  );

  it("results of the server's own search are not repaired (headroomlabs-ai/headroom#3443)", async () => {
    const search = { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" };
    const found = { ...look, name: "found", defer_loading: true };
    const body = loop(
      [
        { type: "server_tool_use", id: "srvtoolu_1", name: search.name, input: { query: "x" } },
        {
          type: "tool_search_tool_result",
          tool_use_id: "srvtoolu_1",
          content: {
            type: "tool_search_tool_search_result",
            tool_references: [{ type: "tool_reference", tool_name: "found" }],
          },
        },
        use("a", "found"),
      ],
      [result("a", "x")],
      { tools: [search, found] },
    );
    const { status, sent } = await askMessages(body, { says: chat });
    expect(status).toBe(200);
    expect(JSON.stringify(sent["tools"])).toContain('"found"');
  });

  it("a tool that nobody has loaded is offered (anthropics/claude-code#77928)", async () => {
    const placeholder = { ...look, name: "DeferredToolPlaceholder", defer_loading: true };
    const { sent } = await askMessages({ tools: [look, placeholder] }, { says: chat });
    expect((sent["tools"] as Body[]).map((tool) => tool["function"].name as string)).toEqual([
      "look",
    ]);
  });

  it("counting tokens is stricter than answering (maximhq/bifrost#5684)", async () => {
    const { max_tokens: _, ...body } = loop([use("a")], [result("a", [png])]);
    const path = "/v1/messages/count_tokens";
    const odd = {
      ...body,
      max_tokens: undefined,
      unknown_field: 1,
      context_management: { edits: [] },
    };
    const { status, answer } = await askMessages(odd, { says: chat, path });
    expect([status, typeof answer["input_tokens"]]).toEqual([200, "number"]);
  });

  it("a thread that is continued is answered as a whole conversation (raine/claude-code-proxy#148)", async () => {
    const thread = { type: "continue", previous_message_id: "msg_unknown" };
    const { status, answer } = await askMessages({ thread }, { says: chat });
    expect([status, answer["error"]?.details.error_code]).toEqual([404, "thread_not_found"]);
  });

  it("failed results are told as successes", async () => {
    const body = loop([use("a")], [{ ...result("a", "no such file"), is_error: true }]);
    const { sent } = await askMessages(body, { says: chat });
    expect((sent["messages"] as Body[]).at(-1)?.["content"]).toMatch(/error.*no such file/is);
  });
});

describe("a request to a Messages upstream", () => {
  it("`tool_reference` is lost in a rewrite, a 400 for good (litellm#38465)", async () => {
    const found = { ...look, name: "found", defer_loading: true };
    const reference = [{ type: "tool_reference", tool_name: "found" }];
    // Something to rewrite, so that the body is not forwarded as it is.
    const body = loop([use("a"), { type: "text", text: "" }], [result("a", reference)], {
      tools: [look, found],
    });
    const { sent } = await askMessages(body, {
      to: "messages",
      profile: "anthropic",
      says: messages,
    });
    expect(JSON.stringify(sent["messages"])).toContain(
      '{"type":"tool_reference","tool_name":"found"}',
    );
  });

  it("cache marks are dropped (litellm#37509)", async () => {
    const marked = { type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } };
    const body = {
      system: [marked],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "" },
            { type: "text", text: "Hi" },
          ],
        },
      ],
    };
    const { sent } = await askMessages(body, {
      to: "messages",
      profile: "anthropic",
      says: messages,
    });
    expect(JSON.stringify(sent["system"])).toContain("cache_control");
  });

  it("a thinking budget of 500 is passed on, a 400 (maximhq/bifrost#1479)", async () => {
    const body = {
      model: "claude-opus-4-5",
      max_tokens: 4000,
      thinking: { type: "enabled", budget_tokens: 500 },
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "" },
            { type: "text", text: "Hi" },
          ],
        },
      ],
    };
    const { sent } = await askMessages(body, {
      to: "messages",
      profile: "anthropic",
      says: messages,
    });
    expect(sent["thinking"]?.budget_tokens ?? 1024).toBeGreaterThanOrEqual(1024);
  });

  it("a developer's message comes first: `messages[0]` has the role system (LeenHawk/gproxy#209)", async () => {
    const sent = await sentBy("responses", {
      input: [
        { role: "developer", content: "Be brief." },
        { role: "user", content: "Hi" },
      ],
    });
    expect(JSON.stringify(sent["system"])).toContain("Be brief.");
    expect((sent["messages"] as Body[])[0]).toMatchObject({ role: "user" });
  });

  it("one MCP tool with `anyOf` at its root kills every request (claude-code-buddy#32)", async () => {
    const parameters = { anyOf: [{ type: "object", properties: {} }, { type: "object" }] };
    const tools = [{ type: "function", function: { name: "odd", parameters } }];
    const sent = await sentBy("chat", { tools });
    const [tool] = sent["tools"] as Body[];
    expect(tool?.["input_schema"]).toMatchObject({ type: "object" });
    expect(tool?.["input_schema"]).not.toHaveProperty("anyOf");
  });

  it("an empty thought with a signature is removed (bifrost#7064, openai-agents-python#4155)", async () => {
    const says: Model = ({ body }) => {
      const answer = answerInMessages(body, {
        reasoning: "",
        calls: [{ id: "toolu_1", name: "look", arguments: "{}" }],
      });
      return answer;
    };
    await using upstream = await fakeUpstream(says);
    await using served = await serve(onto("messages", upstream.url, { profile: "anthropic" }));
    const tools = [
      { type: "function", name: "look", parameters: { type: "object", properties: {} } },
    ];
    const body = {
      model: "claude-opus-5",
      tools,
      store: false,
      include: ["reasoning.encrypted_content"],
    };
    const first = (await (
      await askWithin(served, "responses", { ...body, input: "Hi" })
    ).json()) as Body;
    const output = first["output"] as Body[];
    const input = [
      { role: "user", content: "Hi" },
      ...output,
      { type: "function_call_output", call_id: "toolu_1", output: "x" },
    ];
    await askWithin(served, "responses", { ...body, input });
    const said = (upstream.requests.at(-1)?.body["messages"] as Body[] | undefined)?.[1];
    expect(said?.["content"]).toEqual([
      { type: "thinking", thinking: "", signature: "sig" },
      { type: "tool_use", id: "toolu_1", name: "look", input: {} },
    ]);
  });

  it("a signature is lost through Responses (maximhq/bifrost#1149)", async () => {
    const says: Model = ({ body }) =>
      answerInMessages(body, {
        reasoning: "Hm.",
        calls: [{ id: "toolu_1", name: "look", arguments: "{}" }],
      });
    await using upstream = await fakeUpstream(says);
    await using served = await serve(onto("messages", upstream.url, { profile: "anthropic" }));
    const tools = [
      { type: "function", name: "look", parameters: { type: "object", properties: {} } },
    ];
    const body = { model: "claude-opus-5", tools, store: false };
    const first = (await (
      await askWithin(served, "responses", { ...body, input: "Hi" })
    ).json()) as Body;
    const output = first["output"] as Body[];
    const input = [
      { role: "user", content: "Hi" },
      ...output,
      { type: "function_call_output", call_id: "toolu_1", output: "x" },
    ];
    await askWithin(served, "responses", { ...body, input });
    expect(upstream.requests.at(-1)?.text).toContain('"signature":"sig"');
  });
});
