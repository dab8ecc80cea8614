/** Runs the calls of one answer. */

import { append } from "../turn/append.ts";
import type { Call, Result } from "../turn/turn.ts";
import { type Checked, validated } from "./agent.ts";
import { type OpenedReading, type Reading, readingText } from "./catalog.ts";
import type { AgentEvent } from "./events.ts";
import {
  argumentsOf,
  type AuthorCall,
  resolveCall,
  type Resolved,
  violationOf,
  violationText,
} from "./lower.ts";
import { disclosureOf, type RunState } from "./run-state.ts";
import type { ItemAdded, VisibilitySet } from "./session.ts";
import type { Tool } from "./tool.ts";

type Job = { readonly call: Call; readonly tool: Tool; readonly value: unknown };
type Done = { readonly job: Job; readonly success: boolean; readonly output: string };
type Events<Value = void> = AsyncGenerator<AgentEvent, Value>;

const UNFINISHED = "Error: the run ended before the tool had finished.";

/** The calls of one answer. */
export class CallBatch {
  /** Openings that need a restart. */
  readonly requested: VisibilitySet[] = [];
  /** Calls of tools that the caller runs. */
  readonly pending: Call[] = [];
  readonly #jobs: Job[] = [];
  readonly #results = new Map<string, Omit<ItemAdded, "type">>();
  readonly #state: RunState;

  constructor(state: RunState) {
    this.#state = state;
  }

  /** The model called a tool. Readings and invalid calls do not count. */
  get isUsed(): boolean {
    return this.#jobs.length + this.pending.length > 0;
  }

  /**
   * Sections open one after the other, because each opening changes the next one;
   * then tools run in parallel. Results are added to the session in the order of
   * the calls, also if the run ends before all tools have finished.
   */
  async *run(calls: readonly AuthorCall[]): Events {
    for (const call of calls) yield* this.#prepare(call);
    try {
      yield* this.#runTools();
    } finally {
      for (const { call } of calls) {
        if (this.pending.includes(call)) continue;
        const result = this.#results.get(call.id) ?? { item: textResult(call, UNFINISHED) };
        this.#state.session.dispatch({ type: "item-added", ...result });
      }
    }
  }

  async *#prepare({ call, problem }: AuthorCall): Events {
    const resolved = resolveCall(call, disclosureOf(this.#state, this.requested));
    if (problem !== undefined) this.#answer(call, problem);
    else if (resolved.type === "unknown") this.#answer(call, resolved.message);
    else if (resolved.type === "reading") yield* this.#read(call, resolved.reading);
    else yield* this.#admit(call, resolved);
  }

  #answer(call: Call, text: string, loaded: readonly string[] = []): void {
    const item = textResult(call, text);
    this.#results.set(call.id, loaded.length > 0 ? { item, loaded } : { item });
  }

  async *#read(call: Call, reading: Reading): Events {
    if (reading.type === "unknown") {
      yield { type: "section-unknown", message: reading.message };
      this.#answer(call, reading.message);
      return;
    }
    const { path, result, tools } = reading;
    yield { type: "section-read", callId: call.id, path, result };
    const isLater = reading.type === "opened" && (yield* this.#open(reading));
    const text = isLater
      ? `Sections expanded: ${reading.opens.join(", ")}. The prompt is rendered again with their full content.`
      : readingText(reading);
    const loaded = tools.map(({ name }) => name);
    this.#answer(call, text, loaded);
  }

  /** Queues a call of a tool if its arguments are valid. */
  async *#admit(call: Call, { tool, reading }: Extract<Resolved, { type: "tool" }>): Events {
    const checked = await checkArguments(tool, call.input);
    if (!checked.ok) {
      this.#answer(call, violationText(tool, checked.problem));
      return;
    }
    if (reading !== undefined) yield* this.#open(reading, call.id);
    if (tool.run === undefined) this.pending.push(call);
    else this.#jobs.push({ call, tool, value: checked.value });
  }

  /** Opens sections. Returns true if the openings need a restart. `callId`: the call of a closed tool. */
  async *#open({ opens, path: read, result }: OpenedReading, callId?: string): Events<boolean> {
    const { session, clock, strategy } = this.#state;
    const by = callId === undefined ? "model" : "call";
    const needsRestart = strategy === "restart" && result.expandedTools.length > 0;
    const common = {
      type: "visibility-set",
      visibility: "full",
      by,
      timestamp: clock.date(),
    } as const;
    const sets = opens.map((path): VisibilitySet => ({ ...common, path }));
    for (const path of opens) yield { type: "section-opened", path, by };
    if (needsRestart) append(this.requested, sets);
    else session.dispatch(...sets);
    if (!needsRestart) yield* this.#inject(read, result.expandedTools, callId);
    return needsRestart;
  }

  /** Records the tools that an opening adds to the conversation. */
  async *#inject(sectionKey: string, tools: readonly Tool[], callId?: string): Events {
    const { session, clock } = this.#state;
    const taken = new Set(this.#state.tools.map(({ name }) => name));
    const names = tools.map(({ name }) => name);
    for (const name of names) if (taken.has(name)) yield* skip(this.#state, name);
    const toolNames = names.filter((name) => !taken.has(name));
    if (toolNames.length === 0) return;
    const injected = {
      type: "tools-injected",
      sectionKey,
      toolNames,
      timestamp: clock.date(),
      ...(callId !== undefined && { callId }),
    } as const;
    session.dispatch(injected);
    yield injected;
  }

  /** Runs the queued tools in parallel and reports each when it has finished. */
  async *#runTools(): Events {
    const running = new Map<Job, Promise<Done>>();
    for (const job of this.#jobs) {
      const { name, input, id: callId } = job.call;
      yield { type: "tool-start", callId, name, input };
      const done = runTool(this.#state, job);
      // If the run ends, the rejections of the other tools have no reader.
      done.catch(() => {});
      running.set(job, done);
    }
    while (running.size > 0) {
      const { job, success, output } = await Promise.race(running.values());
      running.delete(job);
      const { id: callId, name } = job.call;
      this.#answer(job.call, output);
      yield { type: "tool-end", callId, name, success, output };
    }
  }
}

/** Reports a tool that was omitted because another tool has its name, once in a run. */
export async function* skip({ skipped }: RunState, toolName: string): Events {
  if (skipped.has(toolName)) return;
  skipped.add(toolName);
  yield { type: "tool-skipped", toolName };
}

export const textResult = ({ id, name }: Pick<Call, "id" | "name">, text: string): Result => ({
  type: "result",
  call: id,
  kind: "function",
  name,
  parts: [{ type: "text", text }],
});

/** Checks and converts the arguments of a tool. */
export async function checkArguments(tool: Tool, input: string): Promise<Checked> {
  const value = argumentsOf(input);
  if (value === undefined) return { ok: false, problem: "The arguments are not JSON." };
  if (tool.validate !== undefined) return validated(tool.validate, value);
  const problem = violationOf(tool, input);
  return problem === undefined ? { ok: true, value } : { ok: false, problem };
}

/** Runs a tool. The model receives its errors; only the end of the run is thrown. */
async function runTool(state: RunState, job: Job): Promise<Done> {
  const { session, signal } = state;
  const run = job.tool.run as ((input: unknown, context: unknown) => unknown) | undefined;
  try {
    const value = await withinTime(state, job.tool, (own) =>
      run?.(job.value, { callId: job.call.id, session, signal: own }),
    );
    const output = typeof value === "string" ? value : (JSON.stringify(value) ?? "Done.");
    return { job, success: true, output };
  } catch (error) {
    signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    return { job, success: false, output: `Error: ${why}` };
  }
}

/** Waits for a tool until its limit or the end of the run. Both abort the tool's signal. */
async function withinTime(
  { signal, clock, limits }: RunState,
  tool: Tool,
  work: (signal: AbortSignal) => unknown,
): Promise<unknown> {
  signal.throwIfAborted();
  const timeoutMs = tool.timeoutMs ?? limits.toolMs;
  const timeout = new AbortController();
  const either = AbortSignal.any([signal, timeout.signal]);
  const { promise, reject } = Promise.withResolvers<never>();
  either.addEventListener("abort", () => reject(either.reason as Error), { once: true });
  const cancelTimer = clock.at(clock.now() + timeoutMs, () =>
    timeout.abort(new Error(`the tool took longer than ${timeoutMs} ms`)),
  );
  try {
    return await Promise.race([promise, Promise.resolve(either).then(work)]);
  } finally {
    cancelTimer();
  }
}
