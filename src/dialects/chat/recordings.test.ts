import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { StreamNormalizer } from "../../stream/normalize.ts";
import { fold, type Answer } from "../../stream/fold.ts";
import { readStream } from "../../../test/support/frame-runs.ts";
import { SseReader } from "../../stream/sse.ts";
import { runStage } from "../../stream/stage.ts";
import { StraightLane } from "../../stream/straight.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import { readEvents } from "./read-events.ts";
import { readRequest } from "./read-request.ts";
import { writeEvents } from "./write-events.ts";

type Event = TurnEvent<UpstreamName>;

const folder = join(import.meta.dirname, "../../../../shared/fixtures/vercel-ai");
const indexSchema = z.array(z.looseObject({ dialect: z.string() }));
const recordingSchema = z.object({
  file: z.string(),
  format: z.string(),
  calls: z.array(z.object({ name: z.string(), arguments: z.string() })),
  text: z.string(),
  reasoning_len: z.number(),
  finish: z.string(),
  usage: z.object({ total_tokens: z.number() }).nullish(),
});
type Recording = z.infer<typeof recordingSchema>;

function readIndex(): Recording[] {
  if (!existsSync(folder)) return [];
  const index: unknown = JSON.parse(readFileSync(join(folder, "index.json"), "utf8"));
  const ours = indexSchema.parse(index).filter(({ dialect }) => dialect === "chat");
  return z.array(recordingSchema).parse(ours);
}

function play({ file, format }: Recording, runs: boolean): Event[] {
  const text = readFileSync(join(folder, file), "utf8");
  let made = 0;
  const reader = readEvents({ newId: (prefix) => `${prefix}_${made++}`, frames: true });
  if (format === "json") {
    const said: Event[] = [];
    reader.whole(text, (event) => void said.push(event));
    return said;
  }
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const wire = format === "sse" ? text : lines.map((line) => `data: ${line}\n\n`).join("");
  return readStream(reader, [wire], runs);
}
const answerOf = (events: readonly Event[]): Answer<UpstreamName> =>
  fold(runStage(new StreamNormalizer<UpstreamName>(), events));

function gist({ choices, usage, fault }: Answer<UpstreamName>): Record<string, unknown> {
  const items = choices[0]?.items ?? [];
  const parts = items.flatMap((item) => (item.type === "message" ? item.parts : []));
  return {
    fault,
    calls: items.flatMap((item) =>
      item.type === "call" ? [{ name: item.name, arguments: item.input, status: item.status }] : [],
    ),
    text: parts.map((part) => (part.type === "text" ? part.text : "")).join(""),
    reasoning: items.flatMap((item) => (item.type === "reasoning" ? item.content : [])).join("")
      .length,
    stop: choices[0]?.stop,
    total: usage?.total,
  };
}

const stops: Record<string, string> = { stop: "end", tool_calls: "calls", length: "length" };

const recordings = readIndex();

describe.skipIf(recordings.length === 0)(
  `recorded chat answers, if there are any in ${folder}`,
  () => {
    const context = { id: "x", created: 5, now: () => 6, newId: (prefix: string) => prefix };
    const turn = readRequest({
      model: "m",
      messages: [{ role: "user", content: "Hi" }],
      stream: true,
      stream_options: { include_usage: true },
    });

    it.each(recordings)("$file says what it is known to say", (recording) => {
      const { calls, text, reasoning_len, finish, usage } = recording;
      const events = play(recording, true);
      expect(gist(answerOf(events))).toEqual({
        fault: undefined,
        calls: calls.map((call) => Object.assign(call, { status: "completed" })),
        text,
        reasoning: reasoning_len,
        stop: stops[finish],
        total: usage?.total_tokens,
      });
      expect(events).toEqual(play(recording, false));
    });

    it.each(recordings.filter(({ format }) => format !== "json"))(
      "$file says the same to a client on the straight lane",
      (recording) => {
        const events = play(recording, true);
        const lane = new StraightLane(writeEvents(turn, context), { usageWanted: true });
        const seen = runStage(
          lane,
          runStage(new StreamNormalizer<UpstreamName>(), events) as never,
        ).join("");
        const reader = readEvents({ newId: (prefix) => prefix, frames: true });
        const again: Event[] = [];
        const sse = new SseReader((data, name, partial) =>
          reader.frame(data, name, partial, (event) => void again.push(event)),
        );
        sse.feed(seen);
        expect(reader.done()).toBe(true);
        expect(gist(answerOf(again))).toEqual(gist(answerOf(events)));
      },
    );
  },
);
