/** The questions of a probe: each is one request, and shows one thing that a model or its server can do. */

import type { ModelRequest } from "../../../src/agent/adapter.ts";
import { errorsIn } from "../../../src/schema/check.ts";
import { jsonOf } from "../../../src/json/json.ts";
import { clientName } from "../../../src/turn/names.ts";
import type { Profile, ToolChoiceForm } from "../../../src/turn/profile.ts";
import type { Fields, FunctionTool, Item, ToolChoice } from "../../../src/turn/turn.ts";
import { callFlaws } from "../../smoke/judge.ts";
import { prompt, tool } from "../../smoke/scene.ts";
import type { Outcome } from "../../../src/observe/console/wire-checks.ts";
import type { ProbeAnswer } from "./ask-model.ts";
import { leftInText } from "./left-in-text.ts";

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
