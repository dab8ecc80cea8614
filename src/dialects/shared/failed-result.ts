import type { Result } from "../../turn/turn.ts";

/** What is decided about a result that goes to a dialect without a mark for errors. */
export const ERROR_IN_TEXT = "a result that is an error is told so in its text";

/** Whether a text says by itself that it is about an error. */
const SAYS_ERROR = /^\W*(?:error|exception|fail|traceback)/i;

/**
 * A result for a dialect that has no mark for errors: its text says so. `report`
 * is called where that had to be added.
 */
export function withErrorText(result: Result, report: () => void): Result {
  if (result.isError !== true) return result;
  const [first, ...rest] = result.parts;
  if (first?.type === "text" && SAYS_ERROR.test(first.text)) return result;
  report();
  return first?.type === "text" && first.text !== ""
    ? { ...result, parts: [{ ...first, text: `Error: ${first.text}` }, ...rest] }
    : { ...result, parts: [{ type: "text", text: "Error" }, ...result.parts] };
}
