import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { echo, closeAfterTest, gatewayThat, serving } from "../../../test/support/exchanges.ts";
import { untilUnchanged } from "../../../test/support/loopback.ts";
import { parseConfig } from "../../gateway/config.ts";
import type { Reply } from "../../gateway/http/exchange.ts";
import { openGateway } from "../../gateway/gateway.ts";
import { nodePlatform } from "../platform/node.ts";
import { openServer, type Patience } from "./server.ts";

/** What a server says to a few words on a bare connection. */
async function answerTo(words: string, patience?: Patience): Promise<string> {
  const gateway = openGateway(parseConfig({}), nodePlatform());
  const server = await openServer(gateway, { host: "127.0.0.1", port: 0 }, patience);
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.write(words);
  const said = await text(socket);
  await server.close(0);
  return said;
}

describe("a server", () => {
  it("waits for a request that is slow to arrive, but not for ever", async () => {
    const said = await answerTo(
      'POST /v1/responses HTTP/1.1\r\nHost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"model":',
      { requestMs: 30, checkMs: 10 },
    );
    expect(said).toMatch(/^HTTP\/1\.1 408 /);
    expect(said).toContain('"code":"request.timeout"');
  });

  it.each(["", "GET / HTTP/1.1\r\nHo"])("does not wait for ever for a head (%j)", async (begun) => {
    expect(await answerTo(begun, { requestMs: 30, checkMs: 10 })).toMatch(/^HTTP\/1\.1 408 /);
  });

  it("hears a request out that is arriving when it is stopped, and says that it stops", async () => {
    const gateway = openGateway(parseConfig({}), nodePlatform());
    const server = await openServer(gateway, { host: "127.0.0.1", port: 0 });
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    const said = text(socket);
    const head = "POST /v1/responses HTTP/1.1\r\nHost: x\r\nexpect: 100-continue";
    socket.write(`${head}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n`);
    // That it may go on says that it has been heard.
    await once(socket, "readable");
    const closed = server.close(60_000);
    await new Promise(setImmediate);
    socket.write("{}");
    expect(await said).toContain('"code":"gateway.stopping"');
    await closed;
  });

  it("says nothing of what is not HTTP in the middle of an answer", async () => {
    const script = [["Hello.", { hang: true }]] as const;
    const config = parseConfig({
      upstreams: { s: { dialect: "scripted", script } },
      models: { "*": "s/s" },
    });
    const server = await openServer(openGateway(config, nodePlatform()), {
      host: "127.0.0.1",
      port: 0,
    });
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    let said = "";
    socket.setEncoding("utf8").on("data", (piece: string) => void (said += piece));
    socket.on("error", () => {}); // Whoever speaks no HTTP may be cut off.
    const body = '{"model":"m","stream":true,"input":"Hi"}';
    socket.write(
      `POST /v1/responses HTTP/1.1\r\nHost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await once(socket, "data");
    socket.write("\u0000 this is no request\r\n\r\n");
    await once(socket, "close");
    expect(said).toContain("response.created");
    expect(said).not.toContain("400 Bad Request");
    await server.close(0);
  });

  it("asks for no body that it would refuse", async () => {
    const said = await answerTo(
      "POST /v1/responses HTTP/1.1\r\nHost: x\r\nexpect: 100-continue\r\ncontent-type: application/json\r\ncontent-length: 999999999\r\n\r\n",
    );
    expect(said).toMatch(/^HTTP\/1\.1 413 /);
    expect(said).toContain('"code":"request.too_large"');
  });

  it("passes over what else is expected of it", async () => {
    const said = await answerTo(
      "GET /livez HTTP/1.1\r\nHost: x\r\nexpect: the-unexpected\r\nconnection: close\r\n\r\n",
    );
    expect(said).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("is no proxy, and says so", async () => {
    const said = await answerTo("CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n");
    expect(said).toMatch(/^HTTP\/1\.1 405 /);
    expect(said).toContain('"code":"request.method"');
  });

  it("refuses methods that nobody has heard of in its own words", async () => {
    const said = await answerTo(
      "PROPFIND /v1/models HTTP/1.1\r\nHost: x\r\nconnection: close\r\n\r\n",
    );
    expect(said).toMatch(/^HTTP\/1\.1 405 /);
    expect(said).toContain('"code":"request.method"');
  });
});

/** The server's side of the next connection to it. */
async function nextConnection(server: { readonly url: string }): Promise<Socket> {
  const port = Number(new URL(server.url).port);
  const { promise, resolve } = Promise.withResolvers<Socket>();
  const seen = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket };
    if (socket.localPort === port) resolve(socket);
  };
  subscribe("net.server.socket", seen);
  return promise.finally(() => unsubscribe("net.server.socket", seen));
}

const GET = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

/** Reads the first bytes while the main thread stands still, as many as it says, and then all others. */
const reader = `
  const { workerData: { port, request, shared }, parentPort } = require("node:worker_threads");
  const counts = new Int32Array(shared);
  const socket = require("node:net").connect(port, "127.0.0.1");
  socket.on("error", () => {}).on("close", () => parentPort.postMessage("closed"));
  socket.write(request);
  parentPort.on("message", () => socket.on("data", ({ length }) => {
    Atomics.add(counts, 0, length);
    if (counts[0] >= counts[1]) Atomics.notify(counts, 0);
  }));
  parentPort.postMessage("ready");
`;

/** Goes on in the phase of the event loop in which connections time out. */
const inTimer = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

describe("a connection that was silent for a while", () => {
  it.each(["", GET.slice(0, 20)])(
    "is kept until its first request has come (%j)",
    async (begun) => {
      const server = await serving(({ reply }) => reply.end("Here."));
      const connected = nextConnection(server);
      const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
      socket.write(begun);
      const own = await connected;
      while (own.bytesRead < begun.length) await new Promise(setImmediate);
      own.emit("timeout");
      // What a server does at once or soon, it has done now.
      for (let rounds = 0; rounds < 20; rounds++) await new Promise(setImmediate);
      socket.write(GET.slice(begun.length).replace("\r\n", "\r\nconnection: close\r\n"));
      expect(await text(socket)).toContain("Here.");
    },
  );

  it("is closed if its client was refused and does not close it", async () => {
    const server = await serving(({ reply }) => reply.end("Here."));
    const connected = nextConnection(server);
    const port = Number(new URL(server.url).port);
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    socket.on("error", () => {});
    socket.write("This is not HTTP.\r\n\r\n");
    const own = await connected;
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
    expect(own.destroyed).toBe(false);
    own.emit("timeout");
    await new Promise(setImmediate);
    expect(own.destroyed).toBe(true);
    socket.destroy();
  });

  it("is kept if the next request came while the process stood still", async () => {
    const server = await serving(({ reply }) => reply.end("Here."));
    const connected = nextConnection(server);
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.write(GET);
    const own = await connected;
    await once(socket, "data");
    await inTimer();
    socket.write(GET);
    own.emit("timeout");
    const [data] = (await once(socket, "data")) as [Buffer];
    expect(data.toString()).toContain("Here.");
    socket.destroy();
  });

  it("is kept if its client read its answer while the process stood still", async () => {
    const piece = "x".repeat(64 * 1024);
    let isFull = false;
    let left = 400;
    const server = await serving(({ reply }) => {
      reply.head(200, {});
      const more = (): void => {
        while (left > 0 && !isFull) {
          left--;
          isFull = !reply.write(piece);
        }
        if (left === 0) reply.end();
      };
      reply.onDrain(() => {
        isFull = false;
        more();
      });
      more();
    });
    const connected = nextConnection(server);
    const shared = new SharedArrayBuffer(8);
    const counts = new Int32Array(shared);
    const port = Number(new URL(server.url).port);
    const request = GET.replace("\r\n", "\r\nconnection: close\r\n");
    const workerData = { port, request, shared };
    await using worker = new Worker(reader, { eval: true, workerData });
    await once(worker, "message");
    const own = await connected;
    await untilUnchanged(() => left);
    expect(left).toBeGreaterThan(0);
    counts[1] = own.bytesWritten - own.writableLength;
    await inTimer();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- this is no window
    worker.postMessage("read");
    while ((counts[0] ?? 0) < (counts[1] ?? 0)) Atomics.wait(counts, 0, counts[0] ?? 0, 10);
    own.emit("timeout");
    await once(worker, "message");
    expect(counts[0]).toBeGreaterThan(400 * piece.length);
  });
});

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

describe("opening a server", () => {
  it("says what to do when the port is taken", async () => {
    const { url } = await serving(echo);
    const { port } = new URL(url);
    await expect(
      openServer(gatewayThat(echo), { host: "127.0.0.1", port: Number(port) }),
    ).rejects.toThrow(
      `127.0.0.1:${port} is used by another process; stop that process, or choose another port with \`--port\`.`,
    );
  });

  it("says the address in a form that can be opened", async () => {
    const server = await openServer(gatewayThat(echo), { host: "[::1]", port: 0 });
    closeAfterTest(server);
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
