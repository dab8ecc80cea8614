import { isFields, jsonOf } from "../../json/json.ts";
import { standIns } from "../../dialects/registry.ts";
import { writeParams } from "../../dialects/shared/params.ts";
import { sourceOf } from "../../stream/flow.ts";
import type { StopReason, TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Call, Item, Part, Result, ToolChoice, Turn } from "../../turn/turn.ts";
import { demo } from "../../profiles/scripted.ts";
import { inputTokens } from "../tokens.ts";
import { joinText, lastUserIndex, lastUserText } from "../turn-text.ts";
import type { Upstream } from "../upstream.ts";
import { callableTools, callsFor, commandsIn, type OfferedTool, type DemoCall } from "./calls.ts";
import { exampleOf } from "./example.ts";
import { onOneLine, plainName, typedLines, valuesIn } from "./words.ts";

type Event = TurnEvent<UpstreamName>;

export type DemoOptions = {
  readonly name?: string | undefined;
  readonly profile?: Profile | undefined;
};

/**
 * The embedded model of a gateway without another. It follows rules: the same
 * request always gets the same answer, and no other service is called.
 */
export function demoUpstream({ name = "demo", profile = demo }: DemoOptions = {}): Upstream {
  return {
    name,
    profile,
    isDemo: true,
    prepare: (turn, { model }) => ({
      decisions: writeParams(turn, standIns.scripted, profile).decisions,
      // The reply is made before the stream starts, so that an error fails the request.
      open: () => sourceOf(eventsOf(turn, model, replyTo(turn))),
    }),
    models: async () => ["demo"],
    close: async () => {},
  };
}

/** Numbers of the whole answer. */
type Tally = { output: number; reasoning: number; calls: number };

function* eventsOf(
  turn: Turn<UpstreamName>,
  model: string,
  reply: DemoReply,
): Generator<Event, void> {
  const { n = 1, maxTokens = Infinity } = turn.params;
  const tally: Tally = { output: 0, reasoning: 0, calls: lastCall(turn.items) };
  const input = inputTokens(turn);
  yield { type: "turn-start", model };
  for (let choice = 0; choice < n; choice++) {
    let stop: StopReason = reply.calls.length > 0 ? "calls" : "end";
    const limit = tally.output + maxTokens;
    for (const event of choiceEvents(varied(reply, choice, turn), choice, turn, tally)) {
      if (event.type !== "call-end" && tally.output === limit) {
        stop = "length";
        break;
      }
      if (event.type !== "call-end") tally.output++;
      if (event.type === "reasoning-delta") tally.reasoning++;
      yield event;
    }
    yield { type: "turn-end", choice, stop };
  }
  const { output, reasoning } = tally;
  yield { type: "usage", usage: { input, output, total: input + output, cached: 0, reasoning } };
}

/** The number of the last call that the demo made in a conversation. */
const lastCall = (items: readonly Item<UpstreamName>[]): number =>
  items.reduce((last, item) => {
    const [, number] = item.type === "call" ? (/^call_demo_(\d+)$/.exec(item.id) ?? []) : [];
    return Math.max(last, Number(number ?? 0));
  }, 0);

const openings = ["Put another way: ", "Once more: ", "In short: "];

/** Each choice has another wording if the format leaves the wording free. */
function varied(reply: DemoReply, choice: number, { format }: Turn<UpstreamName>): DemoReply {
  const free = format === undefined || format.type === "text";
  if (choice === 0 || !free || reply.text === "") return reply;
  return { ...reply, text: `${openings[(choice - 1) % openings.length]}${reply.text}` };
}

/** One reply, a token in each event except `call-end`. */
function* choiceEvents(
  reply: DemoReply,
  choice: number,
  { params }: Turn<UpstreamName>,
  tally: Tally,
): Generator<Event, void> {
  const { effort, reasoningSummary, stop } = params;
  const of = reasoningSummary === undefined ? "content" : "summary";
  if (effort !== undefined && effort !== "none")
    for (const text of tokens(reply.reasoning))
      yield { type: "reasoning-delta", choice, text, of, part: 0 };
  for (const text of tokens(untilStop(reply.text, stop)))
    yield { type: "text-delta", choice, text };
  for (const [call, { tool, namespace, input }] of reply.calls.entries()) {
    const id = `call_demo_${tally.calls + 1}`;
    yield { type: "call-start", choice, call, id, kind: tool.type, name: tool.name, namespace };
    tally.calls++;
    for (const text of tokens(input)) yield { type: "call-delta", choice, call, text };
    yield { type: "call-end", choice, call, complete: true };
  }
}

/** A word with the space before it, or a few signs: about a tokeniser's pieces. */
const tokens = (text: string): readonly string[] =>
  text.match(/\s*[\p{L}\p{M}\p{N}_'’-]+|\s*[^\s\p{L}\p{M}\p{N}_]{1,3}|\s+/gu) ?? [];

function untilStop(text: string, stops: readonly string[] | undefined): string {
  let end = text.length;
  for (const stop of stops ?? []) {
    const at = stop === "" ? -1 : text.indexOf(stop);
    if (at !== -1) end = Math.min(end, at);
  }
  return text.slice(0, end);
}

/** The demo's answer to a turn. */
type DemoReply = {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly DemoCall[];
};

type Answered = { readonly call: Call<UpstreamName> | undefined; readonly result: Result };

/** Calls fitting tools, and answers with their results when it has them. */
function replyTo(turn: Turn<UpstreamName>): DemoReply {
  const offered = allowed(callableTools(turn.tools), turn.toolChoice);
  const calls = nextCalls(turn, offered);
  const names = [...new Set(calls.map(({ tool }) => tool.name))].join(" and ");
  const results = resultsOf(turn);
  const known = results.length > 0 ? `, ${results.length} results are known` : "";
  const thought = calls.length > 0 ? `so I call ${names}` : "so I answer";
  return {
    reasoning: `The user asks something${known}, ${thought}.`,
    text: calls.length > 0 ? "" : answerText(turn, offered, results),
    calls,
  };
}

function allowed(
  offered: readonly OfferedTool[],
  choice: ToolChoice<UpstreamName> | undefined,
): readonly OfferedTool[] {
  if (choice?.type === "none") return [];
  if (choice?.type !== "tool" && choice?.type !== "allowed") return offered;
  const refs = choice.type === "tool" ? [choice.tool] : choice.tools;
  return offered.filter(({ tool, namespace }) =>
    refs.some((ref) => ref.name === tool.name && (ref.namespace ?? namespace) === namespace),
  );
}

const mustCall = (choice: ToolChoice<UpstreamName> | undefined): boolean =>
  choice?.type === "required" ||
  choice?.type === "tool" ||
  (choice?.type === "allowed" && choice.mode === "required");

/**
 * Longer texts are an agent's own prompts, such as those of its work on
 * memories: they name all its tools without asking for a call of each.
 */
const LONGEST_REQUEST = 1_500;

/** The calls to make now: all at once, or one after another without parallel calls. */
function nextCalls(turn: Turn<UpstreamName>, offered: readonly OfferedTool[]): readonly DemoCall[] {
  if (offered.length === 0) return [];
  const { parallelCalls, maxCalls = Infinity } = turn.params;
  const must = mustCall(turn.toolChoice);
  const since = itemsSinceUser(turn);
  const made = since.filter((item) => item.type === "call").length;
  const isFirst = made === 0 && since.at(-1)?.type !== "result";
  if (!isFirst && !must && parallelCalls !== false) return [];
  const text = typedLines(lastUserText(turn));
  if (text.length > LONGEST_REQUEST && !must) return [];
  const all = callsFor(text, offered, must);
  const left = Math.max(must ? 1 : 0, maxCalls - made);
  if (parallelCalls !== false) return all.slice(0, left);
  const at = must ? made % Math.max(all.length, 1) : made;
  return all.slice(at, at + Math.min(1, left));
}

const itemsSinceUser = (turn: Turn<UpstreamName>) => turn.items.slice(lastUserIndex(turn) + 1);

/** The results since the last user message, each with its call. */
function resultsOf(turn: Turn<UpstreamName>): Answered[] {
  const since = itemsSinceUser(turn);
  const calls = new Map(since.flatMap((item) => (item.type === "call" ? [[item.id, item]] : [])));
  return since.flatMap((item) =>
    item.type === "result" ? [{ call: calls.get(item.call), result: item }] : [],
  );
}

/** The answer in the format that was asked for. */
function answerText(
  turn: Turn<UpstreamName>,
  offered: readonly OfferedTool[],
  results: readonly Answered[],
): string {
  const asked = onOneLine(typedLines(lastUserText(turn)));
  const words =
    results.length > 0 ? results.map(resultSentence).join(" ") : introduction(asked, offered);
  if (turn.format?.type === "json") return JSON.stringify({ answer: words });
  if (turn.format?.type !== "schema") return words;
  const source = valuesIn(asked, new Set(), factsOf(results, words));
  return JSON.stringify(exampleOf(turn.format.schema, source));
}

const shortened = (text: string, longest: number): string =>
  text.length <= longest ? text : `${text.slice(0, longest)}...`;

/** A result in a sentence, with the plain values that its call was made with in brackets. */
function resultSentence({ call, result }: Answered): string {
  const text = shortened(plainText(result.parts), 600) || "nothing";
  const values = jsonOf(call?.input ?? "");
  const scalars = isFields(values)
    ? Object.values(values).filter((value) => typeof value !== "object")
    : [];
  const given = scalars.length === 0 ? "" : ` (${shortened(scalars.join(", "), 80)})`;
  const tool = call === undefined ? "The tool" : `${call.name}${given}`;
  return `${tool} says: ${/[.!?]$/.test(text) ? text : `${text}.`}`;
}

function plainText(parts: readonly Part[]): string {
  const text = joinText(parts).trim();
  if (text === "" && parts.length > 0) return `a part of type ${parts[0]?.type}`;
  const value = jsonOf(text);
  return value === undefined ? text : plainValue(value);
}

/** A result is read to this depth: deeper recursion could overflow the stack. */
const MAX_DEPTH = 64;

/** A JSON value as text: its numbers and strings without quotes and brackets. */
function plainValue(value: unknown, depth = 0): string {
  if (typeof value !== "object" || value === null) return String(value);
  if (depth === MAX_DEPTH) return "...";
  if (Array.isArray(value)) return value.map((inner) => plainValue(inner, depth + 1)).join("; ");
  return Object.entries(value)
    .map(([name, inner]) => `${name.replaceAll("_", " ")} ${plainValue(inner, depth + 1)}`)
    .join(", ");
}

function introduction(asked: string, offered: readonly OfferedTool[]): string {
  const names = offered.slice(0, 5).map(({ tool }) => tool.name);
  const [command] = commandsIn(asked, offered);
  const more = offered.length > names.length ? ` and ${offered.length - names.length} more` : "";
  const sentences = [
    "This is Patchbay's built-in demo model: it follows a few rules and needs no network and no key.",
    asked === "" ? "" : `You said: "${shortened(asked, 200)}"`,
    command === undefined
      ? ""
      : `I cannot run \`${shortened(command, 200)}\`: the client offers no tool that runs commands, such as \`shell\`, \`exec_command\` or \`bash\`.`,
    offered.length === 0 || command !== undefined
      ? ""
      : `I could call ${names.join(", ")}${more}, but your message does not seem to ask for it.`,
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

/** The arguments and results of calls, and the answer itself, by plain property name. */
function factsOf(results: readonly Answered[], words: string): Map<string, unknown[]> {
  const facts = new Map<string, unknown[]>();
  const read = (value: unknown, depth = 0): void => {
    if (typeof value !== "object" || value === null || depth === MAX_DEPTH) return;
    for (const [name, inner] of Object.entries(value)) {
      const known = facts.get(plainName(name)) ?? [];
      if (!Array.isArray(value) && known.length < MAX_FACTS)
        facts.set(plainName(name), [...known, inner]);
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
