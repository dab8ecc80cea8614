import { isFields, jsonOf } from "../../turn/json.ts";
import { bareArguments } from "../kinds/kind.ts";

/**
 * Arguments as every upstream takes them: the text of a JSON object, the very
 * same where they are that already. Many refuse a conversation for good in which
 * a model once called without any, or wrote them wrongly.
 */
export function asObject(text: string): string {
  const value = jsonOf(text);
  if (isFields(value)) return text;
  if (value === null || text.trim() === "") return "{}";
  if (value === undefined) return JSON.stringify({ unreadable: text });
  const bare = bareArguments(text);
  return isFields(jsonOf(bare)) ? bare : `{"value":${text}}`;
}
