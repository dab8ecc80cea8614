import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chat } from "../chat/chat.ts";
import { responses } from "../responses/responses.ts";
import { Fault } from "../../turn/fault.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Fields, Params, Turn } from "../../turn/turn.ts";
import { paramPath, readParams, takesParams, writeExtra, writeParams } from "./params.ts";

const none = new Set<string>();
const traits = { chat: chat.traits, responses: responses.traits };
const profile = (over: Profile["params"] = {}): Profile => ({
  name: "toy",
  dialect: "chat",
  tools: {
    kinds: { "*": "native" },
    max: 9,
    names: { chars: "a-z", max: 9 },
    choice: [],
    parallel: true,
    declares: "turn",
    deferred: false,
    cached: false,
  },
  params: over,
  formats: [],
  reasoning: "none",
  streamUsage: false,
});
const turn = (
  dialect: keyof typeof traits,
  body: Fields,
  own: ReadonlySet<string> = none,
): Turn => {
  const read = readParams(traits[dialect], body, own);
  return {
    dialect,
    traits: traits[dialect],
    model: "m",
    items: [],
    tools: [],
    params: read.params,
    stream: false,
    usageWanted: false,
    extra: { dialect, fields: read.extra },
    body,
  };
};
/** A body in one dialect, as written in another. */
const cross = (
  from: keyof typeof traits,
  body: Fields,
  to: keyof typeof traits,
  over?: Profile["params"],
): { body: Fields; dropped: string[] } => {
  const asked = turn(from, body);
  const { fields, decisions } = writeParams(asked, { name: to, traits: traits[to] }, profile(over));
  decisions.push(...writeExtra(asked, to, fields));
  expect(decisions.every(({ action, reason }) => action === "dropped" && reason !== "")).toBe(true);
  return { body: fields, dropped: decisions.map(({ path }) => path) };
};
const faultOf = (act: () => unknown): Fault => {
  try {
    act();
  } catch (error) {
    if (error instanceof Fault) return error;
  }
  throw new Error("no fault");
};

/** A value that asks for something, for every parameter. */
const asked: Required<Params> = {
  maxTokens: 5,
  temperature: 0.5,
  topP: 0.5,
  topK: 20,
  n: 2,
  stop: ["x"],
  seed: 7,
  presencePenalty: 0.1,
  frequencyPenalty: 0.2,
  logitBias: { 5: 1 },
  logprobs: 3,
  parallelCalls: false,
  maxCalls: 4,
  effort: "low",
  thinking: "adaptive",
  thinkingBudget: 2048,
  reasoningSummary: "auto",
  verbosity: "low",
  serviceTier: "flex",
  store: true,
  metadata: { a: "b" },
  user: "u",
  safetyIdentifier: "s",
  cacheKey: "k",
  cacheRetention: "24h",
  include: ["i"],
  truncation: "auto",
  modalities: ["text", "audio"],
  audio: { voice: "v" },
  prediction: { type: "content" },
  webSearch: { a: 1 },
  previousResponse: "resp_1",
  conversation: "conv_1",
  background: true,
  prompt: { id: "p" },
  thread: { type: "create" },
  compaction: { type: "summarize" },
  cachedContent: "cachedContents/x",
};
const names = Object.keys(asked) as (keyof Params)[];
const dialects = ["chat", "responses"] as const;
const wordOf = (name: keyof Params, dialect: keyof typeof traits): string | undefined =>
  traits[dialect].params[name];
const spoken = dialects.flatMap((dialect) =>
  names.flatMap((name) => {
    const word = wordOf(name, dialect);
    return word === undefined ? [] : [{ dialect, name, word }];
  }),
);
/** `reasoning.effort` as a body has it. */
const at = (path: string, value: unknown): Fields =>
  path.split(".").reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Fields;

describe("parameters", () => {
  it.each(spoken)("$dialect says $name and hears it again", ({ dialect, name, word }) => {
    const body = at(word, asked[name]);
    expect(readParams(traits[dialect], body, none)).toEqual({
      params: { [name]: asked[name] },
      extra: {},
    });
    expect(cross(dialect, body, dialect)).toEqual({ body, dropped: [] });
    expect(paramPath(name, traits[dialect])).toBe(word);
  });

  it.each(spoken)("$word: null in $dialect is not set", ({ dialect, word }) => {
    expect(readParams(traits[dialect], at(word, null), none)).toEqual({ params: {}, extra: {} });
  });

  it.each(spoken.filter(({ name }) => name !== "conversation"))(
    "$dialect refuses a $word of the wrong type by name",
    ({ dialect, word }) => {
      const fault = faultOf(() => readParams(traits[dialect], at(word, Symbol("odd")), none));
      expect(fault).toMatchObject({ code: "request.invalid", detail: { param: word } });
      expect(fault.message).toMatch(/^`[\w.]+` must be .+\.$/);
    },
  );

  it.each([
    ["chat", { n: 0 }, "n", "`n` must be more than 0."],
    ["chat", { n: 1.5 }, "n", "`n` must be a whole number."],
    ["chat", { n: 129 }, "n", "`n` must be 128 at most."],
    ["chat", { stop: 5 }, "stop", "`stop` must be a string or an array of strings."],
    ["chat", { max_tokens: "5" }, "max_tokens", "`max_tokens` must be a whole number."],
    ["chat", { metadata: [] }, "metadata", "`metadata` must be an object."],
    ["responses", { include: ["a", 5] }, "include[1]", "`include[1]` must be a string."],
    ["responses", { reasoning: "low" }, "reasoning", "`reasoning` must be an object."],
    ["responses", { reasoning: { effort: 5 } }, "reasoning.effort", /must be a string/],
  ] as const)("in %s, %j is a fault of %s", (dialect, body, param, message) => {
    const fault = faultOf(() => readParams(traits[dialect], body, none));
    expect(fault.detail.param).toBe(param);
    expect(fault.message).toMatch(message);
  });

  it("reads one stop as a list of one", () => {
    expect(readParams(traits.chat, { stop: "x" }, none).params).toEqual({ stop: ["x"] });
  });

  it("reads the older word of chat, and believes the newer where both are said", () => {
    const read = (body: Fields): Params => readParams(traits.chat, body, none).params;
    expect(read({ max_tokens: 1 })).toEqual({ maxTokens: 1 });
    expect(read({ max_tokens: 1, max_completion_tokens: 2 })).toEqual({ maxTokens: 2 });
    expect(read({ max_completion_tokens: 2, max_tokens: 1 })).toEqual({ maxTokens: 2 });
    expect(read({ max_completion_tokens: null, max_tokens: 1 })).toEqual({ maxTokens: 1 });
  });

  it("takes groups apart and puts them together", () => {
    const body = { reasoning: { effort: "low", summary: "auto" }, text: { verbosity: "low" } };
    expect(readParams(traits.responses, body, none).params).toEqual({
      effort: "low",
      reasoningSummary: "auto",
      verbosity: "low",
    });
    expect(cross("responses", body, "responses").body).toEqual(body);
    expect(cross("responses", body, "chat")).toEqual({
      body: { reasoning_effort: "low", verbosity: "low" },
      dropped: ["reasoning.summary"],
    });
  });

  it("leaves what is the dialect's own, whole or in a group", () => {
    const own = new Set(["input", "text.format"]);
    const body = { input: 1, text: { format: 2, verbosity: "low", more: 3 } };
    expect(readParams(traits.responses, body, own)).toEqual({
      params: { verbosity: "low" },
      extra: { text: { more: 3 } },
    });
  });

  describe("in an upstream's words", () => {
    it("are renamed or left out as the profile says", () => {
      const body = { max_completion_tokens: 5, seed: 7, reasoning_effort: "low" };
      const over = { maxTokens: "max_tokens", seed: null, effort: "thinking.effort" };
      expect(cross("chat", body, "chat", over)).toEqual({
        body: { max_tokens: 5, thinking: { effort: "low" } },
        dropped: ["seed"],
      });
    });

    it("are reported under the client's own words where there are none", () => {
      expect(cross("chat", { seed: 1, n: 2, logit_bias: { 1: 1 } }, "responses").dropped).toEqual([
        "seed",
        "n",
        "logit_bias",
      ]);
      expect(cross("chat", { max_tokens: 1 }, "chat", { maxTokens: null }).dropped).toEqual([
        "max_tokens",
      ]);
      expect(
        cross("responses", { max_output_tokens: 1 }, "chat", { maxTokens: null }).dropped,
      ).toEqual(["max_output_tokens"]);
      const flagged = { ...turn("chat", { logprobs: true }, new Set(["logprobs"])) };
      const { decisions } = writeParams(
        { ...flagged, params: { logprobs: 0 } },
        chat,
        profile({ logprobs: null }),
      );
      expect(decisions.map(({ path }) => path)).toEqual(["logprobs"]);
    });

    it("are lost only as far as nobody sees to them", () => {
      const asking = (...include: string[]): Turn => turn("responses", { include });
      const lost = (asked: Turn): readonly string[] =>
        writeParams(asked, chat, profile()).decisions.map(({ reason }) => reason);
      expect(lost(asking("reasoning.encrypted_content"))).toEqual([]);
      expect(lost(asking("reasoning.encrypted_content", "file_search_call.results"))).toEqual([
        "the toy profile has no such parameter for file_search_call.results",
      ]);
      expect(lost(asking("file_search_call.results"))).toEqual([
        "the toy profile has no such parameter",
      ]);
      const native = { include: ["reasoning.encrypted_content"] };
      expect(cross("responses", native, "responses").body).toEqual(native);
      expect(cross("responses", { truncation: "auto" }, "chat").dropped).toEqual(["truncation"]);
    });

    it("are refused where the answer would be to another question", () => {
      for (const [body, remedy] of [
        [
          { previous_response_id: "r" },
          "send the conversation itself in the request, as most clients do with `store: false`",
        ],
        [{ conversation: {} }, "send the conversation itself"],
        [{ background: true }, "wait for the answer"],
        [{ prompt: {} }, "send its text itself"],
      ] as const) {
        const fault = faultOf(() => cross("responses", body, "chat"));
        expect(fault.code).toBe("request.unsupported");
        expect(fault.detail.param).toBe(Object.keys(body)[0]);
        expect(fault.message).toContain(`Leave it out, and ${remedy}`);
      }
    });

    it("are not missed where they ask for what happens anyway", () => {
      const all = Object.fromEntries(names.map((name) => [name, null])) as Profile["params"];
      const chat = { n: 1, top_p: 1, presence_penalty: 0, stop: [], modalities: ["text"] };
      expect(cross("chat", chat, "chat", all).dropped).toEqual([]);
      const responses = { truncation: "disabled", background: false, store: false, include: [] };
      expect(cross("responses", responses, "chat", all).dropped).toEqual([]);
      expect(cross("chat", { parallel_tool_calls: true }, "chat", all).dropped).toEqual([]);
      expect(cross("chat", { parallel_tool_calls: false }, "chat", all).dropped).toEqual([
        "parallel_tool_calls",
      ]);
    });
  });

  it("are taken as they are by an upstream that has the client's very words", () => {
    const takes = (body: Fields, over: Profile["params"]): boolean =>
      takesParams(turn("chat", body), profile(over));
    expect(takes({ max_tokens: 1, seed: 2 }, {})).toBe(true);
    expect(takes({ max_tokens: 1 }, { maxTokens: "max_tokens", seed: null })).toBe(true);
    expect(takes({ max_completion_tokens: 1 }, { maxTokens: "max_tokens" })).toBe(false);
    expect(takes({ seed: 1 }, { seed: null })).toBe(false);
  });
});

describe("what we do not know", () => {
  it("is given back to its own dialect, beside what we do", () => {
    const body = { foo: 1, bar: null, reasoning: { effort: "low", generate_summary: "x" } };
    expect(cross("responses", body, "responses")).toEqual({ body, dropped: [] });
  });

  it("is reported to another, where the client finds it and if it was set", () => {
    const body = { foo: 1, bar: null, reasoning: { effort: "low", generate_summary: "x" } };
    expect(cross("responses", body, "chat")).toEqual({
      body: { reasoning_effort: "low" },
      dropped: ["foo", "reasoning.generate_summary"],
    });
  });

  it("does not overrule what we wrote", () => {
    const asked = turn("chat", { foo: 1 });
    const body: Record<string, unknown> = { foo: 2 };
    expect(writeExtra(asked, "chat", body)).toEqual([]);
    expect(body).toEqual({ foo: 2 });
  });

  it("survives any name and any value", () => {
    const known = new Set(spoken.map(({ word }) => word.split(".")[0] ?? ""));
    known.add("max_tokens");
    const bodies = fc
      .dictionary(
        fc.oneof(fc.string(), fc.constantFrom("__proto__", "toString", "constructor")),
        fc.jsonValue(),
      )
      .map((body) => JSON.stringify(body))
      .filter((text) => Object.keys(JSON.parse(text) as Fields).every((key) => !known.has(key)));
    fc.assert(
      fc.property(bodies, fc.constantFrom(...dialects), (text, dialect) => {
        const asked = turn(dialect, JSON.parse(text) as Fields);
        const body: Record<string, unknown> = {};
        expect(writeExtra(asked, dialect, body)).toEqual([]);
        expect(JSON.stringify(body)).toBe(text);
      }),
    );
  });
});

it("has our own word for a parameter in dialects that have none", () => {
  expect(paramPath("maxTokens", { ...chat.traits, params: {} })).toBe("maxTokens");
  expect(paramPath("maxCalls", chat.traits)).toBe("maxCalls");
});
