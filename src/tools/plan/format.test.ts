import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ask, calling, fn, message, plain, said } from "../../../test/support/turns.ts";
import { fold } from "../../stream/fold.ts";
import { chain, runStage } from "../../stream/stage.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Format, Item } from "../../turn/turn.ts";
import { restoreAnswer } from "./restore.ts";
import { planTools } from "./plan.ts";
import { unfence } from "./format.ts";

type Event = TurnEvent<UpstreamName>;
const choice = 0;
const schema = { type: "object", properties: { sum: { type: "integer" } }, required: ["sum"] };
const asked: Format = { type: "schema", name: "sum", schema, strict: true };
const jsonOnly = { ...plain, formats: ["text", "json"] as const };
const plan = (format: Format = asked, profile = jsonOnly) =>
  planTools(ask({ format, tools: [fn("add")], items: [message("user", "1+1?")] }), profile);

const speak = (...pieces: string[]): Event[] => [
  { type: "text-start", choice },
  ...pieces.map((text): Event => ({ type: "text-delta", choice, text })),
  { type: "text-end", choice },
];
const stop = (how: "end" | "calls" | "length" = "end"): Event => ({
  type: "turn-end",
  choice,
  stop: how,
});
const answer = (events: readonly Event[], format = asked) =>
  fold(runStage(chain(restoreAnswer(plan(format))), events));
const textOf = (events: readonly Event[], format = asked): unknown => {
  const { fault, choices } = answer(events, format);
  return fault?.message ?? choices[0]?.items;
};

describe("a format", () => {
  it("that the upstream keeps to is only asked for", () => {
    const native = plan(asked, plain as typeof jsonOnly);
    expect(native.identical).toBe(true);
    expect(native.check).toBeUndefined();
  });

  it("that it cannot keep to beside tools is told to the model, if the conversation brings tools", () => {
    const profile: Profile = { ...plain, toolFormats: ["text"] };
    const loaded: Item = {
      type: "result",
      call: "c",
      kind: "tool_search",
      parts: [],
      declares: { tools: [fn("add")] },
    };
    const alone = planTools(ask({ format: asked, items: [message("user", "Hi")] }), profile);
    expect(alone.turn.format).toEqual(asked);
    const later = planTools(ask({ format: asked, items: [loaded] }), profile);
    expect(later.turn.format).toBeUndefined();
  });

  it("that it cannot keep to is told to the model, and JSON is asked for", () => {
    const { turn, decisions } = plan();
    expect(turn.format).toEqual({ type: "json" });
    expect(turn.items[0]).toMatchObject({ type: "message", role: "system" });
    expect(JSON.stringify(turn.items[0])).toContain(
      JSON.stringify(JSON.stringify(schema)).slice(1, -1),
    );
    expect(turn.items[1]).toEqual(message("user", "1+1?"));
    expect(decisions).toEqual([
      {
        path: "text.format",
        action: "changed",
        reason:
          "the upstream does not enforce schemas, so the instructions contain the schema and the gateway checks the answer",
      },
    ]);
  });

  describe("of a dialect that is strict about more schemas", () => {
    const asking = (format: Format, more: Partial<Profile> = {}) =>
      planTools(ask({ dialect: "messages", format }), { ...plain, ...more });

    it("is asked for without strictness where the upstream would refuse it, and checked", () => {
      const { turn, check, decisions } = asking(asked);
      expect(turn.format).toEqual({ ...asked, strict: false });
      expect(check).toEqual({ schema, strict: true });
      expect(decisions).toMatchObject([{ path: "output_config.format", action: "reshaped" }]);
    });

    it("is told to the model where the upstream is always strict, and checked", () => {
      const { turn, check } = asking(asked, { formats: ["text", "strict"] });
      expect(turn.format).toBeUndefined();
      expect(check).toEqual({ schema, strict: true });
    });

    it("is asked for as it is where both are strict about it", () => {
      const closed = { ...schema, additionalProperties: false };
      const { turn, check } = asking({ ...asked, schema: closed });
      expect(turn.format).toEqual({ ...asked, schema: closed });
      expect(check).toBeUndefined();
    });

    it("is the upstream's own affair where both speak the same dialect", () => {
      const { identical } = asking(asked, { dialect: "messages" });
      expect(identical).toBe(true);
    });
  });

  it("is told with the instructions there are", () => {
    const items = [message("system", "Be brief."), message("user", "1+1?")];
    const { turn } = planTools(ask({ format: { type: "json" }, items }), {
      ...plain,
      formats: ["text"],
    });
    expect(turn.format).toBeUndefined();
    expect(turn.items).toHaveLength(2);
    expect(turn.items[0]).toMatchObject({ parts: [...said("Be brief."), { type: "text" }] });
  });

  it("is kept by an answer that matches, with or without a fence", () => {
    const wanted = [{ type: "message", parts: said('{"sum": 2}') }];
    expect(textOf([...speak('{"sum":', " 2}"), stop()])).toMatchObject(wanted);
    expect(textOf([...speak("```js", 'on\n{"sum": 2', "}\n``", "`\n"), stop()])).toMatchObject(
      wanted,
    );
    expect(textOf([...speak('```\n{"sum": 2}```'), stop()])).toMatchObject(wanted);
    expect(
      textOf([...speak('```json\n{"sum": 2}\n```\nI hope', " this helps!"), stop()]),
    ).toMatchObject(wanted);
  });

  it.each([
    ["another shape", '{"sum": "two"}', 'at #/sum, Instance type "string" is invalid.'],
    ["no JSON", "The sum is 2.", "it is not JSON"],
    ["nothing", "", "it is empty"],
  ])("is not kept by %s, which fails the turn", (_, text, flaw) => {
    expect(textOf([...speak(text), stop()])).toContain(
      `The upstream's answer does not have the format that was asked for: ${flaw}`,
    );
  });

  it("is not asked of a turn that calls tools, was cut off, or refuses", () => {
    expect(
      answer([...speak("Let me add."), ...calling("add", ["{}"]), stop("calls")]).fault,
    ).toBeUndefined();
    expect(answer([...calling("add", ["{}"]), stop("calls")]).fault).toBeUndefined();
    expect(answer([...speak('{"su'), stop("length")]).fault).toBeUndefined();
    const refusal: Event = { type: "refusal-delta", choice, text: "No." };
    expect(
      answer([{ type: "text-start", choice }, refusal, { type: "text-end", choice }, stop()]).fault,
    ).toBeUndefined();
  });

  it("is held against the last message of a turn", () => {
    expect(
      answer([...speak("Thinking aloud."), ...speak('{"sum":2}'), stop()]).fault,
    ).toBeUndefined();
  });

  it("whose schema cannot be read holds nobody to anything", () => {
    const odd: Format = { ...asked, schema: { $ref: "https://example.com/nowhere" } };
    expect(answer([...speak("{}"), stop()], odd).fault).toBeUndefined();
  });

  it("without strictness is freed of fences and no more", () => {
    const loose: Format = { ...asked, strict: false };
    expect(textOf([...speak("```json\n{}\n```"), stop()], loose)).toMatchObject([
      { parts: said("{}") },
    ]);
  });

  it("fails the whole turn if one of its choices does, and then ends none", () => {
    const events = runStage(chain(restoreAnswer(plan())), [
      ...speak('{"sum":2}'),
      { type: "text-start", choice: 1 },
      { type: "text-delta", choice: 1, text: "no" },
      { type: "text-end", choice: 1 },
      stop(),
      { type: "turn-end", choice: 1, stop: "end" },
    ]);
    expect(events.at(-1)?.type).toBe("turn-fail");
    expect(events.filter(({ type }) => type === "turn-end")).toEqual([]);
  });
});

describe("unfence", () => {
  const read = (pieces: readonly string[]): string => {
    const decoder = unfence();
    return pieces.map((piece) => decoder.each(piece)).join("") + decoder.end(true);
  };

  it("leaves any text alone that has no fence, and takes any fence off, in any pieces", () => {
    const cut = (text: string, places: readonly number[]): string[] => {
      const at = [
        0,
        ...places.map((place) => place % (text.length + 1)).toSorted((a, b) => a - b),
        text.length,
      ];
      return at.slice(1).map((to, index) => text.slice(at[index], to));
    };
    fc.assert(
      fc.property(
        fc.json(),
        fc.constantFrom("", "json", "JSON"),
        fc.array(fc.nat()),
        (json, word, places) => {
          expect(read(cut(json, places))).toBe(json);
          expect(read(cut(`\`\`\`${word}\n${json}\n\`\`\``, places))).toBe(json);
        },
      ),
    );
    fc.assert(
      fc.property(fc.string(), fc.array(fc.nat()), (text, places) => {
        const plainText = `x${text}`;
        expect(read(cut(plainText, places))).toBe(plainText);
      }),
    );
  });
});
