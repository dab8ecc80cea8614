import { request } from "node:http";
import { text } from "node:stream/consumers";
import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bodyFor, readDoors, doorUrl, type ReadDoor } from "../support/client.ts";
import type { Body } from "../support/fake-upstream.ts";
import { readGeminiFailure } from "../support/gemini-reader.ts";
import { serve, type Served } from "../support/serve.ts";

const config = {
  upstreams: { demo: { dialect: "scripted" } },
  models: { m: "demo/demo" },
} as const;

let served: Served;
let narrow: Served;
beforeAll(async () => {
  served = await serve(config);
  narrow = await serve({ ...config, server: { body_limit: LIMIT } });
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await narrow[Symbol.asyncDispose]();
});

/** Over a socket, and as a host that speaks `fetch` would. */
const ways = {
  socket: (url: string, init: RequestInit): Promise<Response> => fetch(url, init),
  fetch: (url: string, init: RequestInit): Promise<Response> =>
    (url.startsWith(narrow.url) ? narrow : served).gateway.fetch(new Request(url, init)),
} as const;

/** The limit of the gateway that is sent bombs. */
const LIMIT = 2_000_000;

const packers: Readonly<Record<string, (body: string | Buffer) => Buffer>> = {
  gzip: gzipSync,
  "x-gzip": gzipSync,
  deflate: deflateSync,
  br: (body) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 2 } }),
  zstd: zstdCompressSync,
};
const packedBy = (name: string, body: string | Buffer): Uint8Array<ArrayBuffer> =>
  new Uint8Array(packers[name]?.(body) ?? []);

async function errorOf(response: Response): Promise<Body> {
  const { error } = (await response.json()) as { error: Body };
  // The codes of Gemini's API are numbers.
  return typeof error["code"] === "number" ? readGeminiFailure(error) : error;
}

describe.each(Object.keys(ways) as (keyof typeof ways)[])("by %s", (way) => {
  const post = (
    door: ReadDoor,
    body: Uint8Array<ArrayBuffer>,
    headers = {},
    at = served,
  ): Promise<Response> =>
    ways[way](doorUrl(at, door), {
      method: "POST",
      body,
      headers: { "content-type": "application/json", ...headers },
    });
  const bytes = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(text));

  describe.each(readDoors)("a body for the %s door", (door) => {
    it("may begin with a byte order mark", async () => {
      const response = await post(door, bytes(`\uFEFF${JSON.stringify(bodyFor(door))}`));
      expect(response.status).toBe(200);
    });

    it.each([
      ["in Latin-1", (text: string) => Buffer.from(text, "latin1")],
      ["in UTF-16", (text: string) => Buffer.from(`\uFEFF${text}`, "utf16le")],
      ["packed without a word", (text: string) => gzipSync(text)],
    ])("is not taken %s, and the sender told what is", async (_, encode) => {
      const text = JSON.stringify(bodyFor(door, { user: "José" }));
      const response = await post(door, new Uint8Array(encode(text)));
      expect(response.status).toBe(400);
      expect(await errorOf(response)).toMatchObject({
        code: "request.not_json",
        message:
          "The request body is not UTF-8; send JSON in UTF-8, and name its `content-encoding` if it is compressed.",
      });
    });

    it.each(Object.keys(packers))("may be packed by %s, in every way to write it", async (name) => {
      const packed = packedBy(name, JSON.stringify(bodyFor(door)));
      for (const encoding of [name, name.toUpperCase(), ` ${name} , identity`]) {
        const response = await post(door, packed, { "content-encoding": encoding });
        expect([encoding, response.status]).toEqual([encoding, 200]);
      }
    });
  });

  it("unpacks what lacks the head that the standard asks for", async () => {
    const bare = new Uint8Array(deflateRawSync(JSON.stringify(bodyFor("chat"))));
    expect((await post("chat", bare, { "content-encoding": "deflate" })).status).toBe(200);
  });

  it("unpacks what was packed twice, the last way first", async () => {
    const body = JSON.stringify(bodyFor("chat"));
    const twice = new Uint8Array(zstdCompressSync(gzipSync(body)));
    expect((await post("chat", twice, { "content-encoding": "gzip, zstd" })).status).toBe(200);
    const plain = await post("chat", bytes(body), { "content-encoding": "identity" });
    expect(plain.status).toBe(200);
  });

  it.each(["compress", "gzip, lzma", "gzip, gzip, gzip, gzip", "constructor"])(
    "does not guess at a body packed by %s",
    async (encoding) => {
      const response = await post("responses", bytes("{}"), { "content-encoding": encoding });
      expect(response.status).toBe(415);
      expect(response.headers.get("accept-encoding")).toBe("gzip, deflate, br, zstd");
      expect(await errorOf(response)).toMatchObject({
        code: "request.encoding",
        message: `\`content-encoding: ${encoding}\` is not supported; use one of gzip, deflate, br, zstd, or send the body as it is.`,
      });
    },
  );

  it.each(Object.keys(packers))(
    "says so where a body is not %s, or not all of it",
    async (name) => {
      const whole = packedBy(name, JSON.stringify(bodyFor("chat", { user: "x".repeat(5000) })));
      for (const body of [whole.slice(0, -4), bytes("plain"), bytes("")]) {
        const response = await post("chat", body, { "content-encoding": name });
        expect(response.status).toBe(400);
      }
    },
  );

  it.each(Object.keys(packers))(
    "holds what is packed by %s to the limit of bodies",
    async (name) => {
      // Enough to fill memory, in a few kilobytes.
      const bomb = packedBy(name, Buffer.alloc(10 * LIMIT, " "));
      expect(bomb.length).toBeLessThan(LIMIT / 50);
      const before = process.memoryUsage().rss;
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => post("chat", bomb, { "content-encoding": name }, narrow)),
      );
      for (const response of answers) {
        expect(response.status).toBe(413);
        expect(await errorOf(response)).toMatchObject({ code: "request.too_large" });
      }
      expect(process.memoryUsage().rss - before).toBeLessThan(4 * 2 * LIMIT + 40_000_000);
    },
  );

  it.each(["/healthz", "/readyz", "/metrics", "/v1/models", "/v1/models/m"])(
    "answers HEAD %s as GET, without the body",
    async (path) => {
      const response = await ways[way](served.url + path, { method: "HEAD" });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBeTruthy();
      expect(await response.text()).toBe("");
    },
  );

  it("names the methods that a route really has", async () => {
    for (const [method, path, allow] of [
      ["PUT", "/v1/responses", "POST"],
      ["GET", "/v1/responses", "POST"],
      ["HEAD", "/v1/responses", "POST"],
      ["POST", "/v1/models", "GET, HEAD"],
    ] as const) {
      const response = await ways[way](served.url + path, { method });
      expect([method, path, response.status]).toEqual([method, path, 405]);
      expect(response.headers.get("allow")).toBe(allow);
    }
    const { message } = await errorOf(await ways[way](`${served.url}/v1/response`, {}));
    expect(message).toBe("There is no /v1/response here; the nearest route is /v1/responses.");
  });
});

describe("the header that asks for strictness", () => {
  const statusOf = async (strict: string): Promise<number> => {
    const response = await fetch(doorUrl(served, "responses"), {
      method: "POST",
      headers: { "content-type": "application/json", "x-patchbay-strict": strict },
      body: JSON.stringify(bodyFor("responses", { tools: [{ type: "web_search" }] })),
    });
    return response.status;
  };

  it("may be written as people write it, and is not guessed at", async () => {
    for (const strict of ["true", "True", "1", "yes", "on"])
      expect(await statusOf(strict)).toBe(400);
    for (const strict of ["false", "0", "no", "off", ""]) expect(await statusOf(strict)).toBe(200);
    const response = await fetch(doorUrl(served, "chat"), {
      method: "POST",
      headers: { "content-type": "application/json", "x-patchbay-strict": "very" },
      body: JSON.stringify(bodyFor("chat")),
    });
    expect(await errorOf(response)).toMatchObject({
      code: "request.invalid",
      param: "x-patchbay-strict",
      message: "`x-patchbay-strict` must be `true` or `false`.",
    });
  });
});

describe("the header that chooses an output mode", () => {
  it.each(["xml", "constructor", "__proto__"])("is not guessed at: %s", async (mode) => {
    const response = await fetch(doorUrl(served, "chat"), {
      method: "POST",
      headers: { "content-type": "application/json", "x-proxy-output-mode": mode },
      body: JSON.stringify(bodyFor("chat")),
    });
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ param: "x-proxy-output-mode" });
  });
});

describe("the name of a model", () => {
  const ask = (model: string): Promise<Response> =>
    fetch(doorUrl(served, "chat"), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(bodyFor("chat", { model })),
    });

  it("fits into a header, whatever it is", async () => {
    const names: [string, string][] = [
      ["demo/\uD800x", "demo/%EF%BF%BDx"],
      ["demo/é\r\na: b", "demo/%C3%A9%0D%0Aa: b"],
      [`demo/${"x".repeat(500)}`, `demo/${"x".repeat(251)}`],
    ];
    for (const [model, shown] of names) {
      const response = await ask(model);
      expect(response.status).toBe(200);
      expect(response.headers.get("x-patchbay-upstream")).toBe(shown);
    }
  });

  it("is not empty behind an upstream's, nor of any length", async () => {
    const nameless = await ask("demo/");
    expect(nameless.status).toBe(404);
    expect(await errorOf(nameless)).toMatchObject({ code: "model.unknown", param: "model" });
    const endless = await ask(`demo/${"x".repeat(50_000)}`);
    expect(endless.status).toBe(400);
    expect(await errorOf(endless)).toMatchObject({
      code: "request.invalid",
      param: "model",
      message: "`model` must be 512 characters at most.",
    });
  });
});

type PageInit = Pick<RequestInit, "method" | "body"> & {
  readonly headers?: Readonly<Record<string, string>>;
};

describe("a page in a browser", () => {
  const from = (origin: string, at: Served = served, init: PageInit = {}): Promise<Response> =>
    fetch(doorUrl(at, "chat"), {
      method: "POST",
      body: JSON.stringify(bodyFor("chat")),
      ...init,
      headers: { "content-type": "application/json", origin, ...init.headers },
    });
  const own = "http://localhost:5173";

  it("of this machine may ask, read the answer, and is told so beforehand", async () => {
    const asked = {
      "access-control-request-method": "POST",
      "access-control-request-headers": "x",
    };
    const before = await from(own, served, { method: "OPTIONS", headers: asked, body: null });
    expect(before.status).toBe(204);
    const answer = await from(own);
    expect(answer.status).toBe(200);
    for (const { headers } of [before, answer])
      expect(headers.get("access-control-allow-origin")).toBe(own);
    expect(before.headers.get("access-control-allow-headers")).toBe("x");
    expect(before.headers.get("access-control-allow-methods")).toContain("POST");
    // Refusals too are for it to read.
    expect((await from(own, served, { body: "{" })).headers.get("vary")).toBe("origin");
  });

  it.each(["https://example.com", "null"])(
    "of %s is refused where anybody may enter",
    async (origin) => {
      const response = await from(origin);
      expect(response.status).toBe(403);
      expect(response.headers.get("access-control-allow-origin")).toBeNull();
      expect(await errorOf(response)).toMatchObject({
        code: "auth.origin",
        message: `Pages of ${origin} may not use this gateway; add this origin to \`server.origins\`, or set \`server.keys\`.`,
      });
    },
  );

  it("of elsewhere needs a key where there are keys, and is shown nothing", async () => {
    await using locked = await serve({ ...config, server: { keys: ["k"] } });
    expect((await from("https://example.com", locked)).status).toBe(401);
    const entered = await from("https://example.com", locked, { headers: { "x-api-key": "k" } });
    expect(entered.status).toBe(200);
    expect(entered.headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("a request under a name that is none of this machine's", () => {
  const under = (
    host: string,
    path: string,
    { at = served, method = "GET", headers = {} }: Under = {},
  ): Promise<{ status: number; body: string }> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(at.url);
      const options = { hostname, port, path, method, headers: { host, ...headers } };
      const asked = request(options, (response) => {
        void text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }));
      });
      asked.on("error", reject).end(method === "POST" ? JSON.stringify(bodyFor("chat")) : "");
    });
  type Under = {
    readonly at?: Served;
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
  };
  const json = { "content-type": "application/json" };
  const guarded = ["/v1/models", "/v1/models/m", "/v1/usage", "/v1/plans/x"];
  const open = ["/healthz", "/livez", "/readyz", "/metrics"];

  it.each(guarded)("is told nothing by %s where anybody may enter", async (path) => {
    for (const method of ["GET", "HEAD"])
      expect(await under("evil.example:11435", path, { method })).toMatchObject({ status: 403 });
    const { body } = await under("evil.example", path);
    expect(body).toContain('"code":"auth.origin"');
    expect(body).toContain("`evil.example` is not a name of this machine; set `server.keys`");
    expect((await under("127.0.0.1", path)).status).not.toBe(403);
    const whole = await under("127.0.0.1", `http://evil.example${path}`);
    expect(whole.status).toBe(403);
  });

  it("makes no turn either, nor a plan", async () => {
    for (const path of ["/v1/chat/completions", "/v1/plan"])
      expect(await under("evil.example", path, { method: "POST", headers: json })).toMatchObject({
        status: 403,
      });
  });

  it.each(open)("is answered by %s, which is open to whoever watches", async (path) => {
    for (const host of ["evil.example", "patchbay:11435", "patchbay.models.svc.cluster.local"])
      expect(await under(host, path)).toMatchObject({ status: 200 });
  });

  it("is served with a key, and where the name is known", async () => {
    await using locked = await serve({ ...config, server: { keys: ["k"] } });
    const key = { "x-api-key": "k" };
    const at = { at: locked, headers: key };
    expect(await under("models.example.com", "/v1/models", at)).toMatchObject({ status: 200 });
    await using named = await serve({
      ...config,
      server: { origins: ["https://models.example.com"] },
    });
    expect(await under("models.example.com", "/v1/models", { at: named })).toMatchObject({
      status: 200,
    });
  });

  it("may name the whole address, as one does to a proxy", async () => {
    const { status } = await under("x", `${served.url}/v1/models?x=1`);
    expect(status).toBe(200);
  });
});
