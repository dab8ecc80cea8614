import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  called,
  choice,
  chunksOf,
  end,
  type Event,
  signed,
  start,
  text,
  thought,
  turnOf,
  whole,
} from "../../../test/support/gemini-writing.ts";
import { writeSeal } from "../../turn/seal.ts";
import type { Fields, Item } from "../../turn/turn.ts";
import { readContents } from "./read-contents.ts";
import { DUMMY } from "./signature.ts";

const hi = { role: "user", parts: [{ text: "Hi" }] };
const ignored = { repair: () => {}, drop: () => {}, change: () => {} };
const model = (...parts: unknown[]) => ({ role: "model", parts });
const itemsOf = (...contents: unknown[]): readonly Item[] =>
  readContents([hi, ...contents], ignored).items.slice(1);

const seal = (encrypted: string, more: Fields = {}): string =>
  writeSeal({ from: "up/m", encrypted, ...more });
const said = (words: string): Item => ({
  type: "message",
  role: "assistant",
  parts: [{ type: "text", text: words }],
});
const sealed = (encrypted: string, summary: string[] = []): Item => ({
  type: "reasoning",
  summary,
  content: [],
  encrypted,
});

const withoutEmptyText = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null || !("text" in value)) return value;
  const { text: words, ...rest } = value;
  return words === "" ? rest : value;
};

/** The conversations in which clients keep an answer: by chunk, whole, and as clients rewrite parts. */
const histories = (events: readonly Event[], showsThoughts: boolean): unknown[][] => {
  const turn = turnOf("sse", showsThoughts);
  const chunks = chunksOf(events, turn).map((chunk) => chunk["candidates"][0].content as Fields);
  const one = whole(events, turn)["candidates"][0].content as Fields;
  const inUrls = JSON.parse(
    JSON.stringify(one, (key, value: unknown) =>
      key === "thoughtSignature" ? String(value).replaceAll("+", "-").replaceAll("/", "_") : value,
    ),
  ) as Fields;
  // Gemini CLI sends an empty text with a signature back as a signature alone.
  const bare = JSON.parse(
    JSON.stringify(one, (_, value: unknown) => withoutEmptyText(value)),
  ) as Fields;
  return [chunks, [one], [inUrls], [bare]];
};

describe("an answer that its client gives back", () => {
  const step = fc.record({
    before: fc.array(fc.nat(999), { maxLength: 2 }),
    words: fc.constantFrom("", "So.", "Zürich\u2028"),
    behind: fc.array(fc.nat(999), { maxLength: 2 }),
    hasThought: fc.boolean(),
  });

  it("has its text, its calls and its seals in their places", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 4 }), fc.boolean(), (steps, shows) => {
        const events: Event[] = [start];
        const wanted: Item[] = [];
        for (const [at, { before, words, behind, hasThought }] of steps.entries()) {
          const isThought = hasThought && before.length > 0;
          if (isThought) events.push(thought("Hm."));
          for (const [number, one] of before.entries()) {
            events.push(signed(seal(`b${one}`)));
            wanted.push(sealed(seal(`b${one}`), isThought && shows && number === 0 ? ["Hm."] : []));
          }
          if (words !== "") {
            events.push(text(words));
            wanted.push(said(words));
          }
          for (const one of behind) {
            events.push(signed(seal(`a${one}`)));
            wanted.push(sealed(seal(`a${one}`)));
          }
          events.push(...called(at, '{"a":1}'));
          wanted.push(
            expect.objectContaining({ type: "call", id: `c${at}`, input: '{"a":1}' }) as Item,
          );
        }
        for (const contents of histories([...events, end("calls")], shows))
          expect(itemsOf(...contents)).toEqual(wanted);
      }),
    );
  });

  it("has a signed text and a signed thought", () => {
    const own = { dialect: "gemini", fields: {}, hints: { on: "text" } };
    const events: Event[] = [
      start,
      thought("Hm."),
      {
        type: "reasoning-end",
        choice,
        encrypted: seal("t"),
        extra: { ...own, hints: { on: "thought" } },
      },
      text("So."),
      { type: "reasoning-end", choice, encrypted: seal("x"), extra: own },
      end(),
    ];
    for (const contents of histories(events, true))
      expect(itemsOf(...contents)).toEqual([
        {
          ...sealed(seal("t"), ["Hm."]),
          extra: { dialect: "gemini", fields: {}, hints: { on: "thought" } },
        },
        said("So."),
        { ...sealed(seal("x")), extra: own },
      ]);
  });

  it("has no second copy of thoughts that their seal holds", () => {
    const one = seal("t", { content: ["Hm."] });
    const events = [start, thought("Hm."), signed(one), ...called(0, "{}"), end("calls")];
    for (const contents of histories(events, true))
      expect(itemsOf(...contents)[0]).toEqual(sealed(one));
  });

  it("has the seals of the provider's own work before it", () => {
    const raw = { toolCall: { id: "s", toolType: "GOOGLE_SEARCH_WEB", args: {} } };
    const events: Event[] = [
      start,
      signed(seal("s")),
      { type: "item-start", choice, item: 0, dialect: "gemini", raw },
      { type: "item-end", choice, item: 0, dialect: "gemini", raw },
      ...called(0, "{}"),
      end("calls"),
    ];
    for (const contents of histories(events, true))
      expect(itemsOf(...contents).slice(0, 2)).toEqual([
        sealed(seal("s")),
        { type: "opaque", dialect: "gemini", raw },
      ]);
  });
});

describe("a signature that is no seal", () => {
  const call = { functionCall: { id: "a", name: "f", args: {} } };
  const own = "c2lnbmVk";

  it("stays with its part", () => {
    expect(itemsOf(model({ text: "So." }, { ...call, thoughtSignature: own }))[1]).toEqual(
      sealed(own),
    );
    expect(itemsOf(model({ text: "So.", thoughtSignature: own }))[1]).toEqual({
      ...sealed(own),
      extra: { dialect: "gemini", fields: {}, hints: { on: "text" } },
    });
    expect(itemsOf(model({ text: "So.", thought: true, thought_signature: own }))).toEqual([
      {
        ...sealed(own, ["So."]),
        extra: { dialect: "gemini", fields: {}, hints: { on: "thought" } },
      },
    ]);
  });

  it.each([DUMMY, btoa(DUMMY), "context_engineering_is_the_way_to_go"])(
    "but stands for none is left out: %s",
    (thoughtSignature) => {
      expect(itemsOf(model({ ...call, thoughtSignature })).map(({ type }) => type)).toEqual([
        "call",
      ]);
    },
  );

  it("may be of any form", () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.constantFrom("text", "functionCall"),
        (thoughtSignature, kind) => {
          const part = kind === "text" ? { text: "So." } : call;
          const items = itemsOf(model({ ...part, thoughtSignature }));
          expect(items.some(({ type }) => type !== "reasoning")).toBe(true);
        },
      ),
    );
  });
});
