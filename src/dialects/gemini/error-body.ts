/** Errors as Google's APIs write them: google.rpc.Status. Clients read the status, the details and some words. */

import type { Fault } from "../../turn/fault.ts";
import type { Fields } from "../../turn/turn.ts";
import { isAboutLength, lengthsIn } from "../errors/upstream-error.ts";
import { given } from "../shared/loose.ts";

/** By HTTP status. Those of the gateway's own kind have the nearest meaning. */
const statuses: Readonly<Record<number, string>> = {
  401: "UNAUTHENTICATED",
  402: "FAILED_PRECONDITION",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  405: "UNIMPLEMENTED",
  408: "DEADLINE_EXCEEDED",
  409: "ABORTED",
  426: "FAILED_PRECONDITION",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  501: "UNIMPLEMENTED",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

/** Statuses that the API does not have: clients expect one that stands for an upstream out of reach. */
const unavailable: ReadonlySet<number> = new Set([502, 529]);

const TYPE = "type.googleapis.com/google.rpc.";

/** An error in a body or in a stream. `code` must be a number, or clients overlook the error. */
export function errorBody(fault: Fault, requestId?: string): Fields {
  const code = unavailable.has(fault.status) ? 503 : fault.status;
  const status = statuses[code] ?? (code >= 500 ? "INTERNAL" : "INVALID_ARGUMENT");
  const message = messageOf(fault);
  return { error: { code, message, status, details: detailsOf(fault, requestId) } };
}

export const geminiErrorText = (fault: Fault, requestId?: string): string =>
  JSON.stringify(errorBody(fault, requestId));

function detailsOf(
  { code, message, detail, mayRetry, status }: Fault,
  requestId?: string,
): Fields[] {
  const { param, upstreamCode, retryAfter } = detail;
  const metadata = given({ upstreamCode });
  const details: Fields[] = [
    {
      "@type": `${TYPE}ErrorInfo`,
      reason: code,
      domain: "patchbay",
      ...(upstreamCode !== undefined && { metadata }),
    },
  ];
  if (param !== undefined && status === 400)
    details.push({
      "@type": `${TYPE}BadRequest`,
      fieldViolations: [{ field: param, description: message }],
    });
  // Clients wait as long as this says; no header tells them.
  if (mayRetry && retryAfter !== undefined && /^\d+(?:\.\d+)?$/.test(retryAfter))
    details.push({ "@type": `${TYPE}RetryInfo`, retryDelay: `${retryAfter}s` });
  if (requestId !== undefined) details.push({ "@type": `${TYPE}RequestInfo`, requestId });
  return details;
}

const OVERFLOW = "input token count";
const quoted = /`([^`]{1,200})`/;

/** Clients know a conversation that is too long, and a model that is missing, by the API's own sentences. */
function messageOf(fault: Fault): string {
  const { code, message } = fault;
  if (code === "model.unknown") {
    const name = quoted.exec(message)?.[1] ?? "";
    return `models/${name} is not found for API version v1beta, or is not supported for generateContent. ${message}`;
  }
  if (!isAboutLength(fault) || message.includes(OVERFLOW)) return message;
  const { most, asked } = lengthsIn(message);
  const [counted, allowed] = most === undefined ? ["", ""] : [` (${asked})`, ` (${most})`];
  return `The ${OVERFLOW}${counted} exceeds the maximum number of tokens allowed${allowed}. ${message}`;
}
