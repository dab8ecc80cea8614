import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BuiltinDialectName } from "../../src/dialects/registry.ts";
import { askWithin, doors, type DoorName } from "../support/client.ts";
import { type Step } from "../support/fake-upstream.ts";
import { geminiRecordings } from "../support/gemini-recordings.ts";
import { messagesRecordings } from "../support/messages-recordings.ts";
import { recordings, type Recording } from "../support/recordings.ts";
import { framesOf } from "../support/client-answer.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

/** Short streams with all that streams have: text beyond ASCII, calls, reasoning, counts. */
const files = new Set([
  "alibaba/alibaba-tool-call.chunks.txt",
  "mistral/mistral-reasoning.chunks.txt",
  "openai-compatible-chat/anthropic-fallback-tool-call.sse",
  "perplexity/perplexity-text.chunks.txt",
  "azure/azure-tool-call.1.chunks.txt",
  "openai-responses/openai-custom-tool.1.chunks.txt",
  "openai-responses/programmatic-tool-calling.2.chunks.txt",
]);
const recorded = recordings.filter(({ file }) => files.has(file));
type Stream = Pick<Recording, "file" | "events"> & { readonly dialect: BuiltinDialectName };

const claude = new Set([
  "anthropic/anthropic-json-tool.2.chunks.txt",
  "anthropic/anthropic-clear-thinking.1.chunks.txt",
  "anthropic/anthropic-mcp.1.chunks.txt",
  "amazon-bedrock/amazon-bedrock-reasoning.chunks.txt",
]);
const fromClaude = messagesRecordings
  .filter(({ file }) => claude.has(file))
  .map(({ file, data }): Stream => ({ file, dialect: "messages", events: data }));

const emoji: Stream = {
  file: "text beyond ASCII",
  dialect: "chat",
  events: ["Grüße, ", "世界 👋🏽", '\u2028\u0000 "quoted"'].map((content, at) =>
    JSON.stringify({
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1_700_000_000,
      model: "m",
      choices: [
        {
          index: 0,
          delta: { ...(at === 0 && { role: "assistant" }), content },
          finish_reason: at === 2 ? "stop" : null,
        },
      ],
    }),
  ),
};
const fromGemini = geminiRecordings
  .filter(({ streamed, data }) => streamed && data.join("").length < 7_000)
  .map(({ file, data }): Stream => ({ file, dialect: "gemini", events: data }));
const streams = [emoji, ...recorded, ...fromClaude, ...fromGemini];

let wire: Step[] = [];
const headers = { "content-type": "text/event-stream" };
const here = sharedGateway(() => ({ headers, steps: wire }));

/** What the client hears, with the names that are made up on the way made the same. */
async function hear(door: DoorName, dialect: BuiltinDialectName): Promise<unknown[]> {
  const response = await askWithin(here.served, door, { model: `${dialect}/m`, stream: true });
  const text = await response.text();
  expect(response.status).toBe(200);
  const ids = new Map<string, string>();
  return framesOf(text).map(({ event, data }) => {
    const plain = data
      .replaceAll(/"(?:created|created_at|completed_at)":\s*\d+/g, '"moment":0')
      .replaceAll(/\b[a-z]+[_-][a-z2-7]{24}\b/g, (id) => {
        const known = ids.get(id) ?? `id-${ids.size}`;
        ids.set(id, known);
        return known;
      });
    return [event, plain === "[DONE]" ? plain : (JSON.parse(plain) as unknown)];
  });
}

type Manner = {
  readonly line: string;
  readonly mark: string;
  readonly comments: boolean;
  readonly spread: boolean;
  readonly named: boolean;
  readonly cuts: readonly number[];
};

function linesOf(event: string, { comments, named, spread }: Manner): string[] {
  const value = JSON.parse(event) as { type?: string };
  const data = spread ? JSON.stringify(value, null, 1) : event;
  const before = comments ? [": keep-alive", "retry: 10", "id: 7"] : [];
  const name = named && value.type !== undefined ? [`event: ${value.type}`] : [];
  return [...before, ...name, ...data.split("\n").map((piece) => `data: ${piece}`), ""];
}

/** The bytes of a stream, written in some lawful manner and cut anywhere. */
function bytesOf({ dialect, events }: Stream, manner: Manner): Step[] {
  const lines = events
    .filter((event) => event !== "[DONE]")
    .flatMap((event) => linesOf(event, manner));
  const end = dialect === "chat" ? ["data: [DONE]", "", ""] : [""];
  const whole = Buffer.from(manner.mark + [...lines, ...end].join(manner.line));
  const places = [0, ...manner.cuts.map((cut) => cut % whole.length), whole.length];
  const sorted = places.toSorted((a, b) => a - b);
  return sorted
    .slice(1)
    .flatMap((to, at) => [whole.subarray(sorted[at], to), breath()])
    .filter((step) => !(step instanceof Uint8Array && step.length === 0));
}

const breath = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const manners = fc.record({
  line: fc.constantFrom("\n", "\r\n", "\r"),
  mark: fc.constantFrom("", "\uFEFF"),
  comments: fc.boolean(),
  spread: fc.boolean(),
  named: fc.boolean(),
  cuts: fc.array(fc.nat(100_000), { maxLength: 12 }),
});
const plainly: Manner = {
  line: "\n",
  mark: "",
  comments: false,
  spread: false,
  named: true,
  cuts: [],
};

describe.each(doors)("at the %s door", (door) => {
  it.each(streams)("$file is the same however its bytes arrive", async (stream) => {
    wire = bytesOf(stream, plainly);
    const wanted = await hear(door, stream.dialect);
    expect(wanted.length).toBeGreaterThan(2);
    await fc.assert(
      fc.asyncProperty(manners, async (manner) => {
        wire = bytesOf(stream, manner);
        expect(await hear(door, stream.dialect)).toEqual(wanted);
      }),
      { numRuns: 25 },
    );
  });

  const short = streams.filter(({ events }) => events.join("").length < 3_000);

  it.each(short)("$file is the same when every byte comes alone", async (stream) => {
    wire = bytesOf(stream, plainly);
    const wanted = await hear(door, stream.dialect);
    wire = bytesOf(stream, { ...plainly, cuts: [...Array(5_000).keys()] });
    expect(await hear(door, stream.dialect)).toEqual(wanted);
  });
});
