import { describe, expect, it } from "vitest";
import type { ConfigInput } from "../../src/gateway/config.ts";
import { eventLines, usageLine } from "../../src/observe/lines.ts";
import { writeUseTool } from "../../src/tools/text-calls/use-tool.ts";
import { doors } from "../support/client.ts";
import { crossProduct, type RowOf } from "../support/cross-product.ts";
import { askingFor, askStill, type StillAnswer } from "../support/still-gateway.ts";
import { loggedFields } from "../support/turn-done.ts";

/** Four slow calls, the third of which repeats the first in other words, and a tail. */
const GAP_MS = 200;
const made = [
  { name: "look", arguments: '{"city":"Zürich 🏔️","days":2}' },
  { name: "find", arguments: '{"text":"a < b && \\"c\\" 漢字 e\\u0301"}' },
  { name: "look", arguments: '{"days": 2, "city": "Zürich 🏔️"}' },
  { name: "find", arguments: "{}" },
] as const;
const REPEAT = 2;
const TAIL = "That is all I asked for.";

const schemas = {
  look: {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "integer" } },
  },
  find: { type: "object", properties: { text: { type: "string" } } },
};

const dimensions = {
  stream: [true, false],
  door: doors,
  output: ["openai-json", "obsidian-xml"],
  max: [0, 1, 2, 10],
  stop: ["off", "first", "burst"],
  suppressTail: [true, false],
  dedup: [true, false],
  n: [1, 3],
  calls: ["structured", "textual"],
} as const;
type Row = RowOf<typeof dimensions>;

// The Responses API has no `n`.
const rows = crossProduct(dimensions).filter(({ door, n }) => door === "chat" || n === 1);

/** What the rules say of a row, in plain words. */
function expected({ max, stop, suppressTail, dedup }: Row) {
  const seen = stop === "first" ? [0] : [0, 1, 2, 3];
  const distinct = dedup ? seen.filter((at) => at !== REPEAT) : seen;
  const given = max > 0 ? distinct.slice(0, max) : distinct;
  // A choice that may make no more calls is stopped, where stopping is on; else it goes on.
  const isFull = max > 0 && given.length === max;
  const isCut = stop === "first" || (stop === "burst" && isFull);
  return {
    given,
    isCut,
    truncated: isCut || given.length < distinct.length,
    tail: isCut || suppressTail ? "" : TAIL,
    ms: isCut ? GAP_MS * ((given.at(-1) ?? 0) + 1) + 50 : GAP_MS * 5,
  };
}

const DELIMITER = "\n--\n";

function configOf({ output, max, stop, suppressTail, dedup, calls }: Row): ConfigInput {
  const steps = made.flatMap(({ name, arguments: input }) => [
    { delay: GAP_MS },
    calls === "structured"
      ? { call: { name, arguments: input, chunks: 3 } }
      : { text: writeUseTool(name, input, schemas[name]), chunks: 7 },
  ]);
  return {
    upstreams: {
      actor: { dialect: "scripted", script: [[...steps, { delay: GAP_MS }, { text: TAIL }]] },
    },
    models: { "*": "actor/scripted" },
    tools: {
      output,
      text_calls: calls === "textual",
      block_max: max,
      block_dedup: dedup,
      block_delimiter: DELIMITER,
      stop_after: stop !== "off",
      stop_after_mode: stop === "first" ? "first" : "burst",
      stop_after_grace_ms: 300,
      suppress_tail: suppressTail,
    },
  };
}

const ask = (row: Row): Promise<StillAnswer> =>
  askStill(configOf(row), askingFor({ ...row, schemas }));

type Shown = {
  readonly calls: readonly { readonly name: string; readonly input: unknown }[];
  /** All the text there is, and none if there is none. */
  readonly text: string | null;
  readonly finish: string;
};

/** What a client makes of an answer, choice by choice. */
function read({ door, stream }: Row, { text }: StillAnswer): Shown[] {
  if (door === "chat") return stream ? readChatStream(text) : readChat(text);
  return [readResponse(stream ? lastResponse(text) : (JSON.parse(text) as Response))];
}

type Call = { index: number; id?: string; function: { name?: string; arguments: string } };
type Choice<Key extends string> = { index: number; finish_reason: string | null } & Record<
  Key,
  { role?: string; content?: string | null; tool_calls?: Call[] }
>;
type Response = {
  status: string;
  output: (
    | { type: "message"; content: { text: string }[] }
    | { type: "function_call"; name: string; arguments: string; status: string }
  )[];
};

function readChat(text: string): Shown[] {
  const { choices } = JSON.parse(text) as { choices: Choice<"message">[] };
  return choices.map(({ message, finish_reason }) => ({
    calls: (message.tool_calls ?? []).map(({ function: called }) => ({
      name: called.name ?? "",
      input: JSON.parse(called.arguments),
    })),
    text: message.content ?? null,
    finish: finish_reason ?? "",
  }));
}

/** Frames in their order; a comment is one too. */
const framesOf = (text: string): string[] => text.split("\n\n").filter((frame) => frame !== "");
const chunkOf = (frame: string) =>
  JSON.parse(frame.slice("data: ".length)) as { choices: Choice<"delta">[]; usage?: unknown };

function readChatStream(text: string): Shown[] {
  const choices: { calls: { name: string; input: string }[]; text: string; finish: string }[] = [];
  for (const frame of framesOf(text)) {
    if (!frame.startsWith("data: {")) continue;
    for (const { index, delta, finish_reason } of chunkOf(frame).choices) {
      const choice = (choices[index] ??= { calls: [], text: "", finish: "" });
      choice.text += delta.content ?? "";
      for (const { index: at, function: said } of delta.tool_calls ?? []) {
        const call = (choice.calls[at] ??= { name: "", input: "" });
        call.name += said.name ?? "";
        call.input += said.arguments;
      }
      if (finish_reason !== null) choice.finish += finish_reason;
    }
  }
  return choices.map(({ calls, text: said, finish }) => ({
    calls: calls.map(({ name, input }) => ({ name, input: JSON.parse(input) })),
    text: said === "" ? null : said,
    finish,
  }));
}

function lastResponse(text: string): Response {
  const frame = framesOf(text).findLast((one) => one.startsWith("event: response.")) ?? "";
  return (JSON.parse(frame.slice(frame.indexOf("data: ") + 6)) as { response: Response }).response;
}

function readResponse({ status, output }: Response): Shown {
  // One message holds all that is said; of more, a client would read only the first.
  const message = output.find((item) => item.type === "message");
  const said = message?.content.map((part) => part.text).join("") ?? "";
  return {
    calls: output
      .filter((item) => item.type === "function_call")
      .map(({ name, arguments: input }) => ({ name, input: JSON.parse(input) })),
    text: said === "" ? null : said,
    finish: status,
  };
}

/** How a chat stream ends: what comes once no more is said. */
function endOf(text: string): string[] {
  const kinds = framesOf(text).map((frame) => {
    if (frame.startsWith(": ")) return "comment";
    if (frame === "data: [DONE]") return "done";
    const [choice] = chunkOf(frame).choices;
    if (choice === undefined) return "usage";
    return choice.finish_reason === null ? "said" : "finish";
  });
  return kinds.slice(kinds.lastIndexOf("said") + 1);
}

/** The figures as the client is told them: in the head of a whole answer, in the comment of a stream. */
function figuresTold({ stream }: Row, { headers, text }: StillAnswer): readonly unknown[] {
  if (!stream)
    return [
      JSON.stringify({
        tool_call_count: Number(headers["x-codex-tool-call-count"]),
        tool_call_truncated: headers["x-codex-tool-call-truncated"] === "true",
        stop_after_tools_mode: headers["x-codex-stop-after-tools-mode"],
      }),
    ];
  return framesOf(text)
    .filter((frame) => frame.startsWith(": "))
    .map((frame) => frame.slice(2));
}

const counted = (metrics: string, name: string): number =>
  [...metrics.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\d+)$`, "gm"))].reduce(
    (sum, [, value]) => sum + Number(value),
    0,
  );

/** One choice of the answer, as the client must read it. */
function choiceOf(
  { door, stream, output }: Row,
  { given, tail }: ReturnType<typeof expected>,
): Shown {
  const calls = given.flatMap((at) => made[at] ?? []);
  const blocks = calls
    .map(({ name, arguments: input }) => writeUseTool(name, input, schemas[name]))
    .join(DELIMITER);
  const text = output === "obsidian-xml" ? blocks + tail : tail;
  const isAlone = output === "openai-json" && door === "chat" && !stream;
  return {
    calls: calls.map(({ name, arguments: input }) => ({
      name,
      input: JSON.parse(input) as unknown,
    })),
    text: text === "" || isAlone ? null : text,
    finish: door === "chat" ? "tool_calls" : "completed",
  };
}

describe("a burst of four slow calls and a tail", () => {
  it.each(rows)(
    "$door stream=$stream $output max=$max stop=$stop tail=$suppressTail dedup=$dedup n=$n $calls",
    async (row) => {
      const { n, max, stop, suppressTail } = row;
      const told = await ask(row);
      const want = expected(row);
      const { given, isCut, truncated } = want;
      expect(read(row, told)).toEqual(Array.from({ length: n }, () => choiceOf(row, want)));
      expect(told.ms).toBeLessThanOrEqual(want.ms + 20);

      const count = given.length * n;
      const mode = stop === "first" ? "first" : "burst";
      expect(figuresTold(row, told)).toEqual([
        JSON.stringify({
          tool_call_count: count,
          tool_call_truncated: truncated,
          stop_after_tools_mode: mode,
        }),
      ]);
      expect(told.turn).toMatchObject({
        outcome: "completed",
        calls: { given: count, truncated, stopped: isCut },
      });
      const totals = {
        tool_call_count_total: count,
        tool_call_truncated_total: truncated ? 1 : 0,
        stop_after_tools_mode: mode,
        tool_block_max: max,
        suppress_tail_after_tools: suppressTail,
      };
      expect(usageLine(told.turn)).toMatchObject({ ...totals, finish_reason: "tool_calls" });
      expect(eventLines(told.turn, 0)[0]).toMatchObject({
        kind: "tool_call_summary",
        tool_calls_by_choice: Array<number>(n).fill(given.length),
        ...totals,
      });
      expect(loggedFields(told.turn)).toMatchObject(totals);
      expect(counted(told.metrics, "tool_call_count_total")).toBe(count);
      expect(counted(told.metrics, "tool_call_truncated_total")).toBe(truncated ? 1 : 0);
    },
  );

  it.each(rows.filter(({ stream, door }) => stream && door === "chat"))(
    "ends in order: $output max=$max stop=$stop tail=$suppressTail dedup=$dedup n=$n $calls",
    async (row) => {
      const { text } = await ask(row);
      expect(endOf(text)).toEqual([
        ...Array<string>(row.n).fill("finish"),
        "comment",
        // An upstream that was cut has counted nothing: then it is an estimate.
        "usage",
        "done",
      ]);
    },
  );
});

describe("calls in text", () => {
  const block = writeUseTool("look", '{"city":"Rome"}', schemas.look);
  const askText = async (tools: ConfigInput["tools"], body: object): Promise<Shown[]> => {
    const told = await askStill(
      {
        upstreams: { actor: { dialect: "scripted", script: [[{ text: block }]] } },
        models: { "*": "actor/scripted" },
        tools,
      },
      {
        path: "/v1/chat/completions",
        body: {
          model: "m",
          messages: [{ role: "user", content: "Go." }],
          tools: [{ type: "function", function: { name: "look", parameters: schemas.look } }],
          ...body,
        },
      },
    );
    return readChat(told.text);
  };
  const asText: Shown = { calls: [], text: block, finish: "stop" };
  const asCall = { calls: [{ name: "look", input: { city: "Rome" } }], finish: "tool_calls" };

  it("are text unless somebody asks for more", async () => {
    expect(await askText({}, {})).toEqual([asText]);
    expect(await askText({ text_calls: true }, {})).toEqual([{ ...asCall, text: null }]);
  });

  it("are calls where calls are shown as text, unless that is switched off", async () => {
    expect(await askText({ output: "obsidian-xml" }, {})).toEqual([{ ...asCall, text: block }]);
    expect(await askText({ output: "obsidian-xml", text_calls: false }, {})).toEqual([asText]);
  });

  it("are text for a client that wants no calls", async () => {
    expect(await askText({ text_calls: true }, { tool_choice: "none" })).toEqual([asText]);
  });
});
