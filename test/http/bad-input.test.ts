import { once } from "node:events";
import { connect } from "node:net";
import { text as textOf } from "node:stream/consumers";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, bodyFor, doors, doorUrl, type DoorName } from "../support/client.ts";
import type { Body } from "../support/fake-upstream.ts";
import { serve, type Served } from "../support/serve.ts";

const KEY = "gateway-key";
const BODY_LIMIT = 200_000;

let served: Served;
beforeAll(async () => {
  served = await serve({
    server: { keys: [KEY, "another-key"], body_limit: BODY_LIMIT, websocket: false },
    upstreams: { demo: { dialect: "scripted" } },
    models: { m: "demo/demo" },
  });
});
afterAll(() => served[Symbol.asyncDispose]());

const JSON_TYPE = { "content-type": "application/json" };

const send = (
  door: DoorName,
  body: NonNullable<RequestInit["body"]>,
  headers: object = JSON_TYPE,
): Promise<Response> =>
  fetch(doorUrl(served, door), {
    method: "POST",
    body,
    duplex: "half",
    headers: { "x-api-key": KEY, ...headers },
  });

const errorOf = async (response: Response): Promise<Body> =>
  ((await response.json()) as Body)["error"] as Body;

const wrong = (door: DoorName, more: object): Promise<Response> =>
  send(door, JSON.stringify({ ...bodyFor(door), ...more }));

describe.each(doors)("the %s door", (door) => {
  it.each([
    ['{"model": "m",\n  "messages": [CANARY', 2, 16],
    ['{"model": "m" "input": "CANARY"}', 1, 15],
    ['{"model": "m", "input": "CANARY}', 1, 33],
    ['\n\n{"model": CANARY}', 3, 11],
    ['{"input": "CANARY"}}', 1, 20],
    ["", 1, 1],
  ])("says where %j stops being JSON, and quotes none of it", async (body, line, column) => {
    const response = await send(door, body);
    expect(response.status).toBe(400);
    const error = await errorOf(response);
    expect(error).toMatchObject({ type: "invalid_request_error", code: "request.not_json" });
    expect(error["message"]).toContain(`line ${line}, column ${column}`);
    expect(JSON.stringify(error)).not.toContain("CANARY");
  });

  it.each(["[]", "null", '"text"', "5", "true"])("wants an object, not %s", async (body) => {
    const response = await send(door, body);
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ code: "request.invalid" });
  });

  it.each([
    ["tools", "x"],
    ["tools", { a: 1 }],
    ["tools[0]", [null]],
    ["tools[0]", ["x"]],
    ["tool_choice", 5],
    ["tool_choice", []],
    ["stream", "yes"],
    ["temperature", "hot"],
    ["parallel_tool_calls", "no"],
    ["metadata", "x"],
  ])("names `%s` when it is %j", async (param, value) => {
    const response = await wrong(door, { [param.replace("[0]", "")]: value });
    expect(response.status).toBe(400);
    const error = await errorOf(response);
    expect(error).toMatchObject({ type: "invalid_request_error", code: "request.invalid" });
    expect(error["param"]).toMatch(param.replace("[0]", ""));
    expect(error["message"]).toContain(param.replace("[0]", ""));
  });

  it("takes null for what is not set", async () => {
    const nulls = {
      tools: null,
      temperature: null,
      stream: null,
      metadata: null,
    };
    expect((await wrong(door, nulls)).status).toBe(200);
  });

  it("wants a choice that is one", async () => {
    for (const tool_choice of [null, 5, "sometimes", [], {}]) {
      const response = await wrong(door, { tool_choice });
      expect(response.status).toBe(400);
      const { code, param } = await errorOf(response);
      expect([code, param]).toEqual(["request.invalid", expect.stringMatching(/^tool_choice/)]);
    }
  });

  it("wants a model", async () => {
    for (const model of [undefined, null, ""]) {
      const response = await wrong(door, { model });
      expect(response.status).toBe(400);
      expect(await errorOf(response)).toMatchObject({
        code: "request.missing_model",
        param: "model",
      });
    }
    const response = await wrong(door, { model: 5 });
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ param: "model" });
  });

  it("knows no model that nobody configured, and says which it knows", async () => {
    for (const model of ["gpt-99", "nowhere/m", "constructor", "__proto__"]) {
      const response = await wrong(door, { model });
      expect(response.status).toBe(404);
      const error = await errorOf(response);
      expect(error).toMatchObject({
        code: "model.unknown",
        param: "model",
        type: "not_found_error",
      });
      expect(error["message"]).toMatch(/Known: m, demo\/<model>/);
    }
  });

  it("takes no body larger than it was told, announced or not", async () => {
    const large = JSON.stringify(bodyFor(door, { user: "x".repeat(BODY_LIMIT) }));
    const responses = [await send(door, large), await send(door, new Blob([large]).stream())];
    for (const response of responses) {
      expect(response.status).toBe(413);
      const error = await errorOf(response);
      expect(error).toMatchObject({ code: "request.too_large", type: "invalid_request_error" });
      expect(error["message"]).toContain("server.body_limit");
    }
  });

  it.each(["PUT", "PATCH", "DELETE", "OPTIONS"])("is no place for %s", async (method) => {
    const response = await fetch(doorUrl(served, door), { method, headers: { "x-api-key": KEY } });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toContain("POST");
    expect(await errorOf(response)).toMatchObject({ code: "request.method" });
  });

  // Chat completions that were stored are listed there.
  it.skipIf(door === "chat")("is no place for GET", async () => {
    const response = await fetch(doorUrl(served, door), { headers: { "x-api-key": KEY } });
    expect(response.status).toBe(405);
    expect(await errorOf(response)).toMatchObject({ code: "request.method" });
  });

  it.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "",
  ])("takes no body of type %j", async (type) => {
    const response = await send(door, new Blob([JSON.stringify(bodyFor(door))]), {
      "content-type": type,
    });
    expect(response.status).toBe(415);
    const error = await errorOf(response);
    expect(error).toMatchObject({ code: "request.content_type" });
    expect(error["message"]).toContain("application/json");
  });

  it("takes JSON by its other names", async () => {
    const types = ["application/json; charset=utf-8", "Application/JSON", "application/vnd.x+json"];
    for (const type of types) {
      const response = await send(door, JSON.stringify(bodyFor(door)), { "content-type": type });
      expect(response.status).toBe(200);
    }
  });

  it("opens to either key in any of the headers, and to nothing else", async () => {
    const status = async (headers: Record<string, string>): Promise<[number, string]> => {
      const response = await ask(served, door, {}, { headers });
      const body = (await response.json()) as Body;
      return [response.status, (body["error"]?.code as string | undefined) ?? ""];
    };
    expect(await status({ "x-api-key": KEY })).toEqual([200, ""]);
    expect(await status({ "api-key": KEY })).toEqual([200, ""]);
    expect(await status({ authorization: `Bearer ${KEY}` })).toEqual([200, ""]);
    expect(await status({ authorization: "bearer another-key" })).toEqual([200, ""]);
    expect(await status({ authorization: "Bearer wrong", "x-api-key": KEY })).toEqual([200, ""]);
    expect(await status({})).toEqual([401, "auth.missing"]);
    expect(await status({ authorization: "Bearer wrong" })).toEqual([401, "auth.wrong"]);
    expect(await status({ "x-api-key": "wrong" })).toEqual([401, "auth.wrong"]);
    expect(await status({ "api-key": "wrong" })).toEqual([401, "auth.wrong"]);
    expect(await status({ authorization: `Basic ${KEY}` })).toEqual([401, "auth.missing"]);
    expect(await status({ "x-api-key": KEY.slice(0, -1) })).toEqual([401, "auth.wrong"]);
  });

  it("asks for the key before it looks at anything", async () => {
    for (const body of ["{", "x".repeat(10_000)]) {
      const response = await fetch(doorUrl(served, door), { method: "POST", body });
      expect(response.status).toBe(401);
    }
  });

  it("survives whatever stands in any field", async () => {
    const values = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.constantFrom(null, [], {}, [null], ""),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...pathsOf(rich[door])), values, async (path, value) => {
        const response = await send(door, JSON.stringify(replaced(rich[door], path, value)));
        expect(await response.text()).not.toContain('"code":"gateway.internal"');
        expect(response.status).toBeLessThan(500);
      }),
      { numRuns: 300 },
    );
  });

  it("survives depth", async () => {
    const deep = "[".repeat(50_000) + "]".repeat(50_000);
    const key = door === "chat" ? "messages" : "input";
    const response = await send(door, `{"model":"m","${key}":${deep}}`);
    expect(response.status).toBe(400);
    const schema = `${'{"type":"object","properties":{"a":'.repeat(900)}{}${"}}".repeat(900)}`;
    const tool =
      door === "chat"
        ? `{"type":"function","function":{"name":"f","parameters":${schema}}}`
        : `{"type":"function","name":"f","parameters":${schema}}`;
    const body = JSON.stringify(bodyFor(door)).replace(/}$/, `,"tools":[${tool}]}`);
    expect((await send(door, body)).status).toBeLessThan(500);
  });
});

const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const rich: Record<DoorName, Body> = {
  chat: {
    model: "m",
    messages: [
      { role: "system", content: "Be kind." },
      { role: "user", content: [{ type: "text", text: "Hi" }] },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c1", content: "done" },
      {
        role: "user",
        content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA==" } }],
      },
    ],
    tools: [{ type: "function", function: { name: "f", description: "F", parameters: schema } }],
    tool_choice: { type: "function", function: { name: "f" } },
    response_format: { type: "json_schema", json_schema: { name: "s", schema, strict: true } },
    n: 2,
    stop: ["x"],
    max_completion_tokens: 5,
    stream: true,
    stream_options: { include_usage: true },
    metadata: { a: "b" },
    logit_bias: { 1: 2 },
  },
  responses: {
    model: "m",
    instructions: "Be kind.",
    input: [
      { role: "user", content: [{ type: "input_text", text: "Hi" }] },
      { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "hm" }] },
      { type: "function_call", call_id: "c1", name: "f", arguments: "{}", id: "fc_1" },
      { type: "function_call_output", call_id: "c1", output: "done" },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "x" }] },
      {
        role: "user",
        content: [{ type: "input_image", image_url: "data:image/png;base64,AA==" }],
      },
    ],
    tools: [{ type: "function", name: "f", description: "F", parameters: schema, strict: true }],
    tool_choice: { type: "function", name: "f" },
    text: { format: { type: "json_schema", name: "s", schema, strict: true }, verbosity: "low" },
    reasoning: { effort: "low", summary: "auto" },
    include: ["reasoning.encrypted_content"],
    max_output_tokens: 5,
    stream: true,
    metadata: { a: "b" },
  },
};

type Path = readonly (string | number)[];

/** Every place in a value. */
function pathsOf(value: unknown, at: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [at];
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [
    at,
    ...keys.flatMap((key) =>
      pathsOf((value as Record<string | number, unknown>)[key], [...at, key]),
    ),
  ];
}

function replaced(value: Body, path: Path, by: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return by;
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as Body;
  copy[key] = replaced(copy[key] as Body, rest, by);
  return copy;
}

describe("the gateway", () => {
  it("answers a path that it does not know with 404", async () => {
    for (const path of ["/v1/completions", "/chat/completion", "/v1/%ff", "/v1//responses"]) {
      const response = await fetch(served.url + path, { headers: { "x-api-key": KEY } });
      expect(response.status).toBe(404);
      expect(await errorOf(response)).toMatchObject({ code: "request.route" });
    }
  });

  it.each([
    ["/openai/deployments/gpt/chat/completions", "a client's base URL is this address"],
    ["/v1/respones", "the nearest route is /v1/responses."],
  ])("says for %s what was meant", async (path, said) => {
    const response = await fetch(served.url + path, { headers: { "x-api-key": KEY } });
    expect((await errorOf(response)).message).toContain(said);
  });

  it("answers an upgrade with 426 where WebSockets are off, so that Codex goes on over HTTP", async () => {
    const { host } = new URL(served.url);
    const said = await raw(
      `GET /v1/responses HTTP/1.1\r\nHost: ${host}\r\nx-api-key: ${KEY}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    );
    expect(said).toMatch(/^HTTP\/1\.1 426 /);
    expect(said).toContain("request.websocket");
  });

  it("answers what is not HTTP", async () => {
    expect(await raw("HELLO\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 [^]*"code":"request.invalid"/);
    const long = `GET /healthz HTTP/1.1\r\nHost: x\r\nx-long: ${"x".repeat(100_000)}\r\n\r\n`;
    expect(await raw(long)).toMatch(/^HTTP\/1\.1 431 /);
  });

  it("outlives those who hang up in mid-sentence", async () => {
    const { hostname, port } = new URL(served.url);
    for (const words of ["POST /v1/resp", `POST /v1/responses HTTP/1.1\r\nHost: x\r\n`]) {
      const socket = connect(Number(port), hostname);
      socket.end(words);
      socket.resume();
      await once(socket, "close");
    }
    const head = `POST /v1/responses HTTP/1.1\r\nHost: x\r\nx-api-key: ${KEY}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n`;
    for (const leave of ["end", "destroy", "resetAndDestroy"] as const) {
      const socket = connect(Number(port), hostname);
      await new Promise<void>((resolve) => {
        socket.write(`${head}{"model": "m"`, () => resolve());
      });
      socket[leave]();
      socket.resume();
      await once(socket, "close");
    }
    expect((await fetch(`${served.url}/healthz`)).status).toBe(200);
  });

  it("gives every answer an id, and keeps one it is given", async () => {
    const own = await fetch(`${served.url}/healthz`, { headers: { "x-request-id": "mine-1" } });
    expect(own.headers.get("x-request-id")).toBe("mine-1");
    for (const door of doors) {
      const refused = await send(door, "{");
      expect(refused.headers.get("x-request-id")).toMatch(/^req_/);
      const odd = await wrong(door, { model: "nowhere" });
      expect(odd.headers.get("x-request-id")).toMatch(/^req_/);
    }
  });

  it("has no trouble to report after all this", async () => {
    expect((await fetch(`${served.url}/healthz`)).status).toBe(200);
    expect(served.happenings.filter(({ type }) => type === "trouble")).toEqual([]);
  });

  /** Says something on a bare connection and hears the answer. */
  async function raw(words: string): Promise<string> {
    const { hostname, port } = new URL(served.url);
    const socket = connect(Number(port), hostname);
    socket.write(words);
    const first = new Promise<string>((resolve) => {
      socket.once("data", (chunk: Buffer) => resolve(chunk.toString()));
    });
    const said = await Promise.race([first, textOf(socket)]);
    socket.destroy();
    return said;
  }
});
