import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { builtinDialects } from "../../src/dialects/registry.ts";
import { createGateway } from "../../src/index.ts";
import type { Gateway } from "../../src/gateway/gateway.ts";
import { bodyFor, doors, readAnswer } from "../support/client.ts";
import { fakeUpstream, type FakeUpstream } from "../support/fake-upstream.ts";
import { toyDialect } from "../support/toy-dialect.ts";

const answer = [{ say: "Hello" }, { call: { name: "look", input: '{"at":1}' } }, { over: "calls" }];

let upstream: FakeUpstream;
let gateway: Gateway;
beforeAll(async () => {
  upstream = await fakeUpstream(({ path }) =>
    path.endsWith(":stream")
      ? {
          headers: { "content-type": "text/event-stream" },
          steps: answer.map((part) => `data: ${JSON.stringify(part)}\n\n`),
        }
      : {
          headers: { "content-type": "application/json" },
          steps: [JSON.stringify(answer)],
        },
  );
  gateway = createGateway(
    {
      upstreams: {
        toy: { dialect: "toy", base_url: upstream.url, api_key: "k" },
        actor: { dialect: "scripted", script: [["Hi"]] },
      },
      models: { "*": "toy/t1" },
    },
    { dialects: [toyDialect] },
  );
});
afterAll(async () => {
  await gateway.close();
  await upstream[Symbol.asyncDispose]();
});

const post = (path: string, body: object): Promise<Response> =>
  gateway.fetch(
    new Request(`http://gateway${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
const tools = [{ name: "look", takes: { type: "object", properties: { at: { type: "number" } } } }];

describe("a dialect that a user of the library wrote", () => {
  it.each(doors.flatMap((door) => [true, false].map((stream) => [door, stream] as const)))(
    "is spoken by an upstream behind the %s door, streamed %s",
    async (door, stream) => {
      const path = builtinDialects.get(door)?.door?.routes[0] ?? "";
      const read = await readAnswer(door, await post(path, bodyFor(door, { stream })));
      expect(read).toMatchObject({ status: 200, text: "Hello" });
      expect(read.calls).toMatchObject([{ name: "look", input: '{"at":1}' }]);
      expect(upstream.requests.at(-1)).toMatchObject({
        path: `/v1/models/t1:${stream ? "stream" : "whole"}`,
        headers: { "x-toy-key": "k", "x-toy-version": "1" },
      });
    },
  );

  it("is spoken at a door whose path names the model and whether to stream", async () => {
    const body = { lines: [{ by: "user", text: "Hi" }] };
    expect(await (await post("/toy/actor/any:whole", body)).text()).toBe(
      '[{"say":"Hi"},{"over":"end"}]',
    );
    expect(await (await post("/toy/actor%2Fany:stream", body)).text()).toBe(
      'data: {"say":"Hi"}\n\ndata: {"over":"end"}\n\n',
    );
  });

  it("crosses to itself with its tools, and in its own stream", async () => {
    const body = { lines: [{ by: "user", text: "Hi" }], tools };
    const response = await post("/toy/toy/t2:stream", body);
    expect(await response.text()).toBe(
      [
        'data: {"say":"Hello"}\n\n',
        'data: {"call":{"id":"toy_0","name":"look","input":"{\\"at\\":1}"}}\n\n',
        'data: {"over":"calls"}\n\n',
      ].join(""),
    );
    expect(upstream.requests.at(-1)?.body).toMatchObject({ tools: [{ name: "look" }] });
  });

  it("refuses in its own form", async () => {
    const refused = await post("/toy/nobody/x:whole", { lines: [] });
    expect(refused.status).toBe(200);
    const unread = await post("/toy/t1:whole", [1]);
    expect(unread.status).toBe(400);
    expect(await unread.json()).toEqual({
      broke: expect.stringContaining("must be a JSON object"),
    });
    const lost = await post("/toys", {});
    expect(lost.status).toBe(404);
    expect(await lost.text()).toContain("There is no /toys here");
  });

  it("is planned for by the form of its body", async () => {
    const response = await post("/v1/plan", {
      lines: [{ by: "user", text: "Hi" }],
      tools,
      heat: 1,
    });
    expect(await response.json()).toMatchObject({
      upstream: "toy/t1",
      profile: "generic-toy",
      tools: [{ name: "look", verdict: "native" }],
      parameters: [{ path: "heat", upstream_name: "heat" }],
    });
  });

  it("is one that a configuration may name only where it is given", () => {
    const config = { upstreams: { toy: { dialect: "toy", base_url: "http://127.0.0.1/v1" } } };
    expect(() => createGateway(config)).toThrow(
      "upstreams.toy.dialect: is none of chat, responses, messages, gemini, codex, scripted",
    );
  });
});
