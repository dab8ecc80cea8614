import { describe, expect, it } from "vitest";
import { readGeminiStream } from "../../../test/support/gemini-reader.ts";
import {
  called,
  choice,
  chunksOf,
  end,
  lastOf,
  partsOf,
  seal,
  signed,
  start,
  text,
  thought,
  turnOf,
  whole,
  written,
  type Chunk,
  type Event,
} from "../../../test/support/gemini-writing.ts";
import { Fault } from "../../turn/fault.ts";
import type { Fields } from "../../turn/turn.ts";
import { sealedSignature, sealsIn } from "./signature.ts";
import { contentType } from "./write-events.ts";

describe("a stream", () => {
  it("says each piece of text in a chunk of its own, and the end with the counts in the last", () => {
    const usage = { input: 9, output: 7, total: 16, cached: 4, reasoning: 3 };
    const frame = (candidate: Fields, more: Fields = {}): string =>
      `data: ${JSON.stringify({ candidates: [candidate], ...more, modelVersion: "big", responseId: "own" })}\r\n\r\n`;
    const content = (said: string): Fields => ({
      content: { parts: [{ text: said }], role: "model" },
    });
    const usageMetadata = {
      promptTokenCount: 9,
      candidatesTokenCount: 4,
      cachedContentTokenCount: 4,
      thoughtsTokenCount: 3,
      totalTokenCount: 16,
    };
    expect(
      written([start, text("Hel"), text('lo "you"\n'), { type: "usage", usage }, end()]).text,
    ).toBe(
      frame({ ...content("Hel"), index: 0 }) +
        frame({ ...content('lo "you"\n'), index: 0 }) +
        frame({ ...content(""), finishReason: "STOP", index: 0 }, { usageMetadata }),
    );
  });

  it("writes the pieces of a run as they came", () => {
    const literals = { of: 'a"\u2028', pieces: ["a", '\\"', "\u2028"] };
    const chunks = chunksOf([
      start,
      { type: "text-delta", choice, text: literals.of, literals },
      end(),
    ]);
    expect(chunks.slice(0, 3).map(partsOf)).toEqual([
      [{ text: "a" }],
      [{ text: '"' }],
      [{ text: "\u2028" }],
    ]);
  });

  it("says thoughts only to a client that asked for them", () => {
    const events = [start, thought("Hm."), text("So."), end()];
    expect(partsOf(chunksOf(events)[0])).toEqual([{ text: "Hm.", thought: true }]);
    expect(partsOf(chunksOf(events, turnOf("sse", false))[0])).toEqual([{ text: "So." }]);
  });

  it("holds calls back and gives them in the last chunk, in the order of what is said", () => {
    const events = [start, text("One."), ...called(0, '{"a":1}'), text("Two."), ...called(1, "")];
    const chunks = chunksOf([...events, end("calls")]);
    expect(chunks.map(partsOf)).toEqual([
      [{ text: "One." }],
      [
        { functionCall: { id: "c0", name: "look", args: { a: 1 } } },
        { text: "Two." },
        { functionCall: { id: "c1", name: "look", args: {} } },
      ],
    ]);
    expect(lastOf([...events, end("calls")])["finishReason"]).toBe("STOP");
  });

  it("gives arguments as the model wrote them", () => {
    const { text: said } = written([
      start,
      ...called(0, '{"n": 12345678901234567890,\n"s":"\u2028"}'),
      end(),
    ]);
    expect(said).toContain('"args":{"n": 12345678901234567890, "s":"\\u2028"}');
  });

  it.each([
    ["length", "MAX_TOKENS"],
    ["filter", "SAFETY"],
    ["pause", "MAX_TOKENS"],
  ] as const)("gives no call of an answer that ends with %s", (stop, finishReason) => {
    const { decisions } = written([start, text("So."), ...called(0, "{}"), end(stop)]);
    const last = lastOf([start, text("So."), ...called(0, "{}"), end(stop)]);
    expect(last).toMatchObject({ finishReason, content: { parts: [{ text: "" }] } });
    expect(decisions.map(({ action }) => action)).toContain("dropped");
  });

  it("takes arguments that break off for an answer that was cut off", () => {
    const last = lastOf([start, ...called(0, "{}"), ...called(1, '{"a":"'), end("calls")]);
    expect(last).toMatchObject({ finishReason: "MAX_TOKENS", content: { parts: [{ text: "" }] } });
  });

  it.each(["[1]", '"look"', "{]}", "a: 1", "7"])("gives no call with the arguments %s", (input) => {
    const events = [start, ...called(0, "{}"), ...called(1, input), end("calls")];
    expect(lastOf(events)).toMatchObject({
      finishReason: "MALFORMED_FUNCTION_CALL",
      finishMessage: "The arguments of the call of `look` are not a JSON object.",
      content: { parts: [{ text: "" }] },
    });
    expect(written(events).decisions).toEqual([
      {
        path: "output.choices[0]",
        action: "dropped",
        reason: "a gemini answer has no form for a call whose arguments are not an object",
      },
    ]);
  });

  it("says a refusal as text that safety stopped", () => {
    const events: Event[] = [start, { type: "refusal-delta", choice, text: "I cannot." }, end()];
    const chunks = chunksOf(events);
    expect(partsOf(chunks[0])).toEqual([{ text: "I cannot." }]);
    expect(lastOf(events)["finishReason"]).toBe("SAFETY");
  });

  it("says why there is no text, since clients ask again after an empty answer", () => {
    const sentence = "The provider's content filter stopped the answer.";
    expect(partsOf(chunksOf([start, end("filter")])[0])).toEqual([{ text: sentence }]);
    const told = { finishReason: "RECITATION", finishMessage: "Too close to a source." };
    expect(lastOf([start, end("filter", told)])).toMatchObject({
      ...told,
      content: { parts: [{ text: told.finishMessage }] },
    });
  });

  it("keeps the fields of an end of its own dialect", () => {
    const pause = { continuationToken: "dG9r" };
    expect(lastOf([start, text("So"), end("pause", pause)])).toMatchObject({
      finishReason: "CONTINUATION",
      ...pause,
    });
    const promptFeedback = { blockReason: "OTHER" };
    const [last] = chunksOf([start, end("filter", { promptFeedback })]);
    expect(last).toMatchObject({ promptFeedback });
    expect(last?.["candidates"][0]).not.toHaveProperty("promptFeedback");
    // A rule of the gateway may have changed the end.
    expect(lastOf([start, end("length", { finishReason: "SAFETY" })])["finishReason"]).toBe(
      "MAX_TOKENS",
    );
  });

  it("ends a failure with one frame and a code that is a number", () => {
    const fault = new Fault("upstream.cut", "The upstream closed the stream; try again.");
    const events: Event[] = [start, text("So"), ...called(0, "{}"), { type: "turn-fail", fault }];
    const error = { code: 503, status: "UNAVAILABLE", message: fault.message };
    for (const form of ["sse", "array"] as const) {
      const stream = readGeminiStream(written(events, turnOf(form)).text, form);
      expect(stream.error).toMatchObject(error);
      expect(stream.chunks.map(partsOf)).toEqual([[{ text: "So" }]]);
      const failed = readGeminiStream(
        written([{ type: "turn-fail", fault }], turnOf(form)).text,
        form,
      );
      expect(failed).toMatchObject({ chunks: [], error });
    }
  });

  it("is one JSON list if the client did not ask for events", () => {
    const { text: said } = written([start, text("a"), text("b"), end()], turnOf("array"));
    expect((JSON.parse(said) as Chunk[]).map(partsOf)).toEqual([
      [{ text: "a" }],
      [{ text: "b" }],
      [{ text: "" }],
    ]);
    expect(said).toMatch(/^\[\{.*\}\n,\r\n\{.*\}\n,\r\n\{.*\}\n\]$/);
    expect(contentType(turnOf("array"))).toBe("application/json; charset=utf-8");
    expect(contentType(turnOf())).toBe("text/event-stream; charset=utf-8");
  });

  it("gives several choices by their index, and all ends at once", () => {
    const second = { choice: 1 };
    const events: Event[] = [
      start,
      text("a"),
      { type: "text-delta", ...second, text: "b" },
      { ...(called(0, "{}")[0] as Event & { type: "call-start" }), ...second },
      { type: "call-end", ...second, call: 0, complete: true },
      { type: "turn-end", ...second, stop: "calls" },
      end("length"),
    ];
    const chunks = chunksOf(events, { ...turnOf(), params: { n: 2 } });
    const of = (key: string) =>
      chunks.map(({ candidates }) => (candidates as Fields[]).map((one) => one[key]));
    expect(of("index")).toEqual([[0], [1], [0, 1]]);
    expect(of("finishReason").at(-1)).toEqual(["MAX_TOKENS", "STOP"]);
  });
});

describe("a signature", () => {
  it("with seals is on the next call, and a mark tells that text came before", () => {
    const [first, second, third] = ["a/m", "b/m", "c/m"].map(seal) as [string, string, string];
    const events = [start, signed(first), text("So."), signed(second), ...called(0, "{}")];
    const last = lastOf([...events, signed(third), ...called(1, "{}"), end("calls")]);
    const [one, two] = partsOf({ candidates: [last] });
    expect(sealsIn(String(one?.["thoughtSignature"]))).toEqual([
      { text: first, place: "before" },
      { text: second, place: "behind" },
    ]);
    expect(sealsIn(String(two?.["thoughtSignature"]))).toEqual([{ text: third, place: "before" }]);
  });

  it("without a later call is on a last text", () => {
    const thoughtSignature = sealedSignature([seal("a/m")]);
    const events = [start, signed(seal("a/m")), text("So."), end()];
    expect(chunksOf(events).map(partsOf)).toEqual([
      [{ text: "So." }],
      [{ text: "", thoughtSignature }],
    ]);
    expect(partsOf(whole(events))).toEqual([{ text: "So.", thoughtSignature }]);
  });

  it("stays when its call is not given", () => {
    const events = [start, signed(seal("a/m")), ...called(0, "{}"), end("length")];
    expect(partsOf(chunksOf(events)[0])).toEqual([
      { text: "", thoughtSignature: sealedSignature([seal("a/m")]) },
    ]);
  });

  it("of the model itself is on the part that it signs", () => {
    const executableCode = { language: "PYTHON", code: "1" };
    const events: Event[] = [
      start,
      thought("Hm."),
      signed("dGhvdWdodA==", "thought"),
      text("So."),
      signed("dGV4dA==", "text"),
      signed("Y29kZQ=="),
      { type: "item-start", choice, item: 0, dialect: "gemini", raw: { executableCode } },
      { type: "item-end", choice, item: 0, dialect: "gemini", raw: { executableCode } },
      signed("Y2FsbA=="),
      ...called(0, "{}"),
      end("calls"),
    ];
    const rest = [
      { executableCode, thoughtSignature: "Y29kZQ==" },
      { functionCall: { id: "c0", name: "look", args: {} }, thoughtSignature: "Y2FsbA==" },
    ];
    expect(chunksOf(events).flatMap((chunk) => partsOf(chunk))).toEqual([
      { text: "Hm.", thought: true },
      { text: "", thought: true, thoughtSignature: "dGhvdWdodA==" },
      { text: "So." },
      { text: "", thoughtSignature: "dGV4dA==" },
      ...rest,
    ]);
    expect(partsOf(whole(events))).toEqual([
      { text: "Hm.", thought: true, thoughtSignature: "dGhvdWdodA==" },
      { text: "So.", thoughtSignature: "dGV4dA==" },
      ...rest,
    ]);
  });
});

describe("what stands beside the text", () => {
  const note = (url: string, start_index = 0, end_index = 0): Event => ({
    type: "text-note",
    choice,
    annotation: { type: "url_citation", url, title: "T", start_index, end_index },
  });

  it("has citations as sources and the bytes that they support", () => {
    const events: Event[] = [
      start,
      text("Zoë. "),
      { type: "text-break", choice },
      text("Né à Rome."),
      note("http://a", 0, 2),
    ];
    const { groundingMetadata } = lastOf([...events, note("http://b"), note("http://a"), end()]);
    expect(groundingMetadata).toEqual({
      groundingChunks: [
        { web: { uri: "http://a", title: "T" } },
        { web: { uri: "http://b", title: "T" } },
      ],
      groundingSupports: [
        { segment: { startIndex: 6, endIndex: 9, text: "Né" }, groundingChunkIndices: [0] },
        {
          segment: { startIndex: 6, endIndex: 18, text: "Né à Rome." },
          groundingChunkIndices: [1, 0],
        },
      ],
    });
  });

  it("has log-probabilities with their text", () => {
    const logprobs = [
      { token: "a", logprob: -1, bytes: null, top_logprobs: [{ token: "b", logprob: -2 }] },
    ];
    const chunks = chunksOf([start, { type: "text-delta", choice, text: "a", logprobs }, end()]);
    expect(chunks[0]?.["candidates"][0].logprobsResult).toEqual({
      chosenCandidates: [{ token: "a", logProbability: -1 }],
      topCandidates: [{ candidates: [{ token: "b", logProbability: -2 }] }],
    });
  });

  it("has the images of other dialects, and tells of items that it cannot show", () => {
    const item = (raw: Fields): Event => ({
      type: "item-end",
      choice,
      item: 0,
      dialect: "responses",
      raw,
    });
    const image = { type: "image_generation_call", result: "aGk=", output_format: "webp" };
    expect(partsOf(chunksOf([start, item(image), end()])[0])).toEqual([
      { inlineData: { mimeType: "image/webp", data: "aGk=" } },
    ]);
    expect(written([start, item({ type: "web_search_call" }), end()]).decisions).toMatchObject([
      { action: "dropped", reason: "a gemini answer has no form for web_search_call items" },
    ]);
  });

  it("keeps fields of its own dialect, and tells of others", () => {
    const extra = (dialect: string, fields: Fields, of: "choice" | "answer" = "choice"): Event => ({
      type: "vendor-extra",
      choice,
      of,
      extra: { dialect, fields },
    });
    const own = [
      extra("gemini", { urlContextMetadata: { urlMetadata: [] } }),
      extra("gemini", { createTime: "now" }, "answer"),
    ];
    const { text: said, decisions } = written([
      start,
      ...own,
      extra("chat", { mood: "good" }),
      text("a"),
      end(),
    ]);
    const last = readGeminiStream(said).chunks.at(-1);
    expect(last).toMatchObject({
      createTime: "now",
      candidates: [{ urlContextMetadata: { urlMetadata: [] } }],
    });
    expect(decisions).toMatchObject([{ reason: "a gemini answer has no form for `mood`" }]);
  });
});
