import { describe, expect, it } from "vitest";
import { errorShapes } from "../../../test/support/error-shapes.ts";
import { Fault } from "../../turn/fault.ts";
import { broken, type Failing, readError, httpFailure, shown } from "./fault.ts";

const failing: Failing = { name: "box", origin: "https://a.example", secrets: ["sk-123456"] };
const coded = (code: string, name = "Error"): Error =>
  Object.assign(new Error("x"), { code, name });

describe("a refusal", () => {
  const of = (status: number, body: unknown, headers = {}) =>
    httpFailure(failing, { status, headers, body: JSON.stringify(body), now: 0 });

  it("keeps the upstream's code and field, and says its words with the remedy", () => {
    const { fault } = of(404, {
      error: { message: "No model x", code: "model_not_found", param: "model" },
    });
    expect(fault.message).toBe(
      "Upstream `box` has no such model or route (404): No model x. Check the model's name and its `base_url`.",
    );
    expect(fault.detail).toMatchObject({ upstreamCode: "model_not_found", param: "model" });
  });

  it("keeps an unusual status of the client's making and hides one of the upstream's", () => {
    expect(of(402, {}).fault).toMatchObject({ code: "upstream.quota", status: 402 });
    expect(of(507, {}).fault).toMatchObject({ code: "upstream.failed", status: 502 });
  });

  it("does not mistake a repeated status for a code", () => {
    expect(
      of(400, { error: { code: 400, message: "m", status: "INVALID_ARGUMENT" } }).fault.detail
        .upstreamCode,
    ).toBe("INVALID_ARGUMENT");
    expect(of(400, { error: { code: 1113, message: "m" } }).fault.detail.upstreamCode).toBe("1113");
  });

  it("is tried again for 429 and 5xx unless the upstream advises against it", () => {
    expect([429, 500, 502, 503, 529].map((status) => of(status, {}).again)).not.toContain(false);
    expect([300, 400, 401, 404, 408, 422].map((status) => of(status, {}).again)).not.toContain(
      true,
    );
    expect(of(500, {}, { "x-should-retry": "false" }).again).toBe(false);
  });

  it("tells in whole seconds how long to wait", () => {
    expect(of(429, {}, { "retry-after-ms": "1200" })).toMatchObject({
      after: 1_200,
      fault: { detail: { retryAfter: "2" } },
    });
  });

  it.each(errorShapes)("says what %s says", (_, body, { message, code, type, param }) => {
    const { fault } = of(418, body);
    expect(fault.message).toContain(`(418): ${message ?? "{"}`);
    expect(fault.detail).toMatchObject({ param, said: { type } });
    expect(fault.detail.upstreamCode).toBe(code ?? (type === fault.type ? undefined : type));
  });

  it("gives the upstream's type where it has no code and says more than ours", () => {
    const codeOf = (type: string) => of(400, { error: { message: "m", type } }).fault.detail;
    expect(codeOf("content_policy_error").upstreamCode).toBe("content_policy_error");
    expect(codeOf("invalid_request_error").upstreamCode).toBeUndefined();
  });

  it("never repeats a secret, not even a part of one where its words are cut off", () => {
    const key = "sk-123456";
    const error = { message: `key ${key} is wrong`, code: key, type: key, param: key };
    const all = [of(401, { error }), of(401, key), of(302, {}, { location: `/?key=${key}` })];
    expect(JSON.stringify(all.map(({ fault }) => [fault.message, fault.detail]))).not.toContain(
      key,
    );
    const long = of(401, { error: `${"x".repeat(1_994)}${key} is wrong` });
    expect(long.fault.message).not.toContain("sk-1");
    const cut = new Fault("upstream.said_error", "It said: your key sk-1234...");
    expect(shown(failing, cut).message).toBe("It said: your key [redacted]...");
    const told = new Fault("upstream.said_error", "It said: your key sk-123... Try again.");
    expect(shown(failing, told).message).toBe("It said: your key [redacted]... Try again.");
  });
});

describe("the reason in an error body", () => {
  it.each([
    [
      '{"error":{"message":"m","code":"c","type":"t","param":"p"}}',
      { message: "m", code: "c", type: "t", param: "p" },
    ],
    ['{"error":"m"}', { message: "m" }],
    ['{"error":{"error":{"message":"m"}}}', { message: "m" }],
    ['{"error":{"message":null,"code":"c"},"message":"m"}', { message: "m" }],
    ['{"message":"m","code":5}', { message: "m", code: "5" }],
    ['{"detail":"m"}', { message: "m" }],
    ['{"detail":{"message":"m"}}', { message: "m" }],
    [
      '{"detail":[{"loc":["body","a",0],"msg":"m"},{"loc":["body"],"msg":"k"}]}',
      { message: "a.0: m; k", param: "a.0" },
    ],
    ['[{"error":{"message":"m","code":429}}]', { message: "m", status: 429 }],
    ['{"errors":[{"message":"m"}]}', { message: "m" }],
    [
      '{"type":"error","error":{"type":"overloaded_error","message":"m"}}',
      { message: "m", type: "overloaded_error" },
    ],
    ['data: {"error":{"message":"m"}}\n\n', { message: "m" }],
    ['"m"', { message: "m" }],
    ["  just\n words ", { message: "just words" }],
    [
      "<html><head><title>502 Bad Gateway</title></head><body>x</body>",
      { message: "502 Bad Gateway" },
    ],
    ["<p>gone <b>away</b></p><script>x()</script>", { message: "gone away" }],
    ["", {}],
    ["{}", { message: "{}" }],
  ])("is found in %s", (body, said) => {
    const found = Object.fromEntries(
      Object.entries(readError(body)).filter(([, value]) => value !== undefined),
    );
    expect(found).toMatchObject(said);
  });

  it("is cut to a length that can be read", () => {
    expect(readError("x ".repeat(50_000)).message?.length).toBeLessThan(310);
    expect(readError(JSON.stringify({ message: "x".repeat(50_000) })).message?.length).toBeLessThan(
      2_010,
    );
    expect(readError("<".repeat(65_536)).message?.length).toBeLessThan(310);
  });
});

describe("a broken connection", () => {
  it.each([
    ["ECONNREFUSED", false, "upstream.unreachable", true],
    ["UND_ERR_SOCKET", false, "upstream.unreachable", true],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", false, "upstream.unreachable", true],
    ["UND_ERR_CONNECT_TIMEOUT", false, "upstream.connect_timeout", true],
    ["UND_ERR_HEADERS_TIMEOUT", false, "upstream.headers_timeout", false],
    ["UND_ERR_BODY_TIMEOUT", true, "upstream.idle_timeout", false],
    ["ECONNRESET", true, "upstream.cut", true],
    ["UND_ERR_RES_CONTENT_LENGTH_MISMATCH", true, "upstream.malformed", true],
    ["UND_ERR_RES_CONTENT_LENGTH_MISMATCH", false, "upstream.malformed", true],
    ["UND_ERR_DESTROYED", true, "gateway.stopping", false],
  ])("with %s is %s", (code, started, meant, again) => {
    const failure = broken(failing, coded(code), started);
    expect(failure).toMatchObject({ again, fault: { code: meant } });
    expect(failure.fault.message).toContain("`box`");
  });

  it("is a fault of ours when nothing below us has a name for it", () => {
    expect(broken(failing, new TypeError("undefined is not"), true)).toMatchObject({
      again: false,
      fault: { code: "gateway.internal" },
    });
  });

  it("is a broken answer where the answer had begun, and else no HTTP", () => {
    const messageOf = (started: boolean): string =>
      broken(failing, coded("HPE_X", "HTTPParserError"), started).fault.message;
    expect(messageOf(true)).toContain("sent a broken answer");
    expect(messageOf(false)).toContain("does not send a valid HTTP response");
  });
});
