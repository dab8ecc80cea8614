import { readEvents } from "../../src/dialects/chat/read-events.ts";
import { StreamNormalizer } from "../../src/stream/normalize.ts";
import { fold, type Answer } from "../../src/stream/fold.ts";
import { runStage } from "../../src/stream/stage.ts";
import type { Frame, TurnEvent } from "../../src/turn/event.ts";
import type { UpstreamName } from "../../src/turn/names.ts";
import type { Fields, Item } from "../../src/turn/turn.ts";

export type Event = TurnEvent<UpstreamName>;

/** What the reader says of frames, and which of them may be forwarded. */
export function read(
  frames: readonly (Fields | string)[],
  { cut = false } = {},
): { events: Event[]; frames: Frame[] } {
  let made = 0;
  const reader = readEvents({ newId: (prefix) => `${prefix}_new${made++}`, frames: true });
  const said: Event[] = [];
  for (const [at, frame] of frames.entries()) {
    const data = typeof frame === "string" ? frame : JSON.stringify(frame);
    const partial = cut && at === frames.length - 1;
    reader.frame(data, undefined, partial, (event) => void said.push(event));
  }
  return {
    events: said.filter((event) => event.type !== "frame"),
    frames: said.filter((event) => event.type === "frame"),
  };
}

export const answerOf = (events: readonly Event[]): Answer<UpstreamName> =>
  fold(runStage(new StreamNormalizer<UpstreamName>(), events));

/** An answer, as short as it can be said. */
export function summarize(frames: readonly (Fields | string)[], cut = false): unknown {
  const { choices, usage, fault } = answerOf(read(frames, { cut }).events);
  if (fault !== undefined) return fault.code;
  const [first] = choices.map(({ items, stop }) => items.map(sayItem).concat(stop));
  return usage === undefined ? first : [...(first ?? []), usage];
}

function sayItem(item: Item<UpstreamName>): string {
  switch (item.type) {
    case "message":
      return item.parts.map((part) => ("text" in part ? part.text : part.type)).join("|");
    case "reasoning":
      return `(${item.content.join("|")})`;
    case "call":
      return `${item.name}#${item.id}${item.input}${item.status === "completed" ? "" : "..."}`;
    default:
      return item.type;
  }
}

export const chunk = (choices: readonly Fields[], more: Fields = {}): Fields => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 7,
  model: "m",
  choices,
  ...more,
});
export const delta = (fields: Fields, finish: string | null = null, more: Fields = {}): Fields =>
  chunk([{ index: 0, delta: fields, logprobs: null, finish_reason: finish }], more);
export const role = delta({ role: "assistant", content: "" });
export const text = (content: string): Fields => delta({ content });
export const piece = (call: Fields, finish: string | null = null): Fields =>
  delta({ tool_calls: [call] }, finish);
export const head = (index: number, id: string, name: string, args = ""): Fields =>
  piece({ index, id, type: "function", function: { name, arguments: args } });
export const args = (index: number, more: string): Fields =>
  piece({ index, function: { arguments: more } });
export const stop = delta({}, "stop");
export const calls = delta({}, "tool_calls");
export const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
export const counted = { input: 3, output: 2, total: 5 };
export const done = "[DONE]";
