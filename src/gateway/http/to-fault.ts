import type { Report } from "../../observe/happening.ts";
import { Fault } from "../../turn/fault.ts";

/** A thrown value as a Fault. An unexpected error is reported, and its text is hidden from the client. */
export function toFault(error: unknown, report: Report, requestId: string | undefined): Fault {
  if (error instanceof Fault) return error;
  reportTrouble(error, report, requestId);
  if (isOverflow(error))
    return new Fault("request.invalid", "The request is nested too deeply; reduce its nesting.");
  return new Fault(
    "gateway.internal",
    `The gateway failed on this request; its log has the reason under ${requestId ?? "this moment"}.`,
    {},
    error,
  );
}

/** Reports the place of an error without its text, which may quote a request. */
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

/** A deeply nested request overflows the stack. */
const isOverflow = (error: unknown): boolean =>
  error instanceof RangeError && /call stack/.test(error.message);

/** The stack of an error without its message. */
export const framesOf = (error: unknown): string[] =>
  (error instanceof Error ? (error.stack ?? "") : "")
    .split("\n")
    .filter((line) => line.startsWith("    at "))
    .map((line) => line.trim());

/** An id as messages quote it: a client may send any text for one, of any length. */
export const shownId = (id: string): string =>
  id.length > 100 ? `${id.slice(0, 100).toWellFormed()}...` : id.toWellFormed();

/** Refuses a parameter of a request; `problem` ends a sentence that begins with its name. */
export const wrongParam = (param: string, problem: string): Fault =>
  new Fault("request.invalid", `\`${param}\` ${problem}.`, { param });
