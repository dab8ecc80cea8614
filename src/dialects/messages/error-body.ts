import type { Fault } from "../../turn/fault.ts";
import type { Fields } from "../../turn/turn.ts";
import { rejectedCapability } from "./rejected-capability.ts";

const byStatus: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  408: "timeout_error",
  409: "conflict_error",
  413: "request_too_large",
  429: "rate_limit_error",
  501: "not_supported",
  503: "overloaded_error",
  504: "timeout_error",
  529: "overloaded_error",
};

/** Refusals by the gateway's own rules: clients show them, and do not try again in other ways. */
const policy = new Set(["plan.lossy", "tools.refused"]);

function typeOf({ code, status }: Fault): string {
  if (policy.has(code)) return "policy_blocked";
  return byStatus[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");
}

/** What a client of the SDK goes by: it sends the whole conversation where threads are not to be had, or this one is not. */
function codeOf({ code, detail }: Fault): string {
  if (code === "thread.unknown") return "thread_not_found";
  return isThreadRefused({ code, detail })
    ? "thread_unsupported_request"
    : (detail.upstreamCode ?? code);
}

const isThreadRefused = ({ code, detail }: Pick<Fault, "code" | "detail">): boolean =>
  detail.param === "thread" && code === "request.unsupported";

/** An error as the API says it, in a body or in a stream. */
export function errorBody(fault: Fault): Fields {
  const message = messageOf(fault);
  const details = {
    error_code: codeOf(fault),
    // For people: what a client goes by may say less.
    ...(message !== fault.message && { reason: fault.message }),
    ...(fault.detail.param !== undefined && { param: fault.detail.param }),
    // Which features are in the way: none but the thread itself.
    ...(isThreadRefused(fault) && { unsupported: [] }),
  };
  return {
    type: "error",
    error: { type: typeOf(fault), message, details },
  };
}

/** Clients make the conversation shorter where they read these words. */
const TOO_LONG = "prompt is too long";
const OVERFLOW = "exceed context limit";
const tooLong =
  /context[_ ](?:length|window|limit)|maximum context|too many (?:input )?tokens|exceeds the (?:maximum|context)|prompt is too long/i;
/** What stands before an upstream's own words, with its status. */
const statusWords = /^.{0,200}?\(\d{3}\): /;
const numbers = /(\d[\d,]{2,})\D+?(\d[\d,]{2,})/;

function messageOf({ message, isFromUpstream, detail, status }: Fault): string {
  const isTooLong =
    detail.upstreamCode === "context_length_exceeded" || (isFromUpstream && tooLong.test(message));
  // Clients lower `max_tokens` by the numbers of the other.
  if (message.includes(TOO_LONG) || message.includes(OVERFLOW)) return message;
  if (!isTooLong)
    return (isFromUpstream && status === 400 && rejectedCapability(message)) || message;
  const found = numbers
    .exec(message.replace(statusWords, ""))
    ?.slice(1)
    .map((one) => Number(one.replaceAll(",", "")));
  if (found === undefined) return "capability_rejected: prompt_too_long";
  const [most, asked] = found.toSorted((one, other) => one - other);
  return `${TOO_LONG}: ${asked} tokens > ${most} maximum`;
}

export const errorText = (fault: Fault, requestId?: string): string =>
  JSON.stringify({
    ...errorBody(fault),
    ...(requestId !== undefined && { request_id: requestId }),
  });
