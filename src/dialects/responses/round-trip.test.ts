import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  eventFaults,
  hasEvent,
  hasSchema,
  responseFaults,
} from "../../../test/support/open-responses.ts";
import {
  call,
  callEnd,
  choice,
  context,
  end,
  input,
  plain,
  responseOf,
  start,
  stream,
  text,
  types,
  write,
  type Event,
} from "../../../test/support/responses-writing.ts";
import { StreamNormalizer } from "../../stream/normalize.ts";
import { fold } from "../../stream/fold.ts";
import { SseReader } from "../../stream/sse.ts";
import { runStage } from "../../stream/stage.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import { clientName, type ClientName, type UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { readEvents } from "./read-events.ts";
import { readRequest } from "./read-request.ts";
import { writeAnswer } from "./resource.ts";

const words = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });
const annotation = fc.record({
  type: fc.constant("url_citation"),
  url: fc.webUrl(),
  title: fc.string(),
  start_index: fc.nat(),
  end_index: fc.nat(),
});
const inMessage = (parts: readonly Event[][]): Event[] => [
  { type: "text-start", choice },
  ...parts.flat(),
  { type: "text-end", choice },
];
const message = fc
  .array(
    fc.oneof(
      words.map((said): Event[] => [text(said)]),
      words.map((said): Event[] => [{ type: "refusal-delta", choice, text: said }]),
      annotation.map((one): Event[] => [{ type: "text-note", choice, annotation: one }]),
      words.map((said): Event[] => [{ type: "text-break", choice }, text(said)]),
    ),
    { minLength: 1, maxLength: 5 },
  )
  .map(inMessage);

type Thought = { paragraphs: string[]; of: "summary" | "content"; seal: string };
const inReasoning = ({ paragraphs, of, seal }: Thought): Event[] => [
  { type: "reasoning-start", choice },
  ...paragraphs.map((said, part): Event => ({
    type: "reasoning-delta",
    choice,
    of,
    part,
    text: said,
  })),
  { type: "reasoning-end", choice, encrypted: seal },
];
const reasoning = fc
  .record({
    paragraphs: fc.array(words, { maxLength: 3 }),
    of: fc.constantFrom("summary", "content"),
    seal: words,
  })
  .map(inReasoning);

const inCall = ({ name, pieces }: { name: string; pieces: string[] }): Event[] => [
  call({ name: clientName(name) }),
  ...pieces.map((piece) => input(piece)),
  callEnd(),
];
const called = fc
  .record({ name: fc.stringMatching(/^[a-z_]{1,12}$/), pieces: fc.array(words, { maxLength: 4 }) })
  .map(inCall);

const usage = fc.record({ input: fc.nat(), output: fc.nat() });

function inAnswer([items, count]: [Event[][], { input: number; output: number }]): Event[] {
  const events: Event[] = [start];
  let calls = -1;
  for (const event of items.flat())
    if (event.type === "call-start") events.push({ ...event, call: ++calls, id: `call_${calls}` });
    else events.push("call" in event ? { ...event, call: calls } : event);
  const total = count.input + count.output;
  events.push({ type: "usage", usage: { ...count, total, cached: 0, reasoning: 0 } }, end);
  return events;
}
/** Random answers of messages, reasoning and calls of functions. */
const answers = fc
  .tuple(fc.array(fc.oneof(message, reasoning, called), { minLength: 1, maxLength: 5 }), usage)
  .map(inAnswer);

describe.skipIf(!hasSchema)("whatever is answered", () => {
  it("every event and body is as the schema wants it", () => {
    const body = {
      ...plain,
      tools: [{ type: "function", name: "look", parameters: { type: "object" } }],
    };
    fc.assert(
      fc.property(answers, (events) => {
        const said = write(events, body);
        expect(said.flatMap(eventFaults)).toEqual([]);
        expect(types(said).filter((type) => !hasEvent(type))).toEqual([]);
        const answer = fold(runStage(new StreamNormalizer<ClientName>(), events));
        const whole: unknown = JSON.parse(writeAnswer(answer, readRequest(body), context()));
        expect(responseFaults(whole)).toEqual([]);
        expect(whole).toEqual(responseOf(said));
      }),
    );
  });

  it("a failure and a cut are too", () => {
    const fault = new Fault("upstream.cut", "Gone.");
    const failed = write([start, text("a"), call(), { type: "turn-fail", fault }]);
    const cut = write([start, call(), input("{"), { type: "turn-end", choice, stop: "length" }]);
    expect([...failed, ...cut].flatMap(eventFaults)).toEqual([]);
  });

  it.each<[string, Fields]>([
    ["a choice of one function", { tool_choice: { type: "function", name: "look" } }],
    [
      "a choice among functions",
      { tool_choice: { type: "allowed_tools", tools: [{ type: "function", name: "look" }] } },
    ],
    ["instructions and limits", { instructions: "Brief.", max_output_tokens: 9, top_logprobs: 2 }],
    [
      "reasoning and tiers",
      { reasoning: { effort: "low", summary: "auto" }, service_tier: "flex" },
    ],
  ])("so is the answer to %s", (_, body) => {
    expect(write([start, text("a"), end], { ...plain, ...body }).flatMap(eventFaults)).toEqual([]);
  });
});

describe("what is written", () => {
  const read = (written: string): TurnEvent<UpstreamName>[] => {
    const reader = readEvents({ newId: () => "unused", frames: true });
    const events: TurnEvent<UpstreamName>[] = [];
    const sse = new SseReader((data, name, partial) =>
      reader.frame(data, name, partial, (event) => events.push(event)),
    );
    sse.feed(written);
    sse.end();
    return events;
  };

  it("is read back as the same answer, without repair", () => {
    fc.assert(
      fc.property(answers, (events) => {
        const before = fold(runStage(new StreamNormalizer<ClientName>(), events));
        const back = read(stream(events));
        expect(back.filter((event) => event.type === "frame" && !event.forwardable)).toEqual([]);
        const after = fold(runStage(new StreamNormalizer<UpstreamName>(), back));
        expect(sameIds(after.choices)).toEqual(sameIds(before.choices));
        expect(after.usage).toEqual(before.usage);
      }),
    );
  });
});

/** Without the ids of items, which the writer gives. */
function sameIds(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, inner: unknown) =>
      (key === "id" && !String(inner).startsWith("call_")) || key === "itemId" ? undefined : inner,
    ),
  );
}
