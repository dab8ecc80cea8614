import { Fault, type FaultCode } from "../../turn/fault.ts";
import type { Fields } from "../../turn/turn.ts";
import { fieldsOf } from "../loose.ts";
import { bareError } from "../said-error.ts";

/** What an error's `code` or `type` says of its cause, in the words of the API and its kin. */
const words: Readonly<Record<string, FaultCode>> = {
  rate_limit_exceeded: "upstream.rate_limited",
  rate_limit_error: "upstream.rate_limited",
  insufficient_quota: "upstream.rate_limited",
  usage_limit_reached: "upstream.rate_limited",
  slow_down: "upstream.overloaded",
  server_is_overloaded: "upstream.overloaded",
  overloaded_error: "upstream.overloaded",
  server_error: "upstream.failed",
  internal_error: "upstream.failed",
  internal_server_error: "upstream.failed",
  api_error: "upstream.failed",
  vector_store_timeout: "upstream.failed",
  timeout: "upstream.timeout",
  request_timeout: "upstream.timeout",
  invalid_api_key: "upstream.auth",
  authentication_error: "upstream.auth",
  permission_error: "upstream.forbidden",
  model_not_found: "upstream.not_found",
  not_found_error: "upstream.not_found",
  context_length_exceeded: "upstream.refused",
  invalid_prompt: "upstream.refused",
  invalid_request_error: "upstream.refused",
  bio_policy: "upstream.refused",
  cyber_policy: "upstream.refused",
  misalignment_policy_violation: "upstream.refused",
  data_residency_mismatch: "upstream.refused",
};

/** Reads an error event or a failed response; `raw` is the error or holds it. */
export function readFailure(raw: Fields): Fault {
  const fault = bareError(raw);
  if (fault.code !== "upstream.said_error") return fault;
  const { code, type } = fieldsOf(raw.error) ?? raw;
  const cause = causeOf(code) ?? causeOf(type);
  return cause === undefined ? fault : new Fault(cause, fault.message, fault.detail);
}

function causeOf(word: unknown): FaultCode | undefined {
  if (typeof word !== "string") return undefined;
  // All of the API's codes about images say that the request has a bad one.
  return words[word] ?? (/(^|_)image(_|$)/.test(word) ? "upstream.refused" : undefined);
}
