import { gzipSync } from "node:zlib";
import Fastify from "fastify";
import { describe, expect, it } from "vitest";
import { echo, closeAfterTest, gatewayThat } from "../../../test/support/exchanges.ts";
import { patchbay } from "./fastify.ts";

describe("the plugin in another's app", () => {
  it("says the headers that the app has set, on answers whole and in pieces", async () => {
    const app = Fastify();
    closeAfterTest({ close: () => app.close() });
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
    closeAfterTest({ close: () => app.close() });
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
    closeAfterTest({ close: () => app.close() });
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
    closeAfterTest({ close: () => app.close() });
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
