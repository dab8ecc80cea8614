import { once } from "node:events";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import Fastify from "fastify";
import { afterEach, describe, expect, it } from "vitest";
import { faultBody } from "../dialects/fault-body.ts";
import type { Exchange, Reply } from "../gateway/exchange.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { patchbay } from "./fastify.ts";
import { openServer, type Server } from "./server.ts";

const open: { close(graceMs: number): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close(0);
});

/** A gateway that does with each exchange what the test says. */
function gatewayThat(handle: (exchange: Exchange) => void, bodyLimit = 1_000_000): Gateway {
  return {
    handle,
    refuse({ reply }, fault) {
      reply.head(fault.status, { "content-type": "application/json" });
      reply.end(JSON.stringify(faultBody(fault)));
    },
    bodyLimit,
    standing: () => "refused",
    foreignIn: () => undefined,
    fetch: () => Promise.reject(new Error("not asked for")),
    reconfigure() {},
    close: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function serving(handle: (exchange: Exchange) => void, bodyLimit?: number): Promise<Server> {
  const server = await openServer(gatewayThat(handle, bodyLimit), { host: "127.0.0.1", port: 0 });
  open.push(server);
  return server;
}

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

/** Tries to connect until nobody accepts any more. */
async function refusedAt(url: string): Promise<void> {
  for (;;) {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    const refused = await once(socket, "connect").then(
      () => false,
      () => true,
    );
    socket.destroy();
    if (refused) return;
  }
}

const echo = ({ method, path, query, headers, body, reply }: Exchange): void => {
  reply.head(200, { "content-type": "application/json" });
  reply.end(JSON.stringify({ method, path, query, body, type: headers["content-type"] ?? null }));
};

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

  it("gets a 404 for a path that cannot be decoded", async () => {
    const { url } = await serving(echo);
    const got = await sendRaw(url, "GET /%zz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    expect(got).toMatch(/^HTTP\/1\.1 404 /);
    expect(got).toContain('"code":"request.route"');
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
      reply.onLeave(left.resolve);
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
    const { url } = await serving(({ reply }) => {
      reply.onLeave(() => void (told = true));
      reply.head(200, { connection: "close" });
      reply.end("all");
    });
    expect(await (await fetch(url)).text()).toBe("all");
    await open.pop()?.close(0);
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

describe("the plugin in another's app", () => {
  it("says the headers that the app has set, on answers whole and in pieces", async () => {
    const app = Fastify();
    open.push({ close: () => app.close() });
    app.addHook("onRequest", async (_request, reply) => {
      reply.header("access-control-allow-origin", "*").header("x-both", "the app's");
    });
    const gateway = gatewayThat(({ path, reply }) => {
      reply.head(200, { "x-both": "the gateway's" });
      if (path === "/v1/pieces") reply.write("a");
      reply.end("b");
    }, 10);
    await app.register(patchbay, { gateway });
    const url = await app.listen({ host: "127.0.0.1", port: 0 });
    for (const path of ["whole", "pieces"]) {
      const { headers } = await fetch(`${url}/v1/${path}`);
      expect(headers.get("access-control-allow-origin")).toBe("*");
      expect(headers.get("x-both")).toBe("the gateway's");
    }
    const large = await fetch(`${url}/v1/whole`, { method: "POST", body: "x".repeat(11) });
    expect(large.status).toBe(413);
    expect(large.headers.get("access-control-allow-origin")).toBe("*");
    expect(large.headers.get("connection")).toBe("keep-alive");
  });

  it("unpacks bodies, and refuses those that are packed in no way it knows", async () => {
    const app = Fastify();
    const gateway = gatewayThat(({ body, reply }) => reply.end(body));
    await app.register(patchbay, { gateway, paths: ["/v1/*"] });
    await app.listen({ host: "127.0.0.1", port: 0 });
    open.push({ close: () => app.close() });
    const url = `${app.listeningOrigin}/v1/x`;
    const send = (encoding: string): Promise<Response> => {
      const headers = { "content-type": "application/json", "content-encoding": encoding };
      return fetch(url, { method: "POST", headers, body: new Uint8Array(gzipSync('"Zürich"')) });
    };
    expect(await (await send("gzip")).text()).toBe('"Zürich"');
    expect([(await send("zstd")).status, (await send("rar")).status]).toEqual([400, 415]);
  });

  it("leaves errors of the app's hooks to the app", async () => {
    const app = Fastify();
    open.push({ close: () => app.close() });
    app.addHook("onRequest", async () => {
      throw Object.assign(new Error("Sign in first."), { statusCode: 401, code: "FST_JWT" });
    });
    await app.register(patchbay, { gateway: gatewayThat(echo) });
    const url = await app.listen({ host: "127.0.0.1", port: 0 });
    const refused = await fetch(`${url}/v1/models`);
    expect(refused.status).toBe(401);
    expect(await refused.json()).toMatchObject({ message: "Sign in first." });
  });

  it("serves its own routes under a prefix and leaves the rest of the app alone", async () => {
    const app = Fastify();
    app.post("/own", (request) => ({ parsed: request.body }));
    await app.register(patchbay, { gateway: gatewayThat(echo, 10), prefix: "/ai" });
    const url = await app.listen({ host: "127.0.0.1", port: 0 });
    open.push({ close: () => app.close() });
    const post = (path: string, body: string): Promise<Response> =>
      fetch(url + path, { method: "POST", headers: { "content-type": "application/json" }, body });

    const through = await post("/ai/v1/responses?x=1", "{}");
    expect(await through.json()).toMatchObject({ path: "/v1/responses", query: "x=1", body: "{}" });
    expect(await (await fetch(`${url}/ai/healthz`)).json()).toMatchObject({ path: "/healthz" });
    expect((await post("/ai/v1/responses", "x".repeat(11))).status).toBe(413);
    expect(await (await post("/own", '{"a": [1, 2, 3, 4, 5, 6]}')).json()).toEqual({
      parsed: { a: [1, 2, 3, 4, 5, 6] },
    });
    const missing = await fetch(`${url}/ai/elsewhere`);
    expect(await missing.json()).toMatchObject({ statusCode: 404 });
  });
});

describe("opening a server", () => {
  it("says what to do when the port is taken", async () => {
    const { url } = await serving(echo);
    const { port } = new URL(url);
    await expect(
      openServer(gatewayThat(echo), { host: "127.0.0.1", port: Number(port) }),
    ).rejects.toThrow(
      `127.0.0.1:${port} is taken by another process; stop that one or choose another with \`--port\`.`,
    );
  });

  it("says the address in a form that can be opened", async () => {
    const server = await openServer(gatewayThat(echo), { host: "[::1]", port: 0 });
    open.push(server);
    expect(server.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await fetch(server.url)).status).toBe(200);
  });
});

describe("closing a server", () => {
  it("takes no new connection, lets a stream end, and then returns", async () => {
    const reply = Promise.withResolvers<Reply>();
    const drained = Promise.withResolvers<void>();
    const gateway = {
      ...gatewayThat(({ reply: own }) => {
        own.head(200, {});
        own.write("first ");
        reply.resolve(own);
      }),
      close: () => drained.promise,
    };
    const server = await openServer(gateway, { host: "127.0.0.1", port: 0 });
    const response = await fetch(server.url);
    const closed = server.close(1000);
    await refusedAt(server.url);
    (await reply.promise).end("last");
    expect(await response.text()).toBe("first last");
    drained.resolve();
    await closed;
  });

  it("waits for a slow reader to get the end of its answer", async () => {
    const size = 20_000_000;
    const server = await openServer(
      gatewayThat(({ reply }) => {
        reply.head(200, {});
        reply.end("x".repeat(size));
      }),
      { host: "127.0.0.1", port: 0 },
    );
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    await once(socket, "readable");
    const closed = server.close(10_000);
    await refusedAt(server.url);
    let got = 0;
    for await (const chunk of socket) got += (chunk as Buffer).length;
    await closed;
    expect(got).toBeGreaterThan(size);
  });

  it("does not wait for one that reads nothing", async () => {
    const server = await openServer(
      gatewayThat(({ reply }) => {
        reply.head(200, {});
        reply.end("x".repeat(20_000_000));
      }),
      { host: "127.0.0.1", port: 0 },
    );
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.on("error", () => {}); // It is cut off, which is the point.
    socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    await once(socket, "readable");
    await expect(server.close(0)).resolves.toBeUndefined();
    socket.destroy();
  });
});
