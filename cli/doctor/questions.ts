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
import type { CheckOutcome } from "../../src/observe/console/wire-checks.ts";
import { plural } from "../output.ts";
import { callFlaws } from "../smoke/judge.ts";
import { prompt, weatherTool } from "../smoke/scene.ts";
import type { ProbeAnswer } from "./probe.ts";

/** A form in which a server leaves calls in the text, and the parsers of vLLM and SGLang that read it. */
type Form = readonly [sign: RegExp, vllm: string, sglang: string];

/** The narrower sign first. The names are from their documents, read 2026-11. */
const forms: readonly Form[] = [
  [/<tool_call>\s*<function=/, "qwen3_coder", "qwen3_coder"],
  [/<tool_call>[^<{]*<arg_key>/, "glm45", "glm"],
  [/<minimax:tool_call>/, "minimax_m2", "minimax-m2"],
  [/<\|tool_calls_section_begin\|>/, "kimi_k2", "kimi_k2"],
  [/<｜tool▁calls▁begin｜>|<\|tool▁calls▁begin\|>/, "deepseek_v3", "deepseekv3"],
  [/to=functions\./, "openai", "gpt-oss"],
  [/\[TOOL_CALLS\]/, "mistral", "mistral"],
  [/<\|python_tag\|>/, "llama3_json", "llama3"],
  [/<tool_call>/, "hermes", "qwen"],
];

/** The forms of most chat templates of Llama. */
const bareJson: Form = [/^/, "llama3_json", "llama3"];
const pythonic: Form = [/^/, "pythonic", "pythonic"];

export type LeftInText = {
  readonly excerpt: string;
  /** True for blocks that the gateway can read itself. */
  readonly isUseTool: boolean;
  readonly form?: Form | undefined;
};

/** Finds a call of a tool in a text; undefined if the text only mentions the tool. */
export function leftInText(text: string, tool: string): LeftInText | undefined {
  const excerpt = text.trim().slice(0, 80);
  if (/<use_tool>/.test(text)) return { excerpt, isUseTool: true };
  const form = forms.find(([sign]) => sign.test(text));
  if (form !== undefined) return { excerpt, isUseTool: false, form };
  if (namesTool(jsonIn(text), tool)) return { excerpt, isUseTool: false, form: bareJson };
  if (new RegExp(`^\\s*\\[\\s*${tool}\\(`).test(text))
    return { excerpt, isUseTool: false, form: pythonic };
  return undefined;
}

/** Reads a text that is JSON, with or without the marks of a code block around it. */
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

const vllmFlags = ([, parser]: Form): string =>
  `--enable-auto-tool-choice --tool-call-parser ${parser}`;

/** Changes at a server that left a call in the text, by the name of the profile. */
const settings: Readonly<Record<string, (form: Form) => string>> = {
  vllm: (form) => `Start vLLM with ${vllmFlags(form)}`,
  "vllm-messages": (form) => `Start vLLM with ${vllmFlags(form)}`,
  ollama: () =>
    "Choose a model that `ollama show` lists with `tools`: the template of this model has no tools",
  lmstudio: () =>
    "Choose a model that LM Studio marks for tool use: it only reads the calls of such models",
};

export function remedyFor(left: LeftInText, profile: string): string {
  if (left.isUseTool)
    return "Set `tools: { written: true }` in its `capabilities`: the gateway then reads these blocks.";
  const { form = bareJson } = left;
  return (
    settings[profile]?.(form) ??
    `Configure its server to read the calls: vLLM with ${vllmFlags(form)}, SGLang with --tool-call-parser ${form[2]}, llama.cpp with --jinja`
  );
}

/** The result of a question; `can` is undefined if the answer leaves it open. */
export type Shown = {
  readonly outcome: CheckOutcome;
  readonly evidence: string;
  readonly can?: boolean | undefined;
  readonly remedy?: string | undefined;
};

const can = (evidence: string): Shown => ({ outcome: "ok", evidence, can: true });
const cannot = (evidence: string): Shown => ({ outcome: "wrong", evidence, can: false });
const unclear = (evidence: string, outcome: CheckOutcome = "unknown"): Shown => ({
  outcome,
  evidence,
});

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
  /** Changes the profile so that the question is sent; default: not at all. */
  open?(profile: Profile): Profile;
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
const weather = functionTool(weatherTool.name, weatherTool.description, weatherTool.parameters);
const time = functionTool("get_time", "The time in one city, now.", weatherTool.parameters);

/** Enough for a model that thinks, and a bound on what a probe can cost. */
const params = { maxTokens: 4096 };

const asking = (text: string, more: Partial<ModelRequest> = {}): ModelRequest => ({
  items: [user(text)],
  tools: [weather],
  params,
  ...more,
});

const choosing =
  (form: ToolChoiceForm) =>
  (profile: Profile): Profile => ({
    ...profile,
    tools: { ...profile.tools, choice: [...new Set([...profile.tools.choice, form])] },
  });

const counted = (calls: readonly unknown[]): string => `${plural(calls.length, "call")} came`;

const inWords = ({ text }: ProbeAnswer): string => `it answered without a call: ${quoted(text)}`;
const quoted = (text: string): string => JSON.stringify(text.trim().slice(0, 60));

function judgeCalls(answer: ProbeAnswer, least: number): Shown {
  const { calls, text } = answer;
  const [flaw] = callFlaws(calls.map(({ id, name, input }) => ({ id, name, arguments: input })));
  if (flaw !== undefined) return unclear(flaw, "wrong");
  if (calls.length >= least) return can(counted(calls));
  if (calls.length > 0) return unclear(`${counted(calls)}, requested ${least}`, "note");
  const left = leftInText(text, weatherTool.name);
  return left === undefined
    ? unclear(inWords(answer))
    : cannot(`the call came as text: ${quoted(left.excerpt)}`);
}

const forced = (title: string, name: "required" | "named", toolChoice: ToolChoice): Question => ({
  name,
  title,
  request: () => asking("Say hello.", { tools: [weather, time], toolChoice }),
  open: choosing(name === "named" ? "function" : "required"),
  judge(answer) {
    const { calls } = answer;
    if (calls.length === 0) return cannot(`it was ignored: ${inWords(answer)}`);
    const isMeant = toolChoice.type !== "tool" || calls[0]?.name === toolChoice.tool.name;
    return isMeant ? can(counted(calls)) : cannot("another tool was called");
  },
});

const answerSchema: Fields = {
  type: "object",
  properties: { city: { type: "string" }, letters: { type: "integer" } },
  required: ["city", "letters"],
  additionalProperties: false,
};

/** The result of the tool, which no model can guess. */
const FOUND = "17.25 degrees";

/** In the order in which they are asked; the first decides whether the others are worth asking. */
export const questions: readonly [Question, ...Question[]] = [
  {
    name: "one_call",
    title: "one call",
    request: () => asking(prompt(1)),
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
    title: "no call if none is allowed",
    request: () => asking(prompt(1), { toolChoice: { type: "none" } }),
    open: choosing("none"),
    // The gateway withholds a call that is not allowed, and reports it.
    judge: ({ calls, text, isWithheld }) =>
      calls.length === 0 && !isWithheld && leftInText(text, weatherTool.name) === undefined
        ? can("no call came")
        : cannot("a call came although none is allowed"),
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
          ...cannot("its dialect has no custom tools; the gateway sends functions instead"),
          outcome: "note",
        };
      if (call === undefined) return unclear(inWords(answer));
      const evidence = `a call came with ${quoted(call.input)}`;
      return call.kind === "custom" ? can(evidence) : cannot(`${evidence}, as a function call`);
    },
  },
  {
    name: "result",
    title: "the result of a call",
    request: (first) => ({
      items: [user(prompt(1)), ...(first?.items ?? []), ...resultsFor(first)],
      tools: [weather],
      params,
    }),
    judge: (answer) =>
      /17[.,]2/.test(answer.text)
        ? can("the answer uses it")
        : unclear(`the answer does not use it: ${quoted(answer.text)}`),
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
        ? can(`the answer fits the schema: ${quoted(text)}`)
        : cannot(`the answer does not fit the schema: ${quoted(text)}`);
    },
  },
  {
    name: "usage",
    title: "token counts in a stream",
    request: () => ({ items: [user("Say hello.")], tools: [], params }),
    open: (profile) => ({ ...profile, streamUsage: true }),
    judge: ({ usage }) =>
      usage === undefined
        ? unclear("no counts came; the tokens of turns stay unknown", "note")
        : can(`${usage.input} in, ${usage.output} out`),
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
