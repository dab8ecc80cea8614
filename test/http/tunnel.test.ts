import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createTlsServer } from "node:https";
import { connect, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, doors, readAnswer } from "../support/client.ts";
import { chunk, answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, hang, sse, type Body, type Model } from "../support/fake-upstream.ts";
import { loopback, until } from "../support/loopback.ts";
import { onto, serve, type Served } from "../support/serve.ts";

/** Without it there is no certificate to test with. */
const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

const NAME = "models.example";
let directory = "";
let pair = { key: "", cert: "" };
const trusted = getCACertificates();

beforeAll(() => {
  if (!hasOpenssl) return;
  directory = mkdtempSync(join(tmpdir(), "patchbay-tunnel-"));
  const [key, cert] = [join(directory, "key.pem"), join(directory, "cert.pem")];
  const names = `subjectAltName=DNS:${NAME},IP:127.0.0.1`;
  const made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  const subject = ["-subj", `/CN=${NAME}`, "-addext", names];
  execFileSync("openssl", ["req", "-x509", ...made, ...subject, "-keyout", key, "-out", cert], {
    stdio: "ignore",
  });
  pair = { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  setDefaultCACertificates([...trusted, pair.cert]);
});
afterAll(() => {
  setDefaultCACertificates(trusted);
  if (directory !== "") rmSync(directory, { recursive: true });
});

/** An upstream that speaks TLS: what it hears is handed on to a plain one. */
async function tlsUpstream(model: Model) {
  const plain = await fakeUpstream(model);
  const server = createTlsServer(pair, () => {});
  server.on("secureConnection", (socket) => {
    const onward = connect(Number(new URL(plain.url).port), "127.0.0.1");
    socket.pipe(onward).pipe(socket);
    socket.on("error", () => {}).on("close", () => onward.destroy());
    onward.on("error", () => {}).on("close", () => socket.destroy());
  });
  // Only the tunnel is of use here: nothing is parsed.
  server.removeAllListeners("request");
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    heard: plain.requests,
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await plain[Symbol.asyncDispose]();
    },
  };
}

/** A proxy that makes a tunnel to one port, whatever name it is asked for. */
async function tunnelTo(port: number) {
  const asked: string[] = [];
  let open = 0;
  const found = await loopback((_request, response) => void response.writeHead(405).end());
  found.server.on("connect", (request, socket) => {
    asked.push(`${request.url} ${request.headers["proxy-authorization"] ?? ""}`.trim());
    open++;
    const onward = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      open--;
      onward.destroy();
    });
    onward.on("error", () => {}).on("close", () => socket.destroy());
  });
  return {
    asked,
    open: () => open,
    url: found.url,
    [Symbol.asyncDispose]: () => found[Symbol.asyncDispose](),
  };
}

const serveBehind = (proxy: string, base = `https://${NAME}/v1`): Promise<Served> =>
  serve(onto("chat", base), { HTTPS_PROXY: proxy });

describe.skipIf(!hasOpenssl)(
  "an upstream with TLS behind a proxy (openssl makes its certificate)",
  () => {
    it.each(doors.flatMap((door) => [true, false].map((stream) => [door, stream] as const)))(
      "is reached by a tunnel from the %s door (streamed: %s)",
      async (door, stream) => {
        await using upstream = await tlsUpstream(({ body }) =>
          answerInChat(body, { text: "Hello." }),
        );
        await using proxy = await tunnelTo(upstream.port);
        await using served = await serveBehind(proxy.url.replace("//", "//somebody:secret@"));
        for (let turn = 0; turn < 2; turn++) {
          const { text } = await readAnswer(door, await ask(served, door, { stream }));
          expect(text).toBe("Hello.");
        }
        // One connection serves both turns, and the proxy sees nothing of them.
        const basic = Buffer.from("somebody:secret").toString("base64");
        expect(proxy.asked).toEqual([`${NAME}:443 Basic ${basic}`]);
        expect(upstream.heard[0]?.headers["proxy-authorization"]).toBeUndefined();
        expect(upstream.heard[0]?.headers.host).toBe(NAME);
      },
    );

    it("is let go of with its tunnel when the client leaves", async () => {
      const hello = chunk(0, { role: "assistant", content: "Hel" });
      await using upstream = await tlsUpstream(() => sse(hello, hang));
      await using proxy = await tunnelTo(upstream.port);
      await using served = await serveBehind(proxy.url);
      const abort = new AbortController();
      const response = await ask(served, "chat", { stream: true }, { signal: abort.signal });
      await response.body?.getReader().read();
      expect(proxy.open()).toBe(1);
      abort.abort();
      await upstream.heard[0]?.closed;
      await until(() => proxy.open() === 0 && served.turns().length === 1);
      expect(served.turns()).toMatchObject([{ outcome: "left" }]);
    });

    it("is not spoken to where its certificate is another's", async () => {
      await using upstream = await tlsUpstream(() => sse(hang));
      await using proxy = await tunnelTo(upstream.port);
      await using served = await serveBehind(proxy.url, "https://other.example/v1");
      const response = await ask(served, "chat");
      expect(response.status).toBe(502);
      const { error } = (await response.json()) as { error: Body };
      expect(error).toMatchObject({ code: "upstream.unreachable" });
      expect(error["message"]).toContain("its certificate is not trusted");
      expect(upstream.heard).toEqual([]);
    });

    it("is told of as unreachable where nothing is behind the tunnel", async () => {
      await using proxy = await tunnelTo(1);
      await using served = await serveBehind(proxy.url);
      const response = await ask(served, "chat");
      expect(response.status).toBe(502);
      expect((await readAnswer("chat", response)).error).toMatchObject({
        code: "upstream.unreachable",
      });
    });

    it("is not waited for longer than a connection may take", async () => {
      const held: Socket[] = [];
      await using mute = await loopback(() => {});
      mute.server.on("connect", () => {});
      await using silent = await loopback(() => {});
      // It takes connections and reads nothing of them.
      silent.server.removeAllListeners("connection");
      silent.server.on("connection", (socket) => socket.on("error", () => {}).pause());
      silent.server.on("connection", (socket) => void held.push(socket));
      await using proxy = await tunnelTo(Number(new URL(silent.url).port));
      const codes = [mute.url, proxy.url].map(async (url) => {
        const config = onto("chat", `https://${NAME}/v1`, { timeouts: { connect: 100 } });
        await using served = await serve(config, { HTTPS_PROXY: url });
        const { error } = await readAnswer("chat", await ask(served, "chat"));
        return error?.["code"] as unknown;
      });
      // The first proxy says nothing; behind the second the other end says nothing.
      const timeout = "upstream.connect_timeout";
      expect(await Promise.all(codes)).toEqual([timeout, timeout]);
      for (const socket of held) socket.destroy();
    });
  },
);
