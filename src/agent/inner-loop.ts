import { Fault } from "../turn/fault.ts";
import type { Call, Item } from "../turn/turn.ts";
import { ask, lowerRun, type Said } from "./ask.ts";
import { authorCalls, runBatch, type Batch } from "./batch.ts";
import type { AgentEvent, RunResult, VisibilityExpansionRequired } from "./events.ts";
import { isCut } from "../turn/event.ts";
import { addUsage, checkLimits } from "./limits.ts";
import { badOutput, correction } from "./output.ts";
import type { AuthorCall } from "./resolve.ts";
import type { RunState } from "./run-state.ts";
import type { VisibilitySet } from "./session.ts";

/** How often an answer of the wrong form is asked for again. */
const CORRECTIONS = 2;

/** Sections that only a new conversation can show. */
export type Expansion = {
  readonly type: "expansion";
  readonly required: VisibilityExpansionRequired;
  /** The same openings, for the log. */
  readonly overrides: readonly VisibilitySet[];
};

/** Asks the model and runs what it calls, until it has answered or a restart is needed. */
export async function* innerLoop(
  state: RunState,
): AsyncGenerator<AgentEvent, RunResult | Expansion> {
  for (;;) {
    checkLimits(state.limits, state);
    const round = startRound(state);
    yield { type: "round-start", round };
    const lowered = lowerRun(state);
    for (const { name } of lowered.skipped) yield* skip(state, name);
    const said = yield* ask(state, lowered);
    if (said.usage !== undefined) state.usage = addUsage(state.usage, said.usage);
    const calls = record(state, said.items);
    if (calls.length === 0) {
      yield roundEnd(round, said, false);
      const result = await conclude(state, said);
      if (result !== undefined) return result;
      continue;
    }
    checkLimits({ ...state.limits, tokens: undefined }, state);
    const batch = yield* runBatch(state, calls);
    state.isUsed ||= batch.isUsed;
    if (!batch.isUsed) state.hiddenRounds++;
    yield roundEnd(round, said, !batch.isUsed);
    const outcome = afterBatch(state, batch, said);
    if (outcome !== undefined) return outcome;
  }
}

function startRound(state: RunState): number {
  if (state.rounds >= state.limits.rounds)
    throw new Fault(
      "agent.rounds",
      `The model was asked ${state.rounds} times and has not answered. Raise \`limits.rounds\` if it needs more.`,
    );
  return ++state.rounds;
}

async function* skip(state: RunState, toolName: string): AsyncGenerator<AgentEvent, void> {
  if (state.skipped.has(toolName)) return;
  state.skipped.add(toolName);
  yield { type: "tool-skipped", toolName };
}

const roundEnd = (round: number, { stop, usage }: Said, isHidden: boolean): AgentEvent => ({
  type: "round-end",
  round,
  stop,
  usage,
  isHidden,
});

/** Adds what the model said to the session; gives the calls in it, in the author's words. */
function record(state: RunState, items: readonly Item[]): readonly AuthorCall[] {
  const calls: AuthorCall[] = [];
  for (const item of items) {
    const [made] = item.type === "call" ? authorCalls(state, [item]) : [];
    if (made !== undefined) calls.push(made);
    const wrapped = made?.wrapped;
    state.session.dispatch({
      type: "item-added",
      item: made?.call ?? item,
      ...(wrapped !== undefined && { wrapped }),
    });
  }
  return calls;
}

/** The result of an answer without calls; none where it has to be given again. */
async function conclude(state: RunState, said: Said): Promise<RunResult | undefined> {
  const { items, stop } = said;
  const text = textOf(items);
  if (isCut(stop)) return resultWith(state, text, text, stop);
  const read = await state.agent.form.read(text);
  if (read.ok) return resultWith(state, text, read.value, stop);
  if (state.corrections >= CORRECTIONS) throw badOutput(read.problem);
  state.corrections++;
  const parts = [{ type: "text", text: correction(read.problem) } as const];
  state.session.dispatch({ type: "item-added", item: { type: "message", role: "user", parts } });
  return undefined;
}

function afterBatch(
  state: RunState,
  { requested, pending }: Batch,
  { items }: Said,
): RunResult | Expansion | undefined {
  if (requested.length > 0) return expansionOf(state, requested);
  if (pending.length === 0) return undefined;
  const text = textOf(items);
  return { ...resultWith(state, text, text, "calls"), pending };
}

const expansionOf = ({ adapter }: RunState, overrides: readonly VisibilitySet[]): Expansion => ({
  type: "expansion",
  overrides,
  required: {
    type: "visibility-expansion-required",
    requestedOverrides: Object.fromEntries(
      overrides.map(({ path, visibility }) => [path, visibility]),
    ),
    reason: adapter.supportsDynamicTools
      ? "The strategy `restart` was asked for"
      : "Adapter does not support dynamic tools",
    sectionKeys: overrides.map(({ path }) => path),
  },
});

const resultWith = (
  state: RunState,
  text: string,
  output: unknown,
  stop: RunResult["stop"],
): RunResult => ({
  text,
  output,
  stop,
  pending: none,
  strategy: state.strategy,
  usage: state.usage,
  rounds: state.rounds,
  restarts: state.restarts,
});

const none: readonly Call[] = [];

/** The text of the answer; a refusal is what was said too. */
const textOf = (items: readonly Item[]): string =>
  items
    .flatMap((item) => (item.type === "message" ? item.parts : []))
    .map((part) => (part.type === "text" || part.type === "refusal" ? part.text : ""))
    .join("");
