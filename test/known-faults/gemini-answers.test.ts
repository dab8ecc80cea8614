import { describe, expect, it } from "vitest";
import { answerInGemini, geminiChunk, geminiFrame } from "../support/fake-gemini.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import { answerInChat, answerInResponses, chunk, type FakeAnswer } from "../support/fake-model.ts";
import { cut, done, frame, json, sse, type Body, type Model } from "../support/fake-upstream.ts";
import { serve } from "../support/serve.ts";
import { askGemini, hi, look, type Asking } from "./gemini.ts";

// Each row is a fault of another gateway, with the thread that reports it.

const says = (
  say: FakeAnswer,
): Readonly<Record<"chat" | "responses" | "messages" | "gemini", Model>> => ({
  chat: ({ body }) => answerInChat(body, say),
  responses: ({ body }) => answerInResponses(body, say),
  messages: ({ body }) => answerInMessages(body, say),
  gemini: ({ path }) => answerInGemini(path, say),
});
const upstreams = ["chat", "responses", "messages", "gemini"] as const;

/** A Gemini upstream that sends these chunks, streamed or in one piece. */
const sends =
  (...chunks: readonly Body[]): Model =>
  ({ path }) =>
    path.includes(":stream") ? sse(...chunks.map(geminiFrame)) : json(chunks[0]);
const sendsRaw =
  (...frames: Parameters<typeof sse>): Model =>
  () =>
    sse(...frames);
const text = geminiChunk([{ text: "So." }]);
const end = geminiChunk([{ text: "" }], "STOP");
const call = { functionCall: { id: "c1", name: "look", args: { at: "x" } } };
const tools = { tools: [{ functionDeclarations: [look] }] };
const streamed = { to: "gemini", stream: "sse" } as const;

/** Parts of a candidate. */
const partsOf = ({ candidate }: { readonly candidate: Body }): Body[] =>
  (candidate["content"]?.parts ?? []) as Body[];
const deltas =
  (finish: string, ...said: readonly unknown[]): Model =>
  () =>
    sse(...said.map((delta) => chunk(0, delta)), chunk(0, {}, finish), done);
const chatCall = (input: string | undefined, id = "c1"): Body => ({
  tool_calls: [{ index: 0, id, type: "function", function: { name: "look", arguments: input } }],
});

describe("streams for Gemini clients", () => {
  it.each(upstreams)("SSE though no `alt=sse` asks for it (litellm#28777): %s", async (to) => {
    const model = says({ text: "So." })[to];
    for (const query of ["", "?alt=json", "?$alt=json"]) {
      const { headers, candidate } = await askGemini(
        {},
        { to, says: model, stream: "array", query },
      );
      expect(headers.get("content-type")).toMatch(/^application\/json/);
      expect(candidate).toMatchObject({ content: { parts: [{ text: "So." }] } });
    }
    const { headers } = await askGemini({}, { to, says: model, stream: "sse" });
    expect(headers.get("content-type")).toMatch(/^text\/event-stream/);
  });

  it("comments kill Google's SDKs, or swallow the frame behind them (pi#9633, go-genai#903)", async () => {
    const frames = [": keepalive\n\n", geminiFrame(text), `: more\r\n${geminiFrame(end)}`];
    const { candidate } = await askGemini({}, { ...streamed, says: sendsRaw(...frames) });
    expect(candidate).toMatchObject({
      content: { parts: [{ text: "So." }] },
      finishReason: "STOP",
    });
  });

  it("a relay writes `data: : keepalive` (opencode#50871)", async () => {
    const frames = ["data: : keepalive\n\n", geminiFrame(text), geminiFrame(end)];
    const { candidate } = await askGemini({}, { ...streamed, says: sendsRaw(...frames) });
    expect(candidate).toMatchObject({
      content: { parts: [{ text: "So." }] },
      finishReason: "STOP",
    });
  });

  it.each([
    [
      "raw, over several lines",
      JSON.stringify({ error: { code: 503, message: "Overloaded." } }, undefined, 2),
    ],
    ["in a frame", geminiFrame({ error: { code: 503, message: "Overloaded." } })],
    ["in a list", JSON.stringify([{ error: { code: 503, message: "Overloaded." } }])],
  ])("an error inside a stream of status 200 is swallowed (vercel/ai#5217): %s", async (_, raw) => {
    const model = sendsRaw(geminiFrame(text), raw);
    const { error, isWhole } = await askGemini({}, { ...streamed, says: model });
    expect(error).toMatchObject({ code: 503, status: "UNAVAILABLE" });
    expect(error?.["message"]).toContain("Overloaded.");
    expect(isWhole).toBe(false);
  });

  it.each(upstreams)("a cut is told as `STOP` (hydra#869): %s", async (to) => {
    const model: Model = (request, index) => {
      const { steps, ...answer } = says({ text: "So it is." })[to](request, index);
      return { ...answer, steps: [...(steps as string[])].slice(0, 3).concat(cut as never) };
    };
    for (const stream of ["sse", "array"] as const) {
      const { error, isWhole, text: all } = await askGemini({}, { to, says: model, stream });
      expect(error).toMatchObject({ code: 503, status: "UNAVAILABLE" });
      expect(isWhole).toBe(false);
      expect(all).not.toContain("finishReason");
    }
  });

  it("a chunk that is no object ends the stream (bifrost#5188)", async () => {
    const model = sendsRaw(geminiFrame(text), geminiFrame("odd"), geminiFrame(7), geminiFrame(end));
    const { candidate, decisions } = await askGemini({}, { ...streamed, says: model });
    expect(candidate).toMatchObject({
      content: { parts: [{ text: "So." }] },
      finishReason: "STOP",
    });
    expect(decisions.filter((one) => one.startsWith("noticed"))).toEqual([
      "noticed output: the upstream sent a chunk that is not an object; it was skipped",
    ]);
  });

  it("an upstream's list or candidate without content ends the stream (gemini-rust#29)", async () => {
    const bare = { candidates: [{ index: 0, finishReason: "STOP" }], modelVersion: "m" };
    const list: Model = () => json(`[${JSON.stringify(text)}\n,\r\n${JSON.stringify(bare)}\n]`);
    for (const model of [list, sends(text, bare)]) {
      const { candidate } = await askGemini({}, { ...streamed, says: model });
      expect(candidate).toMatchObject({
        content: { parts: [{ text: "So." }] },
        finishReason: "STOP",
      });
    }
  });

  it("`STOP` on every chunk, or on empty first ones (CLIProxyAPI#5651, one-api#1477)", async () => {
    const stop = (part: string): Body => geminiChunk([{ text: part }], "STOP");
    const model = sends(stop(""), stop("So "), stop("it is."), stop(""));
    const { candidate, chunks, text: all } = await askGemini({}, { ...streamed, says: model });
    expect(candidate).toMatchObject({ content: { parts: [{ text: "So it is." }] } });
    expect(all.match(/finishReason/g)).toHaveLength(1);
    expect(chunks.at(-1)).toMatchObject({ candidates: [{ finishReason: "STOP" }] });
  });

  it("a reason that is null is read as present (one-api#1477)", async () => {
    const open = { candidates: [{ content: { parts: [{ text: "So." }] }, finishReason: null }] };
    const { candidate } = await askGemini({}, { ...streamed, says: sends(open, end) });
    expect(candidate).toMatchObject({
      content: { parts: [{ text: "So." }] },
      finishReason: "STOP",
    });
  });

  it.each([undefined, "sse"] as const)(
    "no end after thoughts (CLIProxyAPI#5226), stream: %s",
    async (stream) => {
      const usageMetadata = { promptTokenCount: 4, thoughtsTokenCount: 3, totalTokenCount: 7 };
      const thought = { ...geminiChunk([{ text: "Hm.", thought: true }]), usageMetadata };
      const asked = { to: "gemini", says: sends(thought), ...(stream && { stream }) } as const;
      const { candidate, error } = await askGemini({}, asked);
      expect(error).toBeUndefined();
      expect(candidate).toMatchObject({ finishReason: "STOP" });
    },
  );

  it("the reason of a last candidate without content is lost (req_llm#638)", async () => {
    const last = { candidates: [{ finishReason: "MAX_TOKENS", index: 0 }] };
    const { candidate } = await askGemini({}, { ...streamed, says: sends(text, last) });
    expect(candidate).toMatchObject({
      content: { parts: [{ text: "So." }] },
      finishReason: "MAX_TOKENS",
    });
  });
});

describe("ends of answers for Gemini clients", () => {
  it.each(["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"])(
    "an empty success (req_llm#944, sub2api#7081): %s",
    async (reason) => {
      const bad = geminiChunk([call], reason);
      const asking: Asking[] = [
        { to: "gemini", says: sends(bad) },
        { ...streamed, says: sends(bad) },
      ];
      for (const one of asking) {
        const { error, text: all, sent } = await askGemini(tools, { ...one, more: { retries: 1 } });
        expect(error).toMatchObject({ code: expect.any(Number) as number });
        expect(all).not.toContain('"functionCall"');
        expect(sent).toHaveLength(2);
      }
    },
  );

  it.each([
    ["a content without parts", { content: { role: "model" }, finishReason: "MAX_TOKENS" }],
    ["parts that are null", { content: { parts: null }, finishReason: "MAX_TOKENS" }],
    ["no content", { finishReason: "MAX_TOKENS" }],
  ])("the reason is lost (litellm#24442, #40477): %s", async (_, candidate) => {
    const body = { candidates: [{ ...candidate, index: 0 }] };
    for (const one of [
      { to: "gemini", says: sends(body) },
      { ...streamed, says: sends(body) },
    ] as const) {
      const { candidate: told } = await askGemini({}, one);
      expect(told).toMatchObject({
        finishReason: "MAX_TOKENS",
        content: { role: "model", parts: [{ text: "" }] },
      });
    }
  });

  it("no candidates: a prompt that was blocked (litellm#10186)", async () => {
    const body = { promptFeedback: { blockReason: "SAFETY" }, modelVersion: "m" };
    for (const one of [
      { to: "gemini", says: sends(body) },
      { ...streamed, says: sends(body) },
    ] as const) {
      const { candidate, answer } = await askGemini({}, one);
      expect(candidate).toMatchObject({ finishReason: "SAFETY" });
      expect(partsOf({ candidate })[0]?.["text"]).toMatch(/filter|SAFETY|block/i);
      expect(answer["promptFeedback"]).toEqual({ blockReason: "SAFETY" });
    }
  });

  it("an empty `STOP` after results (livekit/agents#4066)", async () => {
    const contents = [
      ...hi.contents,
      { role: "model", parts: [call] },
      { role: "user", parts: [{ functionResponse: { id: "c1", name: "look", response: {} } }] },
    ];
    const behind = { ...tools, contents };
    const blank = "noticed output: the upstream ended its answer without content";
    const emptyFirst: Model = (request, at) =>
      sends(at === 0 ? end : geminiChunk([{ text: "So." }], "STOP"))(request, at);
    const rows = [
      // It is asked for once more behind results, and only if the upstream may be asked again.
      { asked: behind, says: emptyFirst, retries: 2, sent: 2, words: "So.", noticed: [] },
      { asked: behind, says: sends(end), retries: 2, sent: 2, words: "", noticed: [blank] },
      { asked: behind, says: sends(end), retries: 0, sent: 1, words: "", noticed: [blank] },
      { asked: tools, says: sends(end), retries: 2, sent: 1, words: "", noticed: [blank] },
    ];
    for (const { asked, says, retries, sent, words, noticed } of rows)
      for (const stream of [undefined, "sse"] as const) {
        const asking = {
          to: "gemini",
          says,
          more: { retries },
          ...(stream && { stream }),
        } as const;
        const answer = await askGemini(asked, asking);
        expect(answer.candidate).toMatchObject({ finishReason: "STOP" });
        expect(partsOf(answer)).toEqual([{ text: words }]);
        expect(answer.sent).toHaveLength(sent);
        expect(answer.decisions.filter((one) => one.startsWith("noticed"))).toEqual(noticed);
      }
  });

  it("`MAX_TOKENS` becomes `OTHER`, failures `stop`, and whole answers have no reason (bifrost#5978)", async () => {
    for (const to of upstreams) {
      const model = says({ text: "So", stop: "length" })[to];
      for (const stream of [undefined, "sse", "array"] as const) {
        const { candidate } = await askGemini({}, { to, says: model, ...(stream && { stream }) });
        expect([to, candidate["finishReason"]]).toEqual([to, "MAX_TOKENS"]);
      }
    }
  });

  it.each(upstreams)(
    "length told as `stop`, or hidden behind calls (litellm#10768, hermes-agent#43478): %s",
    async (to) => {
      const calls = [{ id: "c1", name: "look", arguments: '{"at":"x"}' }];
      const model = says({ text: "So.", calls, stop: "length" })[to];
      for (const stream of [undefined, "sse"] as const) {
        const { candidate, text: all } = await askGemini(tools, {
          to,
          says: model,
          ...(stream && { stream }),
        });
        expect(candidate["finishReason"]).toBe("MAX_TOKENS");
        expect(all).not.toContain("functionCall");
      }
    },
  );

  it("streamed arguments are a KeyError, with file paths in the error (litellm)", async () => {
    const piece = (functionCall: Body): Body => geminiChunk([{ functionCall }]);
    const model = sends(
      piece({ id: "c1", name: "look", willContinue: true }),
      piece({
        partialArgs: [{ jsonPath: "$.at", stringValue: "x", willContinue: true }],
        willContinue: true,
      }),
      piece({ partialArgs: [{ jsonPath: "$.at", stringValue: "y" }], willContinue: true }),
      piece({}),
      end,
    );
    const { candidate } = await askGemini(tools, { ...streamed, says: model });
    expect(partsOf({ candidate })).toMatchObject([
      { functionCall: { id: "c1", name: "look", args: { at: "xy" } } },
    ]);
    const broken = sends(piece({ id: "c1", name: "look", partialArgs: [{ jsonPath: "%" }] }), end);
    const { error, text: all } = await askGemini(tools, { ...streamed, says: broken });
    expect(error).toBeDefined();
    expect(all).not.toMatch(/\/src\/|\.ts\b|TypeError|at Object/);
  });

  it("a call without arguments is dropped (litellm)", async () => {
    const bare: readonly ["chat" | "gemini", Model][] = [
      ["chat", deltas("tool_calls", chatCall(undefined))],
      ["chat", deltas("tool_calls", chatCall(""))],
      ["gemini", sends(geminiChunk([{ functionCall: { name: "look" } }], "STOP"))],
      ["gemini", sends(geminiChunk([{ functionCall: { name: "look", args: null } }], "STOP"))],
    ];
    for (const [to, model] of bare) {
      const { candidate } = await askGemini(tools, { to, says: model, stream: "sse" });
      expect(partsOf({ candidate })).toMatchObject([{ functionCall: { name: "look", args: {} } }]);
    }
  });

  it("a call with broken arguments is an empty `STOP` (litellm)", async () => {
    for (const input of ['{"at":"x', '{"at":x}', "[1]", "7"]) {
      const model = deltas("tool_calls", chatCall(input));
      const { candidate, text: all } = await askGemini(tools, { says: model, stream: "sse" });
      expect(candidate["finishReason"]).not.toBe("STOP");
      expect(all).not.toContain('"functionCall"');
    }
  });

  it("a last chunk without parts or with no usage: SDK chats forget the turn (litellm)", async () => {
    for (const to of upstreams) {
      const { chunks } = await askGemini(
        {},
        { to, says: says({ text: "So." })[to], stream: "sse" },
      );
      const last = chunks.at(-1);
      expect(last).toMatchObject({
        candidates: [{ content: { role: "model", parts: [{ text: "" }] }, finishReason: "STOP" }],
        usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 },
      });
    }
  });
});

describe("thoughts and counts for Gemini clients", () => {
  it("thoughts are not counted as output, or counted twice (sub2api#554, CLIProxyAPI#5744)", async () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 30,
      total_tokens: 40,
      completion_tokens_details: { reasoning_tokens: 20 },
      prompt_tokens_details: { cached_tokens: 4 },
    };
    const choices = [{ index: 0, message: { content: "So." }, finish_reason: "stop" }];
    const { answer } = await askGemini(
      {},
      { says: () => json({ id: "c", model: "m", choices, usage }) },
    );
    expect(answer["usageMetadata"]).toEqual({
      promptTokenCount: 10,
      candidatesTokenCount: 10,
      thoughtsTokenCount: 20,
      cachedContentTokenCount: 4,
      totalTokenCount: 40,
    });
  });

  it("thoughts become visible text, or come unasked (litellm#17793)", async () => {
    const model = deltas("stop", { reasoning_content: "Hm." }, { content: "Yes." });
    const { candidate, text: all } = await askGemini({}, { says: model, stream: "sse" });
    expect(
      partsOf({ candidate })
        .map((part) => part["text"] as string)
        .join(""),
    ).toBe("Yes.");
    expect(all).not.toContain("Hm.");
    const shows = { generationConfig: { thinkingConfig: { includeThoughts: true } } };
    const shown = await askGemini(shows, { says: model, stream: "sse" });
    expect(partsOf(shown)).toMatchObject([{ text: "Hm.", thought: true }, { text: "Yes." }]);
  });

  it("half a sentence as a success, because thoughts ate a small limit (hermes-agent#87208)", async () => {
    const model = sends(geminiChunk([{ text: "So" }], "MAX_TOKENS"));
    const asked = { generationConfig: { max_output_tokens: 20 } };
    const path = "/v1beta/models/gemini-3.5-flash:generateContent";
    const more = { profile: "gemini" };
    const { candidate, decisions } = await askGemini(
      { ...asked, contents: [{ parts: [{ text: "Hi" }] }] },
      { to: "gemini", says: model, more, path },
    );
    expect(candidate["finishReason"]).toBe("MAX_TOKENS");
    expect(decisions.join()).toMatch(/noticed generationConfig.maxOutputTokens: thoughts count/);
  });
});

describe("requests of Gemini clients", () => {
  it("system text, images and PDFs are lost, and parameters are dropped unsaid (litellm#17793, #18538)", async () => {
    const asked = {
      system_instruction: { parts: [{ text: "Be brief." }, { text: "Be kind." }] },
      contents: [
        {
          role: "user",
          parts: [
            { text: "What is it?" },
            { inline_data: { mime_type: "image/png", data: "AAAA" } },
            { inlineData: { mimeType: "application/pdf", data: "JVBERi0=" } },
          ],
        },
      ],
      tools: [{ googleSearch: {} }, { functionDeclarations: [look] }],
      generationConfig: { topK: 7, seed: 9 },
    };
    for (const to of ["chat", "responses", "messages"] as const) {
      const model = says({ text: "So." })[to];
      const { sent, decisions } = await askGemini(asked, { to, says: model });
      const [heard] = sent.map((one) => JSON.stringify(one));
      for (const part of ["Be brief.", "Be kind.", "AAAA", "JVBERi0="])
        expect([to, heard]).toEqual([to, expect.stringContaining(part)]);
      const told = decisions.join("\n");
      // What the upstream takes is sent on; the loss of all else is told.
      const all = `${heard}\n${told}`;
      expect([to, all]).toEqual([to, expect.stringMatching(/"top_k":7|dropped \S*topK/)]);
      expect([to, all]).toEqual([to, expect.stringMatching(/"seed":9|dropped \S*seed/)]);
      expect([to, all]).toEqual([
        to,
        expect.stringMatching(/"web_search|\S*tools\[0\]|web_search/),
      ]);
    }
  });

  it("files of Google are lost unsaid on other upstreams (litellm#17793)", async () => {
    const parts = [{ text: "Sum up." }, { fileData: { fileUri: "https://youtu.be/x" } }];
    for (const to of ["chat", "responses", "messages"] as const) {
      const asked = { contents: [{ role: "user", parts }] };
      const { sent, decisions } = await askGemini(asked, { to, says: says({ text: "So." })[to] });
      expect(JSON.stringify(sent)).toContain("cannot be shown.)");
      expect(decisions).toContainEqual(expect.stringMatching(/^dropped contents\[0\]/));
    }
  });

  it("`GET models/{id}` is a 404, or wants `models/models/x` (bifrost#2070, cc-switch#1918)", async () => {
    await using served = await serve({
      upstreams: { demo: { dialect: "scripted" } },
      models: { m: "demo/m", "a/b": "demo/x", "*": "demo/*" },
    });
    for (const [path, name] of [
      ["/v1beta/models/m", "models/m"],
      ["/v1beta/models/models/m", "models/m"],
      ["/v1beta/models/a/b", "models/a/b"],
      ["/v1beta/models/a%2Fb", "models/a/b"],
      ["/v1alpha/models/m", "models/m"],
      ["/v1beta1/publishers/google/models/m", "models/m"],
    ] as const) {
      const answer = (await (await fetch(served.url + path)).json()) as Body;
      expect([path, answer["name"]]).toEqual([path, name]);
    }
  });

  it.each([
    ["?key=", "?key=canary-1", {}],
    ["?key= behind alt", "?alt=json&key=canary-1", {}],
    ["x-goog-api-key", "", { "x-goog-api-key": "canary-1" }],
    ["a bearer token", "", { authorization: "Bearer canary-1" }],
  ])("a key is not taken (cline#5268): %s", async (_, query, headers) => {
    await using served = await serve({
      server: { keys: ["canary-1"] },
      upstreams: { demo: { dialect: "scripted" } },
      models: { "*": "demo/*" },
    });
    const ask = (more: string, sent: object): Promise<Response> =>
      fetch(`${served.url}/v1beta/models/m:generateContent${more}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...sent },
        body: JSON.stringify(hi),
      });
    expect((await ask(query, headers)).status).toBe(200);
    const refused = await ask("?key=canary-2", { "x-goog-api-key": "" });
    expect([refused.status, await refused.json()]).toMatchObject([
      401,
      { error: { code: 401, status: "UNAUTHENTICATED" } },
    ]);
    expect(JSON.stringify(served.happenings)).not.toMatch(/canary/);
  });

  it.each([
    [400, 400, "INVALID_ARGUMENT"],
    [403, 403, "PERMISSION_DENIED"],
    [404, 404, "NOT_FOUND"],
    [429, 429, "RESOURCE_EXHAUSTED"],
    [500, 503, "UNAVAILABLE"],
    [503, 503, "UNAVAILABLE"],
    [529, 503, "UNAVAILABLE"],
  ])(
    "an upstream's %i becomes 500 in the shape of OpenAI, its code a text (litellm)",
    async (status, code, word) => {
      const body = { error: { message: "No.", code: "odd", type: "odd" } };
      for (const to of upstreams) {
        const says: Model = () => json(body, status, { "retry-after": "3" });
        for (const stream of [undefined, "sse"] as const) {
          const asked = await askGemini({}, { to, says, ...(stream && { stream }) });
          expect([to, asked.error]).toMatchObject([to, { code, status: word }]);
          // The SDKs try a 502 again as they do a 503.
          expect(asked.status).toBe(status === 500 ? 502 : code);
        }
      }
    },
  );

  it.each([429, 503])("the time to wait is lost (litellm): %i", async (status) => {
    const says: Model = () => json({ error: { message: "No." } }, status, { "retry-after": "3" });
    for (const to of upstreams) {
      const { error, headers } = await askGemini({}, { to, says });
      expect(error?.["details"]).toContainEqual({
        "@type": "type.googleapis.com/google.rpc.RetryInfo",
        retryDelay: "3s",
      });
      expect(headers.get("retry-after")).toBe("3");
    }
  });

  it("`role` is left out: Vertex refuses (pi-web-access#74)", async () => {
    const model: Model = ({ path }) => answerInGemini(path, { text: "So." });
    const contents = [{ parts: [{ text: "Hi" }] }];
    for (const profile of ["gemini", "vertex"]) {
      const asked = { to: "gemini", says: model, more: { profile, api_key: "k" } } as const;
      const { candidate, sent } = await askGemini({ contents }, asked);
      expect(candidate["content"]).toMatchObject({ role: "model" });
      expect([profile, sent[0]?.["contents"]]).toMatchObject([profile, [{ role: "user" }]]);
    }
  });

  it("an error comes from a chat upstream in the middle of a stream, and the client takes it for text (hydra#869)", async () => {
    const model = sendsRaw(chunk(0, { content: "So" }), frame({ error: { message: "boom" } }));
    const { error, isWhole } = await askGemini({}, { says: model, stream: "sse" });
    expect(error?.["message"]).toContain("boom");
    expect(isWhole).toBe(false);
  });
});
