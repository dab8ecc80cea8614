import type { Report } from "../../observe/happening.ts";
import { Fault } from "../../turn/fault.ts";

/** Anything thrown, as a Fault. What we did not throw on purpose is reported, and its text kept from the client. */
export function toFault(error: unknown, report: Report, requestId: string | undefined): Fault {
  if (error instanceof Fault) return error;
  reportTrouble(error, report, requestId);
  if (isOverflow(error))
    return new Fault("request.invalid", "The request is nested too deep; send it flatter.");
  return new Fault(
    "gateway.internal",
    `The gateway failed on this request; its log has the reason under ${requestId ?? "this moment"}.`,
    {},
    error,
  );
}

/** Reports an error by where it was raised; what it says may quote a request. */
export const reportTrouble = (
  error: unknown,
  report: Report,
  requestId: string | undefined,
): void =>
  report({
    type: "trouble",
    requestId,
    error: error instanceof Error ? error.name : typeof error,
    frames: framesOf(error),
  });

/** What a request can have done to us: all that goes into its depths does so on the stack. */
const isOverflow = (error: unknown): boolean =>
  error instanceof RangeError && /call stack/.test(error.message);

/** Where an error was raised, without what it says. */
export const framesOf = (error: unknown): string[] =>
  (error instanceof Error ? (error.stack ?? "") : "")
    .split("\n")
    .filter((line) => line.startsWith("    at "))
    .map((line) => line.trim());

/** An id as messages quote it: a client may send any text for one, of any length. */
export const shownId = (id: string): string =>
  id.length > 100 ? `${id.slice(0, 100).toWellFormed()}...` : id.toWellFormed();
