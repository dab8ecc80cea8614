import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  args,
  calls,
  chunk,
  delta,
  done,
  head,
  piece,
  read,
  role,
  stop,
  text,
  summarize,
  usage,
} from "../../../test/support/chat-frames.ts";
import type { Fields } from "../../turn/turn.ts";
import { cut, fits, type Stencil } from "../shared/stencil.ts";
import { holesOf } from "./fast-road.ts";
import type { ContentDelta } from "./read-choice.ts";

const learn = (raw: Fields, spoken: ContentDelta): Stencil | undefined =>
  cut(JSON.stringify(raw), holesOf(raw, spoken) ?? [{ type: "text", path: ["nowhere"] }]);

function learned(raw: Fields, spoken: ContentDelta): Stencil {
  const stencil = learn(raw, spoken);
  if (stencil === undefined) throw new Error("nothing was learned");
  return stencil;
}
const fit = (stencil: Stencil, data: string): string | undefined =>
  fits(stencil, data) ? stencil.text : undefined;
const saying = (text: string): ContentDelta => ({ type: "text-delta", choice: 0, text });

describe("the holes of a frame", () => {
  it("are found for arguments, reasoning and refusals too", () => {
    const of = (delta: Fields): Fields => ({ choices: [{ delta }] });
    const call = (args: string): Fields => of({ tool_calls: [{ function: { arguments: args } }] });
    const spoken: ContentDelta = { type: "call-delta", choice: 0, call: 0, text: "{" };
    expect(fit(learned(call("{"), spoken), JSON.stringify(call("}")))).toBe("}");
    const input = (text: string): Fields => of({ tool_calls: [{ custom: { input: text } }] });
    expect(fit(learned(input("{"), spoken), JSON.stringify(input("}")))).toBe("}");
    const refusal: ContentDelta = { type: "refusal-delta", choice: 0, text: "no" };
    expect(fit(learned(of({ refusal: "no" }), refusal), JSON.stringify(of({ refusal: "!" })))).toBe(
      "!",
    );
    for (const key of ["reasoning", "reasoning_content"]) {
      const said: ContentDelta = {
        type: "reasoning-delta",
        choice: 0,
        text: "a",
        of: "content",
        part: 0,
      };
      expect(fit(learned(of({ [key]: "a" }), said), JSON.stringify(of({ [key]: "b" })))).toBe("b");
    }
  });

  it("are none where the text is not in its place", () => {
    const raw = { choices: [{ delta: { content: ["a"] } }] };
    expect(learn(raw, saying("a"))).toBeUndefined();
  });
});

describe("the fast road", () => {
  const spoken = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom(
      "",
      '"',
      "\\",
      '"},"logprobs":null,"finish_reason":null}]}',
      "\u2028\t\u0000",
      '\\"',
    ),
  );
  const say = fc.oneof(
    spoken.map((content) => delta({ content })),
    spoken.map((content) => delta({ content, reasoning_content: null })),
    spoken.map((reasoning_content) => delta({ reasoning_content, content: null })),
    spoken.map((reasoning) => delta({ reasoning, content: "" })),
    spoken.map((both) => delta({ reasoning: both, reasoning_content: both })),
    spoken.map((refusal) => delta({ refusal })),
    spoken.map((content) => delta({ content, role: "assistant" })),
    fc
      .tuple(spoken, spoken)
      .map(([content, pad]) => delta({ content }, null, { obfuscation: pad })),
    spoken.map((content) => delta({ content }, null, { note: '"content":"x"', obfuscation: "ab" })),
    spoken.map((content) => chunk([{ content: "no", delta: { content }, index: 1 }])),
    spoken.map((reasoning) => delta({ reasoning, channel: "analysis" })),
    spoken.map((content) => delta({ content, growing: content })),
    spoken.map((more) =>
      delta({ tool_calls: [{ index: 0, function: { arguments: more } }], x: 1 }),
    ),
    fc.tuple(fc.nat(1), spoken).map(([index, more]) => args(index, more)),
    fc
      .tuple(fc.nat(1), spoken)
      .map(([index, more]) => piece({ index, id: "", function: { arguments: more } })),
    fc.tuple(fc.nat(1), spoken).map(([index, more]) => head(index, `c${index}`, "f", more)),
    spoken.map((more) => piece({ index: 0, custom: { input: more } })),
    spoken.map((more) => delta({ reasoning_details: [{ type: "reasoning.text", text: more }] })),
    spoken.map((content) => delta({ content }, null, { usage })),
    spoken.map((content) => delta({ content }, null, { citations: ["https://a"] })),
    fc.constantFrom(stop, calls, role, chunk([], { usage }), { error: { message: "no" } }),
  );
  const frame = fc
    .tuple(say, fc.constantFrom(undefined, 1), fc.nat(30))
    .map(([fields, space, chance]) => {
      const text = JSON.stringify(fields, null, space)?.replaceAll("\n", "") ?? "";
      if (chance === 0) return text.replace(/"}/, '\t"}');
      if (chance === 1) return text.replace(/"}/, '\\q"}');
      return chance === 2 ? text.slice(0, -2) : text;
    });
  /** Frames come in runs that differ in their text alone. */
  const run = fc.oneof(
    { weight: 2, arbitrary: fc.array(frame, { maxLength: 4 }) },
    fc
      .array(spoken, { maxLength: 6 })
      .map((texts) => texts.map((one) => JSON.stringify(text(one)))),
    fc
      .array(spoken, { maxLength: 6 })
      .map((texts) => texts.map((one) => JSON.stringify(args(0, one)))),
    fc
      .array(spoken, { maxLength: 6 })
      .map((texts) =>
        texts.map((reasoning) => JSON.stringify(delta({ reasoning, channel: "analysis" }))),
      ),
    fc
      .array(fc.tuple(spoken, spoken), { maxLength: 6 })
      .map((texts) =>
        texts.map(([content, obfuscation]) =>
          JSON.stringify(delta({ content }, null, { obfuscation })),
        ),
      ),
  );

  it("says what the parser says", () => {
    fc.assert(
      fc.property(fc.array(run, { maxLength: 6 }), fc.boolean(), (runs, opened) => {
        const frames = [...(opened ? [role, head(0, "c0", "f", "{")] : []), ...runs.flat(), done];
        expect(read(frames)).toEqual(read(frames, { fast: false }));
      }),
      { numRuns: 1_000 },
    );
  });

  it("is not misled by words that stand elsewhere", () => {
    const odd = (content: string): Fields => ({
      note: '"content": "',
      ...text(content),
      more: { content: "b" },
    });
    expect(summarize([odd("a"), odd("b"), odd("c"), stop])).toEqual(["abc", "end"]);
  });
});
