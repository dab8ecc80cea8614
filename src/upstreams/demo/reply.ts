import { isFields } from "../../turn/json.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Choice, Turn } from "../../turn/turn.ts";
import { lastUserIndex, lastUserText } from "../turn-text.ts";
import { answerText, resultsOf } from "./answer.ts";
import { exampleOf } from "./example.ts";
import { callables, wishes, type Callable, type Wish } from "./wishes.ts";
import { hintsFrom } from "./hints.ts";
import { matching } from "./pattern.ts";
import { matches } from "./schema.ts";

type MadeCall = { readonly callable: Callable; readonly input: string };

/** All that the demo has to say to a turn. */
export type Reply = {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly MadeCall[];
};

/** Calls what fits, and once there are results, answers with them. */
export function replyTo(turn: Turn<UpstreamName>): Reply {
  const offered = allowed(callables(turn.tools), turn.choice);
  const calls = nextWishes(turn, offered).map(({ callable, about }) => ({
    callable,
    input: inputFor({ callable, about }),
  }));
  const names = [...new Set(calls.map(({ callable }) => callable.tool.name))].join(" and ");
  const thought = calls.length > 0 ? `so I call ${names}` : "so I answer";
  const known = resultsOf(turn).length;
  return {
    reasoning: `The user asks something${known > 0 ? `, ${known} results are known` : ""}, ${thought}.`,
    text: calls.length > 0 ? "" : answerText(turn, offered),
    calls: unlike(calls),
  };
}

function allowed(
  offered: readonly Callable[],
  choice: Choice<UpstreamName> | undefined,
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

const mustCall = (choice: Choice<UpstreamName> | undefined): boolean =>
  choice?.type === "required" ||
  choice?.type === "tool" ||
  (choice?.type === "allowed" && choice.mode === "required");

/** What to call now: all at once, or one after another where only one at a time is allowed. */
function nextWishes(turn: Turn<UpstreamName>, offered: readonly Callable[]): readonly Wish[] {
  if (offered.length === 0) return [];
  const { parallelCalls, maxCalls = Infinity } = turn.params;
  const must = mustCall(turn.choice);
  const since = turn.items.slice(lastUserIndex(turn) + 1);
  const made = since.filter((item) => item.type === "call").length;
  const answering = turn.items.at(-1)?.type !== "result" && made === 0;
  const all = wishes(lastUserText(turn), offered, must);
  const left = Math.max(must ? 1 : 0, maxCalls - made);
  if (parallelCalls !== false) return answering || must ? all.slice(0, left) : [];
  const at = must ? made % Math.max(all.length, 1) : made;
  return all.slice(at, at + Math.min(1, left));
}

/** The same call twice tells nothing new. */
const unlike = (calls: readonly MadeCall[]): MadeCall[] =>
  calls.filter(
    ({ callable, input }, at) =>
      calls.findIndex((one) => one.callable === callable && one.input === input) === at,
  );

function inputFor({ callable: { tool }, about }: Wish): string {
  if (tool.type === "custom") {
    const [said] = [...about.quoted, about.text.trim()];
    return inGrammar(tool.format) ?? said ?? "";
  }
  // References point from the root, so the root has to stay where it is.
  const schema = isFields(tool.schema) ? tool.schema : {};
  const found = exampleOf({ type: "object", ...schema }, hintsFrom(about));
  return JSON.stringify(found?.value ?? {});
}

/** A text of a regular grammar; other grammars are beyond the demo. */
function inGrammar(format: unknown): string | undefined {
  if (!isFields(format)) return undefined;
  const grammar = isFields(format.grammar) ? format.grammar : format;
  const { syntax, definition } = grammar;
  if (syntax !== "regex" || typeof definition !== "string") return undefined;
  const whole = `^(?:${definition})$`;
  for (const text of matching(definition)) if (matches(whole, text) === true) return text;
  return undefined;
}
