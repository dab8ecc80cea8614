import { generateKeyPairSync, verify } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type GiveToken,
  numbered,
  privateKey,
  publicKey,
  tokenServer,
} from "../../../test/support/google-tokens.ts";
import { loopback, until } from "../../../test/support/loopback.ts";
import { stillClock } from "../../../test/support/still-clock.ts";
import { Fault } from "../../turn/fault.ts";
import { googleCredentials, googleCredentialsPlace } from "./google-credentials.ts";

const START = Date.UTC(2026, 10, 19);
const VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS";
const request = {
  method: "POST",
  url: "https://x.example",
  headers: {},
  body: undefined,
  isRefused: false,
};
const bearer = (at: number): string => `Bearer token-canary-${at}`;

type Environment = Record<string, string | undefined>;

function opened(environment: Environment, clock = stillClock(START)) {
  const sign = googleCredentials({ clock, environment });
  const headers = async () => sign(request);
  const token = async () => (await headers())["authorization"];
  return { clock, headers, token };
}

async function faultOf(promise: Promise<unknown>): Promise<Fault> {
  const error = await promise.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (!(error instanceof Fault)) throw new Error(`no fault, but ${String(error)}`);
  const all = `${error.message} ${JSON.stringify(error.detail)} ${String(error.cause)}`;
  expect(all).not.toMatch(/canary|PRIVATE|eyJ/);
  return error;
}

const partsOf = (jwt = ""): unknown[] =>
  jwt
    .split(".")
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, "base64url").toString()) as unknown);

describe("a service account", () => {
  it("exchanges a signed statement for a token", async () => {
    const { asked, write, account, base } = await tokenServer();
    const { token } = opened({ ...base, [VARIABLE]: write(account) });
    expect(await token()).toBe(bearer(1));
    const [one] = asked;
    expect(one?.path).toBe("/token");
    expect(one?.headers["content-type"]).toBe("application/x-www-form-urlencoded");
    expect(one?.form["grant_type"]).toBe("urn:ietf:params:oauth:grant-type:jwt-bearer");
    const jwt = one?.form["assertion"] ?? "";
    const [text, signature] = [jwt.slice(0, jwt.lastIndexOf(".")), jwt.split(".")[2] ?? ""];
    const bytes = Buffer.from(signature, "base64url");
    expect(verify("sha256", Buffer.from(text), publicKey, bytes)).toBe(true);
    expect(partsOf(jwt)).toEqual([
      { alg: "RS256", typ: "JWT", kid: "key-1" },
      {
        iss: account.client_email,
        scope: "https://www.googleapis.com/auth/cloud-platform",
        aud: account.token_uri,
        iat: START / 1000,
        exp: START / 1000 + 3600,
      },
    ]);
  });

  it("may have a key whose line ends were escaped twice, and name the project that pays", async () => {
    const { write, account, base } = await tokenServer();
    const private_key = privateKey.replaceAll("\n", "\\n");
    const file = write({ ...account, private_key, quota_project_id: "payer" });
    const { headers } = opened({ ...base, [VARIABLE]: file });
    expect(await headers()).toEqual({
      authorization: bearer(1),
      "x-goog-user-project": "payer",
    });
    const other = opened({ ...base, [VARIABLE]: file, GOOGLE_CLOUD_QUOTA_PROJECT: "other" });
    expect(await other.headers()).toMatchObject({ "x-goog-user-project": "other" });
  });

  it("is read again for each token, because keys are replaced", async () => {
    const { asked, write, account, base } = await tokenServer();
    const { token, clock } = opened({ ...base, [VARIABLE]: write(account) });
    await token();
    write({ ...account, client_email: "next@project.iam.example" });
    clock.move(3_600_000);
    expect(await token()).toBe(bearer(2));
    expect(partsOf(asked[1]?.form["assertion"])[1]).toMatchObject({
      iss: "next@project.iam.example",
      iat: START / 1000 + 3600,
    });
  });
});

describe("a login by gcloud", () => {
  it("exchanges its refresh token", async () => {
    const { asked, write, login, base } = await tokenServer();
    write(login, "application_default_credentials.json");
    const { token } = opened(base);
    expect(await token()).toBe(bearer(1));
    expect(asked[0]?.form).toEqual({
      grant_type: "refresh_token",
      client_id: "client",
      client_secret: "client-canary-secret",
      refresh_token: "refresh-canary-token",
    });
  });

  it("comes after the file that the variable names", async () => {
    const { asked, write, login, account, base } = await tokenServer();
    write(login, "application_default_credentials.json");
    const environment = { ...base, [VARIABLE]: write(account) };
    await opened(environment).token();
    expect(asked[0]?.form).toHaveProperty("assertion");
    expect(googleCredentialsPlace(environment)).toBe(environment[VARIABLE]);
    expect(googleCredentialsPlace({ ...base, [VARIABLE]: "" })).toContain("application_default");
  });

  it("must be repeated if Google refuses it", async () => {
    const refusal = { error: "invalid_grant", error_description: "Token has been expired." };
    const { write, login, base } = await tokenServer(() => [400, refusal]);
    const fault = await faultOf(opened({ ...base, [VARIABLE]: write(login) }).token());
    expect(fault.code).toBe("upstream.auth");
    expect(fault.message).toContain("key.json (HTTP 400): invalid_grant: Token has been expired.");
    expect(fault.message).toMatch(/Run `gcloud auth application-default login` again\.$/);
  });
});

describe("the metadata server", () => {
  it("is asked if there is no file", async () => {
    const { asked, base, host } = await tokenServer();
    const { token } = opened({
      ...base,
      GCE_METADATA_HOST: host,
      HTTP_PROXY: "http://127.0.0.1:1",
    });
    expect(await token()).toBe(bearer(1));
    const [one] = asked;
    expect(one).toMatchObject({
      method: "GET",
      path: "/computeMetadata/v1/instance/service-accounts/default/token",
    });
    expect(one?.headers["metadata-flavor"]).toBe("Google");
  });

  it("says all that was looked for if it does not answer either", async () => {
    const { close, base, host, folder } = await tokenServer();
    await close();
    const fault = await faultOf(opened({ ...base, GCE_METADATA_HOST: host }).token());
    expect(fault).toMatchObject({ code: "upstream.auth", status: 401 });
    for (const part of [VARIABLE, folder, `http://${host}`, "ECONNREFUSED", "gcloud auth"])
      expect(fault.message).toContain(part);
  });

  it("may know no account", async () => {
    const { base, host } = await tokenServer(() => [404, "not found"]);
    const fault = await faultOf(opened({ ...base, GCE_METADATA_HOST: `http://${host}/` }).token());
    expect(fault.code).toBe("upstream.auth");
    expect(fault.message).toContain("(HTTP 404): not found. Attach a service account");
  });

  it("is not waited for without end", async () => {
    const { base, host, asked } = await tokenServer(() => undefined);
    const { token, clock } = opened({ ...base, GCE_METADATA_HOST: host });
    const fault = faultOf(token());
    await until(() => asked.length > 0);
    clock.move(10_000);
    expect((await fault).message).toContain("no answer in time");
  });
});

describe("a token", () => {
  it("is asked for once by many turns and upstreams, and kept", async () => {
    const { asked, write, account, base } = await tokenServer();
    const environment = { ...base, [VARIABLE]: write(account) };
    const { token, clock } = opened(environment);
    const other = opened({ ...environment }, clock);
    const all = await Promise.all(
      Array.from({ length: 50 }, (_, at) => (at % 2 ? token() : other.token())),
    );
    expect(new Set(all)).toEqual(new Set([bearer(1)]));
    clock.move(3_300_000);
    expect(await token()).toBe(bearer(1));
    expect(asked).toHaveLength(1);
    expect(clock.waiting()).toBe(0);
  });

  it("is replaced in the background before its end", async () => {
    const { asked, write, account, base } = await tokenServer();
    const { token, clock } = opened({ ...base, [VARIABLE]: write(account) });
    await token();
    clock.move(3_600_000 - 225_000);
    // The turn does not wait for the next token.
    expect(await Promise.all([token(), token()])).toEqual([bearer(1), bearer(1)]);
    await until(() => asked.length === 2);
    await expect.poll(token).toBe(bearer(2));
    clock.move(3_000_000);
    expect(await token()).toBe(bearer(2));
    expect(asked).toHaveLength(2);
  });

  it("is used to its end while a replacement fails, which is not asked for at each turn", async () => {
    const model: GiveToken = (one, at) => (at === 0 ? numbered(one, at) : [503, { error: "down" }]);
    const { asked, write, account, base } = await tokenServer(model);
    const { token, clock } = opened({ ...base, [VARIABLE]: write(account) });
    await token();
    clock.move(3_400_000);
    for (let turn = 0; turn < 5; turn++) expect(await token()).toBe(bearer(1));
    await until(() => clock.waiting() === 0 && asked.length === 2);
    for (let turn = 0; turn < 5; turn++) expect(await token()).toBe(bearer(1));
    expect(asked).toHaveLength(2);
    clock.move(10_000);
    expect(await token()).toBe(bearer(1));
    await until(() => clock.waiting() === 0 && asked.length === 3);
    clock.move(190_000);
    const fault = await faultOf(token());
    expect(fault).toMatchObject({ code: "upstream.failed", mayRetry: true });
  });

  it("ends by the date too, because a sleeping machine stops the other clock", async () => {
    const { write, account, base } = await tokenServer();
    const clock = stillClock(START);
    let slept = 0;
    const sleepy = { ...clock, date: () => clock.date() + slept };
    const { token } = opened({ ...base, [VARIABLE]: write(account) }, sleepy);
    await token();
    slept = 3_600_000;
    expect(await token()).toBe(bearer(2));
  });

  it("is replaced after the service has refused it, at most every ten seconds", async () => {
    const { asked, write, account, base } = await tokenServer();
    const clock = stillClock(START);
    const sign = googleCredentials({
      clock,
      environment: { ...base, [VARIABLE]: write(account) },
    });
    const refused = async () => (await sign({ ...request, isRefused: true }))["authorization"];
    expect([await refused(), await refused()]).toEqual([bearer(1), bearer(1)]);
    clock.move(10_000);
    expect([await refused(), await refused()]).toEqual([bearer(2), bearer(2)]);
    expect(asked).toHaveLength(2);
  });

  it("is asked for again after a failure", async () => {
    const { asked, write, account, base } = await tokenServer((one, at) =>
      at === 0 ? [401, { error: "unauthorized_client" }] : numbered(one, at),
    );
    const { token } = opened({ ...base, [VARIABLE]: write(account) });
    const faults = await Promise.all([faultOf(token()), faultOf(token())]);
    expect(faults[0]?.message).toContain("(HTTP 401): unauthorized_client. Create a new key");
    expect(asked).toHaveLength(1);
    expect(await token()).toBe(bearer(2));
  });

  it.each([
    ["none", { expires_in: 3600 }],
    ["one for another purpose", { id_token: "eyJ" }],
    ["one that breaks its header", { access_token: "a\r\nx: y" }],
    ["a page", "<html>Sign in, canary</html>"],
  ])("is refused if the server sends %s", async (_, body) => {
    const { write, account, base } = await tokenServer(() => body);
    const fault = await faultOf(opened({ ...base, [VARIABLE]: write(account) }).token());
    expect(fault.code).toBe("upstream.auth");
    expect(fault.message).toContain("(HTTP 200): no token.");
  });

  it("is no part of what an echo of the request becomes", async () => {
    const { write, login, account, base } = await tokenServer(({ form }) => {
      return [400, { error: "invalid", error_description: `Bad: ${JSON.stringify(form)}` }];
    });
    for (const fields of [login, account]) {
      const { message } = await faultOf(opened({ ...base, [VARIABLE]: write(fields) }).token());
      expect(message).toContain("invalid: Bad: ");
    }
  });

  it("is missing while the token server cannot be reached", async () => {
    const { close, write, account, base } = await tokenServer();
    await close();
    const fault = await faultOf(opened({ ...base, [VARIABLE]: write(account) }).token());
    expect(fault).toMatchObject({ code: "upstream.unreachable", mayRetry: true });
    expect(fault.message).toContain("ECONNREFUSED");
  });

  it("is fetched through the proxy that the environment names", async () => {
    const { write, account, base } = await tokenServer();
    const file = write({ ...account, token_uri: "https://token.example/token" });
    const proxy = await loopback(() => {});
    onTestFinished(() => proxy[Symbol.asyncDispose]());
    const targets: unknown[] = [];
    proxy.server.on("connect", ({ url }, socket) => {
      targets.push(url);
      socket.destroy();
    });
    const environment = { ...base, [VARIABLE]: file, HTTPS_PROXY: proxy.url };
    expect((await faultOf(opened(environment).token())).code).toBe("upstream.unreachable");
    expect(targets).toEqual(["token.example:443"]);
  });
});

describe("a file that cannot be used", () => {
  const short = { type: "service_account", client_email: "a@b", private_key: "canary" };
  const { privateKey: curve } = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  it.each([
    ["no JSON", '{"private_key": "canary', "is not a JSON object"],
    ["a list", "[]", "is not a JSON object"],
    ["no type", { private_key: "canary" }, "has the type `unknown`"],
    ["a workload's", { type: "external_account" }, "`external_account`, which is not supported"],
    ["an odd type", { type: "canary\n" }, "`unknown`"],
    ["no account", { type: "service_account", private_key: "canary" }, "has no `client_email`"],
    ["no key", { type: "service_account", client_email: "a@b" }, "has no `private_key`"],
    ["a broken key", short, "not an RSA key"],
    ["a key of another kind", { ...short, private_key: curve }, "not an RSA key"],
    ["half a login", { type: "authorized_user", client_id: "x" }, "has no `client_secret`"],
    ["an open token server", { ...short, token_uri: "http://x.example" }, "not an https address"],
    ["no address", { ...short, token_uri: "x" }, "not an https address"],
  ])("is reported at the start: %s", async (_, content, message) => {
    const { write, base } = await tokenServer();
    const file = write(content);
    const open = async () => opened({ ...base, [VARIABLE]: file });
    const fault = await faultOf(open());
    expect(fault.code).toBe("config.invalid");
    expect(fault.message).toContain(message);
    expect(fault.message).toContain(file);
  });

  it("is reported at the start if it cannot be read", async () => {
    const { folder } = await tokenServer();
    mkdirSync(join(folder, "inner"));
    const open = async (file: string) => opened({ [VARIABLE]: file, CLOUDSDK_CONFIG: folder });
    const missing = await faultOf(open(join(folder, "none.json")));
    expect(missing.message).toContain(
      "none.json with credentials of Google cannot be read (ENOENT). Correct",
    );
    expect((await faultOf(open(join(folder, "inner")))).message).toContain("is a directory");
  });

  it("stops the next token, and not the process, if it breaks later", async () => {
    const { write, account, base } = await tokenServer();
    const { token, clock } = opened({ ...base, [VARIABLE]: write(account) });
    await token();
    write("canary");
    clock.move(3_600_000);
    const fault = await faultOf(token());
    expect(fault).toMatchObject({ code: "upstream.auth" });
    write(account);
    expect(await token()).toBe(bearer(2));
  });
});

describe("any content", () => {
  const value = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom("canary", privateKey, "service_account", "", 0, null) },
    { weight: 1, arbitrary: fc.jsonValue() },
  );
  const object = (keys: string): fc.Arbitrary<object> => {
    const names = keys.split(" ").map((key) => [key, value] as const);
    return fc.record(Object.fromEntries(names), { requiredKeys: [] });
  };

  it("of a file opens, or is a fault without the key", async () => {
    const { write, base } = await tokenServer();
    const fields = object(
      "client_email private_key private_key_id token_uri client_id client_secret refresh_token quota_project_id",
    );
    const kinds = fc.constantFrom("service_account", "authorized_user", "external_account", "", 0);
    await fc.assert(
      fc.asyncProperty(fields, kinds, async (content, type) => {
        const file = write({ ...content, type });
        const open = async () => opened({ ...base, [VARIABLE]: file });
        const isOpen = await open().then(
          () => true,
          () => false,
        );
        expect(isOpen || (await faultOf(open())).code === "config.invalid").toBe(true);
      }),
    );
  });

  it("of an answer is a token that fits into a header, or a fault without the request", async () => {
    let body: unknown;
    let status = 200;
    const { write, login, base } = await tokenServer(() => [status, body]);
    const environment = { ...base, [VARIABLE]: write(login) };
    const statuses = fc.constantFrom(200, 204, 302, 400, 401, 404, 429, 500, 599);
    const answers = fc.oneof(
      object("access_token expires_in error error_description"),
      fc.json(),
      fc.string(),
    );
    await fc.assert(
      fc.asyncProperty(statuses, answers, async (asked, answer) => {
        [status, body] = [asked, answer];
        const token = opened(environment).token();
        const fault = await token.then(
          (header) => {
            expect(header).toMatch(/^Bearer [!-~]+$/);
          },
          (error: unknown) => error,
        );
        if (fault === undefined) return;
        if (!(fault instanceof Fault)) throw fault;
        expect(fault.message).not.toMatch(/canary-(?:secret|token)/);
        expect(fault.code).toBe(
          status === 429 || status >= 500 ? "upstream.failed" : "upstream.auth",
        );
      }),
    );
  });
});

it("refuses a metadata host that is none", async () => {
  const { base } = await tokenServer();
  const environment = { ...base, GCE_METADATA_HOST: "a b" };
  expect(() => opened(environment)).toThrow("GCE_METADATA_HOST is not a host");
});
