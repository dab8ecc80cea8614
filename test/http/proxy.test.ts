import { request as pass } from "node:http";
import { describe, expect, it } from "vitest";
import { ask, readAnswer } from "../support/client.ts";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { loopback } from "../support/loopback.ts";
import { onto, serve } from "../support/serve.ts";

const SECRET = "let-me-through";

/** A proxy that finds every name at one address, and would tunnel for nobody. */
async function proxyTo(upstream: string) {
  const asked: string[] = [];
  const credentials: unknown[] = [];
  const found = await loopback((request, response) => {
    asked.push(request.url ?? "");
    credentials.push(request.headers["proxy-authorization"]);
    const { pathname } = new URL(request.url ?? "");
    const { method, headers } = request;
    const onward = pass(new URL(pathname, upstream), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  found.server.on("connect", (request, socket) => {
    asked.push(`CONNECT ${request.url ?? ""}`);
    socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
  });
  return {
    asked,
    credentials,
    address: `http://somebody:${SECRET}@${new URL(found.url).host}`,
    host: new URL(found.url).host,
    [Symbol.asyncDispose]: () => found[Symbol.asyncDispose](),
  };
}

describe("an upstream behind a proxy", () => {
  it.each([true, false])("is reached through it (streamed: %s)", async (stream) => {
    await using upstream = await fakeUpstream(({ body }) => answerInChat(body, { text: "Hello." }));
    await using proxy = await proxyTo(upstream.url);
    await using served = await serve(onto("chat", "http://models.example/v1"), {
      HTTP_PROXY: proxy.address,
    });
    const { text } = await readAnswer("responses", await ask(served, "responses", { stream }));
    expect(text).toBe("Hello.");
    expect(proxy.asked).toEqual(["http://models.example/v1/chat/completions"]);
    const basic = Buffer.from(`somebody:${SECRET}`).toString("base64");
    expect(proxy.credentials).toEqual([`Basic ${basic}`]);
  });

  it("is told of by the proxy that would not pass it on, and the proxy's secret is not", async () => {
    await using proxy = await proxyTo("http://127.0.0.1:1");
    await using served = await serve(onto("chat", "https://models.example/v1"), {
      https_proxy: proxy.address,
    });
    const response = await ask(served, "chat");
    expect(proxy.asked).toEqual(["CONNECT models.example:443"]);
    const { error } = (await response.json()) as { error: Body };
    expect(error).toMatchObject({
      code: "upstream.unreachable",
      message: `Upstream \`fake\` at https://models.example (by the proxy ${proxy.host}) cannot be reached: the proxy refused the connection (UND_ERR_ABORTED). Check its \`base_url\`, and that it runs.`,
    });
    expect(JSON.stringify(served.happenings)).not.toContain(SECRET);
  });
});
