import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { serve, type Served } from "../support/serve.ts";
import { cpuTime } from "../support/cpu-time.ts";
import { socketClient } from "../support/socket-client.ts";

const many = (count: number, piece: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => piece(at)).join(",");

const HI = '{"role":"user","content":"Hi"}';
const chatTool = (at: number): string => `{"type":"function","function":{"name":"f${at}"}}`;
const tool = (at: number): string => `{"type":"function","name":"f${at}"}`;
const claudeTool = (at: number): string => `{"name":"f${at}","input_schema":{"type":"object"}}`;

let opened: Promise<Served> | undefined;
const gateway = (): Promise<Served> =>
  (opened ??= serve({
    store: "memory",
    upstreams: {
      demo: { dialect: "scripted" },
      claude: { dialect: "messages", base_url: "http://127.0.0.1:9/v1", profile: "anthropic" },
    },
    models: { "*": "demo/demo" },
  }));
afterAll(async () => (await opened)?.[Symbol.asyncDispose]());

const post = (
  { url }: Served,
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> =>
  fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });

describe("a request that is made of too much is refused with the count, the limit, the place and the setting", () => {
  const tools = {
    param: "tools",
    message: /`tools` has \d+ tools, .* 5000;.*`server\.counts\.tools`/,
  };
  const items = (param: string, is = param) => ({
    param,
    message: new RegExp(`\`${is}\` has \\d+ entries, .* 50000;.*\`server\\.counts\\.items\``),
  });
  const values = (param: string) => ({
    param,
    message: /has \d+ JSON values in one place, .* 50000;.*`server\.counts\.values_each`/,
  });
  const junk = `{"a":[${many(60_000, () => "1")}]}`;

  it.each([
    [
      "/v1/chat/completions",
      `{"model":"m","messages":[${HI}],"tools":[${many(60_000, chatTool)}]}`,
      tools,
    ],
    [
      "/v1/chat/completions",
      `{"model":"m","messages":[${many(60_000, () => HI)}]}`,
      items("messages"),
    ],
    ["/v1/chat/completions", `{"model":"m","messages":[${HI}],"x":${junk}}`, values("x")],
    ["/v1/responses", `{"model":"m","input":"Hi","tools":[${many(60_000, tool)},7]}`, tools],
    ["/v1/responses", `{"model":"m","input":[${many(60_000, () => HI)}]}`, items("input")],
    [
      "/v1/messages",
      `{"model":"m","max_tokens":9,"messages":[${HI}],"tools":[${many(60_000, claudeTool)}]}`,
      tools,
    ],
    [
      "/v1/messages",
      `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[${many(60_000, () => '{"type":"text"}')}]}]}`,
      values("messages[0]"),
    ],
    ["/v1/plan", `{"model":"m","messages":[${HI}],"tools":[${many(60_000, chatTool)}]}`, tools],
    ["/v1/plan", `{"model":"m","input":[${many(60_000, () => HI)}]}`, items("input")],
    [
      "/v1/messages/count_tokens",
      `{"model":"m","messages":[${many(60_000, () => HI)}]}`,
      items("messages"),
    ],
    [
      "/v1/responses/input_tokens",
      `{"model":"m","input":[${many(60_000, () => HI)}]}`,
      items("input"),
    ],
    ["/v1/responses/compact", `{"model":"m","input":[${many(60_000, () => HI)}]}`, items("input")],
    ["/v1/conversations", `{"items":[${many(60_000, () => HI)}]}`, items("items")],
    [
      "/v1/conversations/conv_1/items",
      `{"items":[{"type":"message","role":"user","content":${junk}}]}`,
      values("items[0]"),
    ],
    ["/v1/chat/completions/chatcmpl-1", `{"metadata":${junk}}`, values("metadata")],
  ])("%s: %#", async (path, body, { param, message }) => {
    const served = await gateway();
    const response = await post(served, path, body);
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { message: string; param?: string } };
    expect(error.message).toMatch(message);
    // The Messages API has no field for the place.
    expect(path.startsWith("/v1/messages") ? param : error.param).toBe(param);
  });

  it("packed as well", async () => {
    const body = `{"model":"m","messages":[${HI}],"tools":[${many(60_000, chatTool)}]}`;
    const packed = new Uint8Array(gzipSync(body));
    const response = await post(await gateway(), "/v1/chat/completions", packed, {
      "content-encoding": "gzip",
    });
    expect(response.status).toBe(400);
    expect(await response.text()).toMatch(tools.message);
  });

  it("over a WebSocket, which goes on with the next one", async () => {
    await using client = await socketClient((await gateway()).url);
    const input = many(60_000, () => HI);
    client.socket.send(`{"type":"response.create","model":"m","input":[${input}]}`);
    expect(await client.turn()).toMatchObject([
      { type: "error", status: 400, error: { param: "input", message: items("input").message } },
    ]);
    const [created] = await client.create({ model: "m", input: "Hi" });
    expect(created).toMatchObject({ type: "response.created" });
  });

  it("by the limits that a configuration sets", async () => {
    await using served = await serve({ server: { counts: { tools: 2, items: 3 } } });
    const ask = async (body: string): Promise<number> =>
      (await post(served, "/v1/chat/completions", body)).status;
    // Nothing is counted in what is too short to hold more.
    const blanks = " ".repeat(100);
    expect(
      await ask(`{"model":"m","messages":[${HI}],"tools":[${many(2, chatTool)}]${blanks}}`),
    ).toBe(200);
    expect(
      await ask(`{"model":"m","messages":[${HI}],"tools":[${many(3, chatTool)}]${blanks}}`),
    ).toBe(400);
    expect(await ask(`{"model":"m","messages":[${many(4, () => HI)}]${blanks}}`)).toBe(400);
  });
});

describe("what a request refers to", () => {
  const asked = async (served: Served, body: object): Promise<{ id: string; error?: object }> => {
    const response = await post(served, "/v1/responses", JSON.stringify({ model: "m", ...body }));
    return (await response.json()) as { id: string; error?: object };
  };
  const input = Array.from({ length: 6 }, (_, at) => ({ role: "user", content: `Hi ${at}` }));

  it("counts with what it sends itself", async () => {
    await using served = await serve({ store: "memory", server: { counts: { items: 12 } } });
    const first = await asked(served, { input });
    expect(await asked(served, { input: "Hi", previous_response_id: first.id })).toHaveProperty(
      "id",
    );
    const { error } = await asked(served, { input, previous_response_id: first.id });
    expect(error).toMatchObject({
      param: "previous_response_id",
      message: expect.stringContaining("raise `server.counts.items`"),
    });
  });

  it("counts as often as it is referred to", async () => {
    await using served = await serve({ store: "memory", server: { counts: { parts: 20 } } });
    const parts = Array.from({ length: 8 }, () => ({ type: "input_text", text: "Hi" }));
    const { id } = await asked(served, { input: [{ role: "user", content: parts }] });
    const listed = await fetch(`${served.url}/v1/responses/${id}/input_items`);
    const [item] = ((await listed.json()) as { data: { id: string }[] }).data;
    const reference = { type: "item_reference", id: item?.id };
    expect(await asked(served, { input: [reference, reference] })).toHaveProperty("output");
    const { error } = await asked(served, { input: [reference, reference, reference] });
    expect(error).toMatchObject({ param: "input", message: expect.stringContaining("24 parts") });
  });
});

/**
 * The most CPU time between two rounds of the event loop while a request is
 * served. Others wait that long; the bound leaves room for slow machines.
 */
async function longestStep(ask: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let before = cpuTime();
  let isOver = false;
  const look = (): void => {
    const now = cpuTime();
    longest = Math.max(longest, now - before);
    before = now;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await ask();
  isOver = true;
  return longest;
}

describe("a request of very many pieces holds up nobody for long", () => {
  const call = (at: number): string =>
    `{"role":"assistant","tool_calls":[{"id":"c${at}","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c${at}","content":"x"}`;
  const chat = (rest: string, messages = HI): string =>
    `{"model":"m","messages":[${messages}],${rest}"n":1}`;
  const properties = many(20_000, (at) => `"p${at}":{"type":"string"}`);
  const schema = `{"type":"object","properties":{${properties}}}`;
  const found = (at: number): string =>
    `{"type":"tool_search_output","call_id":"s${at}","tools":[${tool(at)}]}`;
  const LIMIT_MS = 1000;

  it.each([
    ["400,000 tools", "/v1/chat/completions", chat(`"tools":[${many(400_000, chatTool)}],`), 400],
    [
      "600,000 tools that end in an error",
      "/v1/chat/completions",
      chat(`"tools":[${many(600_000, chatTool)},7],`),
      400,
    ],
    ["200,000 tools to plan", "/v1/plan", chat(`"tools":[${many(200_000, chatTool)}],`), 400],
    ["200,000 calls", "/v1/chat/completions", chat("", `${HI},${many(200_000, call)}`), 400],
    [
      "as many tools as there may be",
      "/v1/chat/completions",
      chat(`"tools":[${many(5000, chatTool)}],`),
      200,
    ],
    [
      "as many calls as there may be",
      "/v1/chat/completions",
      chat("", `${HI},${many(24_000, call)}`),
      200,
    ],
    [
      "a schema of 20,000 properties",
      "/v1/chat/completions",
      chat(`"tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}],`),
      200,
    ],
    [
      "25,000 messages with a foreign field",
      "/v1/chat/completions",
      chat(
        "",
        many(25_000, () => '{"role":"user","content":"a","x":1}'),
      ),
      200,
    ],
    [
      "4,900 tools that searches found",
      "/v1/responses",
      `{"model":"m","input":[${many(4900, found)}]}`,
      200,
    ],
    [
      "25,000 instructions",
      "/v1/plan",
      `{"model":"claude/m","input":[${many(25_000, () => '{"role":"system","content":"a"}')},${HI}]}`,
      200,
    ],
    [
      "30 MB of tiny values",
      "/v1/responses",
      `{"model":"m","input":"Hi","x":[${"1,".repeat(15_000_000)}1]}`,
      400,
    ],
    ["30 MB of text", "/v1/responses", `{"model":"m","input":"${"a b ".repeat(7_500_000)}"}`, 200],
  ])("%s", async (_, path, body, status) => {
    const served = await gateway();
    const longest = await longestStep(async () => {
      const response = await post(served, path, body);
      await response.text();
      expect(response.status).toBe(status);
    });
    expect(longest).toBeLessThan(LIMIT_MS);
  });
});
