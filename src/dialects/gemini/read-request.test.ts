import { describe, expect, it } from "vitest";
import { Fault } from "../../turn/fault.ts";
import type { Fields, Item, Turn } from "../../turn/turn.ts";
import { readRequest } from "./read-request.ts";

const hi = { role: "user", parts: [{ text: "Hi" }] };
const read = (body: Fields, path: Record<string, string> = {}): Turn =>
  readRequest({ contents: [hi], ...body }, { model: "m", ...path });
const itemsOf = (...contents: unknown[]): readonly Item[] => read({ contents }).items;
const configured = (generationConfig: unknown): Turn => read({ generationConfig });

function faultOf(act: () => unknown): Pick<Fault, "code" | "message"> & { param?: string } {
  try {
    act();
  } catch (error) {
    if (error instanceof Fault)
      return { code: error.code, message: error.message, param: error.detail.param ?? "" };
  }
  throw new Error("no fault");
}

const message = (role: string, ...texts: string[]) => ({
  type: "message",
  role,
  parts: texts.map((text) => ({ type: "text", text })),
});

describe("the model", () => {
  it.each([
    ["in the path", {}, { model: "m" }, "m"],
    ["with the name of its list", {}, { model: "models/m" }, "m"],
    ["with slashes", {}, { model: "openai/gpt-5.5" }, "openai/gpt-5.5"],
    ["of a tuned list", {}, { model: "m", collection: "tunedModels" }, "tunedModels/m"],
    ["in the body", { model: "models/x" }, { model: undefined }, "x"],
  ])("is named %s", (_, body, path, model) => {
    expect(readRequest({ contents: [hi], ...body }, path as Record<string, string>).model).toBe(
      model,
    );
  });

  it("is missed", () => {
    expect(faultOf(() => readRequest({ contents: [hi] })).code).toBe("request.missing_model");
  });
});

describe("the path", () => {
  it.each([
    ["generateContent", "", false, undefined],
    ["streamGenerateContent", "alt=sse", true, undefined],
    ["streamGenerateContent", "", true, "array"],
    ["streamGenerateContent", "alt=json", true, "array"],
    ["generateContent", "alt=sse", false, undefined],
  ])("asks by %s with %j for a stream: %s, in the form %s", (action, query, stream, form) => {
    const turn = read({}, { action, ...(query !== "" && { "?": query }) });
    expect([turn.stream, turn.streamForm]).toEqual([stream, form]);
  });

  it("may name no other action", () => {
    const fault = faultOf(() => read({}, { action: "embedContent" }));
    expect(fault.code).toBe("request.route");
    expect(fault.message).toMatch(/^`:embedContent` is not served here\. .*`:countTokens`/);
  });

  it("may ask for no other form", () => {
    const path = { action: "streamGenerateContent", "?": "alt=proto" };
    expect(faultOf(() => read({}, path)).param).toBe("alt");
  });
});

describe("contents", () => {
  it("are read from one object in place of lists", () => {
    expect(read({ contents: { role: "USER", parts: { text: "Hi" } } }).items).toEqual([
      message("user", "Hi"),
    ]);
  });

  it("without a role are the user's, and those of a function are results", () => {
    const items = itemsOf(
      { parts: [{ text: "Hi" }] },
      { role: "model", parts: [{ functionCall: { name: "f" } }] },
      { role: "function", parts: [{ functionResponse: { name: "f", response: { output: "x" } } }] },
    );
    expect(items.map(({ type }) => type)).toEqual(["message", "call", "result"]);
  });

  it("of the model in pieces are one message", () => {
    const model = (...parts: unknown[]) => ({ role: "model", parts });
    const items = itemsOf(
      hi,
      model({ text: "Hel" }),
      model({ text: "" }),
      model({ text: "lo" }),
      hi,
    );
    expect(items).toEqual([
      message("user", "Hi"),
      message("assistant", "Hello"),
      message("user", "Hi"),
    ]);
  });

  it("name the content that each item is from", () => {
    const call = { functionCall: { name: "f" } };
    const turn = read({
      systemInstruction: { parts: [{ text: "Be brief." }] },
      contents: [hi, { role: "model", parts: [{ text: "So" }] }, { role: "model", parts: [call] }],
    });
    expect(turn.places).toEqual([0, 0, 1, 2]);
  });

  it("leave out texts without characters", () => {
    expect(
      itemsOf({ parts: [{ text: "" }, { text: "Hi" }] }, { role: "model", parts: [{}] }),
    ).toEqual([message("user", "Hi")]);
  });

  it.each([
    [{ contents: [] }, "contents"],
    [{ contents: "Hi" }, "contents"],
    [{ contents: undefined, messages: [] }, "contents"],
    [{ contents: ["Hi"] }, "contents[0]"],
    [{ contents: [{ role: "assistant", parts: [{ text: "" }] }] }, "contents[0].role"],
    [{ contents: [{ role: 1, parts: [{ text: "" }] }] }, "contents[0].role"],
    [{ contents: [hi, { role: "user" }] }, "contents[1].parts"],
    [{ contents: [{ parts: [{}] }] }, "contents[0].parts[0]"],
    [{ contents: [{ parts: ["Hi"] }] }, "contents[0].parts[0]"],
    [{ contents: [{ parts: [{ text: 5 }] }] }, "contents[0].parts[0].text"],
    [{ contents: [{ parts: [{ inlineData: {} }] }] }, "contents[0].parts[0].inlineData.data"],
    [{ contents: [{ parts: [{ fileData: {} }] }] }, "contents[0].parts[0].fileData.fileUri"],
    [
      { contents: [{ role: "model", parts: [{ functionCall: {} }] }] },
      "contents[0].parts[0].functionCall.name",
    ],
    [
      { contents: [{ parts: [{ function_response: { name: 1 } }] }] },
      "contents[0].parts[0].functionResponse.name",
    ],
    [
      { contents: [{ parts: [{ functionResponse: { parts: [{ text: "x" }] } }] }] },
      "contents[0].parts[0].functionResponse.parts[0]",
    ],
    [{ systemInstruction: 5 }, "systemInstruction"],
    [{ systemInstruction: { parts: [{ text: 5 }] } }, "systemInstruction.parts[0].text"],
  ])("that are malformed are refused by the field: %j", (body, param) => {
    expect(faultOf(() => read(body))).toMatchObject({ code: "request.invalid", param });
  });
});

describe("media", () => {
  const partOf = (part: unknown) =>
    (itemsOf({ parts: [part] })[0] as { parts: readonly unknown[] }).parts[0];

  it.each([
    [
      { mimeType: "image/png", data: "AA==" },
      { type: "image", url: "data:image/png;base64,AA==" },
    ],
    [
      { mime_type: "image/png", data: "-_8=" },
      { type: "image", url: "data:image/png;base64,+/8=" },
    ],
    [
      { mimeType: "audio/mpeg", data: "AA==" },
      { type: "audio", data: "AA==", format: "mp3" },
    ],
    [
      { mimeType: "application/pdf", data: "AA==", displayName: "a.pdf" },
      { type: "file", data: "data:application/pdf;base64,AA==", name: "a.pdf" },
    ],
    [
      { mimeType: "video/mp4", data: "AA==" },
      { type: "file", data: "data:video/mp4;base64,AA==" },
    ],
  ])("are read from bytes: %j", (inlineData, part) => {
    expect(partOf({ inlineData })).toEqual(part);
    expect(partOf({ inline_data: inlineData })).toEqual(part);
  });

  it.each([
    [
      { mimeType: "image/png", fileUri: "https://a.example/b" },
      { type: "image", url: "https://a.example/b" },
    ],
    [
      { file_uri: "https://a.example/b.PNG?x" },
      { type: "image", url: "https://a.example/b.PNG?x" },
    ],
    [
      { mimeType: "application/pdf", fileUri: "https://a.example/b", displayName: "b" },
      { type: "file", url: "https://a.example/b", name: "b" },
    ],
  ])("are read from addresses: %j", (fileData, part) => {
    expect(partOf({ fileData })).toMatchObject(part);
  });

  it.each([
    { mimeType: "image/png", fileUri: "gs://bucket/a.png" },
    { mimeType: "image/png", fileUri: "https://generativelanguage.googleapis.com/v1beta/files/x" },
    { fileUri: "https://www.youtube.com/watch?v=x" },
    { mimeType: "video/mp4", fileUri: "https://a.example/b.mp4" },
  ])("that only the provider can open stay whole: %j", (fileData) => {
    expect(partOf({ fileData })).toEqual({ type: "opaque", dialect: "gemini", raw: { fileData } });
  });

  it("behind a result belong to it", () => {
    const result = (id: string) => ({ functionResponse: { id, response: { output: id } } });
    const inlineData = { mimeType: "image/png", data: "AA==" };
    const items = itemsOf(
      {
        role: "model",
        parts: [{ functionCall: { id: "a", name: "f" } }, { functionCall: { id: "b", name: "f" } }],
      },
      { parts: [result("a"), { inlineData }, result("b"), { text: "See?" }, { inlineData }] },
    );
    const image = { type: "image", url: "data:image/png;base64,AA==" };
    expect(items.slice(2)).toEqual([
      { type: "result", call: "a", kind: "function", parts: [{ type: "text", text: "a" }, image] },
      { type: "result", call: "b", kind: "function", parts: [{ type: "text", text: "b" }] },
      { type: "message", role: "user", parts: [{ type: "text", text: "See?" }, image] },
    ]);
  });
});

describe("results", () => {
  const call = (name: string, id?: string) => ({ functionCall: { name, ...(id && { id }) } });
  const result = (name: string | undefined, output: string, id?: string) => ({
    functionResponse: { ...(name && { name }), ...(id && { id }), response: { output } },
  });
  const pairs = (calls: unknown[], ...answers: unknown[][]): string[][] => {
    const items = itemsOf(
      hi,
      { role: "model", parts: calls },
      ...answers.map((parts) => ({ parts })),
    );
    const names = new Map<string, string>();
    for (const [at, item] of items.filter((one) => one.type === "call").entries())
      names.set(item.id, `${item.name}${at}`);
    return items
      .filter((one) => one.type === "result")
      .map(({ call: id, parts: [part] }) => [
        names.get(id) ?? id,
        part?.type === "text" ? part.text : "",
      ]);
  };

  it("are paired by id first", () => {
    const calls = [call("f", "a"), call("f", "b")];
    expect(pairs(calls, [result("f", "2", "b"), result("f", "1", "a")])).toEqual([
      ["f1", "2"],
      ["f0", "1"],
    ]);
  });

  it("are paired by name in order without ids, in one content or in several", () => {
    const calls = [call("f"), call("g"), call("f")];
    const wanted = [
      ["g1", "g"],
      ["f0", "1"],
      ["f2", "2"],
    ];
    expect(pairs(calls, [result("g", "g"), result("f", "1"), result("f", "2")])).toEqual(wanted);
    expect(pairs(calls, [result("g", "g")], [result("f", "1")], [result("f", "2")])).toEqual(
      wanted,
    );
  });

  it("with ids that no call has are paired by name", () => {
    expect(pairs([call("f", "a")], [result("f", "1", "made-up")])).toEqual([["f0", "1"]]);
  });

  it("leave calls with an id to the results that name it", () => {
    const calls = [call("f", "a"), call("f", "b")];
    expect(pairs(calls, [result("f", "1"), result("f", "2", "a")])).toEqual([
      ["f1", "1"],
      ["f0", "2"],
    ]);
  });

  it("without a name that fits are paired by position, if the counts agree", () => {
    expect(pairs([call("f"), call("g")], [result(undefined, "1"), result("x", "2")])).toEqual([
      ["f0", "1"],
      ["g1", "2"],
    ]);
    expect(pairs([call("f"), call("g")], [result("x", "1", "own")])).toEqual([]);
  });

  it("of no call are the user's words, and reported", () => {
    const words = (output: string) => ({
      type: "message",
      role: "user",
      parts: ["The result of an earlier call:", output].map((text) => ({ type: "text", text })),
    });
    const turn = read({
      contents: [
        { role: "user", parts: [result("f", "0")] },
        { role: "model", parts: [call("g", "a")] },
        { role: "user", parts: [result("g", "1", "a"), result("g", "2", "b"), result("h", "3")] },
      ],
    });
    expect(turn.items).toMatchObject([
      words("0"),
      { type: "call", id: "a" },
      { type: "result", call: "a" },
      words("2"),
      words("3"),
    ]);
    expect(turn.repairs?.map(({ path, action }) => [path, action])).toEqual([
      ["contents[0]", "changed"],
      ["contents[2]", "changed"],
      ["contents[2]", "changed"],
    ]);
  });

  it("belong to the calls of the turn before them", () => {
    const items = itemsOf(
      { role: "model", parts: [call("f")] },
      hi,
      { role: "model", parts: [call("f")] },
      { parts: [result("f", "2")] },
    );
    const [, , second, answer] = items;
    expect(answer).toMatchObject({ type: "result", call: second?.type === "call" && second.id });
  });

  it("find ids that are the same in every later request", () => {
    const contents = [hi, { role: "model", parts: [call("f"), call("f")] }];
    const ids = (...more: unknown[]) =>
      itemsOf(...contents, ...more).flatMap((item) => (item.type === "call" ? [item.id] : []));
    expect(ids()).toEqual(
      ids({ parts: [result("f", "1")] }, { role: "model", parts: [{ text: "x" }] }),
    );
    expect(new Set(ids()).size).toBe(2);
    expect(ids().every((id) => /^call_\w{1,60}$/.test(id))).toBe(true);
  });

  const contentOf = (response: unknown) => {
    const [, answer] = itemsOf(
      { role: "model", parts: [call("f")] },
      { parts: [{ functionResponse: { name: "f", response } }] },
    );
    if (answer?.type !== "result") throw new Error("no result");
    return [
      answer.parts.map((part) => (part.type === "text" ? part.text : part)),
      answer.isError === true,
    ];
  };

  it.each([
    [{ output: "sunny" }, "sunny", false],
    [{ error: "no such city" }, "no such city", true],
    [{ name: "f", error: "bad" }, "bad", true],
    [{ name: "f", content: "sunny" }, "sunny", false],
    [{ name: "other", content: "x" }, '{"name":"other","content":"x"}', false],
    [{ content: "x" }, '{"content":"x"}', false],
    [{ name: "f" }, '{"name":"f"}', false],
    [{ output: { a: 1 } }, '{"output":{"a":1}}', false],
    [{ result: "x" }, "x", false],
    [{ error: "x", code: 1 }, '{"error":"x","code":1}', false],
    [{ error: null }, '{"error":null}', false],
    ["sunny", "sunny", false],
    [["a"], '["a"]', false],
  ])("are read from %j", (response, text, isError) => {
    expect(contentOf(response)).toEqual([[text], isError]);
  });

  it("may be empty", () => {
    expect(contentOf({})).toEqual([[], false]);
    expect(contentOf(undefined)).toEqual([[], false]);
  });

  it("may have media", () => {
    const parts = [{ inline_data: { mime_type: "image/png", data: "AA==" } }];
    const [, answer] = itemsOf(
      { role: "model", parts: [call("f")] },
      { parts: [{ functionResponse: { name: "f", response: { output: "x" }, parts } }] },
    );
    expect(answer).toMatchObject({
      parts: [{ type: "text" }, { type: "image", url: "data:image/png;base64,AA==" }],
    });
  });
});

describe("calls", () => {
  const inputOf = (args: unknown) => {
    const [item] = itemsOf({ role: "model", parts: [{ functionCall: { name: "f", args } }] });
    return item?.type === "call" ? item.input : undefined;
  };

  it.each([
    [undefined, "{}"],
    [null, "{}"],
    [{ a: [1, { b: "é" }] }, '{"a":[1,{"b":"é"}]}'],
    ['{"a":1}', '{"a":1}'],
  ])("are read with arguments %j", (args, input) => {
    expect(inputOf(args)).toBe(input);
  });

  it("report fields that are not known, and keep those beside them", () => {
    const functionCall = { name: "f", willContinue: false, newest: 1 };
    const turn = read({
      contents: [hi, { role: "model", parts: [{ functionCall, partMetadata: { a: 1 } }], more: 2 }],
    });
    expect(turn.items[1]).toMatchObject({
      extra: { dialect: "gemini", fields: { partMetadata: { a: 1 } } },
    });
    expect(turn.repairs?.map(({ path, action }) => [path, action])).toEqual([
      ["contents[1].parts[0].functionCall.newest", "dropped"],
      ["contents[1].more", "dropped"],
    ]);
  });

  it("are told from the provider's own work, which stays whole", () => {
    const executable_code = { language: "PYTHON", code: "1" };
    expect(itemsOf({ role: "model", parts: [{ executable_code }, { newest: { a: 1 } }] })).toEqual([
      { type: "opaque", dialect: "gemini", raw: { executableCode: executable_code } },
      { type: "opaque", dialect: "gemini", raw: { newest: { a: 1 } } },
    ]);
  });
});

describe("instructions", () => {
  it("are all parts", () => {
    const [system] = read({
      system_instruction: { role: "user", parts: [{ text: "A" }, { text: "B" }] },
    }).items;
    expect(system).toEqual({ ...message("system", "A", "B"), instructions: true });
  });

  it.each(["Be brief.", { text: "Be brief." }, [{ text: "Be brief." }]])(
    "are read from %j too, and that is told",
    (systemInstruction) => {
      const turn = read({ systemInstruction });
      expect(turn.items[0]).toMatchObject(message("system", "Be brief."));
      expect(turn.repairs).toMatchObject([{ path: "systemInstruction", action: "repaired" }]);
    },
  );

  it("may be empty", () => {
    expect(read({ systemInstruction: { parts: [{ text: "" }] } }).items).toHaveLength(1);
    expect(read({ systemInstruction: { parts: [] } }).items).toHaveLength(1);
  });
});

describe("parameters", () => {
  it("are read in either case, and from numbers in text", () => {
    expect(
      configured({
        max_output_tokens: "100",
        temperature: 0.5,
        topP: "0.9",
        top_k: 40,
        candidateCount: 2,
        stop_sequences: ["x"],
        seed: "7",
        presencePenalty: 0.1,
        frequency_penalty: 0.2,
        responseLogprobs: true,
        logprobs: "3",
        responseModalities: ["TEXT"],
      }).params,
    ).toEqual({
      maxTokens: 100,
      temperature: 0.5,
      topP: 0.9,
      topK: 40,
      n: 2,
      stop: ["x"],
      seed: 7,
      presencePenalty: 0.1,
      frequencyPenalty: 0.2,
      logprobs: 3,
      modalities: ["text"],
    });
  });

  it.each([
    [{ thinkingBudget: 0 }, { effort: "none" }],
    [{ thinkingBudget: "1024" }, { effort: "low", thinkingBudget: 1024 }],
    [{ thinking_budget: 8192 }, { effort: "medium", thinkingBudget: 8192 }],
    [{ thinkingBudget: 24_576 }, { effort: "high", thinkingBudget: 24_576 }],
    [{ thinkingBudget: -1 }, {}],
    [{ thinkingLevel: "low" }, { effort: "low" }],
    [
      { thinkingLevel: "HIGH", includeThoughts: true },
      { effort: "high", reasoningSummary: "auto" },
    ],
    [{ thinkingLevel: "THINKING_LEVEL_UNSPECIFIED" }, {}],
    [{ includeThoughts: false }, {}],
  ])("ask for thinking: %j", (thinkingConfig, params) => {
    expect(configured({ thinkingConfig }).params).toEqual(params);
  });

  it.each([
    [
      { thinkingConfig: { thinkingBudget: "much" } },
      "generationConfig.thinkingConfig.thinkingBudget",
    ],
    [{ thinkingConfig: { thinkingLevel: "ALL" } }, "generationConfig.thinkingConfig.thinkingLevel"],
    [{ thinkingConfig: 5 }, "generationConfig.thinkingConfig"],
    [{ maxOutputTokens: 0 }, "generationConfig.maxOutputTokens"],
    [{ max_output_tokens: "many" }, "generationConfig.maxOutputTokens"],
    [{ candidateCount: 1000 }, "generationConfig.candidateCount"],
    [{ responseMimeType: 5 }, "generationConfig.responseMimeType"],
    [{ responseSchema: 5 }, "generationConfig.responseSchema"],
    [5, "generationConfig"],
  ])("that are malformed are refused by the field: %j", (generationConfig, param) => {
    expect(faultOf(() => configured(generationConfig))).toMatchObject({
      code: "request.invalid",
      param,
    });
  });

  it("that are not known are kept", () => {
    const turn = read({
      labels: { a: "b" },
      generation_config: { media_resolution: "LOW", thinkingConfig: { newest: 1 } },
      toolConfig: { retrievalConfig: { languageCode: "de" } },
      safetySettings: [{ category: "A", threshold: "BLOCK_ALL" }],
    });
    expect(turn.extra.fields).toEqual({
      labels: { a: "b" },
      generationConfig: { mediaResolution: "LOW", thinkingConfig: { newest: 1 } },
      toolConfig: { retrievalConfig: { languageCode: "de" } },
      safetySettings: [{ category: "A", threshold: "BLOCK_ALL" }],
    });
  });

  it("that turn filters off are no loss elsewhere", () => {
    const safetySettings = [{ category: "A", threshold: "OFF" }];
    const turn = read({ safety_settings: safetySettings });
    expect(turn.extra).toEqual({ dialect: "gemini", fields: {}, hints: { safetySettings } });
    expect(read({ safetySettings: [] }).extra).toEqual({ dialect: "gemini", fields: {} });
  });

  it("name the tier and content that the provider keeps", () => {
    expect(read({ serviceTier: "STANDARD", cached_content: "cachedContents/x" }).params).toEqual({
      serviceTier: "default",
      cachedContent: "cachedContents/x",
    });
    expect(read({ serviceTier: "flex" }).params).toEqual({ serviceTier: "flex" });
  });
});

describe("the format", () => {
  const schema = { type: "OBJECT", properties: { n: { type: "INTEGER" } } };
  const lower = { type: "object", properties: { n: { type: "integer" } } };
  it.each([
    [{ responseMimeType: "application/json" }, { type: "json" }],
    [{ responseMimeType: "text/plain" }, { type: "text" }],
    [
      { responseMimeType: "application/json", responseSchema: schema },
      { type: "schema", name: "answer", schema: lower, strict: true },
    ],
    [
      { response_mime_type: "application/json", response_json_schema: { ...lower, title: "A b" } },
      { type: "schema", name: "A_b", schema: { ...lower, title: "A b" }, strict: true },
    ],
    [
      { responseMimeType: "application/json", _responseJsonSchema: schema },
      { type: "schema", name: "answer", schema: lower, strict: true },
    ],
    [
      { responseMimeType: "text/x.enum", responseSchema: { type: "STRING", enum: ["a"] } },
      {
        type: "opaque",
        dialect: "gemini",
        raw: { responseMimeType: "text/x.enum", responseSchema: { type: "STRING", enum: ["a"] } },
      },
    ],
  ])("is read from %j", (config, format) => {
    expect(configured(config).format).toEqual(format);
    expect(configured(config).extra.fields).toEqual({});
  });
});

it("reads a request for a count in either form", () => {
  const inner = { model: "models/m", contents: [hi], tools: [{ codeExecution: {} }] };
  const turn = readRequest({ generateContentRequest: inner }, { model: "m" });
  expect(turn).toEqual(readRequest(inner, { model: "m" }));
});
