import { memberAt } from "../json/scan.ts";

/**
 * The text of one member of a JSON object, as it stands there: parsing and
 * writing it again would round long numbers. Undefined where the object has no
 * such member. The text must be JSON.
 */
export function memberText(json: string, wanted: string): string | undefined {
  const span = memberAt(json, 0, wanted);
  return span && json.slice(span.from, span.end);
}
