import type { StopReason, TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { Turn } from "../../turn/turn.ts";
import { refusal } from "../http/fault.ts";
import { countTokens, inputTokens } from "../tokens.ts";
import { RawReader, type RawOptions } from "./raw.ts";
import type { ScriptError, Step } from "./script.ts";

type Event = TurnEvent<UpstreamName>;

/** What a scripted upstream does next. */
export type Action =
  | Event
  | { readonly type: "delay"; readonly ms: number }
  | { readonly type: "hang" };

export type StepContext = RawOptions & {
  readonly turn: Turn<UpstreamName>;
  readonly model: string;
  /** How many answers the conversation has before this one. */
  readonly position: number;
};

type Progress = {
  readonly choices: readonly number[];
  readonly stops: Map<number, StopReason>;
  readonly calls: Map<number, number>;
  readonly raw: RawReader;
  outputTokens: number;
  hasUsage: boolean;
  hasRaw: boolean;
};

/** Steps that may come before `turn-start`, or bring their own. */
const withoutStart: ReadonlySet<string> = new Set(["error", "raw", "cut", "hang"]);

/** The events and delays of a turn's steps. */
export function* actionsOf(
  steps: readonly Step[],
  context: StepContext,
): Generator<Action, void, undefined> {
  const { turn, model } = context;
  const progress: Progress = {
    choices: Array.from({ length: turn.params.n ?? 1 }, (_, choice) => choice),
    stops: new Map(),
    calls: new Map(),
    raw: new RawReader(context),
    outputTokens: 0,
    hasUsage: false,
    hasRaw: false,
  };
  const { choices, stops, calls, raw } = progress;
  const first = steps.find((step) => step.type !== "delay");
  if (!withoutStart.has(first?.type ?? "")) yield { type: "turn-start", model };
  for (const step of steps) {
    if (step.type === "cut") break;
    yield* actionsOfStep(step, context, progress);
    if (step.type === "error") return;
  }
  yield* raw.end();
  if (steps.some(({ type }) => type === "cut")) return;
  if (!progress.hasUsage && !progress.hasRaw)
    yield estimatedUsage(inputTokens(turn), progress.outputTokens);
  for (const choice of choices) {
    const stop = stops.get(choice) ?? (calls.has(choice) ? "calls" : "end");
    // Raw steps contain their own end, or omit it on purpose.
    if (!progress.hasRaw || stops.has(choice)) yield { type: "turn-end", choice, stop };
  }
}

function* actionsOfStep(
  step: Exclude<Step, { type: "cut" }>,
  context: StepContext,
  progress: Progress,
): Generator<Action, void, undefined> {
  const choices = progress.choices.filter((one) => (step.choice ?? one) === one);
  switch (step.type) {
    case "text":
    case "refusal":
    case "reasoning":
      progress.outputTokens += countTokens(step.pieces.join("")) * choices.length;
      for (const choice of choices) for (const text of step.pieces) yield delta(step, choice, text);
      return;
    case "calls":
      for (const choice of choices)
        for (const one of step.calls) {
          const call = progress.calls.get(choice) ?? 0;
          progress.calls.set(choice, call + 1);
          progress.outputTokens += countTokens(one.name + one.pieces.join(""));
          yield* callEvents(one, { choice, call, position: context.position });
        }
      return;
    case "stop":
      for (const choice of choices) progress.stops.set(choice, step.stop);
      return;
    case "usage":
      progress.hasUsage = true;
      yield { type: "usage", usage: step.usage };
      return;
    case "raw":
      progress.hasRaw = true;
      yield* progress.raw.read(step.dialect, step.input);
      return;
    case "delay":
    case "hang":
      yield step;
      return;
    case "error":
      yield { type: "turn-fail", fault: faultOf(step.error, context.name) };
      return;
    default:
      step satisfies never;
  }
}

type TextStep = Extract<Step, { type: "text" | "refusal" | "reasoning" }>;

const delta = (step: TextStep, choice: number, text: string): Event =>
  step.type === "reasoning"
    ? { type: "reasoning-delta", choice, text, of: step.of, part: 0 }
    : { type: `${step.type}-delta`, choice, text };

type ScriptCall = Extract<Step, { type: "calls" }>["calls"][number];

/** Ids are the same in every run, and differ within a conversation. */
function* callEvents(
  { kind, namespace, pieces, ...given }: ScriptCall,
  { choice, call, position }: { choice: number; call: number; position: number },
): Generator<Event, void, undefined> {
  const id = given.id ?? `call_${position}_${call}${choice === 0 ? "" : `_${choice}`}`;
  const name = upstreamName(given.name);
  yield { type: "call-start", choice, call, id, kind, name, namespace };
  for (const text of pieces) yield { type: "call-delta", choice, call, text };
  yield { type: "call-end", choice, call, complete: true };
}

const estimatedUsage = (input: number, output: number): Event => ({
  type: "usage",
  usage: { input, output, total: input + output },
});

function faultOf(error: ScriptError, name: string): Fault {
  const { status, code, message, headers, body } = error;
  if (status === undefined)
    return new Fault("upstream.said_error", message, { upstreamCode: code });
  const text = body ?? JSON.stringify({ error: { message, code } });
  const failing = { name, origin: "", secrets: [] };
  return refusal(failing, { status, headers, body: text, now: 0 }).fault;
}
