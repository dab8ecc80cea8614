import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { echo, serving } from "../../../test/support/exchanges.ts";
import type { Reply } from "../../gateway/http/exchange.ts";

/** What a bare socket gets back for what it sends: all of it, or as much as it waits for. */
async function sendRaw(url: string, text: string, enough?: RegExp): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  let got = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    got += chunk;
    if (enough?.test(got) === true) socket.destroy();
  });
  socket.write(text);
  await once(socket, "close");
  return got;
}

describe("the server", () => {
  it("gives the gateway every request whole, whatever its content type", async () => {
    const { url } = await serving(echo);
    const posted = await fetch(`${url}/v1/chat/completions?a=1&b=%20`, {
      method: "POST",
      headers: { "content-type": "application/weird" },
      body: '{"π": "☃"}',
    });
    expect(await posted.json()).toEqual({
      method: "POST",
      path: "/v1/chat/completions",
      query: "a=1&b=%20",
      body: '{"π": "☃"}',
      type: "application/weird",
    });
    const got = await fetch(`${url}/`);
    expect(await got.json()).toMatchObject({ method: "GET", path: "/", query: "", body: "" });
    const deleted = await fetch(`${url}/v1/responses/resp_1`, { method: "DELETE" });
    expect(await deleted.json()).toMatchObject({ method: "DELETE", path: "/v1/responses/resp_1" });
    const untyped = await sendRaw(
      url,
      "POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}",
    );
    expect(untyped).toContain('"body":"{}","type":null');
  });

  it("joins a body that comes in pieces, cut in mid-character", async () => {
    const { url } = await serving(echo);
    const bytes = Buffer.from('{"text":"日本語"}');
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    const response = await fetch(`${url}/x`, { method: "POST", body, duplex: "half" });
    expect(await response.json()).toMatchObject({ body: '{"text":"日本語"}' });
  });

  it("sends bytes as they are, between text and behind it", async () => {
    const bytes = Uint8Array.of(0xff, 0x00, 0xfe);
    const { url } = await serving(({ path, reply }) => {
      reply.head(200, { "content-type": "application/octet-stream" });
      if (path === "/pieces") {
        reply.write("a");
        reply.write(bytes);
        reply.write("b");
      }
      reply.end(bytes);
    });
    const whole = await fetch(`${url}/whole`);
    expect(whole.headers.get("content-length")).toBe("3");
    expect(await whole.bytes()).toEqual(bytes);
    const pieces = await (await fetch(`${url}/pieces`)).bytes();
    expect([...pieces]).toEqual([0x61, ...bytes, 0x62, ...bytes]);
  });

  it("says the length of an answer that comes whole, and none of one that comes in pieces", async () => {
    const { url } = await serving(({ path, reply }) => {
      reply.head(path === "/nothing" ? 204 : 200, { "x-own": "1" });
      if (path === "/stream") reply.write("a");
      reply.end(path === "/nothing" ? undefined : "é");
    });
    const whole = await fetch(`${url}/whole`);
    expect(whole.headers.get("content-length")).toBe("2");
    expect(whole.headers.get("x-own")).toBe("1");
    const stream = await fetch(`${url}/stream`);
    expect(stream.headers.get("content-length")).toBeNull();
    expect(await stream.text()).toBe("aé");
    const nothing = await fetch(`${url}/nothing`);
    expect([nothing.status, nothing.headers.get("content-length")]).toEqual([204, null]);
  });

  it("ignores what is written after the end", async () => {
    const { url } = await serving(({ reply }) => {
      reply.head(200, {});
      reply.end("one");
      reply.end("two");
      reply.write("three");
    });
    expect(await (await fetch(url)).text()).toBe("one");
  });

  it("answers an upgrade as any other request", async () => {
    const { url } = await serving(({ headers, reply }) => {
      reply.head(426, {});
      reply.end(String(headers["upgrade"]));
    });
    const got = await sendRaw(
      url,
      "GET /v1/responses HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n",
      /websocket$/,
    );
    expect(got).toMatch(/^HTTP\/1\.1 426 /);
  });
});

describe("a body that is too large", () => {
  const limit = 100_000;
  const refused = {
    error: {
      message: `The body is larger than ${limit} bytes; send less, or raise \`server.body_limit\`.`,
      type: "invalid_request_error",
      param: null,
      code: "request.too_large",
    },
  };

  it("is refused when announced, and the client that still sends it reads the answer", async () => {
    const { url } = await serving(echo, limit);
    for (let round = 0; round < 3; round++) {
      const response = await fetch(url, { method: "POST", body: "x".repeat(8_000_000) });
      expect(response.status).toBe(413);
      expect(await response.json()).toEqual(refused);
    }
  });

  it("is refused when it only turns out to be", async () => {
    const { url } = await serving(echo, limit);
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(new Uint8Array(50_000));
        sent += 1;
        if (sent === 200) controller.close();
      },
    });
    const response = await fetch(url, { method: "POST", body, duplex: "half" });
    expect(response.status).toBe(413);
    expect(await response.json()).toEqual(refused);
  });

  it("is one byte above the limit, not at it", async () => {
    const { url } = await serving(echo, limit);
    const status = async (size: number): Promise<number> => {
      const response = await fetch(url, { method: "POST", body: "x".repeat(size) });
      await response.text();
      return response.status;
    };
    expect(await status(limit)).toBe(200);
    expect(await status(limit + 1)).toBe(413);
  });
});

describe("what is not proper HTTP", () => {
  it("gets a 400 in the shape of every other error", async () => {
    const { url } = await serving(echo);
    const got = await sendRaw(url, "NONSENSE\r\n\r\n");
    expect(got).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(JSON.parse(got.slice(got.indexOf("{")))).toMatchObject({
      error: { code: "request.invalid", type: "invalid_request_error" },
    });
  });

  it("gets a 431 for headers without end", async () => {
    const { url } = await serving(echo);
    const got = await sendRaw(url, `GET / HTTP/1.1\r\nx: ${"y".repeat(100_000)}\r\n\r\n`);
    expect(got).toMatch(/^HTTP\/1\.1 431 /);
  });
});

describe("a client", () => {
  it("that leaves in mid-stream is noticed once, and writing to it does no harm", async () => {
    const left = Promise.withResolvers<Reply>();
    let times = 0;
    const { url } = await serving(({ reply }) => {
      reply.onLeave(() => {
        times += 1;
        left.resolve(reply);
      });
      reply.head(200, { "content-type": "text/event-stream" });
      reply.write("data: 1\n\n");
    });
    const gone = new AbortController();
    const response = await fetch(url, { signal: gone.signal });
    await response.body?.getReader().read();
    gone.abort();
    const reply = await left.promise;
    expect(reply.write("data: 2\n\n")).toBe(true);
    reply.end();
    expect(times).toBe(1);
    let told = false;
    reply.onLeave(() => void (told = true));
    await Promise.resolve();
    expect(told).toBe(true);
  });

  it("that leaves before the answer began is noticed too", async () => {
    const arrived = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    const { url } = await serving(({ reply }) => {
      reply.onLeave(() => left.resolve());
      arrived.resolve();
    });
    const gone = new AbortController();
    const answer = fetch(url, { method: "POST", body: "{}", signal: gone.signal });
    await arrived.promise;
    gone.abort();
    await expect(answer).rejects.toThrow("abort");
    await left.promise;
  });

  it("that got everything has not left", async () => {
    let told = false;
    const server = await serving(({ reply }) => {
      reply.onLeave(() => void (told = true));
      reply.head(200, { connection: "close" });
      reply.end("all");
    });
    expect(await (await fetch(server.url)).text()).toBe("all");
    await server.close(0);
    expect(told).toBe(false);
  });

  it("that reads slowly makes the writer wait until it has caught up", async () => {
    const full = Promise.withResolvers<void>();
    const drained = Promise.withResolvers<void>();
    const { url } = await serving(({ reply }) => {
      reply.head(200, {});
      const piece = "x".repeat(100_000);
      const pour = (): void => {
        while (reply.write(piece));
        full.resolve();
      };
      reply.onDrain(() => {
        drained.resolve();
        reply.end();
      });
      pour();
    });
    const response = await fetch(url);
    await full.promise;
    const size = (await response.arrayBuffer()).byteLength;
    await drained.promise;
    expect(size % 100_000).toBe(0);
    expect(size).toBeGreaterThan(0);
  });
});
