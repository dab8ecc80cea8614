import { append } from "../turn/append.ts";
import type { Call, Result } from "../turn/turn.ts";
import type { AgentEvent } from "./events.ts";
import { checkArguments, executeTool, type ToolExecutionOutcome } from "./execute.ts";
import type { OpenedReading, Reading } from "./read.ts";
import {
  authorCall,
  readingText,
  resolveCall,
  violationText,
  type AuthorCall,
  type Resolved,
} from "./resolve.ts";
import { disclosureOf, type RunState } from "./run-state.ts";
import type { ItemAdded, OpenedBy, VisibilitySet } from "./session.ts";
import type { Tool } from "./tool.ts";

/** What all the calls of one answer came to. */
export type Batch = {
  /** Sections that only a restart can open. */
  readonly requested: readonly VisibilitySet[];
  /** Calls that the caller is to run. */
  readonly pending: readonly Call[];
  /** Whether there was a call of a tool; readings and mistakes are none. */
  readonly isUsed: boolean;
};

/** A call that is to be run. */
type Job = { readonly call: Call; readonly tool: Tool; readonly value: unknown };

/** What the calls of a batch have come to so far. */
type Progress = {
  readonly requested: VisibilitySet[];
  readonly jobs: Job[];
  readonly pending: Call[];
  readonly results: Map<string, Omit<ItemAdded, "type">>;
};

/**
 * Does what the calls of one answer ask for: sections are opened one after the
 * other, since each changes what the next one finds; tools run at once. Results
 * are added to the session in the order of their calls, also where the run ends
 * before they are all there.
 */
export async function* runBatch(
  state: RunState,
  calls: readonly AuthorCall[],
): AsyncGenerator<AgentEvent, Batch> {
  const progress: Progress = {
    requested: [],
    jobs: [],
    pending: [],
    results: new Map(),
  };
  for (const call of calls) yield* prepare(state, call, progress);
  try {
    yield* runAll(state, progress);
  } finally {
    addResults(state, calls, progress);
  }
  const { requested, pending, jobs } = progress;
  return { requested, pending, isUsed: jobs.length + pending.length > 0 };
}

/** Calls in the author's words, as they are added to the session. */
export const authorCalls = (state: RunState, calls: readonly Call[]): readonly AuthorCall[] =>
  calls.map((call) => authorCall(call, disclosureOf(state)));

async function* prepare(
  state: RunState,
  made: AuthorCall,
  progress: Progress,
): AsyncGenerator<AgentEvent, void> {
  const { call, problem } = made;
  const resolved = resolveCall(call, disclosureOf(state, progress.requested));
  if (problem !== undefined) refuse(call, problem, progress);
  else if (resolved.type === "unknown") refuse(call, resolved.message, progress);
  else if (resolved.type === "reading") yield* readFor(state, call, resolved.reading, progress);
  else yield* admit(state, call, resolved, progress);
}

const refuse = (call: Call, text: string, { results }: Progress): void =>
  void results.set(call.id, { item: resultOf(call, text) });

async function* readFor(
  state: RunState,
  call: Call,
  reading: Reading,
  progress: Progress,
): AsyncGenerator<AgentEvent, void> {
  const text = readingText(reading);
  if (reading.type === "unknown") {
    yield { type: "section-unknown", message: reading.message };
    refuse(call, text, progress);
    return;
  }
  const { path, result, tools } = reading;
  yield { type: "section-read", callId: call.id, path, result };
  const loaded = tools.map(({ name }) => name);
  const isLater = reading.type === "opened" && (yield* open(state, { reading }, progress));
  progress.results.set(call.id, {
    item: resultOf(call, isLater ? expandedText(reading.opens) : text),
    ...(loaded.length > 0 && { loaded }),
  });
}

/** Takes a call of a tool up, if its arguments will do. */
async function* admit(
  state: RunState,
  call: Call,
  { tool, reading }: Extract<Resolved, { type: "tool" }>,
  progress: Progress,
): AsyncGenerator<AgentEvent, void> {
  const checked = await checkArguments(tool, call.input);
  if (!checked.ok) {
    refuse(call, violationText(tool, checked.problem), progress);
    return;
  }
  if (reading !== undefined) yield* open(state, { reading, callId: call.id }, progress);
  if (tool.run === undefined) progress.pending.push(call);
  else progress.jobs.push({ call, tool, value: checked.value });
}

const expandedText = (paths: readonly string[]): string =>
  `Sections expanded: ${paths.join(", ")}. The prompt is rendered again with their full content.`;

type Opening = {
  readonly reading: OpenedReading;
  /** The call of a closed tool that opens its section; absent if the model read the section. */
  readonly callId?: string | undefined;
};

/** Opens sections, or asks for a restart that does. Tells whether it is the latter. */
async function* open(
  state: RunState,
  opening: Opening,
  progress: Progress,
): AsyncGenerator<AgentEvent, boolean> {
  const { opens: paths, result } = opening.reading;
  const by: OpenedBy = opening.callId === undefined ? "model" : "call";
  const timestamp = state.clock.date();
  const overrides = paths.map((path): VisibilitySet => ({
    type: "visibility-set",
    path,
    visibility: "full",
    by,
    timestamp,
  }));
  for (const path of paths) yield { type: "section-opened", path, by };
  if (state.strategy === "restart" && result.expandedTools.length > 0) {
    append(progress.requested, overrides);
    return true;
  }
  state.session.dispatch(...overrides);
  yield* inject(state, opening);
  return false;
}

/** Tells which tools an opening added to the conversation. */
async function* inject(
  state: RunState,
  { reading, callId }: Opening,
): AsyncGenerator<AgentEvent, void> {
  const tools = reading.result.expandedTools;
  const taken = new Set(state.tools.map(({ name }) => name));
  for (const { name } of tools) {
    if (!taken.has(name) || state.skipped.has(name)) continue;
    state.skipped.add(name);
    yield { type: "tool-skipped", toolName: name };
  }
  const toolNames = tools.map(({ name }) => name).filter((name) => !taken.has(name));
  if (toolNames.length === 0) return;
  const injected = {
    type: "tools-injected",
    sectionKey: reading.path,
    toolNames,
    timestamp: state.clock.date(),
    ...(callId !== undefined && { callId }),
  } as const;
  state.session.dispatch(injected);
  yield injected;
}

type Done = { readonly job: Job; readonly outcome: ToolExecutionOutcome };

/** Runs tools at once and tells of each when it is done. */
async function* runAll(
  state: RunState,
  { jobs, results }: Progress,
): AsyncGenerator<AgentEvent, void> {
  const running = new Map<Job, Promise<Done>>();
  for (const job of jobs) {
    const { name, input, id: callId } = job.call;
    yield { type: "tool-start", callId, name, input };
    const done = start(state, job);
    // Where the run ends, nobody waits for the others any more.
    done.catch(() => {});
    running.set(job, done);
  }
  while (running.size > 0) {
    const { job, outcome } = await Promise.race(running.values());
    running.delete(job);
    const { callId, success, output } = outcome;
    results.set(callId, { item: resultOf(job.call, output) });
    yield { type: "tool-end", callId, name: job.call.name, success, output };
  }
}

async function start(state: RunState, job: Job): Promise<Done> {
  const { session, signal, clock, limits } = state;
  const { tool, call, value } = job;
  const timeoutMs = tool.timeoutMs ?? limits.toolMs;
  return {
    job,
    outcome: await executeTool(tool, call, value, { session, signal, clock, timeoutMs }),
  };
}

const UNFINISHED = "Error: the run ended before the tool had finished.";

function addResults(state: RunState, calls: readonly AuthorCall[], progress: Progress): void {
  const { results, pending } = progress;
  for (const { call } of calls) {
    if (pending.includes(call)) continue;
    const result = results.get(call.id) ?? { item: resultOf(call, UNFINISHED) };
    state.session.dispatch({ type: "item-added", ...result });
  }
}

export const resultOf = ({ id, name }: Pick<Call, "id" | "name">, text: string): Result => ({
  type: "result",
  call: id,
  kind: "function",
  name,
  parts: [{ type: "text", text }],
});
