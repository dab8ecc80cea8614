import type { Body } from "../support/fake-upstream.ts";

/** What not every door or upstream has: without it a scenario is skipped, not failed. */
export type Capability =
  /** Tools whose input is free text. */
  | "custom"
  /** Tools in named groups. */
  | "namespaces"
  /** Several answers to one request. */
  | "choices"
  /** It can be seen what the upstream was asked. */
  | "heard"
  /** It can be seen that the upstream was let go. */
  | "left";

export type AskedFunction = { readonly type: "function"; readonly name: string };
export type AskedTool =
  | AskedFunction
  | { readonly type: "custom"; readonly name: string }
  | { readonly type: "namespace"; readonly name: string; readonly tools: readonly AskedFunction[] };

/** What a client asks, in no dialect. */
export type Asked = {
  readonly tools?: readonly AskedTool[];
  /** The name of a tool that is to be called, or what any dialect has a word for. */
  readonly choice?: "none" | "required" | { readonly name: string };
  readonly schema?: Body;
  readonly n?: number;
};

/** A call of the tool at a place among all that can be called; arguments as JSON, or free text. */
export type SaidCall = { readonly tool: number; readonly input: string };

/** What a model says in one choice, in no dialect. */
export type Said = {
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly SaidCall[];
  /** Not given: `calls` where there are calls, else `end`. */
  readonly stop?: "length" | "filter";
};

export type Play =
  | { readonly type: "answer"; readonly says: readonly Said[] }
  /** A refusal in place of an answer, or an error behind the text of one. */
  | { readonly type: "fail"; readonly after?: string }
  /** Some text, and then nothing. */
  | { readonly type: "hang"; readonly text: string };

export const BROKEN = "out of order";
export const COUNTS = { input: 11, output: 7 };

export type Scenario = {
  readonly name: string;
  readonly asked?: Asked;
  readonly plays: Play;
  readonly needs?: {
    readonly door?: readonly Capability[];
    readonly upstream?: readonly Capability[];
  };
  /** What cannot happen to an answer that comes whole. */
  readonly streamOnly?: true;
};

const functions = ["look", "find"].map((name): AskedFunction => ({ type: "function", name }));
const answer = (...says: readonly Said[]): Play => ({ type: "answer", says });
const look: SaidCall = { tool: 0, input: '{"at":"Zürich 🏔️"}' };
const find: SaidCall = { tool: 1, input: '{"at":"a < b && \\"c\\""}' };
const schema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};

/** What every door must give its clients of what any upstream says. */
export const scenarios: readonly Scenario[] = [
  { name: "text", plays: answer({ text: "Hello, wörld 🌍." }) },
  { name: "one-call", asked: { tools: functions }, plays: answer({ calls: [look] }) },
  {
    name: "text-and-parallel-calls",
    asked: { tools: functions },
    plays: answer({ text: "Let me see.", calls: [look, find, { ...look, input: "{}" }] }),
  },
  {
    name: "custom-tool",
    asked: { tools: [{ type: "custom", name: "write" }] },
    plays: answer({ calls: [{ tool: 0, input: 'one "line"\nand another 漢字' }] }),
    needs: { door: ["custom"] },
  },
  {
    name: "namespace-tool",
    asked: { tools: [{ type: "namespace", name: "files", tools: functions }] },
    plays: answer({ calls: [find] }),
    needs: { door: ["namespaces"] },
  },
  { name: "reasoning", plays: answer({ reasoning: "Hm, let me think.", text: "Yes." }) },
  {
    name: "reasoning-and-call",
    asked: { tools: functions },
    plays: answer({ reasoning: "I must look.", calls: [look] }),
  },
  {
    name: "forced-choice",
    asked: { tools: functions, choice: { name: "find" } },
    plays: answer({ calls: [find] }),
    needs: { upstream: ["heard"] },
  },
  {
    name: "required-choice",
    asked: { tools: functions, choice: "required" },
    plays: answer({ calls: [look] }),
    needs: { upstream: ["heard"] },
  },
  {
    name: "no-choice",
    asked: { tools: functions, choice: "none" },
    plays: answer({ text: "No calls." }),
    needs: { upstream: ["heard"] },
  },
  {
    name: "structured-output",
    asked: { schema },
    plays: answer({ text: '{"city":"Zürich"}' }),
    needs: { upstream: ["heard"] },
  },
  { name: "length-cut", plays: answer({ text: "And then", stop: "length" }) },
  { name: "filtered", plays: answer({ text: "And then", stop: "filter" }) },
  { name: "fails-at-once", plays: { type: "fail" } },
  { name: "fails-within", plays: { type: "fail", after: "Half." }, streamOnly: true },
  {
    name: "client-leaves",
    plays: { type: "hang", text: "One moment." },
    needs: { upstream: ["left"] },
    streamOnly: true,
  },
  {
    name: "several-choices",
    asked: { n: 2 },
    plays: answer({ text: "Heads." }, { text: "Tails." }),
    needs: { door: ["choices"], upstream: ["choices"] },
  },
];

export const scenarioOf = (model: string): Scenario => {
  const found = scenarios.find(({ name }) => name === model);
  if (found === undefined) throw new Error(`there is no scenario ${model}`);
  return found;
};

/** A tool that can be called, as a client knows it. */
export type AskedCallable = {
  readonly kind: "function" | "custom";
  readonly name: string;
  readonly namespace?: string;
};

/** All that a client asked for that can be called, in order. */
export const callables = ({ tools = [] }: Asked = {}): readonly AskedCallable[] =>
  tools.flatMap((tool): readonly AskedCallable[] =>
    tool.type === "namespace"
      ? tool.tools.map(({ name }) => ({ kind: "function", name, namespace: tool.name }))
      : [{ kind: tool.type, name: tool.name }],
  );
