import { ApiError, GoogleGenAI } from "@google/genai";
import { describe, expect, it } from "vitest";
import { checkGeminiError } from "../../../test/support/gemini-reader.ts";
import { Fault, type FaultCode, type FaultDetail } from "../../turn/fault.ts";
import { faults } from "../../turn/fault-table.ts";
import { errorBody, geminiErrorText } from "./error-body.ts";

type Status = { code: number; message: string; status: string; details: unknown[] };

const errorOf = (code: FaultCode, message = "No.", detail: FaultDetail = {}): Status =>
  errorBody(new Fault(code, message, detail))["error"] as Status;

describe("an error", () => {
  it.each([
    ["request.invalid", 400, "INVALID_ARGUMENT"],
    ["request.too_large", 413, "INVALID_ARGUMENT"],
    ["auth.missing", 401, "UNAUTHENTICATED"],
    ["auth.origin", 403, "PERMISSION_DENIED"],
    ["request.route", 404, "NOT_FOUND"],
    ["request.method", 405, "UNIMPLEMENTED"],
    ["conversation_locked", 409, "ABORTED"],
    ["limit.requests", 429, "RESOURCE_EXHAUSTED"],
    ["client.left", 499, "CANCELLED"],
    ["gateway.internal", 500, "INTERNAL"],
    ["upstream.cut", 503, "UNAVAILABLE"],
    ["upstream.overloaded", 503, "UNAVAILABLE"],
    ["upstream.headers_timeout", 504, "DEADLINE_EXCEEDED"],
  ] as const)("by %s has the code %i and the status %s", (code, number, status) => {
    expect(errorOf(code)).toMatchObject({ code: number, status, message: "No." });
  });

  it("has a form that clients read, whatever the fault", () => {
    for (const code of Object.keys(faults) as FaultCode[]) {
      const error = errorOf(code);
      checkGeminiError(error);
      expect(error.details[0]).toMatchObject({ reason: code, domain: "patchbay" });
    }
  });

  it("names the field, and the upstream's own code", () => {
    const detail = { param: "contents[1].parts[0]", upstreamCode: "bad_part" };
    expect(errorOf("request.invalid", "Not a part.", detail).details).toEqual([
      {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        reason: "request.invalid",
        domain: "patchbay",
        metadata: { upstreamCode: "bad_part" },
      },
      {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        fieldViolations: [{ field: "contents[1].parts[0]", description: "Not a part." }],
      },
    ]);
  });

  it("names the wait if the request may be sent again, and never a daily quota", () => {
    const retry = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "2s" };
    expect(errorOf("limit.requests", "Wait.", { retryAfter: "2" }).details).toContainEqual(retry);
    const spent = errorOf("upstream.quota", "Spent.", { retryAfter: "2" });
    expect(JSON.stringify(spent)).not.toMatch(/RetryInfo|PerDay/);
    const dated = errorOf("limit.requests", "Wait.", { retryAfter: "Mon, 16 Nov 2026" });
    expect(JSON.stringify(dated)).not.toContain("RetryInfo");
  });

  it("names the request", () => {
    const text = geminiErrorText(new Fault("request.invalid", "No."), "req_1");
    expect(text).toContain('"type.googleapis.com/google.rpc.RequestInfo","requestId":"req_1"');
  });
});

describe("the words", () => {
  it.each([
    [
      "This model's maximum context length is 8192 tokens. However, you requested 9,000 tokens.",
      /^The input token count \(9000\) exceeds the maximum number of tokens allowed \(8192\)\. This model/,
    ],
    [
      "Upstream `a` rejected the request (400): prompt is too long: 208310 tokens > 200000 maximum",
      /^The input token count \(208310\) exceeds the maximum number of tokens allowed \(200000\)\./,
    ],
    ["Input is too long.", /^The input token count exceeds the maximum number of tokens allowed\./],
    [
      "The input token count (9) exceeds the maximum",
      /^The input token count \(9\) exceeds the max/,
    ],
  ])("for a long conversation are the API's: %s", (message, words) => {
    const detail = { upstreamCode: "context_length_exceeded" };
    expect(errorOf("upstream.refused", message, detail).message).toMatch(words);
    expect(errorOf("upstream.refused", message).message).toMatch(words);
  });

  it("for an unknown model are the API's, with the remedy", () => {
    const message = "There is no model `nix` here. Did you mean `nox`?";
    expect(errorOf("model.unknown", message, { param: "model" }).message).toBe(
      `models/nix is not found for API version v1beta, or is not supported for generateContent. ${message}`,
    );
  });
});

it("is thrown by the SDK, also from a stream", async () => {
  const fault = new Fault("limit.requests", "Wait.", { retryAfter: "2" });
  const answer =
    (body: string, status: number, type: string): typeof fetch =>
    () =>
      Promise.resolve(new Response(body, { status, headers: { "content-type": type } }));
  const real = globalThis.fetch;
  try {
    const { models } = new GoogleGenAI({ apiKey: "k" });
    const asked = { model: "m", contents: "Hi" };
    globalThis.fetch = answer(geminiErrorText(fault), 429, "application/json");
    const thrown = await models.generateContent(asked).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(ApiError);
    expect(thrown).toMatchObject({ status: 429, message: expect.stringContaining("Wait.") });
    const frame = `data: ${geminiErrorText(new Fault("upstream.cut", "Cut."))}\r\n\r\n`;
    globalThis.fetch = answer(frame, 200, "text/event-stream");
    const stream = await models.generateContentStream(asked);
    await expect(stream.next()).rejects.toMatchObject({ status: 503 });
  } finally {
    globalThis.fetch = real;
  }
});
