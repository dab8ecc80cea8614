import { expect } from "vitest";
import type { WriteContext } from "../../src/dialects/dialect.ts";
import { readRequest } from "../../src/dialects/responses/read-request.ts";
import { writeEvents } from "../../src/dialects/responses/write-events.ts";
import { StreamNormalizer } from "../../src/stream/normalize.ts";
import { runStage } from "../../src/stream/stage.ts";
import type { CallStart, TurnEvent } from "../../src/turn/event.ts";
import { clientName, type ClientName } from "../../src/turn/names.ts";
import type { Fields } from "../../src/turn/turn.ts";

export type Event = TurnEvent<ClientName>;
export type Said = Fields & { readonly type: string };

export const choice = 0;
/** The least that a Responses client asks. */
export const plain: Fields = { model: "m", input: "Hi" };
export const start: Event = {
  type: "turn-start",
  dialect: "chat",
  id: "chatcmpl-1",
  model: "big",
};
export const end: Event = { type: "turn-end", choice, stop: "end" };
export const text = (said: string): Event => ({ type: "text-delta", choice, text: said });
export const call = (more: Partial<CallStart<ClientName>> = {}): Event => ({
  type: "call-start",
  choice,
  call: 0,
  id: "call_1",
  kind: "function",
  name: clientName("look"),
  ...more,
});
export const input = (said: string, number = 0): Event => ({
  type: "call-delta",
  choice,
  call: number,
  text: said,
});
export const callEnd = (complete = true, number = 0): Event => ({
  type: "call-end",
  choice,
  call: number,
  complete,
});

export function context(): WriteContext {
  let ids = 0;
  return { id: "resp_1", created: 100, now: () => 105, newId: (prefix) => `${prefix}_${++ids}` };
}

/** The stream that a Responses door makes of events, once `blocks` has made them lawful. */
export function stream(events: readonly Event[], body: Fields = plain): string {
  const lawful = runStage(new StreamNormalizer<ClientName>(), events);
  return runStage(writeEvents(readRequest(body), context()), lawful).join("");
}

/** The events in it. Each frame must have both its lines, and the sentinel must be last. */
export function write(events: readonly Event[], body: Fields = plain): Said[] {
  const frames = stream(events, body).split("\n\n");
  expect(frames.splice(-2)).toEqual(["data: [DONE]", ""]);
  return frames.map((frame) => {
    const [, name, data = ""] = /^event: ([^\n]*)\ndata: ([^\n]*)$/.exec(frame) ?? [];
    const said = JSON.parse(data) as Said;
    expect(said.type).toBe(name);
    return said;
  });
}

export const types = (events: readonly Said[]): string[] => events.map(({ type }) => type);
export const named = (events: readonly Said[], type: string): Said[] =>
  events.filter((event) => event.type === type);
export const responseOf = (events: readonly Said[]): Fields =>
  events.at(-1)?.["response"] as Fields;
