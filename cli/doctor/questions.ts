/** The questions of a probe: each is one request, and shows one thing that a model or its server can do. */
import {
  clientName,
  errorsIn,
  type ModelRequest,
  type Profile,
  type ToolChoiceForm,
} from "../../src/inspection.ts";
import {
  type Fields,
  type FunctionTool,
  type Item,
  jsonOf,
  type ToolChoice,
} from "../../src/terminal.ts";
import type { Outcome } from "../../src/observe/console/wire-checks.ts";
import { callFlaws } from "../smoke/judge.ts";
import { prompt, tool } from "../smoke/scene.ts";
import type { ProbeAnswer } from "./probe.ts";

/** Knows calls that a model made and its server left in the text, and the setting that would have read them. */
type Form = {
  readonly sign: RegExp;
  /** What vLLM and SGLang call their parsers for it. Read in their documents, 2026-11. */
  readonly vllm: string;
  readonly sglang: string;
};

/** The narrower sign first. */
const forms: readonly Form[] = [
  { sign: /<tool_call>\s*<function=/, vllm: "qwen3_coder", sglang: "qwen3_coder" },
  { sign: /<tool_call>[^<{]*<arg_key>/, vllm: "glm45", sglang: "glm" },
  { sign: /<minimax:tool_call>/, vllm: "minimax_m2", sglang: "minimax-m2" },
  { sign: /<\|tool_calls_section_begin\|>/, vllm: "kimi_k2", sglang: "kimi_k2" },
  {
    sign: /<｜tool▁calls▁begin｜>|<\|tool▁calls▁begin\|>/,
    vllm: "deepseek_v3",
    sglang: "deepseekv3",
  },
  { sign: /to=functions\./, vllm: "openai", sglang: "gpt-oss" },
  { sign: /\[TOOL_CALLS\]/, vllm: "mistral", sglang: "mistral" },
  { sign: /<\|python_tag\|>/, vllm: "llama3_json", sglang: "llama3" },
  { sign: /<tool_call>/, vllm: "hermes", sglang: "qwen" },
];

/** As most chat templates of Llama have them. */
const bareJson: Form = { sign: /^/, vllm: "llama3_json", sglang: "llama3" };
const pythonic: Form = { sign: /^/, vllm: "pythonic", sglang: "pythonic" };

export type LeftInText = {
  /** How the text begins. */
  readonly excerpt: string;
  /** Whether these are blocks that the gateway can read itself. */
  readonly isUseTool: boolean;
  readonly form?: Form | undefined;
};

/** A call of a tool of this name that stands in a text; none where the text only talks of it. */
export function leftInText(text: string, tool: string): LeftInText | undefined {
  const excerpt = text.trim().slice(0, 80);
  if (/<use_tool>/.test(text)) return { excerpt, isUseTool: true };
  const form = forms.find(({ sign }) => sign.test(text));
  if (form !== undefined) return { excerpt, isUseTool: false, form };
  if (namesTool(jsonIn(text), tool)) return { excerpt, isUseTool: false, form: bareJson };
  if (new RegExp(`^\\s*\\[\\s*${tool}\\(`).test(text))
    return { excerpt, isUseTool: false, form: pythonic };
  return undefined;
}

/** The JSON of a text that is nothing else, but for the marks of a code block around it. */
const jsonIn = (text: string): unknown =>
  jsonOf(text.trim().replace(/^```\w*\s*([\s\S]*?)\s*```$/, "$1"));

function namesTool(value: unknown, tool: string): boolean {
  const [first] = [value].flat();
  if (typeof first !== "object" || first === null) return false;
  const { name, function: inner } = first as {
    readonly name?: unknown;
    readonly function?: unknown;
  };
  return name === tool || inner === tool || namesTool(inner, tool);
}

/** By the name of the profile: what to change at a server that left a call in the text. */
const settings: Readonly<Record<string, (form: Form) => string>> = {
  vllm: ({ vllm }) => `Start vLLM with --enable-auto-tool-choice --tool-call-parser ${vllm}`,
  "vllm-messages": ({ vllm }) =>
    `Start vLLM with --enable-auto-tool-choice --tool-call-parser ${vllm}`,
  ollama: () =>
    "Choose a model that `ollama show` lists with `tools`: the template of this one has none",
  lmstudio: () =>
    "Choose a model that LM Studio marks for tool use: it reads the calls of no other",
};

export function remedyFor(left: LeftInText, profile: string): string {
  if (left.isUseTool)
    return "Set `tools: { written: true }` in its `capabilities`: the gateway reads these blocks.";
  const { form = bareJson } = left;
  return (
    settings[profile]?.(form) ??
    `Have its server read the calls: vLLM with --enable-auto-tool-choice --tool-call-parser ${form.vllm}, SGLang with --tool-call-parser ${form.sglang}, llama.cpp with --jinja`
  );
}

/** What a question shows: `can` is undefined where the answer leaves it open. */
export type Shown = {
  readonly outcome: Outcome;
  readonly evidence: string;
  readonly can?: boolean | undefined;
  readonly remedy?: string | undefined;
};

export type QuestionName =
  | "one_call"
  | "two_calls"
  | "required"
  | "named"
  | "none"
  | "custom_tool"
  | "result"
  | "schema"
  | "usage";

export type Question = {
  readonly name: QuestionName;
  readonly title: string;
  /** `first`: the answer to the first question. */
  request(first: ProbeAnswer | undefined): ModelRequest;
  /** The profile without doubts about what is asked for. */
  open(profile: Profile): Profile;
  judge(answer: ProbeAnswer): Shown;
};

const user = (text: string): Item => ({
  type: "message",
  role: "user",
  parts: [{ type: "text", text }],
});

const functionTool = (name: string, description: string, schema: Fields): FunctionTool => ({
  type: "function",
  name: clientName(name),
  description,
  schema,
});
const weather = functionTool(tool.name, tool.description, tool.parameters);
const time = functionTool("get_time", "The time in one city, now.", tool.parameters);

/** Enough for a model that thinks, and a bound on what a probe can cost. */
const params = { maxTokens: 4096 };

const asking = (text: string, more: Partial<ModelRequest> = {}): ModelRequest => ({
  items: [user(text)],
  tools: [weather],
  params,
  ...more,
});

const same = (profile: Profile): Profile => profile;
const choosing =
  (form: ToolChoiceForm) =>
  (profile: Profile): Profile => ({
    ...profile,
    tools: { ...profile.tools, choice: [...new Set([...profile.tools.choice, form])] },
  });

const counted = (calls: readonly unknown[]): string =>
  `${calls.length} ${calls.length === 1 ? "call" : "calls"} came`;

const inWords = ({ text }: ProbeAnswer): string => `it answered in words: ${quoted(text)}`;
const quoted = (text: string): string => JSON.stringify(text.trim().slice(0, 60));

/** At least so many calls of the tool, each as it should be. */
function judgeCalls(answer: ProbeAnswer, least: number): Shown {
  const { calls, text } = answer;
  const seen = calls.map(({ id, name, input }) => ({ id, name, arguments: input }));
  const [flaw] = callFlaws(seen);
  if (flaw !== undefined) return { outcome: "wrong", evidence: flaw };
  if (calls.length >= least) return { outcome: "ok", evidence: counted(calls), can: true };
  const left = leftInText(text, tool.name);
  if (calls.length === 0 && left !== undefined)
    return {
      outcome: "wrong",
      evidence: `the call came back as text: ${quoted(left.excerpt)}`,
      can: false,
    };
  if (calls.length === 0) return { outcome: "unknown", evidence: inWords(answer) };
  return { outcome: "note", evidence: `${counted(calls)} where ${least} were asked for` };
}

const forced = (title: string, name: "required" | "named", toolChoice: ToolChoice): Question => ({
  name,
  title,
  request: () => asking("Say hello.", { tools: [weather, time], toolChoice }),
  open: choosing(name === "named" ? "function" : "required"),
  judge(answer) {
    const { calls } = answer;
    const isMeant = toolChoice.type !== "tool" || calls[0]?.name === toolChoice.tool.name;
    if (calls.length > 0 && isMeant) return { outcome: "ok", evidence: counted(calls), can: true };
    const evidence =
      calls.length === 0 ? `it was ignored: ${inWords(answer)}` : "another tool was called";
    return { outcome: "wrong", evidence, can: false };
  },
});

const answerSchema: Fields = {
  type: "object",
  properties: { city: { type: "string" }, letters: { type: "integer" } },
  required: ["city", "letters"],
  additionalProperties: false,
};

/** What the tool is said to have found: no model guesses it. */
const FOUND = "17.25 degrees";

/** In the order in which they are asked; the first decides whether the others are worth asking. */
export const questions: readonly [Question, ...Question[]] = [
  {
    name: "one_call",
    title: "one call",
    request: () => asking(prompt(1)),
    open: same,
    judge: (answer) => judgeCalls(answer, 1),
  },
  {
    name: "two_calls",
    title: "two calls at once",
    request: () => asking(prompt(2)),
    open: (profile) => ({ ...profile, tools: { ...profile.tools, parallel: true } }),
    judge: (answer) => judgeCalls(answer, 2),
  },
  forced("a call forced by `required`", "required", { type: "required" }),
  forced("a call forced by name", "named", {
    type: "tool",
    tool: { kind: "function", name: time.name },
  }),
  {
    name: "none",
    title: "no call where none is allowed",
    request: () => asking(prompt(1), { toolChoice: { type: "none" } }),
    open: choosing("none"),
    // A call that nobody may make is withheld like any other, and only told of.
    judge: ({ calls, text, isWithheld }) =>
      calls.length === 0 && !isWithheld && leftInText(text, tool.name) === undefined
        ? { outcome: "ok", evidence: "no call came", can: true }
        : { outcome: "wrong", evidence: "a call came all the same", can: false },
  },
  {
    name: "custom_tool",
    title: "a custom tool",
    request: () =>
      asking("Run this shell command with the tool: ls -l /tmp", {
        tools: [
          { type: "custom", name: clientName("run_command"), description: "Runs a shell command." },
        ],
      }),
    open: (profile) => ({
      ...profile,
      tools: { ...profile.tools, kinds: { ...profile.tools.kinds, custom: "native" } },
    }),
    judge(answer) {
      const [call] = answer.calls;
      if (answer.isAskedOtherwise)
        return {
          outcome: "note",
          evidence: "its dialect has none; functions stand in",
          can: false,
        };
      if (call === undefined) return { outcome: "unknown", evidence: inWords(answer) };
      const evidence = `a call came with ${quoted(call.input)}`;
      return call.kind === "custom"
        ? { outcome: "ok", evidence, can: true }
        : { outcome: "wrong", evidence: `${evidence}, as a function's`, can: false };
    },
  },
  {
    name: "result",
    title: "a result given back",
    request: (first) => ({
      items: [user(prompt(1)), ...(first?.items ?? []), ...resultsFor(first)],
      tools: [weather],
      params,
    }),
    open: same,
    judge: (answer) =>
      /17[.,]2/.test(answer.text)
        ? { outcome: "ok", evidence: "the answer is made of it", can: true }
        : {
            outcome: "unknown",
            evidence: `the answer does not show it: ${quoted(answer.text)}`,
          },
  },
  {
    name: "schema",
    title: "an answer by a schema",
    request: () => ({
      items: [user("How many letters has the name of the city Paris? Answer in JSON.")],
      tools: [],
      format: { type: "schema", name: "answer", schema: answerSchema, strict: true },
      params,
    }),
    open: (profile) =>
      profile.formats.includes("strict")
        ? profile
        : { ...profile, formats: [...new Set([...profile.formats, "schema" as const])] },
    judge({ text }) {
      const fits = errorsIn(jsonOf(text) ?? null, answerSchema, text.length)?.length === 0;
      return fits
        ? { outcome: "ok", evidence: `it keeps to it: ${quoted(text)}`, can: true }
        : { outcome: "wrong", evidence: `it does not keep to it: ${quoted(text)}`, can: false };
    },
  },
  {
    name: "usage",
    title: "token counts in a stream",
    request: () => ({ items: [user("Say hello.")], tools: [], params }),
    open: (profile) => ({ ...profile, streamUsage: true }),
    judge: ({ usage }) =>
      usage === undefined
        ? { outcome: "note", evidence: "none came; turns are not counted" }
        : { outcome: "ok", evidence: `${usage.input} in, ${usage.output} out`, can: true },
  },
];

const resultsFor = (first: ProbeAnswer | undefined): Item[] =>
  (first?.calls ?? []).map(({ id, kind, name }) => ({
    type: "result",
    call: id,
    kind,
    name,
    parts: [{ type: "text", text: FOUND }],
  }));
