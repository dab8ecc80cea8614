import { describe, expect, it, onTestFinished } from "vitest";
import { examineUpstream } from "../../cli/doctor/upstreams.ts";
import type { ConfigInput } from "../../src/gateway/config.ts";
import { parseConfig } from "../../src/gateway/config.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import type { Platform } from "../../src/gateway/platform.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { webRuntime } from "../../src/host/platform/web.ts";
import type { Happening } from "../../src/observe/happening.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import { fakeUpstream, json, type Model } from "../support/fake-upstream.ts";
import { type GiveToken, numbered, tokenServer } from "../support/google-tokens.ts";
import { stillClock } from "../support/still-clock.ts";

const VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS";
const hello: Model = ({ body }) => answerInMessages(body, { text: "Hello." });

type Given = {
  readonly give?: GiveToken;
  readonly model?: Model;
  readonly upstream?: object;
  readonly other?: boolean;
  readonly platform?: Partial<Platform>;
  /** No credentials but those of the machine. */
  readonly bare?: true;
};

/** A gateway whose upstream is Claude on Vertex, with a service account. */
async function vertex({ give, model = hello, upstream, other, platform, bare }: Given = {}) {
  const tokens = await tokenServer(give);
  const service = await fakeUpstream(model);
  onTestFinished(() => service[Symbol.asyncDispose]());
  const happenings: Happening[] = [];
  const up = {
    dialect: "messages",
    profile: "anthropic-vertex",
    base_url: service.url,
    retries: 0,
  };
  const upstreams = {
    up: { ...up, ...upstream },
    ...(other && { other: { ...up, base_url: `${service.url}/other` } }),
  } as ConfigInput["upstreams"];
  const models = other === true ? { both: ["up/claude-opus-4-6", "other/claude-opus-4-6"] } : {};
  const file = tokens.write(tokens.account);
  const gateway = openGateway(parseConfig({ upstreams, models, store: "off" }), {
    ...nodePlatform(),
    report: (one: Happening) => void happenings.push(one),
    environment: {
      ...tokens.base,
      ...(bare ? { GCE_METADATA_HOST: tokens.host } : { [VARIABLE]: file }),
    },
    // Its tokens are no other test's.
    clock: stillClock(),
    ...platform,
  });
  onTestFinished(() => gateway.close(0));
  const ask = async (model = "up/claude-opus-4-6", path = "/v1/messages") => {
    const headers = { "content-type": "application/json" };
    const messages = [{ role: "user", content: "Hi" }];
    const body = JSON.stringify({ model, messages, max_tokens: 9 });
    const url = `http://gateway${path}`;
    const response = await gateway.fetch(new Request(url, { method: "POST", headers, body }));
    const text = await response.text();
    // Neither keys nor tokens are shown, whatever happens.
    expect(text + JSON.stringify(happenings)).not.toMatch(/canary|PRIVATE KEY/);
    return { status: response.status, text };
  };
  const authorizations = (): unknown[] =>
    service.requests.map(({ headers }) => headers.authorization);
  const examined = async () => {
    const { upstreams: opened, dialects } = gateway.examined();
    const one = opened.get("up");
    if (one === undefined) throw new Error("it is not there");
    const { checks } = await examineUpstream(one, dialects.upstreams);
    expect(JSON.stringify(checks)).not.toMatch(/canary|PRIVATE KEY/);
    return checks;
  };
  return { tokens, service, gateway, ask, authorizations, examined };
}

describe("an upstream with Google's credentials", () => {
  it("is asked with one token for all turns and upstreams", async () => {
    const { ask, tokens, authorizations } = await vertex({ other: true });
    const models = ["up/claude-opus-4-6", "other/claude-opus-4-6", "up/claude-opus-4-6"];
    const answers = await Promise.all(models.map((model) => ask(model)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(tokens.asked).toHaveLength(1);
    expect(new Set(authorizations())).toEqual(new Set(["Bearer token-canary-1"]));
  });

  it.each([
    ["a key", { api_key: "mine" }, { authorization: "Bearer mine" }],
    [
      "a header",
      { headers: { authorization: "Basic bWU6eW91" } },
      { authorization: "Basic bWU6eW91" },
    ],
  ])("uses %s of its own instead", async (_, upstream, expected) => {
    const { ask, tokens, service } = await vertex({ upstream });
    expect((await ask()).status).toBe(200);
    expect(service.requests[0]?.headers).toMatchObject(expected);
    expect(tokens.asked).toEqual([]);
  });

  it("may have any profile", async () => {
    const upstream = { profile: "anthropic", capabilities: { credentials: "google" } };
    const { ask, service, gateway } = await vertex({
      upstream,
      model: (one, at) =>
        one.path.endsWith("count_tokens") ? json({ input_tokens: 7 }) : hello(one, at),
    });
    expect((await ask()).status).toBe(200);
    // Counts and lists carry the token too.
    expect((await ask(undefined, "/v1/messages/count_tokens")).text).toBe('{"input_tokens":7}');
    await gateway.examined().upstreams.get("up")?.models?.();
    expect(service.requests.map(({ path }) => path)).toEqual([
      "/v1/messages",
      "/v1/messages/count_tokens",
      "/v1/models",
    ]);
    for (const { headers } of service.requests)
      expect(headers.authorization).toBe("Bearer token-canary-1");
  });

  it("does not show a token that the service repeats", async () => {
    const { ask } = await vertex({
      model: ({ headers }) =>
        json(
          { error: { message: `Invalid ${headers.authorization?.slice(7) ?? ""}, really` } },
          401,
        ),
    });
    const { status, text } = await ask();
    expect(status).toBe(401);
    expect(text).toContain("Invalid [redacted], really");
  });

  it("is asked with another token after the service has refused the first", async () => {
    const clock = stillClock();
    const { ask, authorizations } = await vertex({
      platform: { clock },
      model: (one, at) =>
        at === 0 ? json({ error: { message: "Revoked." } }, 401) : hello(one, at),
    });
    expect((await ask()).status).toBe(401);
    clock.move(10_000);
    for (let turn = 0; turn < 2; turn++) expect((await ask()).status).toBe(200);
    expect(authorizations()).toEqual([1, 2, 2].map((at) => `Bearer token-canary-${at}`));
  });

  it("is not asked without a token; the reason is Google's", async () => {
    const refusal = { error: "invalid_grant", error_description: "Invalid JWT Signature." };
    const { ask, service } = await vertex({ give: () => [400, refusal] });
    const { status, text } = await ask();
    expect(status).toBe(401);
    expect(text).toContain("robot@project.iam.example");
    expect(text).toContain("invalid_grant: Invalid JWT Signature.");
    expect(service.requests).toEqual([]);
  });

  it("falls back to the next upstream without a token", async () => {
    const { ask, authorizations } = await vertex({
      other: true,
      give: (one, at) => (at === 0 ? [503, "down"] : numbered(one, at)),
    });
    expect((await ask("both")).status).toBe(200);
    expect(authorizations()).toEqual(["Bearer token-canary-2"]);
  });

  it("is tried again if the token server is down for a moment", async () => {
    const { ask, tokens } = await vertex({
      upstream: { retries: 1 },
      platform: { random: () => 0, clock: nodePlatform().clock },
      give: (one, at) => (at === 0 ? [503, "down"] : numbered(one, at)),
    });
    expect((await ask()).status).toBe(200);
    expect(tokens.asked).toHaveLength(2);
  });

  it("is not opened with a broken file", async () => {
    const environment = { [VARIABLE]: "/nowhere/key.json" };
    await expect(vertex({ platform: { environment } })).rejects.toThrow(
      "The file /nowhere/key.json with credentials of Google cannot be read (ENOENT).",
    );
  });

  it("is signed by the host's own function, if there is one", async () => {
    const sign = { up: () => ({ authorization: "Bearer own" }) };
    const { ask, tokens, authorizations } = await vertex({ platform: { sign } });
    expect((await ask()).status).toBe(200);
    expect(authorizations()).toEqual(["Bearer own"]);
    expect(tokens.asked).toEqual([]);
  });

  it("is asked without a token where the runtime has no files", async () => {
    const { ask, authorizations } = await vertex({ platform: { runtime: webRuntime() } });
    expect((await ask()).status).toBe(200);
    expect(authorizations()).toEqual([undefined]);
  });
});

describe("patchbay doctor on Google's credentials", () => {
  const closed: Model = ({ headers }) =>
    headers.authorization === "Bearer token-canary-1"
      ? json({ error: { message: "messages: Field required" } }, 400)
      : json({ error: { message: "Request is missing required authentication credential." } }, 401);

  it("finds that they are accepted", async () => {
    const { examined } = await vertex({ model: closed });
    const [route, key] = await examined();
    expect(route).toMatchObject({ id: "upstream.reached", outcome: "ok" });
    expect(key).toMatchObject({
      outcome: "ok",
      evidence: "accepts its key: an empty request gets HTTP 400 with the key and 401 without",
    });
  });

  it("says that the service refuses them", async () => {
    const { examined } = await vertex({
      model: () => json({ error: { message: "No role." } }, 403),
    });
    expect((await examined())[1]).toMatchObject({
      outcome: "wrong",
      evidence: "refuses the key (HTTP 403: No role.)",
      remedy:
        "Check the account of its credentials and the roles it has, or replace its `api_key`.",
    });
  });

  it("says what is missing", async () => {
    const { examined, tokens } = await vertex({ bare: true });
    await tokens.close();
    const [found] = await examined();
    expect(found).toMatchObject({ id: "upstream.reached", outcome: "wrong" });
    expect(found?.evidence).toMatch(
      /^No credentials of Google were found: GOOGLE_APPLICATION_CREDENTIALS is not set, .*application_default_credentials\.json does not exist, and no metadata server answers at .*ECONNREFUSED/,
    );
    expect(found?.remedy).toMatch(/^Set the variable to the key file of a service account/);
  });
});
