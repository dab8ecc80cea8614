/** The demo's words about tool results. */

import { isFields, jsonOf } from "../../json/json.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Call, Part, Result, Turn } from "../../turn/turn.ts";
import { lastUserIndex, lastUserText, joinText } from "../turn-text.ts";
import { commandsIn, type Callable } from "./calls.ts";
import { exampleOf } from "./example.ts";
import { plainName, valuesFrom, type Facts } from "./values.ts";
import { subjectsOf, typedText } from "./words.ts";

type Answered = { readonly call: Call<UpstreamName> | undefined; readonly result: Result };

/** The results since the user last spoke, each with its call. */
export function resultsOf(turn: Turn<UpstreamName>): Answered[] {
  const since = turn.items.slice(lastUserIndex(turn) + 1);
  const calls = new Map(since.flatMap((item) => (item.type === "call" ? [[item.id, item]] : [])));
  return since.flatMap((item) =>
    item.type === "result" ? [{ call: calls.get(item.call), result: item }] : [],
  );
}

/** The answer in the format that was asked for. */
export function answerText(turn: Turn<UpstreamName>, offered: readonly Callable[]): string {
  const results = resultsOf(turn);
  const words = results.length > 0 ? fromResults(results) : introduction(turn, offered);
  switch (turn.format?.type) {
    case "json":
      return JSON.stringify({ answer: words });
    case "schema": {
      const source = valuesFrom(subjectsOf(typedText(lastUserText(turn))), factsOf(results, words));
      return JSON.stringify(exampleOf(turn.format.schema, source));
    }
    default:
      return words;
  }
}

const shortened = (text: string, longest: number): string =>
  text.length <= longest ? text : `${text.slice(0, longest)}...`;

function fromResults(results: readonly Answered[]): string {
  const sentences = results.map(({ call, result }) => {
    const text = shortened(plainText(result.parts), 600) || "nothing";
    const tool = call === undefined ? "The tool" : `${call.name}${argumentsOf(call)}`;
    return `${tool} says: ${/[.!?]$/.test(text) ? text : `${text}.`}`;
  });
  return sentences.join(" ");
}

/** The plain values a call was made with, in brackets. */
function argumentsOf(call: Call<UpstreamName>): string {
  const values = jsonOf(call.input);
  const scalars = isFields(values)
    ? Object.values(values).filter((value) => typeof value !== "object")
    : [];
  return scalars.length === 0 ? "" : ` (${shortened(scalars.join(", "), 80)})`;
}

function plainText(parts: readonly Part[]): string {
  const text = joinText(parts).trim();
  if (text === "" && parts.length > 0) return `a part of type ${parts[0]?.type}`;
  const value = jsonOf(text);
  return value === undefined ? text : spelled(value);
}

/** How deep a result is read: recursion further down could overflow the stack. */
const MAX_DEPTH = 64;

/** A JSON value as text: its numbers and strings as they stand, without the brackets. */
function spelled(value: unknown, depth = 0): string {
  if (typeof value !== "object" || value === null) return String(value);
  if (depth === MAX_DEPTH) return "...";
  if (Array.isArray(value)) return value.map((inner) => spelled(inner, depth + 1)).join("; ");
  return Object.entries(value)
    .map(([name, inner]) => `${name.replaceAll("_", " ")} ${spelled(inner, depth + 1)}`)
    .join(", ");
}

function introduction(turn: Turn<UpstreamName>, offered: readonly Callable[]): string {
  const asked = shortened(typedText(lastUserText(turn)), 200);
  const names = offered.slice(0, 5).map(({ tool }) => tool.name);
  const [command] = commandsIn(asked, offered);
  const more = offered.length > names.length ? ` and ${offered.length - names.length} more` : "";
  const sentences = [
    "This is Patchbay's built-in demo model: it follows a few rules, and needs neither a network nor a key.",
    asked === "" ? "" : `You said: "${asked}"`,
    command === undefined
      ? ""
      : `I cannot run \`${shortened(command, 200)}\`: the client offers no tool that runs commands, such as \`shell\`, \`exec_command\` or \`bash\`.`,
    offered.length === 0 || command !== undefined
      ? ""
      : `I could call ${names.join(", ")}${more}, but nothing you said seems to ask for it.`,
    "For answers from a real model, set a key such as OPENAI_API_KEY, or add an upstream to patchbay.yaml, and start Patchbay again.",
  ];
  return sentences.filter(Boolean).join(" ");
}

/** Properties of a schema that ask for the answer itself. */
const ANSWER_NAMES =
  "answer summary text message response result explanation output content finalanswer reply reasoning".split(
    " ",
  );
/** Values that are remembered for one name: a list of thousands has a value for each. */
const MAX_FACTS = 4;

function factsOf(results: readonly Answered[], words: string): Facts {
  const facts = new Map<string, unknown[]>();
  const learn = (name: string, value: unknown): void => {
    const known = facts.get(plainName(name)) ?? [];
    if (known.length < MAX_FACTS) facts.set(plainName(name), [...known, value]);
  };
  const read = (value: unknown, depth = 0): void => {
    if (typeof value !== "object" || value === null || depth === MAX_DEPTH) return;
    for (const [name, inner] of Object.entries(value)) {
      if (!Array.isArray(value)) learn(name, inner);
      read(inner, depth + 1);
    }
  };
  for (const { call, result } of results) {
    read(jsonOf(joinText(result.parts)));
    if (call !== undefined) read(jsonOf(call.input));
  }
  for (const name of ANSWER_NAMES) facts.set(name, [...(facts.get(name) ?? []), words]);
  return facts;
}
