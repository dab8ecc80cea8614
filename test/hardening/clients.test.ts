import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { chunk } from "../support/fake-model.ts";
import { fakeUpstream, hang, sse } from "../support/fake-upstream.ts";
import { loopback, until } from "../support/loopback.ts";
import { onto, serve } from "../support/serve.ts";

function open(url: string): Socket {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

const head = (length: number | "chunked", more = ""): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n${length === "chunked" ? "transfer-encoding: chunked" : `content-length: ${length}`}\r\n${more}\r\n`;

async function answerTo(socket: Socket): Promise<string> {
  const [first] = (await once(socket, "data")) as [Buffer];
  return first.toString();
}

describe("who has no key", () => {
  it("is refused by its head, before its body comes", async () => {
    await using served = await serve({ server: { keys: ["secret-key"] } });
    await using socket = open(served.url);
    socket.write(head(30_000_000));
    expect(await answerTo(socket)).toMatch(/^HTTP\/1\.1 401 /);
  });

  it("has nothing unpacked", async () => {
    await using served = await serve({ server: { keys: ["secret-key"] } });
    const bomb = gzipSync(Buffer.alloc(30 * 1024 * 1024), { level: 1 });
    const all = Array.from({ length: 20 }, async () => {
      const socket = open(served.url);
      socket.write(head(bomb.length, "content-encoding: gzip\r\n"));
      socket.write(bomb);
      return answerTo(socket);
    });
    for (const answer of await Promise.all(all)) expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(served.gateway.bodyBudget.held).toBe(0);
  });

  it("is not asked for a body that it announces", async () => {
    await using served = await serve({ server: { keys: ["secret-key"] } });
    await using socket = open(served.url);
    socket.write(head(100, "expect: 100-continue\r\n"));
    expect(await answerTo(socket)).toMatch(/^HTTP\/1\.1 401 /);
  });

  it("learns that a path is none before it sends a body for it", async () => {
    await using served = await serve({});
    await using socket = open(served.url);
    socket.write(head(30_000_000).replace("/v1/chat/completions", "/v1/nothing"));
    expect(await answerTo(socket)).toMatch(/^HTTP\/1\.1 404 /);
  });
});

describe("who reads nothing of an answer", () => {
  it("is cut off after a while, and its upstream let go", async () => {
    const word = chunk(0, { content: "word ".repeat(20_000) });
    await using upstream = await loopback((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const more = (): void => {
        while (!response.destroyed && response.write(word));
      };
      response.on("drain", more);
      more();
    });
    await using served = await serve({
      ...onto("chat", upstream.url),
      server: { stall_timeout_ms: 100 },
    });
    const body = JSON.stringify({
      model: "m",
      stream: true,
      messages: [{ role: "user", content: "Hi" }],
    });
    await using socket = open(served.url);
    socket.write(head(body.length) + body);
    await until(() => served.turns().length === 1);
    expect(served.turns()[0]).toMatchObject({
      outcome: "failed",
      fault: "client.slow",
      status: 408,
    });
    await until(() => upstream.sockets.every(({ destroyed }) => destroyed));
  });

  it("is told from one that waits for an upstream's first word", async () => {
    await using upstream = await fakeUpstream(() => sse(chunk(0, { content: "Hi" }), hang));
    await using served = await serve({
      ...onto("chat", upstream.url, { timeouts: { idle: 400 } }),
      server: { stall_timeout_ms: 50 },
    });
    const body = JSON.stringify({
      model: "m",
      stream: true,
      messages: [{ role: "user", content: "Hi" }],
    });
    await using socket = open(served.url);
    socket.write(head(body.length) + body);
    let heard = "";
    socket.on("data", (data) => (heard += data.toString()));
    await until(() => served.turns().length === 1);
    expect(served.turns()[0]?.fault).toBe("upstream.idle_timeout");
    await until(() => heard.includes("fell silent"));
  });
});

it("one tenant's streams that nobody reads leave connections for the others", async () => {
  await using upstream = await fakeUpstream(({ body }) =>
    body["model"] === "long"
      ? sse(chunk(0, { content: "Hi" }), hang)
      : sse(chunk(0, { content: "Hi" }, "stop"), "data: [DONE]\n\n"),
  );
  await using served = await serve({
    ...onto("chat", upstream.url, { connections: 8, timeouts: { queue: 100 } }),
    server: {
      keys: [
        { name: "ann", key: "key-of-ann" },
        { name: "bob", key: "key-of-bob" },
      ],
    },
  });
  const post = (key: string, model: string): Promise<Response> =>
    fetch(`${served.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model, stream: true, messages: [{ role: "user", content: "Hi" }] }),
    });
  const all = await Promise.all(Array.from({ length: 9 }, () => post("key-of-ann", "long")));
  expect(all.filter(({ status }) => status === 200)).toHaveLength(7);
  expect(all.filter(({ status }) => status === 503)).toHaveLength(2);
  const refused = all.find(({ status }) => status === 503);
  expect(await refused?.json()).toMatchObject({ error: { code: "upstream.busy" } });
  expect(await (await post("key-of-bob", "short")).text()).toContain("[DONE]");
  for (const { status, body } of all) if (status === 200) await body?.cancel();
});
