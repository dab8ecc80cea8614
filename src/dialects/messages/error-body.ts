/** Errors as the Messages API writes them. Clients read their words, so some refusals are reworded. */

import type { Fault } from "../../turn/fault.ts";
import type { Fields } from "../../turn/turn.ts";
import { isAboutLength, lengthsIn } from "../errors/upstream-error.ts";

const typesByStatus: Readonly<Record<number, string>> = {
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

/** Refusals by rules of the gateway: clients show them and do not retry in other ways. */
const policy = new Set(["plan.lossy", "tools.refused"]);

function typeOf({ code, status }: Fault): string {
  if (policy.has(code)) return "policy_blocked";
  return typesByStatus[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");
}

/** An error in a body or in a stream. */
export function errorBody(fault: Fault): Fields {
  const { code, detail } = fault;
  const message = messageOf(fault);
  // Clients of the SDK send the whole conversation if threads are refused or theirs is unknown.
  const isThreadRefused = detail.param === "thread" && code === "request.unsupported";
  const error_code = isThreadRefused
    ? "thread_unsupported_request"
    : code === "thread.unknown"
      ? "thread_not_found"
      : (detail.upstreamCode ?? code);
  const details = {
    error_code,
    // The message may tell people less than the fault.
    ...(message !== fault.message && { reason: fault.message }),
    ...(detail.param !== undefined && { param: detail.param }),
    // No feature of the request is in the way of its thread.
    ...(isThreadRefused && { unsupported: [] }),
  };
  return { type: "error", error: { type: typeOf(fault), message, details } };
}

export const messagesErrorText = (fault: Fault, requestId?: string): string =>
  JSON.stringify({
    ...errorBody(fault),
    ...(requestId !== undefined && { request_id: requestId }),
  });

/** Clients shorten the conversation when they read these words. */
const TOO_LONG = "prompt is too long";
const OVERFLOW = "exceed context limit";

function messageOf(fault: Fault): string {
  const { message, isFromUpstream, status } = fault;
  // Clients lower `max_tokens` by the numbers in `OVERFLOW`.
  if (message.includes(TOO_LONG) || message.includes(OVERFLOW)) return message;
  if (!isAboutLength(fault))
    return (isFromUpstream && status === 400 && rejectedCapability(message)) || message;
  const { most, asked } = lengthsIn(message);
  if (most === undefined) return "capability_rejected: prompt_too_long";
  return `${TOO_LONG}: ${asked} tokens > ${most} maximum`;
}

/** Capabilities by the words with which upstreams refuse them; the first match wins. */
const capabilities: readonly (readonly [RegExp, string])[] = [
  [/role ['"`]?system['"`]? (?:is )?not supported|top-level ['"`]?system/i, "mid_conv_system"],
  [/system (?:message|role|prompt)s?\b.{0,40}\b(?:beginning|first|start)\b/i, "mid_conv_system"],
  [
    /cache_control.{0,60}(?:not (?:permitted|supported|allowed)|unknown|extra)/i,
    "cache_control_field",
  ],
  [
    /(?:invalid|malformed)\W{0,3}signature|signature\W.{0,40}(?:invalid|required)/i,
    "thinking_signature",
  ],
  [/adaptive.{0,60}(?:not supported|unsupported|not available)/i, "thinking_type:adaptive"],
  [
    /(?:effort\b.{0,60}(?:not supported|unsupported)|(?:not support|unsupported).{0,40}effort\b)/i,
    "effort_unsupported",
  ],
  [
    /(?:response_format|output_config\.format|output_format|structured outputs?|json_schema).{0,60}(?:not supported|unsupported|unavailable)/i,
    "structured_outputs_unsupported",
  ],
  [/image dimensions exceed|too many images/i, "media_budget"],
  [
    /(?:image|vision)\w*\W.{0,60}(?:not supported|unsupported)|not support.{0,20}(?:image|vision)/i,
    "image_block",
  ],
  [
    /(?:document|pdf)s?\b.{0,60}(?:not supported|unsupported)|not support.{0,20}(?:document|pdf)/i,
    "document_block",
  ],
];
const betaHeader = /anthropic-beta/i;
const betaName = /\b[a-z][a-z0-9-]*-\d{4}-\d{2}-\d{2}\b/i;

/** The part of a message that is searched: refusals name their subject early. */
const LONGEST = 2000;

/**
 * Rewords the refusal of a feature that clients can do without: Claude Code repeats its request
 * without the feature after this message, and up to six times in other ways after any other. Undefined
 * for other refusals.
 */
export function rejectedCapability(message: string): string | undefined {
  const words = message.slice(0, LONGEST);
  const found = capabilities.find(([pattern]) => pattern.test(words))?.[1];
  if (found !== undefined) return `capability_rejected: ${found}`;
  const beta = betaHeader.test(words) ? betaName.exec(words)?.[0] : undefined;
  return beta === undefined ? undefined : `capability_rejected: beta_header:${beta}`;
}
