import { Fault, type FaultCode } from "../turn/fault.ts";
import type { Fields } from "../turn/turn.ts";
import { fieldsOf, numberOf, textOf } from "./loose.ts";

const byStatus: Readonly<Record<number, FaultCode>> = {
  401: "upstream.auth",
  403: "upstream.forbidden",
  404: "upstream.not_found",
  408: "upstream.timeout",
  413: "upstream.too_large",
  429: "upstream.rate_limited",
  503: "upstream.overloaded",
  529: "upstream.overloaded",
};

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
  return raw.object === "error" || raw.type === "error"
    ? faultOf(raw, raw.message ?? raw.detail)
    : undefined;
}

/** An object that is an error because of where it stands. */
export const bareError = (raw: Fields): Fault =>
  saidError(raw) ?? faultOf(raw, raw.message ?? raw.detail);

function faultOf(error: Fields, message: unknown): Fault {
  const said = textOf(message);
  const status = statusOf(error.code) ?? statusOf(error.status) ?? statusOf(error.status_code);
  const code = status === undefined ? "upstream.said_error" : codeOf(status);
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

function codeOf(status: number): FaultCode {
  return byStatus[status] ?? (status >= 500 ? "upstream.failed" : "upstream.refused");
}

function statusOf(value: unknown): number | undefined {
  const status =
    typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : numberOf(value);
  return status !== undefined && status >= 400 && status < 600 ? status : undefined;
}
