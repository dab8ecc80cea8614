import { isFields, jsonOf } from "../../turn/json.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Call, Part, Result, Turn } from "../../turn/turn.ts";
import { lastUserIndex, lastUserText, textOf } from "../turn-text.ts";
import type { Callable } from "./wishes.ts";
import { exampleOf } from "./example.ts";
import { hintsFrom, plainName, type Facts } from "./hints.ts";
import { heard, named } from "./words.ts";

type Answered = { readonly call: Call<UpstreamName> | undefined; readonly result: Result };

/** The results since the user last spoke, each with its call. */
export function resultsOf(turn: Turn<UpstreamName>): Answered[] {
  const since = turn.items.slice(lastUserIndex(turn) + 1);
  const calls = new Map(since.flatMap((item) => (item.type === "call" ? [[item.id, item]] : [])));
  return since.flatMap((item) =>
    item.type === "result" ? [{ call: calls.get(item.call), result: item }] : [],
  );
}

/** Says in the asked format what there is to say. */
export function answerText(turn: Turn<UpstreamName>, offered: readonly Callable[]): string {
  const results = resultsOf(turn);
  const words = results.length > 0 ? fromResults(results) : introduction(turn, offered);
  switch (turn.format?.type) {
    case "json":
      return JSON.stringify({ answer: words });
    case "schema": {
      const about = named(heard(lastUserText(turn)));
      const found = exampleOf(turn.format.schema, hintsFrom(about, factsOf(results, words)));
      return JSON.stringify(found === undefined ? {} : found.value);
    }
    default:
      return words;
  }
}

const LONGEST = 600;
const shortened = (text: string, longest = LONGEST): string =>
  text.length <= longest ? text : `${text.slice(0, longest)}...`;

function fromResults(results: readonly Answered[]): string {
  const said = results.map(({ call, result }) => {
    const what = shortened(plainWords(result.parts)) || "nothing";
    const whom = call === undefined ? "The tool" : `${call.name}${givenTo(call)}`;
    return `${whom} says: ${/[.!?]$/.test(what) ? what : `${what}.`}`;
  });
  return said.join(" ");
}

/** The values a call was made with, as a reader would want to see them. */
function givenTo(call: Call<UpstreamName>): string {
  const values = jsonOf(call.input);
  const scalars = isFields(values)
    ? Object.values(values).filter((value) => typeof value !== "object")
    : [];
  return scalars.length === 0 ? "" : ` (${shortened(scalars.join(", "), 80)})`;
}

function plainWords(parts: readonly Part[]): string {
  const text = textOf(parts).trim();
  if (text === "" && parts.length > 0) return `a part of type ${parts[0]?.type}`;
  const value = jsonOf(text);
  return value === undefined ? text : spelled(value);
}

/** How deep a result is looked into: further down nobody reads, and the stack has an end. */
const DEEPEST = 64;

/** A JSON value in words: its numbers and texts as they stand, without the brackets. */
function spelled(value: unknown, depth = 0): string {
  if (typeof value !== "object" || value === null) return String(value);
  if (depth === DEEPEST) return "...";
  if (Array.isArray(value)) return value.map((inner) => spelled(inner, depth + 1)).join("; ");
  return Object.entries(value)
    .map(([name, inner]) => `${name.replaceAll("_", " ")} ${spelled(inner, depth + 1)}`)
    .join(", ");
}

function introduction(turn: Turn<UpstreamName>, offered: readonly Callable[]): string {
  const asked = shortened(lastUserText(turn).trim().replaceAll(/\s+/g, " "), 200);
  const sentences = [
    "This is Patchbay's built-in demo model: it follows a few rules, and needs neither a network nor a key.",
    asked === "" ? "" : `You said: "${asked}"`,
    offered.length === 0
      ? ""
      : `I could call ${offered.map(({ tool }) => tool.name).join(", ")}, but nothing you said seems to ask for it.`,
    "For answers from a real model, set a key such as OPENAI_API_KEY, or add an upstream to patchbay.yaml, and start Patchbay again.",
  ];
  return sentences.filter(Boolean).join(" ");
}

/** Names under which a schema asks for the answer itself. */
const answerNames =
  "answer summary text message response result explanation output content finalanswer reply reasoning".split(
    " ",
  );

function factsOf(results: readonly Answered[], words: string): Facts {
  const facts = new Map<string, unknown[]>(answerNames.map((name) => [name, []]));
  const learn = (value: unknown, depth = 0): void => {
    if (depth === DEEPEST) return;
    if (Array.isArray(value)) for (const inner of value) learn(inner, depth + 1);
    if (!isFields(value)) return;
    for (const [name, inner] of Object.entries(value)) {
      const known = facts.get(plainName(name));
      if (known === undefined) facts.set(plainName(name), [inner]);
      else known.push(inner);
      learn(inner, depth + 1);
    }
  };
  for (const { call, result } of results) {
    learn(jsonOf(textOf(result.parts)));
    if (call !== undefined) learn(jsonOf(call.input));
  }
  for (const name of answerNames) facts.get(name)?.push(words);
  return facts;
}
