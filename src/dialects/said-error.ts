import { Fault, type FaultCode } from "../turn/fault.ts";
import type { Fields } from "../turn/turn.ts";
import { fieldsOf, listOf, numberOf, textOf } from "./loose.ts";

const byStatus = {
  401: "upstream.auth",
  403: "upstream.forbidden",
  404: "upstream.not_found",
  408: "upstream.timeout",
  413: "upstream.too_large",
  429: "upstream.rate_limited",
  503: "upstream.overloaded",
  529: "upstream.overloaded",
} as const satisfies Record<number, FaultCode>;

/** What an HTTP status of 400 or more can mean. */
export type StatusFault =
  | (typeof byStatus)[keyof typeof byStatus]
  | "upstream.failed"
  | "upstream.refused";

export function faultOfStatus(status: number): StatusFault {
  const known: Readonly<Record<number, StatusFault>> = byStatus;
  return known[status] ?? (status >= 500 ? "upstream.failed" : "upstream.refused");
}

/** What an error's `code` or `type` says of its cause, in the words of the API and its kin. */
const words: ReadonlyMap<string, FaultCode> = new Map(
  Object.entries({
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
  } satisfies Record<string, FaultCode>),
);

/**
 * The error that a frame or body of a successful answer turns out to be, if it
 * is one. Upstreams put it under `error`, as an object or a sentence, or send
 * it bare; the codes they give are their own or HTTP statuses.
 */
export function saidError(raw: Fields): Fault | undefined {
  const inner = fieldsOf(raw.error);
  if (inner !== undefined) return faultOf(inner, inner.message ?? inner.detail);
  const sentence = textOf(raw.error);
  if (sentence !== undefined) return faultOf(raw, raw.message ?? sentence);
  if (raw.object === "error" || raw.type === "error") return faultOf(raw, sentenceOf(raw));
  const beside = textOf(fieldsOf(raw.x_groq)?.error);
  if (beside !== undefined) return faultOf({}, beside);
  const base = fieldsOf(raw.base_resp);
  return base !== undefined && isFailure(base.status_code)
    ? faultOf({ code: String(base.status_code) }, base.status_msg)
    : undefined;
}

/** An object that is an error because of where it stands. */
export const bareError = (raw: Fields): Fault => saidError(raw) ?? faultOf(raw, sentenceOf(raw));

/** What stands in an answer's place, with nothing of one in it but a code and a sentence. */
export function strayError(raw: Fields): Fault | undefined {
  const [first] = listOf(raw.errors) ?? [];
  const listed = fieldsOf(first);
  if (listed !== undefined)
    return faultOf({ status: raw.status_code, ...listed }, sentenceOf(listed));
  const isOne =
    isFailure(raw.code) ||
    isFailure(raw.status_code) ||
    isFailure(raw.error_code) ||
    raw.detail != null;
  return isOne && sentenceOf(raw) != null ? bareError(raw) : undefined;
}

const sentenceOf = (raw: Fields): unknown => raw.message ?? raw.msg ?? raw.error_msg ?? raw.detail;

/** A code that does not say that all is well. */
const isFailure = (code: unknown): boolean =>
  (typeof code === "number" || typeof code === "string") &&
  !/^(?:0|200|ok|success|)$/i.test(`${code}`);

function faultOf(error: Fields, message: unknown): Fault {
  const said = textOf(message);
  const status = statusOf(error.code) ?? statusOf(error.status) ?? statusOf(error.status_code);
  const code =
    status === undefined
      ? (causeOf(error.code) ?? causeOf(error.type) ?? "upstream.said_error")
      : faultOfStatus(status);
  const own = [error.code, error.type].find((word) => statusOf(word) === undefined && textOf(word));
  return new Fault(
    code,
    said === undefined
      ? "The upstream reported an error inside its answer and did not say which."
      : `The upstream reported an error: ${said}`,
    {
      param: textOf(error.param),
      upstreamCode: textOf(own),
      status: code === "upstream.refused" ? status : undefined,
    },
  );
}

function statusOf(value: unknown): number | undefined {
  const status =
    typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : numberOf(value);
  return status !== undefined && status >= 400 && status < 600 ? status : undefined;
}

function causeOf(word: unknown): FaultCode | undefined {
  if (typeof word !== "string") return undefined;
  // All of the API's codes about images say that the request has a bad one.
  return words.get(word) ?? (/(^|_)image(_|$)/.test(word) ? "upstream.refused" : undefined);
}
