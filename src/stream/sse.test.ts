import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { growth, LINEAR } from "../../test/support/growth.ts";
import { Fault } from "../turn/fault.ts";
import { sseComment, sseDone, sseFrame, SseReader } from "./sse.ts";

type Read = [data: string, name: string | undefined, partial: boolean];

const read = (slices: readonly string[], longest?: number): Read[] => {
  const frames: Read[] = [];
  const reader = new SseReader((...frame) => void frames.push(frame), { longest });
  for (const slice of slices) reader.feed(slice);
  reader.end();
  return frames;
};
const whole = (data: string, name?: string): Read => [data, name, false];

describe("SseReader", () => {
  it.each(["\n", "\r\n", "\r"])("reads frames with line end %j", (end) => {
    const text = ["event: x", "data: a", "", "data:b", "data: ", "data:  c", "", ""].join(end);
    expect(read([text])).toEqual([whole("a", "x"), whole("b\n\n c")]);
  });

  it("passes over comments, ids, retries, unknown fields and a byte order mark", () => {
    const text = "\uFEFF: hello\n\nid: 7\nretry: 10\nretry: soon\nnonsense\ndata: a\n:keep\n\n";
    expect(read([text])).toEqual([whole("a")]);
  });

  it("hands comments to whoever wants them, in their order", () => {
    const heard: string[] = [];
    const reader = new SseReader((data) => void heard.push(data), {
      onComment: (comment) => void heard.push(`: ${comment}`),
    });
    reader.feed("data: a\n\n: one\n\nda");
    reader.feed("ta: b\n\n:two\n");
    expect(heard).toEqual(["a", ": one", "b", ": two"]);
  });

  it("says nothing of a name without data", () => {
    expect(read(["event: x\n\ndata: a\n\n"])).toEqual([whole("a")]);
  });

  it.each(["data: a", "data: a\n", "data: a\r", "data: a\r\n"])(
    "hands over %j as partial when the connection closes",
    (text) => {
      expect(read([text])).toEqual([["a", undefined, true]]);
    },
  );

  it.each(["data: a\n\n", "data: a\r\r", "data: a\r\n\r\n", ": comment", "", "dat"])(
    "has nothing partial to hand over of %j",
    (text) => {
      expect(read([text]).filter(([, , partial]) => partial)).toEqual([]);
    },
  );

  it.each(["\n", "\r\n", "\r"])(
    "reads bare JSON behind the frames in whatever pieces it comes (line end %j)",
    (end) => {
      const error = { error: { code: 503, message: "Overloaded.", at: [1, null, "}"] } };
      const frame = `data: {"a": 1}${end}${end}`;
      for (const json of [JSON.stringify(error), JSON.stringify([error], undefined, 2)])
        for (const last of ["", end])
          for (let cut = 0; cut < frame.length + json.length; cut++) {
            const text = frame + json.replaceAll("\n", end) + last;
            const all = [
              read([text]),
              read([text.slice(0, cut), text.slice(cut)]),
              read(Array.from(text)),
            ];
            for (const [first, second, ...more] of all) {
              expect(first).toEqual(whole('{"a": 1}'));
              expect(second?.[1]).toBe("error");
              expect(JSON.parse(second?.[0] ?? "")).toEqual(JSON.parse(json));
              expect(more).toEqual([]);
            }
          }
    },
  );

  it("ignores a line between the frames that is too long", () => {
    const long = `{"a":"${"x".repeat(80_000)}`;
    expect(read(["data: a\n\n", ...Array.from(long), "\n\ndata: b\n\n"])).toEqual([
      whole("a"),
      whole("b"),
    ]);
  });

  it("refuses a frame beyond all measure, however it is sliced", () => {
    const long = "x".repeat(64);
    expect(() => read([`data: ${long}`], 50)).toThrow(Fault);
    expect(() => read(Array.from(`data: ${long}`), 50)).toThrow("more than 50 characters");
    expect(() => read(Array(8).fill("data: 12345678\n"), 50)).toThrow(Fault);
  });

  it("can be ended after it has refused", () => {
    const reader = new SseReader(() => {}, { longest: 5 });
    expect(() => reader.feed("data: 123456")).toThrow(Fault);
    expect(() => reader.end()).not.toThrow();
  });

  it("reads a long line in slices of 64 characters in linear time", async () => {
    const work = (length: number): void => {
      const slices = `data: ${"x".repeat(length)}\n\n`.match(/[^]{1,64}/g) ?? [];
      expect(read(slices)[0]?.[0].length).toBe(length);
    };
    expect(await growth(work, 250_000)).toBeLessThan(LINEAR);
  });

  const line = fc.oneof(
    { weight: 5, arbitrary: fc.string({ unit: "binary", maxLength: 8 }) },
    { weight: 1, arbitrary: fc.constantFrom("", " ", "data: ", ":", "\uFEFF", "{}") },
  );
  const plain = line.map((text) => text.replaceAll(/[\r\n]/g, ""));
  const frames = fc.array(
    fc.record({
      name: fc.option(fc.constantFrom("x", "response.created"), { nil: undefined }),
      lines: fc.array(plain, { minLength: 1, maxLength: 3 }),
      comment: fc.option(line, { nil: undefined }),
    }),
    { maxLength: 5 },
  );
  /** Cuts a text at the places given, as shares of its length. */
  const cut = (text: string, places: readonly number[]): string[] => {
    const at = places.map((place) => Math.floor(place * text.length)).toSorted((a, b) => a - b);
    return [0, ...at].map((from, index) => text.slice(from, at[index] ?? text.length));
  };
  const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });

  it("gives the same frames however the text is sliced and whatever its line ends", () => {
    const ends = fc.constantFrom("\n", "\r\n", "\r");
    fc.assert(
      fc.property(frames, ends, fc.boolean(), places, (said, end, hasMark, at) => {
        const text = said
          .flatMap(({ name, lines, comment }) => [
            ...(comment === undefined ? [] : [`:${comment.replaceAll(/[\r\n]/g, "")}`]),
            ...(name === undefined ? [] : [`event: ${name}`]),
            ...lines.map((one) => `data: ${one}`),
            "",
          ])
          .map((one) => one + end)
          .join("");
        const expected = said.map(({ name, lines }) => whole(lines.join("\n"), name));
        expect(read(cut((hasMark ? "\uFEFF" : "") + text, at))).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  it("reads back what is written, comments aside", () => {
    fc.assert(
      fc.property(frames, places, (said, at) => {
        const text = said
          .map(({ name, lines, comment }) => {
            const before = comment === undefined ? "" : sseComment(comment);
            return before + sseFrame(lines.join("\n"), name);
          })
          .join("");
        const expected = said.map(({ name, lines }) => whole(lines.join("\n"), name));
        expect(read(cut(text + sseDone, at))).toEqual([...expected, whole("[DONE]")]);
      }),
      { numRuns: 500 },
    );
  });
});

describe("sseFrame", () => {
  it("is one line of data, and one of name if there is one", () => {
    expect(sseFrame("{}")).toBe("data: {}\n\n");
    expect(sseFrame("{}", "x")).toBe("event: x\ndata: {}\n\n");
  });

  it("puts each line of data on a line of its own", () => {
    expect(sseFrame('{"a":\n1}')).toBe('data: {"a":\ndata: 1}\n\n');
  });
});

describe("sseComment", () => {
  it("stays a comment whatever is in it", () => {
    expect(sseComment("a\r\n\ndata: b")).toBe(": a data: b\n\n");
  });
});
