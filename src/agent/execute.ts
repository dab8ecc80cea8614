import type { Clock } from "../turn/clock.ts";
import type { Call } from "../turn/turn.ts";
import { argumentsOf, violationOf } from "./resolve.ts";
import type { SessionView } from "./session.ts";
import { issuesText } from "./standard-schema.ts";
import type { Awaitable, Tool } from "./tool.ts";

/** What became of one call. */
export type ToolExecutionOutcome = {
  readonly callId: string;
  readonly success: boolean;
  /** What the model is told. */
  readonly output: string;
};

export type Execution = {
  readonly session: SessionView;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly timeoutMs: number;
};

export type Checked =
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
export async function executeTool(
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
