import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, inputText, listOf, numberOf, filledText } from "../shared/loose.ts";
import { reasoningFields } from "./details.ts";

/**
 * For upstreams that send messages where deltas belong: some send all text so
 * far in each, others only what is new. Which it is shows with the second text
 * of a field, so it is decided for each field by itself.
 */
export class Snapshots {
  readonly #texts = new Map<string, Text>();

  /** The message without what those before it have brought. */
  fresh(message: Fields): Fields {
    const fresh: Record<string, unknown> = { ...message };
    for (const key of ["content", "refusal", ...reasoningFields]) {
      const text = filledText(message[key]);
      if (text !== undefined) fresh[key] = this.#new(key, text);
    }
    const calls = listOf(message.tool_calls);
    if (calls !== undefined) fresh.tool_calls = calls.map((call, at) => this.#newOfCall(call, at));
    return fresh;
  }

  #newOfCall(raw: unknown, at: number): unknown {
    const call = fieldsOf(raw);
    const called = fieldsOf(call?.function);
    if (call === undefined || called === undefined) return raw;
    const key = `call ${filledText(call.id) ?? numberOf(call.index) ?? at}`;
    const input = this.#new(key, inputText(called.arguments));
    return { ...call, function: { ...called, arguments: input } };
  }

  #new(key: string, text: string): string {
    let known = this.#texts.get(key);
    if (known === undefined) this.#texts.set(key, (known = newText()));
    return newIn(known, text);
  }
}

type Text = {
  last: string;
  grows: "unknown" | "by pieces" | "as a whole";
  /** Came once more: the same again, or a piece like the one before. */
  repeated: string;
};

const newText = (): Text => ({ last: "", grows: "unknown", repeated: "" });

function newIn(known: Text, text: string): string {
  const { last, grows, repeated } = known;
  if (last === "" || grows === "by pieces") {
    known.last = text;
    return text;
  }
  if (text.length > last.length && text.startsWith(last)) {
    known.grows = "as a whole";
    known.last = text;
    return text.slice(last.length);
  }
  if (grows === "as a whole" || text === "") return "";
  if (text === last) {
    known.repeated += text;
    return "";
  }
  known.grows = "by pieces";
  return repeated + text;
}
