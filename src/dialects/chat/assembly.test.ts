import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallDelta, CallStart } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { CallAssembly, fragmentOf } from "./assembly.ts";
import { cpuTime } from "../../../test/support/cpu-time.ts";

type Told = { id: string; kind: string; name: string; input: string };

/** A piece of a call as upstreams send it: parts may be missing, null or empty. */
type Piece = {
  readonly index?: number | undefined;
  readonly id?: string | null;
  readonly kind?: string | null;
  readonly name?: string | null;
  readonly input?: unknown;
  /** True if another piece came before it in the same chunk. */
  readonly notFirst?: boolean;
};

/** The calls of pieces. `repaired`: some of them are not as the OpenAI API sends them. */
function assemble(pieces: readonly Piece[]): {
  calls: Told[];
  repaired: boolean;
  nameless: boolean;
} {
  const { assembly, calls } = reading();
  let repaired = false;
  let kind: Piece["kind"];
  for (const piece of pieces) {
    kind = piece.kind ?? kind;
    const raw = rawOf(piece, kind);
    repaired ||= piece.notFirst === true || !assembly.fits([raw], false);
    assembly.each(fragmentOf(raw, piece.notFirst === true));
  }
  repaired ||= assembly.begun < assembly.count || assembly.empty > 0;
  const nameless = !assembly.end();
  expect(assembly.begun < assembly.count).toBe(nameless);
  return { calls, repaired, nameless };
}

/** An assembly, and the calls that it emits. */
function reading(): { assembly: CallAssembly; calls: Told[] } {
  let made = 0;
  const calls: Told[] = [];
  const emit = (event: CallStart<UpstreamName> | CallDelta): void => {
    if (event.type === "call-start") {
      calls.push({ id: event.id, kind: event.kind, name: event.name, input: "" });
      return;
    }
    const call = calls[event.call];
    if (call === undefined) throw new Error("a delta before its start, or numbers with gaps");
    call.input += event.text;
  };
  const assembly = new CallAssembly(0, (prefix) => `${prefix}_new${made++}`, emit);
  return { assembly, calls };
}

/** A piece as an entry of `tool_calls`. */
function rawOf({ index, id, kind, name, input }: Piece, current = kind): Fields {
  const body =
    current === "custom" ? { custom: { name, input } } : { function: { name, arguments: input } };
  return JSON.parse(JSON.stringify({ index, id, type: kind, ...body })) as Fields;
}

const told = (name: string, input: string, id: string): Told => ({
  id,
  kind: "function",
  name,
  input,
});

describe("calls as the OpenAI API sends them", () => {
  it("are put together and need no repair", () => {
    const { calls, repaired } = assemble([
      { index: 0, id: "a", kind: "function", name: "read", input: "" },
      { index: 0, input: '{"path"' },
      { index: 0, input: ':"x"}' },
      { index: 1, id: "b", kind: "function", name: "read", input: "" },
      { index: 1, input: "{}" },
    ]);
    expect(calls).toEqual([told("read", '{"path":"x"}', "a"), told("read", "{}", "b")]);
    expect(repaired).toBe(false);
  });

  it("may be custom", () => {
    const { calls } = assemble([
      { index: 0, id: "a", kind: "custom", name: "patch", input: "*** Begin" },
      { index: 0, input: " Patch" },
    ]);
    expect(calls).toEqual([{ id: "a", kind: "custom", name: "patch", input: "*** Begin Patch" }]);
  });
});

describe("calls as others send them", () => {
  const one = [told("f", '{"a":1}', "a")];
  const two = [told("f", '{"a":1}', "a"), told("g", '{"b":2}', "b")];
  const twins = [told("f", '{"a":1}', "a"), told("f", '{"a":2}', "b")];
  const unnamed = [told("f", '{"a":1}', "call_new0"), told("f", '{"a":2}', "call_new1")];
  const head = { id: "a", kind: "function", name: "f" };
  const next = { id: "b", kind: "function", name: "g" };

  it.each<[string, Piece[], Told[]]>([
    [
      "an index from 1",
      [
        { ...head, index: 1, input: "" },
        { index: 1, input: '{"a":1}' },
      ],
      one,
    ],
    ["no index", [{ ...head, input: '{"a"' }, { input: ":1}" }], one],
    [
      "empty ids and names later",
      [
        { ...head, index: 0, input: "" },
        { index: 0, id: "", name: "", kind: "function", input: '{"a":1}' },
      ],
      one,
    ],
    [
      "null ids and names later",
      [
        { ...head, index: 0, input: null },
        { index: 0, id: null, name: null, kind: null, input: '{"a":1}' },
      ],
      one,
    ],
    [
      "the header with every piece",
      [
        { ...head, index: 0, input: '{"a"' },
        { ...head, index: 0, input: ":1}" },
        { ...head, index: 0, input: "" },
      ],
      one,
    ],
    [
      "the header with every piece and no index",
      [
        { ...head, input: "" },
        { ...head, input: '{"a"' },
        { ...head, input: ":1}" },
      ],
      one,
    ],
    [
      "an id that rotates",
      [
        { ...head, index: 0, input: "" },
        { ...head, index: 0, id: "a2", input: '{"a"' },
        { index: 0, id: "a3", input: ":1}" },
      ],
      one,
    ],
    [
      "an id that rotates and no index",
      [
        { ...head, input: '{"a"' },
        { id: "z", input: ":1}" },
      ],
      one,
    ],
    [
      "the name in pieces",
      [
        { index: 0, id: "a", kind: "function", name: "get_", input: "" },
        { index: 0, name: "wea" },
        { index: 0, name: "ther", input: "{}" },
      ],
      [told("get_weather", "{}", "a")],
    ],
    [
      "the name so far each time",
      [
        { index: 0, id: "a", kind: "function", name: "get" },
        { index: 0, name: "get_weather" },
        { index: 0, name: "get_weather", input: "{}" },
      ],
      [told("get_weather", "{}", "a")],
    ],
    [
      "the name after the arguments",
      [
        { index: 0, id: "a", input: '{"a"' },
        { index: 0, input: ":1}" },
        { index: 0, name: "f" },
      ],
      one,
    ],
    ["arguments as an object", [{ ...head, index: 0, input: { a: 1 } }], one],
    ["no arguments at all", [{ ...head, index: 0 }], [told("f", "", "a")]],
    ["another type word", [{ ...head, kind: "tool_call", index: 0, input: '{"a":1}' }], one],
    [
      "an empty piece first",
      [
        { index: 0, input: "" },
        { ...head, index: 0, input: '{"a":1}' },
      ],
      one,
    ],
    [
      "one index for two ids",
      [
        { ...head, index: 0, input: '{"a":1}' },
        { ...next, index: 0, input: '{"b":2}' },
      ],
      two,
    ],
    [
      "one index for two ids that take turns",
      [
        { ...head, index: 0, input: "" },
        { ...next, index: 0, input: "" },
        { index: 0, id: "a", input: '{"a":1}' },
        { index: 0, id: "b", input: '{"b":2}' },
      ],
      two,
    ],
    [
      "one index for two calls of one tool",
      [
        { ...head, index: 0, input: '{"a":1}' },
        { ...head, id: "b", index: 0, input: '{"a":' },
        { index: 0, input: "2}" },
      ],
      twins,
    ],
    [
      "one index, no ids, two calls",
      [
        { index: 0, name: "f", input: '{"a":1}' },
        { index: 0, name: "f", input: '{"a":2}' },
      ],
      unnamed,
    ],
    [
      "no index, no ids, two calls",
      [
        { name: "f", input: '{"a":1}' },
        { name: "f", input: '{"a":2}' },
      ],
      unnamed,
    ],
    [
      "no index, two calls beside each other without arguments",
      [
        { name: "f", input: "" },
        { name: "f", input: "", notFirst: true },
      ],
      [told("f", "", "call_new0"), told("f", "", "call_new1")],
    ],
    [
      "one index, two calls beside each other without arguments",
      [
        { ...head, index: 0, input: "" },
        { ...head, id: "b", index: 0, input: "", notFirst: true },
      ],
      [told("f", "", "a"), told("f", "", "b")],
    ],
    [
      "ids that rotate, in pieces beside each other",
      [
        { ...head, index: 0, input: '{"a"' },
        { ...next, index: 1, input: '{"b"', notFirst: true },
        { ...head, id: "a2", index: 0, input: ":1}" },
        { ...next, id: "b2", index: 1, input: ":2}", notFirst: true },
      ],
      two,
    ],
    [
      "no index, two calls without arguments",
      [
        { ...head, input: "" },
        { ...head, id: "b", input: "" },
      ],
      [told("f", "", "a"), told("f", "", "b")],
    ],
    [
      "no index, headers repeated beside each other",
      [
        { ...head, input: '{"a"' },
        { ...next, input: '{"b"', notFirst: true },
        { ...head, input: ":1}" },
        { ...next, input: ":2}", notFirst: true },
      ],
      two,
    ],
    [
      "one id for two indexes",
      [
        { ...head, index: 0, input: '{"a":1}' },
        { ...head, index: 1, input: '{"a":2}' },
      ],
      [told("f", '{"a":1}', "a"), told("f", '{"a":2}', "call_new0")],
    ],
    [
      "the whole call once more",
      [
        { ...head, index: 0, input: '{"a":1}' },
        { ...head, index: 0, input: '{"a":1}' },
      ],
      one,
    ],
    [
      "one index and one id for two calls",
      [
        { ...head, index: 0, input: '{"a":1}' },
        { ...head, index: 0, input: '{"a":2}' },
      ],
      [told("f", '{"a":1}', "a"), told("f", '{"a":2}', "call_new0")],
    ],
    [
      "one index, no ids, two equal calls",
      [
        { index: 0, name: "f", input: '{"a":1}' },
        { index: 0, name: "f", input: '{"a":1}' },
      ],
      [told("f", '{"a":1}', "call_new0"), told("f", '{"a":1}', "call_new1")],
    ],
    [
      "an index that jumps",
      [
        { ...head, index: 3, input: '{"a":1}' },
        { ...next, index: 7, input: '{"b":2}' },
      ],
      two,
    ],
  ])("%s", (_, fragments, calls) => {
    const read = assemble(fragments);
    expect(read.calls).toEqual(calls);
    expect(read.repaired).toBe(true);
  });

  it("cannot be answered without a name", () => {
    expect(assemble([{ index: 0, id: "a", input: "{}" }])).toEqual({
      calls: [],
      repaired: true,
      nameless: true,
    });
  });
});

it("gives the same calls however the arguments are cut", () => {
  const call = fc.record({ name: fc.constantFrom("f", "g"), input: fc.json() });
  fc.assert(
    fc.property(
      fc.array(call, { minLength: 1, maxLength: 4 }),
      fc.infiniteStream(fc.integer({ min: 1, max: 7 })),
      (wanted, cuts) => {
        const fragments = wanted.flatMap(({ name, input }, index): Piece[] => {
          const pieces: Piece[] = [{ index, id: `c${index}`, kind: "function", name, input: "" }];
          for (let at = 0; at < input.length;) {
            const length = cuts.next().value;
            pieces.push({ index, input: input.slice(at, at + length) });
            at += length;
          }
          return pieces;
        });
        const { calls, repaired } = assemble(fragments);
        expect(calls).toEqual(wanted.map((one, at) => told(one.name, one.input, `c${at}`)));
        expect(repaired).toBe(false);
      },
    ),
  );
});

it("takes a long call with its header on every piece in linear time", () => {
  const input = JSON.stringify({ text: "x".repeat(300_000) });
  const fragments = Array.from(input, (char): Piece => ({
    index: 0,
    id: "",
    kind: "function",
    name: "f",
    input: char,
  }));
  const started = cpuTime();
  expect(assemble(fragments).calls).toEqual([told("f", input, "call_new0")]);
  expect(cpuTime() - started).toBeLessThan(3_000);
});

it("knows arguments that are still open from those that are closed or free text", () => {
  const isUnclosed = (kind: string, ...pieces: string[]): boolean => {
    const { assembly } = reading();
    assembly.each(fragmentOf(rawOf({ index: 0, id: "a", kind, name: "f", input: "" }), false));
    for (const input of pieces) assembly.each(fragmentOf(rawOf({ index: 0, input }), false));
    return assembly.unclosed().length > 0;
  };
  expect(isUnclosed("function", '{"a', '":"}"')).toBe(true);
  expect(isUnclosed("function", '{"a', '":"}"}')).toBe(false);
  expect(isUnclosed("function")).toBe(false);
  expect(isUnclosed("custom", "if (a) {")).toBe(false);
});

describe("a header behind the end of a call", () => {
  it.each<[string, Piece[]]>([
    ["without ids", [{ name: "f", input: "" }, { input: "{" }, { input: "}" }]],
    ["with null for input", [{ name: "f", input: null }, { input: "{}" }]],
    [
      "by the same index",
      [
        { index: 0, name: "f" },
        { index: 0, input: "{}" },
      ],
    ],
    [
      "by the same id",
      [
        { id: "a", name: "f" },
        { id: "a", input: "{}" },
      ],
    ],
  ])("begins the next call if arguments follow: %s", (_, next) => {
    const { calls } = assemble([
      { index: next[0]?.index, id: "a", name: "f", input: "{}" },
      ...next,
    ]);
    expect(calls.map(({ name, input }) => name + input)).toEqual(["f{}", "f{}"]);
  });

  it("is only said again if none do", () => {
    const { calls } = assemble([
      { id: "a", name: "f", input: "{}" },
      { name: "f", input: "" },
    ]);
    expect(calls).toEqual([told("f", "{}", "a")]);
  });
});

describe("calls that never begin", () => {
  const long = "x".repeat(1_000_000);
  it.each<[string, (at: number) => Piece, number]>([
    ["arguments without a name", () => ({ index: 0, input: long }), 17],
    ["a name without end", (at) => ({ index: 0, name: `${at}${long}` }), 17],
    ["names without arguments", (at) => ({ index: at, name: "f" }), 300_000],
  ])("are not held without end: %s", (_, piece, count) => {
    const { assembly } = reading();
    const all = (): void => {
      for (let at = 0; at < count; at++) assembly.each(fragmentOf(rawOf(piece(at)), false));
    };
    expect(all).toThrow(expect.objectContaining({ code: "upstream.too_long" }));
  });

  it("are counted only until they begin", () => {
    const { assembly, calls } = reading();
    for (let at = 0; at < 30; at++) {
      assembly.each(fragmentOf(rawOf({ index: at, input: `{"a":"${long}"}` }), false));
      assembly.each(fragmentOf(rawOf({ index: at, name: "f" }), false));
    }
    expect(calls).toHaveLength(30);
  });
});
