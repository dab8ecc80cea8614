import type { Report } from "../telemetry/happening.ts";
import { Fault } from "../turn/fault.ts";

/** Anything thrown, as a Fault. What we did not throw on purpose is reported, and its text kept from the client. */
export function toFault(error: unknown, report: Report, requestId: string | undefined): Fault {
  if (error instanceof Fault) return error;
  report({
    type: "trouble",
    requestId,
    message: error instanceof Error ? error.message : String(error),
    stack: error instanceof Error ? error.stack : undefined,
  });
  return new Fault(
    "gateway.internal",
    `The gateway failed on this request; its log has the reason under ${requestId ?? "this moment"}.`,
    {},
    error,
  );
}
