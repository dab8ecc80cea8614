import { isFields } from "../../json/json.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { ToolChoice, Turn } from "../../turn/turn.ts";
import { lastUserIndex, lastUserText } from "../turn-text.ts";
import { answerText, resultsOf } from "./answer.ts";
import { callables, callsFor, type Callable, type PlannedCall } from "./calls.ts";
import { exampleOf } from "./example.ts";
import { commandSource, valuesFrom } from "./values.ts";
import { typedLines } from "./words.ts";

type MadeCall = { readonly callable: Callable; readonly input: string };

/** All that the demo has to say to a turn. */
export type Reply = {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly MadeCall[];
};

/** Calls what fits, and once there are results, answers with them. */
export function replyTo(turn: Turn<UpstreamName>): Reply {
  const offered = allowed(callables(turn.tools), turn.toolChoice);
  const calls = distinct(nextCalls(turn, offered).map(withInput));
  const names = [...new Set(calls.map(({ callable }) => callable.tool.name))].join(" and ");
  const known = resultsOf(turn).length;
  const thought = calls.length > 0 ? `so I call ${names}` : "so I answer";
  return {
    reasoning: `The user asks something${known > 0 ? `, ${known} results are known` : ""}, ${thought}.`,
    text: calls.length > 0 ? "" : answerText(turn, offered),
    calls,
  };
}

function allowed(
  offered: readonly Callable[],
  choice: ToolChoice<UpstreamName> | undefined,
): readonly Callable[] {
  switch (choice?.type) {
    case "none":
      return [];
    case "tool":
    case "allowed": {
      const refs = choice.type === "tool" ? [choice.tool] : choice.tools;
      return offered.filter(({ tool, namespace }) =>
        refs.some((ref) => ref.name === tool.name && (ref.namespace ?? namespace) === namespace),
      );
    }
    default:
      return offered;
  }
}

const mustCall = (choice: ToolChoice<UpstreamName> | undefined): boolean =>
  choice?.type === "required" ||
  choice?.type === "tool" ||
  (choice?.type === "allowed" && choice.mode === "required");

/** What to call now: all at once, or one after another where only one at a time is allowed. */
function nextCalls(turn: Turn<UpstreamName>, offered: readonly Callable[]): readonly PlannedCall[] {
  if (offered.length === 0) return [];
  const { parallelCalls, maxCalls = Infinity } = turn.params;
  const must = mustCall(turn.toolChoice);
  const since = turn.items.slice(lastUserIndex(turn) + 1);
  const made = since.filter((item) => item.type === "call").length;
  const isFirst = made === 0 && turn.items.at(-1)?.type !== "result";
  const left = Math.max(must ? 1 : 0, maxCalls - made);
  if (!isFirst && !must && parallelCalls !== false) return [];
  const text = typedLines(lastUserText(turn)).trim();
  if (text.length > LONGEST_REQUEST && !must) return [];
  const all = callsFor(text, offered, must);
  if (parallelCalls !== false) return all.slice(0, left);
  const at = must ? made % Math.max(all.length, 1) : made;
  return all.slice(at, at + Math.min(1, left));
}

/**
 * Longer texts are an agent's own prompts, such as those of its work on
 * memories: they speak of all its tools, and nobody asked for a call of each.
 */
const LONGEST_REQUEST = 1_500;

/** The same call twice brings nothing new. */
const distinct = (calls: readonly MadeCall[]): readonly MadeCall[] =>
  calls.filter(
    ({ callable, input }, at) =>
      calls.findIndex((one) => one.callable === callable && one.input === input) === at,
  );

function withInput(planned: PlannedCall): MadeCall {
  const { callable } = planned;
  const { tool } = callable;
  const isToRun = "command" in planned;
  if (tool.type === "custom")
    return {
      callable,
      input: isToRun ? planned.command : (planned.about.quoted[0] ?? planned.about.text),
    };
  // References point from the root, so the root has to stay where it is.
  const schema = isFields(tool.schema) ? tool.schema : {};
  const source = isToRun ? commandSource(planned.command) : valuesFrom(planned.about);
  const value = exampleOf({ type: "object", ...schema }, source);
  return { callable, input: JSON.stringify(isFields(value) ? value : {}) };
}
