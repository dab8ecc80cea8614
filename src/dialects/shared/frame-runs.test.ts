import { describe, expect, it } from "vitest";
import { cpuTime } from "../../../test/support/cpu-time.ts";
import type { Fields } from "../../turn/turn.ts";
import { asNextParagraph, FrameRuns, literalsOf } from "./frame-runs.ts";

const frame = (content: string, more: Fields = {}): Fields => ({
  id: "x",
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
  ...more,
});

/** Runs of frames like this one, whose text is under the key `content`. */
function learned(data: string, name?: string): FrameRuns {
  const runs = new FrameRuns();
  const raw = JSON.parse(data) as Record<string, unknown>;
  runs.learn(data, name, { raw, holder: {}, key: "content" });
  return runs;
}
const wire = (...frames: string[]): string => frames.map((data) => `data: ${data}\n\n`).join("");
const fit = (runs: FrameRuns, ...frames: string[]): string | undefined =>
  runs.take(wire(...frames), 0)?.literals.of;

describe("a stencil", () => {
  const good = JSON.stringify(frame("a"));
  const runs = (): FrameRuns => learned(good);

  it.each(["b", 'quote " and \\ and \n', "\u2028 é 😀", '"}}],"id":"y"'])("fits %j", (text) => {
    expect(fit(runs(), JSON.stringify(frame(text)))).toBe(text);
  });

  it.each([
    ["another id", JSON.stringify({ ...frame("a"), id: "y" })],
    ["more behind it", JSON.stringify(frame("a", { usage: null }))],
    ["an end", good.replace("null", '"stop"')],
    ["a bare control character", good.replace('"a"', '"\t"')],
    ["a bad escape", good.replace('"a"', '"\\x"')],
    ["no end", good.slice(0, -1)],
    ["an open string", JSON.stringify(frame("a\\")).slice(0, 45)],
    ["nothing in it", ""],
    ["no text", JSON.stringify(frame(""))],
  ])("does not fit a frame with %s", (_, data) => {
    expect(fit(runs(), data)).toBeUndefined();
  });

  it("looks past padding", () => {
    const padded = (obfuscation: string, z = 1): string =>
      JSON.stringify(frame("b", { obfuscation, z }));
    const runs = learned(padded("123"));
    expect(fit(runs, padded(""))).toBe("b");
    expect(fit(runs, padded("\n"))).toBeUndefined();
    expect(fit(runs, padded("4", 2))).toBeUndefined();
  });

  it("looks past other counts, if they are counts", () => {
    const counted = (tokens: unknown): string => JSON.stringify(frame("b", { usage: { tokens } }));
    const runs = new FrameRuns();
    const raw = JSON.parse(counted(9)) as Record<string, unknown>;
    runs.learn(counted(9), undefined, { raw, holder: {}, key: "content", counts: "usage" });
    expect(fit(runs, counted(0), counted(1200))).toBe("bb");
    for (const other of [-1, 1.5, "1", null]) expect(fit(runs, counted(other))).toBeUndefined();
    expect(fit(runs, counted(7).replace("7", "07"))).toBeUndefined();
  });

  it("finds the text behind words that look like its place", () => {
    const misleading = { note: '"content":"a"', ...frame("a") };
    const runs = learned(JSON.stringify(misleading));
    const other = { ...misleading, choices: frame("b").choices };
    expect(fit(runs, JSON.stringify(other))).toBe("b");
    expect(fit(runs, JSON.stringify({ ...other, note: '"content":"b"' }))).toBeUndefined();
  });

  it.each([
    ["stands twice", { meta: { content: "a" }, ...frame("a") }],
    ["is a value too", { type: "content", ...frame("a") }],
  ])("is not made if the key of the text %s", (_, ambiguous) => {
    const data = JSON.stringify(ambiguous);
    expect(fit(learned(data), data)).toBeUndefined();
  });

  it("is not made if the key of the text may be an escaped one", () => {
    const data = `{"meta":{"content":"a"},"choices":[{"delta":{"\\u0063ontent":"a"}}]}`;
    expect(fit(learned(data), data)).toBeUndefined();
  });

  it("has blanks where the frame has them", () => {
    const spaced = (content: string): string => `{ "choices" : [ { "content" :\t"${content}" } ] }`;
    const runs = learned(spaced("a"));
    expect(fit(runs, spaced("b"))).toBe("b");
    expect(fit(runs, spaced("b").replace("\t", " "))).toBeUndefined();
  });

  it("is of frames with the same event name", () => {
    const runs = learned(good, "delta");
    expect(runs.take(`event: delta\ndata: ${good}\n\n`, 0)?.literals.of).toBe("a");
    expect(runs.take(`event: other\ndata: ${good}\n\n`, 0)).toBeUndefined();
    expect(runs.take(wire(good), 0)).toBeUndefined();
  });
});

describe("a run of frames", () => {
  const said = (...texts: string[]): string =>
    wire(...texts.map((one) => JSON.stringify(frame(one))));
  const runs = learned(JSON.stringify(frame("a")));

  it("ends at the first frame of another shape", () => {
    const start = ": comment\n\n";
    const run = runs.take(`${start}${said("Hel", "lo")}data: [DONE]\n\n`, start.length);
    expect(run).toEqual({
      literals: { of: "Hello", pieces: ["Hel", "lo"] },
      end: start.length + said("Hel", "lo").length,
    });
  });

  it("ends at a frame that is not all there", () => {
    expect(runs.take(said("Hel", "lo").slice(0, -1), 0)?.literals.pieces).toEqual(["Hel"]);
  });

  it("has its pieces as they are written here", () => {
    const escaped = wire(JSON.stringify(frame("@")).replace("@", "\\u00e9\\/\\u000a\\n\\\\u"));
    expect(runs.take(escaped, 0)).toMatchObject({
      literals: { of: "é/\n\n\\u", pieces: ["é/\\n\\n\\\\u"] },
    });
  });

  it("joins a character that two frames share", () => {
    const halves = JSON.stringify(frame("@")).replace("@", "\\ud83d");
    const others = JSON.stringify(frame("@")).replace("@", "\\ude00");
    const run = runs.take(wire(halves, others), 0);
    expect(run).toMatchObject({ literals: { of: "😀", pieces: ["\\ud83d", "\\ude00"] } });
  });

  it("counts on numbers without gaps", () => {
    const numbered = (n: number): string => JSON.stringify(frame("a", { sequence_number: n }));
    const runs = learned(numbered(7));
    const frames = wire(numbered(8), numbered(9), numbered(10), numbered(12));
    expect(runs.take(frames, 0, 8)?.literals.pieces).toHaveLength(3);
    expect(runs.take(frames, 0, 9)).toBeUndefined();
  });
});

it("gives the text of a delta as one piece if a stage has changed it", () => {
  const literals = { of: "secret", pieces: ["sec", "ret"] };
  expect(literalsOf({ text: "secret", literals })).toEqual(["sec", "ret"]);
  expect(literalsOf({ text: '"***"', literals })).toEqual(['\\"***\\"']);
  expect(asNextParagraph({ text: "secret", literals }).literals?.pieces).toEqual([
    "\\n\\nsec",
    "ret",
  ]);
});

it("looks for its holes in linear time, however often their keys stand in a frame", () => {
  const labels = Array.from({ length: 40_000 }, () => '"content":""').join(",");
  const data = `{"labels":{${labels}},"choices":[{"delta":{"content":"a"}}]}`;
  const started = cpuTime();
  expect(fit(learned(data), data)).toBeUndefined();
  expect(cpuTime() - started).toBeLessThan(1_000);
});
