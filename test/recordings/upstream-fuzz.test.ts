import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BuiltinDialectName } from "../../src/dialects/registry.ts";
import { askWithin, doors, readAnswer } from "../support/client.ts";
import { answerInGemini } from "../support/fake-gemini.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import { answerInChat, answerInResponses, wantedCalls } from "../support/fake-model.ts";
import { sse, type Body, type Step } from "../support/fake-upstream.ts";
import type { ClientAnswer } from "../support/client-answer.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

let wire: Step[] = [];
const here = sharedGateway(() => sse(...wire));

const say = { text: "Let me see.", calls: wantedCalls };
const asked = { stream: true, stream_options: { include_usage: true } };
/** The data of each frame of a sound stream. */
const sound: Record<BuiltinDialectName, readonly string[]> = {
  chat: dataOf(answerInChat(asked, { reasoning: "Hm.", ...say }).steps as Iterable<string>),
  responses: dataOf(answerInResponses(asked, say).steps as Iterable<string>),
  messages: dataOf(answerInMessages(asked, { reasoning: "Hm.", ...say }).steps as Iterable<string>),
  gemini: dataOf(
    answerInGemini("/m:streamGenerateContent?alt=sse", { reasoning: "Hm.", ...say })
      .steps as Iterable<string>,
  ),
};
const dialects = Object.keys(sound) as BuiltinDialectName[];

function dataOf(steps: Iterable<string>): string[] {
  return [...steps].map((step) =>
    step
      .replace(/^event: .*\n/, "")
      .slice("data: ".length)
      .trim(),
  );
}

const values = fc.oneof(
  fc.constantFrom<unknown>(null, "", 0, -1, 1e21, [], {}, [null], [[]], "x", true, "call_weather"),
  fc.jsonValue({ maxDepth: 2 }),
);
const garbage = fc.constantFrom(
  "",
  "null",
  "{}",
  "[]",
  "[{}]",
  '"text"',
  "{",
  "not json",
  "[DONE]",
  '{"choices":[]}',
  '{"type":"ping"}',
  '{"type":"response.output_text.delta","delta":"x"}',
  '{"choices":[{"delta":{"content":"x"}}]}',
  '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}',
  '{"type":"content_block_stop","index":0}',
  '{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}',
  '{"candidates":[{"content":{"parts":[{"functionCall":{"willContinue":true}}]}}]}',
);

/** What an upstream may do to its stream. */
const bends = fc.record({
  does: fc.constantFrom("drop", "repeat", "move", "insert", "cut", "change", "change"),
  at: fc.nat(10_000),
  to: fc.nat(10_000),
  frame: garbage,
  value: values,
});
type Bend = typeof bends extends fc.Arbitrary<infer T> ? T : never;

function bend(frames: readonly string[], { does, at: from, to, frame, value }: Bend): string[] {
  const at = from % Math.max(1, frames.length);
  const here = frames[at] ?? "";
  switch (does) {
    case "drop":
      return frames.toSpliced(at, 1);
    case "repeat":
      return frames.toSpliced(at, 0, here);
    case "move":
      return frames.toSpliced(at, 1).toSpliced(to % Math.max(1, frames.length), 0, here);
    case "insert":
      return frames.toSpliced(at, 0, frame);
    case "cut":
      return frames.slice(0, at);
    default:
      return frames.toSpliced(at, 1, changed(here, to, value));
  }
}

function changed(frame: string, where: number, value: unknown): string {
  if (!frame.startsWith('{"')) return frame;
  const body = JSON.parse(frame) as Body;
  const places = placesIn(body);
  const [holder, key] = places[where % places.length] ?? [body, "x"];
  if (value === "") delete holder[key];
  else holder[key] = value;
  return JSON.stringify(body);
}

function placesIn(value: Body): [Body, string][] {
  const own = Object.keys(value).map((key): [Body, string] => [value, key]);
  const inner = Object.values(value).filter((one) => typeof one === "object" && one !== null);
  return own.concat(inner.flatMap((one) => placesIn(one as Body)));
}

/** What was told, with ids that were made up on the way made the same. */
const plainly = ({ text, calls, stop }: ClientAnswer): unknown => ({
  text,
  stop,
  calls: calls.map(({ id, name, kind, input, complete }) => {
    const own = /^call_[a-z2-7]{24}$/.test(id) ? "made up" : id;
    return { id: own, name, kind, input, complete };
  }),
});

describe.each(doors)("at the %s door", (door) => {
  it.each(dialects)("whatever a %s upstream sends ends once, and lawfully", async (dialect) => {
    await fc.assert(
      fc.asyncProperty(fc.array(bends, { minLength: 1, maxLength: 4 }), async (chosen) => {
        wire = chosen.reduce(bend, [...sound[dialect]]).map((frame) => `data: ${frame}\n\n`);
        const model = `${dialect}/m`;
        const streamed = await readAnswer(
          door,
          await askWithin(here.served, door, { model, stream: true }),
        );
        const whole = await readAnswer(door, await askWithin(here.served, door, { model }));
        const said = { streamed: plainly(streamed), failed: streamed.error !== undefined };
        // Both are one way: where the one fails the other does, and else they say the same.
        expect(said).toEqual({
          streamed: whole.error === undefined ? plainly(whole) : said.streamed,
          failed: whole.error !== undefined,
        });
        expect(here.served.happenings.filter(({ type }) => type === "trouble")).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });
});
