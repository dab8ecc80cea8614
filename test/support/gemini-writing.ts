/** Writes events for Gemini clients, as the gateway does after a model's answer is lawful. */

import { fold } from "../../src/stream/fold.ts";
import { StreamNormalizer } from "../../src/stream/normalize.ts";
import { runStage } from "../../src/stream/stage.ts";
import type { Decision } from "../../src/turn/decision.ts";
import type { StopReason, TurnEvent } from "../../src/turn/event.ts";
import { clientName, type ClientName } from "../../src/turn/names.ts";
import { writeSeal } from "../../src/turn/seal.ts";
import type { Fields, Turn } from "../../src/turn/turn.ts";
import { geminiTraits } from "../../src/dialects/gemini/traits.ts";
import { writeAnswer, writeEvents } from "../../src/dialects/gemini/write-events.ts";
import { readGeminiStream, type GeminiForm } from "./gemini-reader.ts";

export type Event = TurnEvent<ClientName>;
export type Chunk = ReturnType<typeof readGeminiStream>["chunks"][number];

export const choice = 0;
export const turnOf = (form: GeminiForm = "sse", showsThoughts = true): Turn => ({
  dialect: "gemini",
  traits: geminiTraits,
  model: "asked",
  items: [],
  tools: [],
  params: showsThoughts ? { reasoningSummary: "auto" } : {},
  stream: true,
  streamForm: form === "array" ? "array" : undefined,
  usageWanted: true,
  extra: { dialect: "gemini", fields: {} },
  body: {},
});

type Written = { readonly text: string; readonly decisions: readonly Decision[] };

export function written(events: readonly Event[], turn = turnOf()): Written {
  const decisions: Decision[] = [];
  const text = runStage(
    writeEvents(turn, contextOf(decisions)),
    lawful(events, turn.params.n),
  ).join("");
  return { text, decisions };
}

const contextOf = (decisions: Decision[]) => ({
  id: "own",
  created: 5,
  now: () => 6,
  newId: (prefix: string) => prefix,
  report: (decision: Decision) => void decisions.push(decision),
});

export const lawful = (events: readonly Event[], choices = 1): Event[] =>
  runStage(new StreamNormalizer<ClientName>(choices), events);

export function whole(events: readonly Event[], turn = turnOf()): Chunk {
  return JSON.parse(writeAnswer(fold(lawful(events)), turn, contextOf([]))) as Chunk;
}

export const chunksOf = (events: readonly Event[], turn = turnOf()): readonly Chunk[] =>
  readGeminiStream(written(events, turn).text).chunks;
export const partsOf = (chunk: Chunk | undefined): Fields[] =>
  chunk?.["candidates"][0].content.parts;
/** The candidate in the last chunk. */
export const lastOf = (events: readonly Event[]): Fields =>
  chunksOf(events).at(-1)?.["candidates"][0];

export const start: Event = { type: "turn-start", dialect: "chat", id: "chatcmpl-1", model: "big" };
export const text = (words: string): Event => ({ type: "text-delta", choice, text: words });
export const thought = (words: string): Event => ({
  type: "reasoning-delta",
  choice,
  text: words,
  of: "content",
  part: 0,
});
export const signed = (encrypted: string, on?: string): Event => ({
  type: "reasoning-end",
  choice,
  encrypted,
  ...(on !== undefined && { extra: { dialect: "gemini", fields: { on } } }),
});
export const end = (stop: StopReason = "end", fields?: Fields): Event => ({
  type: "turn-end",
  choice,
  stop,
  ...(fields && { extra: { dialect: "gemini", fields } }),
});
export const called = (call: number, input: string, complete = true): Event[] => [
  { type: "call-start", choice, call, id: `c${call}`, kind: "function", name: clientName("look") },
  { type: "call-delta", choice, call, text: input },
  { type: "call-end", choice, call, complete },
];
export const seal = (from: string): string => writeSeal({ from, encrypted: "e" });
