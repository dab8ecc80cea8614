/** Knows calls that a model made and its server left in the text, and the setting that would have read them. */

import { jsonOf } from "../../../src/json/json.ts";

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
