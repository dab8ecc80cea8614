import { describe, expect, it } from "vitest";
import { Fault } from "../../turn/fault.ts";
import { faultOf } from "./faults.ts";

const failing = { name: "codex", origin: "", secrets: [] };
/** Status, code and how long to wait. */
const meaning = (codexErrorInfo: unknown, message: string): unknown => {
  const fault = faultOf({ message, codexErrorInfo }, failing);
  if (!(fault instanceof Fault)) return fault;
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
