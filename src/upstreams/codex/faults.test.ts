import { describe, expect, it } from "vitest";
import { type Cause, CodexError, failureOf, stopIn } from "./faults.ts";

const codex = { name: "codex", origin: "", secrets: [], home: "/home" };
/** Status, code and how long to wait. */
const meaning = (codexErrorInfo: unknown, message: string): unknown => {
  const error = { message, codexErrorInfo };
  const { fault } = failureOf(new CodexError({ type: "turn-failed", error }), codex);
  if (stopIn(error) !== undefined) return stopIn(error);
  const { upstreamCode, retryAfter } = fault.detail;
  return [fault.status, upstreamCode ?? fault.code, ...(retryAfter ? [retryAfter] : [])];
};

describe("what Codex says of a turn that failed", () => {
  it.each<[string, unknown, string, unknown]>([
    ["a limit", "rateLimitExceeded", "too fast", [429, "rate_limit_exceeded"]],
    [
      "a limit that says how long",
      "rateLimitExceeded",
      "rate limit exceeded: Please try again in 1m30.5s.",
      [429, "rate_limit_exceeded", "91"],
    ],
    [
      "a limit of moments",
      "rateLimitExceeded",
      "Please try again in 120ms.",
      [429, "rate_limit_exceeded", "1"],
    ],
    ["a policy", "cyberPolicy", "flagged", [400, "cyber_policy"]],
    ["a refusal in plain words", "other", "no", [400, "upstream.refused"]],
    ["a refusal without words", "other", "", [400, "upstream.refused"]],
    [
      "a refusal that speaks of a status",
      "other",
      '{"error":{"message":"the provider said HTTP 503","code":"bad_thing"}}',
      [400, "bad_thing"],
    ],
    [
      "a status",
      { httpConnectionFailed: { httpStatusCode: 503 } },
      "unexpected status 503 Service Unavailable: busy",
      [503, "upstream.overloaded"],
    ],
    [
      "a status without a field",
      "other",
      "exceeded retry limit, last status: 429 Too Many Requests",
      [429, "upstream.rate_limited"],
    ],
    ["a mishap of its own", "other", "Fatal error: oh", [502, "upstream.said_error"]],
    [
      "an answer that stopped for no reason",
      "other",
      "Incomplete response returned, reason: unknown",
      [502, "upstream.cut"],
    ],
    [
      "an answer that was filtered",
      "other",
      "stream disconnected before completion: Incomplete response returned, reason: content_filter",
      "filter",
    ],
    [
      "an answer that was too long",
      "other",
      "Incomplete response returned, reason: max_output_tokens",
      "length",
    ],
    ["something new", "tooManyDenials", "no", [502, "upstream.said_error"]],
  ])("knows %s", (_, info, message, meant) => {
    expect(meaning(info, message)).toEqual(meant);
  });
});

describe("a failure before the first event", () => {
  const failed = (codexErrorInfo: string): Cause => ({
    type: "turn-failed",
    error: { message: "no", codexErrorInfo },
  });
  const offline: Cause = { type: "offline", error: undefined, started: false };

  it.each<[string, Cause, boolean, number?]>([
    ["a process that ended, at once", { type: "exited", reason: "SIGKILL" }, true, 0],
    ["a process that did not start", { type: "not-started", file: "codex", reason: "x" }, true],
    ["no network behind Codex", offline, true],
    ["an error of the model", failed("internalServerError"), true],
    ["an overloaded model", failed("serverOverloaded"), true],
    ["a model that broke off", failed("responseStreamDisconnected"), true],
  ])("is tried again after %s", (_, cause, again, after) => {
    const failure = failureOf(new CodexError(cause), codex);
    expect([failure.again, failure.after]).toEqual([again, after]);
  });

  it.each<[string, Cause]>([
    ["a command that is not there", { type: "no-command", command: "codex" }],
    ["a sign-in that is missing", { type: "signed-out" }],
    ["a request without a reply", { type: "no-reply", method: "a", ms: 1 }],
    ["a full queue, which says when to come back", { type: "queue-full" }],
    ["a limit of the account", failed("usageLimitExceeded")],
    ["a refusal", failed("badRequest")],
    ["silence", { type: "silent", ms: 1 }],
  ])("is final after %s", (_, cause) => {
    expect(failureOf(new CodexError(cause), codex).again).toBe(false);
  });

  it("has no key in its message", () => {
    const cause: Cause = { type: "rpc", code: -32600, message: "no sk-secret here" };
    const { fault } = failureOf(new CodexError(cause), { ...codex, secrets: ["sk-secret"] });
    expect(fault.message).toContain("no [redacted] here");
  });
});
