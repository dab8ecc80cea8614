import { append } from "../turn/append.ts";
import type { Call, Result } from "../turn/turn.ts";
import type { Clock } from "../turn/clock.ts";
import type { AgentEvent } from "./events.ts";
import type { OpenedReading, Reading } from "./catalog.ts";
import {
  argumentsOf,
  authorCall,
  type AuthorCall,
  readingText,
  resolveCall,
  type Resolved,
  violationOf,
  violationText,
} from "./lower.ts";
import { disclosureOf, type RunState } from "./run-state.ts";
import type { ItemAdded, OpenedBy, SessionView, VisibilitySet } from "./session.ts";
import { type Awaitable, issuesText, type Tool } from "./tool.ts";

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

/** What became of one call. */
type ToolExecutionOutcome = {
  readonly callId: string;
  readonly success: boolean;
  /** What the model is told. */
  readonly output: string;
};

type Execution = {
  readonly session: SessionView;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly timeoutMs: number;
};

type Checked =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

/** Arguments as the tool takes them, or what is wrong with them. */
export async function checkArguments(tool: Tool, input: string): Promise<Checked> {
  const value = argumentsOf(input);
  if (value === undefined) return { ok: false, problem: "The arguments are not JSON." };
  if (tool.validate === undefined) {
    const problem = violationOf(tool, input);
    return problem === undefined ? { ok: true, value } : { ok: false, problem };
  }
  const checked = await tool.validate(value);
  return checked.issues === undefined
    ? { ok: true, value: checked.value }
    : { ok: false, problem: issuesText(checked.issues) };
}

/** Runs a tool. Whatever goes wrong in it is told the model; only an end of the whole run is thrown. */
async function executeTool(
  tool: Tool,
  { id: callId }: Pick<Call, "id">,
  value: unknown,
  execution: Execution,
): Promise<ToolExecutionOutcome> {
  const { session, signal } = execution;
  const run = tool.run as ((input: unknown, context: unknown) => unknown) | undefined;
  try {
    const work = (own: AbortSignal): unknown => run?.(value, { callId, session, signal: own });
    const output = outputText(await within(work, execution));
    return { callId, success: true, output };
  } catch (error) {
    signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    return { callId, success: false, output: `Error: ${why}` };
  }
}

/** Text as it is, nothing as a word for it, all else as JSON. */
function outputText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "Done." : JSON.stringify(value);
}

/** Waits for some work no longer than it may take. The work is told when that is over. */
function within(
  work: (signal: AbortSignal) => Awaitable<unknown>,
  { signal, clock, timeoutMs }: Execution,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const own = new AbortController();
    const stop = (reason: unknown): void => {
      own.abort(reason);
      reject(reason instanceof Error ? reason : new Error(String(reason)));
    };
    const cancel = (): void => stop(signal.reason);
    if (signal.aborted) return cancel();
    signal.addEventListener("abort", cancel, { once: true });
    const callOff = clock.at(clock.now() + timeoutMs, () =>
      stop(new Error(`the tool took longer than ${timeoutMs} ms`)),
    );
    const settle = (): void => {
      callOff();
      signal.removeEventListener("abort", cancel);
    };
    void Promise.resolve(own.signal).then(work).then(resolve, reject).finally(settle);
  });
}
