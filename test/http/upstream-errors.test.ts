import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { ask } from "../support/client.ts";
import { chunk } from "../support/fake-model.ts";
import {
  fakeUpstream,
  frame,
  json,
  sse,
  type Answer,
  type Body,
} from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const hex = (text: string): string => Buffer.from(text).toString("hex");
const url64 = (text: string): string => base64(text).replaceAll("+", "-").replaceAll("/", "_");

describe("a secret of an upstream that its errors quote", () => {
  const KEY = 'sk-ca/na+ry"key\\>>>???=12&34%';
  const PASSWORD = "canary password";
  const basic = base64(`user:${PASSWORD}`);
  const query = "can/ary query";
  const percent = encodeURIComponent(KEY);

  const quoted: Readonly<Record<string, string>> = {
    "as it is": KEY,
    base64: base64(KEY),
    "base64 without padding": base64(KEY).replaceAll("=", ""),
    base64url: url64(KEY),
    "base64 of a user and the key": base64(`user:${KEY}`),
    "base64 of a longer user and the key": base64(`users:${KEY}`),
    "base64 of another user and the key": url64(`useres:${KEY}`),
    "base64 of the key and more": base64(`${KEY}:x`),
    "base64 of a header with the key": base64(`Bearer ${KEY}`),
    "percent-encoded": percent,
    "percent-encoded in small letters": percent.replaceAll(/%../g, (one) => one.toLowerCase()),
    "JSON-escaped": JSON.stringify(KEY),
    "JSON-escaped twice": JSON.stringify(JSON.stringify(KEY)),
    "JSON-escaped with slashes": JSON.stringify(KEY).replaceAll("/", "\\/"),
    hex: hex(KEY),
    "hex in capitals": hex(KEY).toUpperCase(),
    "in a header": `Basic ${basic}`,
    "as the password of a header": PASSWORD,
    "as the user and password of a header": `user:${PASSWORD}`,
    "as the password of a header, in hex": hex(PASSWORD),
    "as a value of the address": query,
    "as a value of the address, in base64": base64(query),
    "as a value of the address, with a plus": query.replaceAll(" ", "+"),
  };
  const forms: Readonly<Record<string, (words: string) => Answer>> = {
    "a refusal": (words) => json({ error: { message: words, code: words, param: words } }, 401),
    "a refusal in words": (words) => json(words, 400, { "content-type": "text/plain" }),
    "an error with a status of success": (words) => json({ error: { message: words } }),
    "a stream": (words) => sse(frame({ error: { message: words } })),
    "a stream that has begun": (words) =>
      sse(chunk(0, { role: "assistant", content: "So" }), frame({ error: { message: words } })),
  };

  it.each(
    Object.entries(quoted).flatMap(([how, words]) =>
      Object.keys(forms).map((form) => [how, form, words]),
    ),
  )("is shown to nobody: %s, in %s", async (_, form, words) => {
    const said = `The key (${words}) is wrong.`;
    await using upstream = await fakeUpstream(() => forms[form]?.(said) ?? json({}));
    await using served = await serve(
      onto("chat", `${upstream.url}?code=${encodeURIComponent(query)}`, {
        api_key: KEY,
        headers: { "proxy-authorization": `Basic ${basic}` },
      }),
    );
    const response = await ask(served, "chat", { stream: form.includes("stream") });
    const shown = JSON.stringify([
      await response.text(),
      [...response.headers],
      served.happenings,
    ]).replaceAll("\\\\", "\\");
    expect(shown).toContain("[redacted]");
    const known = [KEY, PASSWORD, query].flatMap((secret) => [
      secret,
      JSON.stringify(secret).slice(1, -1),
      encodeURIComponent(secret),
      hex(secret),
    ]);
    for (const one of [...known, words]) expect(shown).not.toContain(one);
    // No run of letters in it is the middle of a secret in base64.
    for (const run of shown.match(/[\w+/-]{8,}/g) ?? [])
      for (const at of [0, 1, 2, 3]) {
        const bytes = Buffer.from(run.slice(at), "base64").toString("latin1");
        expect(bytes).not.toMatch(/ca\/na\+ry|ary pass|ary query/);
      }
  });
});

describe("an upstream that sends its clients elsewhere", () => {
  it.each([
    [
      "https://user:pass@other.example/v2/chat?token=canary&x=1#canary",
      ": to https://other.example/v2/chat",
    ],
    ["/v2/chat?token=canary", ": to /v2/chat"],
    ["//canary@other.example/v2", ": to //other.example/v2"],
    ["?token=canary", " and did not say why"],
  ])("is named with the place and without its query: %s", async (location, place) => {
    const body = `<a href="${location}">Moved to ${location} (canary)</a>`;
    await using upstream = await fakeUpstream(() =>
      json(body, 307, { location, "content-type": "text/html" }),
    );
    await using served = await serve(onto("chat", upstream.url));
    const text = (await (await ask(served, "chat")).text()) + JSON.stringify(served.happenings);
    expect(text).toContain(`redirected the request (307)${place}. `);
    expect(text).not.toMatch(/canary|user:pass/);
  });
});

/** A server that answers a request with these bytes and closes the connection. */
async function rawUpstream(bytes: string): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((socket) => {
    let received = "";
    socket.on("error", () => {}); // The gateway may let go first.
    socket.on("data", (piece) => {
      received += piece.toString("latin1");
      const [head = "", ...rest] = received.split("\r\n\r\n");
      const [, length = ""] = /content-length: (\d+)/i.exec(head) ?? [];
      if (rest.join("").length >= Number(length || Infinity)) socket.end(bytes);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
}

describe("an answer whose length is wrong", () => {
  const body = JSON.stringify({
    id: "x",
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
  });
  const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
  const sized = (length: number | string, sent = body): string =>
    `${head}content-length: ${length}\r\n\r\n${sent}`;
  const chunked = (...sent: string[]): string =>
    `${head}transfer-encoding: chunked\r\n\r\n${sent.join("")}`;
  const size = (text: string, by = 0): string => (text.length + by).toString(16);
  const CUT = "closed the connection before the answer was complete";
  const NO_HTTP = "does not send a valid HTTP response";
  const BROKEN = "sent a broken answer";
  const wrong: readonly (readonly [what: string, bytes: string, said: string])[] = [
    ["a length that is too large", sized(body.length + 5), CUT],
    ["a length that is too small", sized(body.length - 5), "something that is not JSON"],
    ["a length of nothing", sized(0), "ended its answer before it began"],
    ["a length that is no number", sized("x"), NO_HTTP],
    ["a length below zero", sized(-1), NO_HTTP],
    ["two lengths", sized(`${body.length}\r\ncontent-length: ${body.length + 1}`), BROKEN],
    ["a length and chunks", sized("5\r\ntransfer-encoding: chunked", `5\r\n${body}`), BROKEN],
    ["a chunk that is no number", chunked(`x\r\n${body}\r\n0\r\n\r\n`), BROKEN],
    ["a chunk that is too large", chunked(`${size(body, 5)}\r\n${body}\r\n0\r\n\r\n`), CUT],
    ["a chunk that is too small", chunked(`${size(body, -5)}\r\n${body}\r\n0\r\n\r\n`), BROKEN],
    ["a chunk without an end", chunked(`${size(body)}\r\n${body}`), CUT],
    ["chunks without the last", chunked(`${size(body)}\r\n${body}\r\n`), CUT],
    ["a chunk of more than can be", chunked(`${"f".repeat(18)}\r\n${body}\r\n`), BROKEN],
  ];

  it.each(wrong)("is named as a broken answer: %s", async (_, bytes, said) => {
    await using upstream = await rawUpstream(bytes);
    await using served = await serve(onto("chat", upstream.url));
    for (const stream of [true, false]) {
      const response = await ask(served, "chat", { stream });
      const { error } = (await response.json()) as { error: Body };
      expect(response.status).toBe(502);
      expect(error["code"]).toMatch(/^upstream\.(?:malformed|cut|empty)$/);
      expect(error["message"]).toContain(said);
    }
  });
});
