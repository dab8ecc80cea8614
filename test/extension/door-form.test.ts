import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  createGateway,
  defineUpstream,
  Fault,
  type Dialect,
  type Gateway,
} from "../../src/index.ts";
import { openServer } from "../../src/host/server/server.ts";
import { toyDialect } from "../support/toy-dialect.ts";

/** The toy dialect with everything that a door may shape in another way than OpenAI's API. */
const shaped: Dialect = {
  ...toyDialect,
  ...(toyDialect.door && {
    door: {
      ...toyDialect.door,
      streams: { contentType: () => "application/toys" },
      ping: "\r\n",
      unknownPaths: { prefixes: ["/toys"], advice: "toys are below /toys/models" },
      models: {
        routes: ["/toys/models"],
        page: (names, query) => ({ toys: names, query }),
        model: (name) => ({ toy: name }),
      },
    },
  }),
};

let gateway: Gateway;
let server: Awaited<ReturnType<typeof openServer>>;
beforeAll(async () => {
  gateway = createGateway(
    { server: { keys: ["secret"] }, models: { good: "own/good", bad: "own/bad" } },
    {
      dialects: [shaped],
      upstreams: [
        defineUpstream({
          name: "own",
          async *answer({ model }) {
            yield { type: "text-delta", choice: 0, text: "Hello" };
            if (model === "bad") throw new Fault("upstream.cut", "It was cut.");
          },
        }),
      ],
    },
  );
  server = await openServer(gateway, { host: "127.0.0.1", port: 0 });
});
afterAll(() => server.close(0));

type Ways = "fetch" | "node";
const ask = (way: Ways, path: string, init: RequestInit = {}): Promise<Response> =>
  way === "node"
    ? fetch(server.url + path, init)
    : gateway.fetch(new Request(`http://127.0.0.1${path}`, init));

const stream = (model: string, query = ""): [string, RequestInit] => [
  `/toy/${model}:stream${query}`,
  {
    method: "POST",
    headers: { "content-type": "application/json", "x-goog-api-key": "secret" },
    body: JSON.stringify({ lines: [{ by: "user", text: "Hi" }] }),
  },
];

/** The text of a body, and whether it had an end. */
async function read({ body }: Response): Promise<{ text: string; isWhole: boolean }> {
  let text = "";
  try {
    for await (const piece of body ?? []) text += Buffer.from(piece).toString();
    return { text, isWhole: true };
  } catch {
    return { text, isWhole: false };
  }
}

describe.each(["fetch", "node"] as const)("a door with its own form, by %s,", (way) => {
  it("names the type of its streams, and ends a good one without comments", async () => {
    const response = await ask(way, ...stream("good"));
    expect(response.headers.get("content-type")).toBe("application/toys");
    expect(await read(response)).toEqual({
      text: 'data: {"say":"Hello"}\n\ndata: {"over":"end"}\n\n',
      isWhole: true,
    });
  });

  it("breaks the connection off after the failure of a stream", async () => {
    const { text, isWhole } = await read(await ask(way, ...stream("bad")));
    expect(text).toMatch(/^data: \{"say":"Hello"\}\n\ndata: \{"broke":"[^\n]*\n\n$/);
    expect(isWhole).toBe(false);
  });

  it("lists the models in its form", async () => {
    const headers = { authorization: "Bearer secret" };
    const list = await ask(way, "/toys/models?size=2", { headers });
    expect(await list.json()).toEqual({ toys: ["good", "bad"], query: "size=2" });
    const one = await ask(way, "/toys/models/good", { headers });
    expect(await one.json()).toEqual({ toy: "good" });
    const none = await ask(way, "/toys/models/ugly", { headers });
    expect([none.status, await none.json()]).toEqual([404, { broke: expect.any(String) }]);
  });

  it("refuses unknown paths below its own", async () => {
    const response = await ask(way, "/toys/files");
    expect([response.status, await response.json()]).toEqual([404, { broke: expect.any(String) }]);
  });

  it("is opened by a key in the query, which no route sees", async () => {
    const list = await ask(way, "/toys/models?key=secret&size=2");
    expect(await list.json()).toEqual({ toys: ["good", "bad"], query: "size=2" });
    expect((await ask(way, "/toys/models?key=wrong")).status).toBe(401);
    expect((await ask(way, "/toys/models?monkey=secret")).status).toBe(401);
  });
});
