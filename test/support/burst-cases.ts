import * as fc from "fast-check";
import { writeUseTool } from "../../src/tools/text-calls/use-tool.ts";
import { type DoorName } from "./client.ts";
import type { Body } from "./fake-upstream.ts";
import { askingFor, askStill, type StillAnswer } from "./still-gateway.ts";
import { framesOf } from "./client-answer.ts";

export const schema = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
};
const names = ["look", "find"] as const;
/** Arguments, some of which are the same in other words. */
const inputs = [
  '{"city":"Zürich 🏔️","days":2}',
  '{ "days": 2,\n "city": "Z\\u00fcrich \\ud83c\\udfd4\\ufe0f" }',
  '{"city":"a < b && c"}',
  '{"city":"</use_tool>"}',
  "{}",
  '{"days":12345678901234567890}',
  '{"days":12345678901234567891}',
] as const;

export type Call = { readonly name: string; readonly input: string };
type Thing = ({ readonly say: "call" } & Call) | { readonly say: Word; readonly words: string };
type Word = "text" | "reasoning";
type Step = { readonly after: number; readonly choice: number; readonly thing: Thing };

/** A model's doings, and the rules it is held to. */
export type BurstCase = {
  readonly door: DoorName;
  readonly stream: boolean;
  readonly n: number;
  readonly steps: readonly Step[];
  readonly last: number;
  readonly ending: "end" | "length" | "error" | "cut";
  /** How the model makes calls: as events, in frames of a chat stream, or in its text. */
  readonly made: "events" | "frames" | "text";
  /** When the client leaves, if it does. */
  readonly leaveAt: number | undefined;
  readonly rules: {
    readonly block_max: number;
    readonly block_dedup: boolean;
    readonly block_delimiter: string;
    readonly stop_after: boolean;
    readonly stop_after_mode: "first" | "burst";
    readonly stop_after_grace_ms: number;
    readonly suppress_tail: boolean;
    readonly output: "openai-json" | "obsidian-xml" | undefined;
  };
};

const said = (say: Word, ...words: string[]): fc.Arbitrary<Thing> =>
  fc.record({ say: fc.constant(say), words: fc.constantFrom(...words) });
const called: fc.Arbitrary<Thing> = fc.record({
  say: fc.constant("call" as const),
  name: fc.constantFrom(...names),
  input: fc.constantFrom(...inputs),
});
const step = fc.record({
  after: fc.constantFrom(0, 0, 0, 20, 110, 250, 430),
  choice: fc.integer({ min: 0, max: 2 }),
  thing: fc.oneof(
    { weight: 4, arbitrary: called },
    { weight: 2, arbitrary: said("text", "Hm. ", "漢字 ", "a <b> ", "<use_too") },
    { weight: 1, arbitrary: said("reasoning", "I think.") },
  ),
});
const rules = fc.record({
  block_max: fc.constantFrom(0, 1, 2, 3, 50),
  block_dedup: fc.boolean(),
  block_delimiter: fc.constantFrom("", "\n", "</use_tool>", "\n--\n"),
  stop_after: fc.boolean(),
  stop_after_mode: fc.constantFrom("first" as const, "burst" as const, "burst" as const),
  stop_after_grace_ms: fc.constantFrom(5, 200, 300),
  suppress_tail: fc.boolean(),
  output: fc.constantFrom(undefined, "openai-json" as const, "obsidian-xml" as const),
});

export const anyBurstCase: fc.Arbitrary<BurstCase> = fc
  .record({
    door: fc.constantFrom("chat" as const, "responses" as const),
    stream: fc.boolean(),
    asked: fc.integer({ min: 1, max: 3 }),
    steps: fc.array(step, { maxLength: 12 }),
    last: fc.constantFrom(0, 20, 430),
    ending: fc.constantFrom("end" as const, "end", "end", "length" as const, "error", "cut"),
    made: fc.constantFrom("events" as const, "frames" as const, "text" as const),
    leaveAt: fc.constantFrom(undefined, undefined, undefined, 30, 200),
    rules,
  })
  .map(({ asked, steps, ...scene }) => {
    // Responses has no `n`.
    const n = scene.door === "chat" ? asked : 1;
    const own = steps.map(({ choice, ...rest }) => ({ ...rest, choice: choice % n }));
    return Object.assign(scene, { n, steps: own });
  });

const chunk = (index: number, delta: object, finish: string | null = null): object => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 7,
  model: "m",
  choices: [{ index, delta, finish_reason: finish }],
});
const raw = (...frames: (object | string)[]): object => ({ raw: { dialect: "chat", frames } });

/** A thing said in frames: the arguments of a call in two pieces. */
function framesFor(thing: Thing, choice: number, counts: Map<number, number>): object[] {
  if (thing.say !== "call")
    return [
      chunk(choice, { [thing.say === "text" ? "content" : "reasoning_content"]: thing.words }),
    ];
  const index = counts.get(choice) ?? 0;
  counts.set(choice, index + 1);
  const { name, input } = thing;
  const head = { index, id: `call_${choice}_${index}`, type: "function" };
  return [
    chunk(choice, { tool_calls: [{ ...head, function: { name, arguments: input.slice(0, 1) } }] }),
    chunk(choice, { tool_calls: [{ index, function: { arguments: input.slice(1) } }] }),
  ];
}

/** A script that plays the scene. */
function stepsOf({ n, steps, last, ending, made }: BurstCase): object[] {
  const counts = new Map<number, number>();
  const doings = steps.flatMap(({ after, choice, thing }): object[] => {
    const delay = { delay: after };
    if (made === "frames") return [delay, raw(...framesFor(thing, choice, counts))];
    if (thing.say !== "call") return [delay, { [thing.say]: thing.words, choice }];
    const { name, input } = thing;
    return made === "text"
      ? [delay, { text: writeUseTool(name, input, schema), chunks: 5, choice }]
      : [delay, { call: { name, arguments: input, chunks: 3 }, choice }];
  });
  const finish = (index: number): string =>
    ending === "length" ? ending : counts.has(index) ? "tool_calls" : "stop";
  const usage = { prompt_tokens: 11, completion_tokens: 7 };
  const over = {
    frames: [
      raw(
        ...Array.from({ length: n }, (_, index) => chunk(index, {}, finish(index))),
        { ...chunk(0, {}), choices: [], usage },
        "[DONE]",
      ),
    ],
    events: [{ stop: ending === "length" ? "length" : "end" }, { usage: { input: 11, output: 7 } }],
  };
  const ends = {
    error: [{ error: "Out of memory." }],
    cut: [{ cut: true }],
    end: made === "frames" ? over.frames : over.events.slice(1),
    length: made === "frames" ? over.frames : over.events,
  };
  const begin = made === "frames" ? [] : [{ text: "" }];
  return [...begin, ...doings, { delay: last }, ...ends[ending]];
}

/** Plays it through a gateway. */
export function runBurstCase(scene: BurstCase): Promise<StillAnswer> {
  const { door, stream, n, made, leaveAt } = scene;
  const { output, ...others } = scene.rules;
  const schemas = Object.fromEntries(names.map((name) => [name, schema]));
  return askStill(
    {
      upstreams: { actor: { dialect: "scripted", script: [stepsOf(scene)] } },
      models: { "*": "actor/scripted" },
      tools: { ...others, text_calls: made === "text", ...(output !== undefined && { output }) },
    },
    {
      ...askingFor({ door, stream, n, schemas }),
      ...(leaveAt !== undefined && { leaveAt }),
    },
  );
}

/** One choice, as a client reads it. */
export type ShownCall = {
  readonly calls: readonly Call[];
  readonly text: string | null;
  readonly finish: string;
};

export function callsShown({ door, stream }: BurstCase, { text }: StillAnswer): ShownCall[] {
  if (door === "chat") return stream ? readChatStream(text) : readChat(JSON.parse(text) as Body);
  const last = framesOf(text).at(-2)?.data ?? "{}";
  return [readResponse(stream ? JSON.parse(last).response : JSON.parse(text))];
}

const readChat = ({ choices }: Body): ShownCall[] =>
  (choices as Body[]).map(({ message, finish_reason: finish }) => ({
    calls: ((message.tool_calls ?? []) as Body[]).map(({ function: made }) => ({
      name: made.name as string,
      input: made.arguments as string,
    })),
    text: message.content as string | null,
    finish: finish as string,
  }));

function readChatStream(text: string): ShownCall[] {
  const all: { calls: { name: string; input: string }[]; text: string; finish: string }[] = [];
  for (const { data } of framesOf(text)) {
    if (data === "[DONE]") continue;
    for (const { index, delta, finish_reason } of (JSON.parse(data) as Body)["choices"] ?? []) {
      const one = (all[index] ??= { calls: [], text: "", finish: "" });
      one.text += delta.content ?? "";
      for (const { index: at, function: made } of delta.tool_calls ?? []) {
        const call = (one.calls[at] ??= { name: "", input: "" });
        call.name += made.name ?? "";
        call.input += made.arguments ?? "";
      }
      one.finish += finish_reason ?? "";
    }
  }
  return all;
}

function readResponse({ output, status, incomplete_details: why }: Body): ShownCall {
  const of = (type: string): Body[] => (output as Body[]).filter((item) => item["type"] === type);
  return {
    calls: of("function_call")
      .filter((item) => item["status"] === "completed")
      .map((item) => ({ name: item["name"] as string, input: item["arguments"] as string })),
    text: of("message")
      .flatMap((item) => item["content"] as Body[])
      .map((part) => part["text"] as string)
      .join(""),
    finish: (why?.reason ?? status) as string,
  };
}
