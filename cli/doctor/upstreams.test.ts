import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Answer, fakeUpstream, json, type Model } from "../../test/support/fake-upstream.ts";
import type { Check } from "../../src/observe/console/wire-checks.ts";
import { type ConfigInput, parseConfig } from "../../src/gateway/config.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { examineUpstream, modelChecks } from "./upstreams.ts";

const KEY = "canary-0123456789";
const refuse = (status: number, message: string, code?: string): Answer => ({
  ...json({ error: { message, code } }),
  status,
});
const listed = json({ data: [{ id: "m-1" }, { id: "local:latest" }] });

/** A service that looks at the key before anything else, and has one route. */
const service =
  (route: string, key = KEY): Model =>
  ({ path, headers, body }) => {
    if (path === "/v1/models") return listed;
    const shown = headers.authorization ?? headers["x-api-key"];
    if (shown !== `Bearer ${key}` && shown !== key)
      return refuse(401, `Incorrect API key provided: ${String(shown)}`);
    if (path !== route) return refuse(404, "Not found");
    if (body["model"] === undefined) return refuse(400, "you must provide a model parameter");
    if (body["model"] !== "m-1")
      return refuse(
        404,
        `The model \`${String(body["model"])}\` does not exist`,
        "model_not_found",
      );
    return refuse(400, "Missing required parameter: 'messages'");
  };

type Upstream = NonNullable<ConfigInput["upstreams"]>[string];

async function examined(upstream: Upstream, models: ConfigInput["models"] = {}) {
  const gateway = openGateway(parseConfig({ upstreams: { it: upstream }, models }), nodePlatform());
  onTestFinished(() => gateway.close(0));
  const { config, upstreams, dialects } = gateway.examined();
  const it = upstreams.get("it");
  if (it === undefined) throw new Error("it is not there");
  const { checks, isUsable, date } = await examineUpstream(it, dialects.upstreams);
  const usable = new Set(isUsable ? ["it"] : []);
  const ofModels = await modelChecks({ config, upstreams, usable });
  return { checks, all: [...checks, ...ofModels], date };
}

const outcomesOf = (checks: readonly Check[]): Record<string, string> =>
  Object.fromEntries(checks.map(({ id, outcome }) => [id, outcome]));

async function against(
  model: Model,
  more: Partial<{ dialect: string; api_key: string; models: ConfigInput["models"] }> = {},
) {
  const fake = await fakeUpstream(model);
  onTestFinished(() => fake[Symbol.asyncDispose]());
  const { models = { gpt: "it/m-1" }, ...fields } = more;
  const upstream = { dialect: "chat", base_url: fake.url, api_key: KEY, ...fields } as Upstream;
  const found = await examined(upstream, models);
  // Secrets must not show, whatever is echoed.
  expect(JSON.stringify(found)).not.toContain("canary");
  return { ...found, requests: fake.requests };
}

/** A service of Gemini's API: it names the model in the path, and refuses a wrong key as a bad request. */
const googleService =
  (key = KEY): Model =>
  ({ path, headers, method }) => {
    const status = (code: number, status: string, message: string, reason?: string): Answer => ({
      ...json({
        error: {
          code,
          message,
          status,
          ...(reason !== undefined && {
            details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason }],
          }),
        },
      }),
      status: code,
    });
    const shown = headers["x-goog-api-key"];
    if (shown === undefined)
      return status(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers.");
    if (shown !== key)
      return status(400, "INVALID_ARGUMENT", "API key not valid.", "API_KEY_INVALID");
    if (method === "GET")
      return json({
        models: [{ name: "models/m-1", supportedGenerationMethods: ["generateContent"] }],
      });
    if (!path.includes(":generateContent")) return { ...json("<html>"), status: 404 };
    if (!path.includes("/models/m-1:"))
      return status(404, "NOT_FOUND", "models/g-2.5-x is not found for API version v1beta.");
    return status(
      400,
      "INVALID_ARGUMENT",
      "* GenerateContentRequest.contents: contents is not specified",
    );
  };

describe("an upstream that names its models in the path", () => {
  const gemini = { dialect: "gemini", models: { g: "it/m-1" } };

  it("serves its route and accepts its key, also where its default model is unknown", async () => {
    const { all } = await against(googleService(), gemini);
    expect(outcomesOf(all)).toEqual({
      "upstream.reached": "ok",
      "upstream.key": "ok",
      "model.known": "ok",
    });
  });

  it("refuses a wrong key as a bad request, which is still a wrong key", async () => {
    const { all } = await against(googleService("another"), gemini);
    expect(outcomesOf(all)).toMatchObject({ "upstream.key": "wrong", "model.known": "unknown" });
    expect(all[1]?.evidence).toContain("refuses the key (HTTP 400: API key not valid");
  });

  it("does not know a model that it neither lists nor serves", async () => {
    const { all } = await against(googleService(), { ...gemini, models: { g: "it/m-2" } });
    expect(outcomesOf(all)).toMatchObject({ "upstream.reached": "ok", "model.known": "wrong" });
  });

  it("is found behind a configuration of another dialect", async () => {
    const { all } = await against((request, index) => {
      const key = request.headers["x-goog-api-key"] ?? request.headers.authorization?.slice(7);
      return googleService()({ ...request, headers: { "x-goog-api-key": key } }, index);
    });
    expect(all[0]?.outcome).toBe("wrong");
    expect(all[0]?.remedy).toContain("Set `dialect: gemini`");
  });
});

describe("the key of an upstream", () => {
  it("is taken where an empty request is refused otherwise without it", async () => {
    const { all, requests } = await against(service("/v1/chat/completions"));
    expect(outcomesOf(all)).toEqual({
      "upstream.reached": "ok",
      "upstream.key": "ok",
      "model.known": "ok",
    });
    expect(all[1]?.evidence).toBe(
      "accepts its key: an empty request gets HTTP 400 with the key and 401 without",
    );
    // Nothing that a model could answer was sent.
    const posted = requests.filter(({ method }) => method === "POST");
    expect(posted.map(({ text }) => text)).toEqual(["{}", "{}"]);
  });

  it("is wrong where it is refused, though the list of models is open to all", async () => {
    const { all } = await against(service("/v1/chat/completions", "another"));
    expect(outcomesOf(all)).toMatchObject({
      "upstream.key": "wrong",
      "model.known": "unknown",
    });
    expect(all[1]).toMatchObject({
      evidence: "refuses the key (HTTP 401: Incorrect API key provided: Bearer [redacted])",
      remedy: "Replace its `api_key`.",
    });
  });

  it("is not proved where the body is read before the key", async () => {
    const { all } = await against(({ path }) =>
      path === "/v1/models" ? listed : refuse(400, "bad body"),
    );
    expect(outcomesOf(all)).toMatchObject({ "upstream.key": "unknown" });
  });

  it("is asked for where none is configured", async () => {
    const { all } = await against(service("/v1/chat/completions"), { api_key: "" });
    expect(all[1]).toMatchObject({ outcome: "wrong", remedy: "Set `api_key`." });
  });

  it("is only noted where none is configured and none was asked for", async () => {
    const { all } = await against(() => refuse(400, "bad body"), { api_key: "" });
    expect(outcomesOf(all)).toMatchObject({ "upstream.key": "note" });
  });

  it("may be good for nothing, for want of credit", async () => {
    const { all } = await against(() => refuse(402, "Insufficient Balance"));
    expect(all[1]).toMatchObject({ outcome: "wrong", remedy: "Add credit to the account." });
  });

  it("is not judged by an answer that it may have nothing to do with", async () => {
    for (const status of [503, 500, 429]) {
      const { all } = await against(() => refuse(status, "no"));
      expect(outcomesOf(all)["upstream.key"]).toBe("unknown");
    }
  });
});

describe("the route of an upstream", () => {
  it.each([
    ["chat", "/v1/responses", "responses"],
    ["responses", "/v1/chat/completions", "chat"],
    ["chat", "/v1/messages", "messages"],
  ])("of %s is wrong where only %s is there", async (dialect, route, meant) => {
    const { checks } = await against(service(route), { dialect });
    expect(checks[0]).toMatchObject({ id: "upstream.reached", outcome: "wrong" });
    expect(checks[0]?.remedy).toContain(`Set \`dialect: ${meant}\``);
    expect(outcomesOf(checks)["upstream.key"]).toBe("unknown");
  });

  it("is wrong where there is none, and where it leads elsewhere", async () => {
    const none = await against(() => refuse(404, "Not found"));
    expect(none.checks[0]?.remedy).toContain("`base_url`");
    const moved = await against(() => ({ ...json({}), status: 301 }));
    expect(moved.checks[0]).toMatchObject({ outcome: "wrong" });
    for (const { checks } of [none, moved])
      expect(outcomesOf(checks)["upstream.key"]).toBe("unknown");
  });

  it("is not known by an answer to an empty request", async () => {
    const { all } = await against(() => json({ hello: "world" }));
    expect(outcomesOf(all)).toEqual({
      "upstream.reached": "unknown",
      "upstream.key": "unknown",
      "model.known": "unknown",
    });
  });
});

describe("an upstream that nobody reaches", () => {
  const at = async (base_url: string): Promise<readonly Check[]> =>
    (await examined({ dialect: "chat", base_url, api_key: KEY }, { gpt: "it/m" })).all;

  it("is down", async () => {
    const fake = await fakeUpstream(() => json({}));
    await fake[Symbol.asyncDispose]();
    const [reached, model] = await at(fake.url);
    expect(reached).toMatchObject({ outcome: "wrong" });
    expect(reached?.evidence).toContain("nothing listens there (ECONNREFUSED)");
    expect(model).toMatchObject({ id: "model.known", outcome: "unknown" });
  });

  it("has a name that nobody resolves", async () => {
    const [reached] = await at("http://no-such-host.invalid/v1");
    expect(reached).toMatchObject({ outcome: "wrong" });
    expect(reached?.remedy).toContain("DNS");
  });

  it("does not speak TLS, or has no certificate for it", async () => {
    await using plain = await fakeUpstream(() => json({}));
    const [spoken] = await at(plain.url.replace("http:", "https:"));
    expect(spoken).toMatchObject({ outcome: "wrong" });
    expect(spoken?.remedy).toContain("`http://`");
    const server = createTlsServer(() => {}).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const [trusted] = await at(`https://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
    expect(trusted).toMatchObject({ outcome: "wrong" });
  });
});

describe("a model", () => {
  it("is unknown to its upstream, which has one like it", async () => {
    const { all } = await against(service("/v1/chat/completions"), { models: { gpt: "it/m-2" } });
    expect(all.at(-1)).toMatchObject({
      outcome: "wrong",
      subject: "gpt -> it/m-2",
      remedy: "Did you mean `m-1`? Correct it in `models`.",
    });
  });

  it("is not proved where models are not listed", async () => {
    const model: Model = (request, index) =>
      request.path === "/v1/models" || request.body["model"] !== undefined
        ? refuse(request.path === "/v1/models" ? 404 : 400, "no messages")
        : service("/v1/chat/completions")(request, index);
    const { all } = await against(model);
    expect(outcomesOf(all)).toEqual({
      "upstream.reached": "ok",
      "upstream.key": "ok",
      "model.known": "unknown",
    });
  });

  it("is listed with a tag that its server adds by itself", async () => {
    const { all } = await against(service("/v1/chat/completions"), { models: { a: "it/local" } });
    expect(all.at(-1)).toMatchObject({ outcome: "ok" });
  });
});
