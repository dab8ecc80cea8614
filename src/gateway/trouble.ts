import type { Report } from "../telemetry/happening.ts";
import { Fault } from "../turn/fault.ts";

/** Anything thrown, as a Fault. What we did not throw on purpose is reported, and its text kept from the client. */
export function toFault(error: unknown, report: Report, requestId: string | undefined): Fault {
  if (error instanceof Fault) return error;
  report({
    type: "trouble",
    requestId,
    error: error instanceof Error ? error.name : typeof error,
    frames: error instanceof Error ? framesOf(error) : [],
  });
  return new Fault(
    "gateway.internal",
    `The gateway failed on this request; its log has the reason under ${requestId ?? "this moment"}.`,
    {},
    error,
  );
}

const framesOf = (error: Error): string[] =>
  (error.stack ?? "")
    .split("\n")
    .filter((line) => line.startsWith("    at "))
    .map((line) => line.trim());
