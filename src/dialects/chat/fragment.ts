import { isFields } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, filledText } from "../shared/loose.ts";
import type { Fragment } from "./assembly.ts";

/** Whether every call has an index of its own. */
export const areNumbered = (calls: readonly unknown[]): boolean =>
  new Set(calls.flatMap((call) => indexOf(fieldsOf(call)?.index) ?? [])).size === calls.length;

/** A piece of a call as it stands in `tool_calls`; `place`: its number, whatever it says itself. */
export function fragmentOf(raw: Fields, at: number, place: number | undefined): Fragment {
  const custom = fieldsOf(raw.custom);
  const body = fieldsOf(raw.function) ?? custom ?? raw;
  const { index, id, type } = raw;
  return {
    index: place ?? indexOf(index),
    id: typeof id === "number" ? String(id) : wordOf(id),
    kind: wordOf(type) ?? (custom === undefined ? undefined : "custom"),
    name: wordOf(body.name),
    input: body.arguments === undefined ? body.input : body.arguments,
    notFirst: at > 0,
    extra: vendorFieldsOf(raw),
  };
}

/** A number, also where it is written as a text. */
function indexOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" && /^\d{1,4}$/.test(value) ? Number(value) : undefined;
}

const callFields = new Set("index id type function custom name arguments input".split(" "));

/** Fields of a call that are a provider's own. */
function vendorFieldsOf(raw: Fields): Fields | undefined {
  let extra: Record<string, unknown> | undefined;
  for (const key of Object.keys(raw))
    if (!callFields.has(key) && raw[key] != null) (extra ??= {})[key] = raw[key];
  return extra;
}

/** Whether the beginning of a call is as the OpenAI API would have sent it. */
export const isOwnHeader = ({ id, type, function: named, custom }: Fields): boolean =>
  typeof id === "string" &&
  (type === "custom" ? custom != null : type === "function" && named != null);

/** A word, or how its absence was written. */
const wordOf = (value: unknown): string | null | undefined =>
  typeof value === "string" || value === null ? value : undefined;

/** A call, or a piece of its input, that stands among the parts of the content. */
export function callInPart(raw: unknown): Fragment | undefined {
  const part = fieldsOf(raw);
  switch (part?.type) {
    case "tool_use":
    case "tool_call":
    case "function_call": {
      const { id, call_id: callId, name } = part;
      const input = part.input ?? part.arguments;
      return {
        id: filledText(callId) ?? filledText(id),
        kind: "function",
        name: filledText(name),
        // Nothing yet: the input follows, or there is none.
        input: isEmptyObject(input) ? undefined : input,
      };
    }
    case "input_json_delta":
      return { input: part.partial_json };
    default:
      return undefined;
  }
}

const isEmptyObject = (value: unknown): boolean =>
  isFields(value) && Object.keys(value).length === 0;
