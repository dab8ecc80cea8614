import type { Report } from "../telemetry/happening.ts";
import { Fault } from "../turn/fault.ts";

/** Anything thrown, as a Fault. What we did not throw on purpose is reported, and its text kept from the client. */
export function toFault(error: unknown, report: Report, requestId: string | undefined): Fault {
  if (error instanceof Fault) return error;
  report({
    type: "trouble",
    requestId,
    error: error instanceof Error ? error.name : typeof error,
    frames: framesOf(error),
  });
  return new Fault(
    "gateway.internal",
    `The gateway failed on this request; its log has the reason under ${requestId ?? "this moment"}.`,
    {},
    error,
  );
}

/** Where an error was raised, without what it says. */
export const framesOf = (error: unknown): string[] =>
  (error instanceof Error ? (error.stack ?? "") : "")
    .split("\n")
    .filter((line) => line.startsWith("    at "))
    .map((line) => line.trim());
