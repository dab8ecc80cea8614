import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, inputText, listOf, numberOf, textOf } from "../shared/loose.ts";
import { thoughtFields } from "./details.ts";

/**
 * For upstreams that send messages where deltas belong: some say all there is so
 * far in each, others only what is new. Each text of a message is weighed by
 * itself, since the first is the same either way.
 */
export class Snapshots {
  readonly #texts = new Map<string, Text>();

  /** What a message says that those before it did not. */
  news(message: Fields): Fields {
    const news: Record<string, unknown> = { ...message };
    for (const key of ["content", "refusal", ...thoughtFields]) {
      const text = textOf(message[key]);
      if (text !== undefined) news[key] = this.#new(key, text);
    }
    const calls = listOf(message.tool_calls);
    if (calls !== undefined) news.tool_calls = calls.map((call, at) => this.#newOfCall(call, at));
    return news;
  }

  #newOfCall(raw: unknown, at: number): unknown {
    const call = fieldsOf(raw);
    const called = fieldsOf(call?.function);
    if (call === undefined || called === undefined) return raw;
    const key = `call ${textOf(call.id) ?? numberOf(call.index) ?? at}`;
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
  said: string;
  grows: "unknown" | "by pieces" | "as a whole";
  /** Said once more: the same again, or a piece like the one before. */
  repeated: string;
};

const newText = (): Text => ({ said: "", grows: "unknown", repeated: "" });

function newIn(known: Text, text: string): string {
  const { said, grows, repeated } = known;
  if (said === "" || grows === "by pieces") {
    known.said = text;
    return text;
  }
  if (text.length > said.length && text.startsWith(said)) {
    known.grows = "as a whole";
    known.said = text;
    return text.slice(said.length);
  }
  if (grows === "as a whole" || text === "") return "";
  if (text === said) {
    known.repeated += text;
    return "";
  }
  known.grows = "by pieces";
  return repeated + text;
}
