import type { EventReader } from "../../dialects/dialect.ts";
import type { DialectRegistry } from "../../dialects/registry.ts";
import { chat } from "../../dialects/chat/chat.ts";
import { writeParams } from "../../dialects/shared/params.ts";
import type { Source } from "../../stream/flow.ts";
import type { Clock, NewId } from "../../turn/clock.ts";
import type { StopReason, TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Turn } from "../../turn/turn.ts";
import { refusal } from "../http/fault.ts";
import { scripted } from "../../profiles/scripted.ts";
import { readScript, type Script, type ScriptError, type ScriptTurn, type Step } from "./script.ts";
import { countTokens, inputTokens } from "../tokens.ts";
import { lastUserText, modelTurns, textOf } from "../turn-text.ts";
import type { Upstream } from "../upstream.ts";

type Event = TurnEvent<UpstreamName>;

export type ScriptedOptions = {
  readonly name: string;
  /** YAML or JSON text, or what that parses to. */
  readonly script: unknown;
  readonly profile?: Profile | undefined;
  /** Who reads the raw frames of a script. */
  readonly dialects?: Pick<DialectRegistry, "get"> | undefined;
  readonly newId: NewId;
  readonly clock: Clock;
};

/** A request as a scripted upstream got it. */
type ScriptedRequest = {
  readonly turn: Turn<UpstreamName>;
  readonly model: string;
  readonly requestId: string;
};

export type ScriptedUpstream = Upstream & {
  /** The last hundred, oldest first. */
  requests(): readonly ScriptedRequest[];
};

const KEPT = 100;

/** An upstream that plays a script: to try things with, and to say in a test what happened upstream. */
export function scriptedUpstream(options: ScriptedOptions): ScriptedUpstream {
  const { name, clock, profile = scripted } = options;
  const script = readScript(options.script, name);
  const kept: ScriptedRequest[] = [];
  let asked = 0;
  return {
    name,
    profile,
    prepare: (turn, { model, profile: modelProfile }) => ({
      decisions: writeParams(turn, chat, modelProfile).decisions,
      open({ requestId }) {
        const position = script.sequence === "requests" ? asked : modelTurns(turn.items);
        asked++;
        kept.push({ turn, model, requestId });
        if (kept.length > KEPT) kept.shift();
        const found = chooseTurn(script, turn, { model, position });
        const acts =
          found === undefined
            ? [fail(scriptOver(name, script, position))]
            : perform(found.steps, { turn, model, position, options });
        return play(acts, clock);
      },
    }),
    models: async () => script.models,
    close: async () => {},
    requests: () => kept,
  };
}

/** A turn whose conditions hold; else the one whose place in the conversation it is. */
function chooseTurn(
  script: Script,
  turn: Turn<UpstreamName>,
  { model, position }: { model: string; position: number },
): ScriptTurn | undefined {
  const last = turn.items.at(-1);
  const result = last?.type === "result" ? textOf(last.parts) : undefined;
  const user = lastUserText(turn);
  const fitting = script.turns.find(
    ({ when }) =>
      when !== undefined &&
      (when.user?.test(user) ?? true) &&
      (when.model?.test(model) ?? true) &&
      (when.position === undefined || when.position === position) &&
      (when.result === undefined || (result !== undefined && when.result.test(result))),
  );
  return fitting ?? script.turns.filter(({ when }) => when === undefined)[position];
}

function scriptOver(name: string, script: Script, position: number): Fault {
  const plain = script.turns.filter(({ when }) => when === undefined).length;
  return new Fault(
    "upstream.said_error",
    `The script of upstream \`${name}\` has ${plain} turns in sequence and this would be number ${position + 1}. Add a turn, or one with a \`when\` that fits.`,
  );
}

type Raw = Extract<Step, { type: "raw" }>;
type Delay = { readonly type: "delay"; readonly ms: number };
type Act = Event | Delay | { readonly type: "hang" };

type Stage = {
  readonly turn: Turn<UpstreamName>;
  readonly model: string;
  readonly position: number;
  readonly options: ScriptedOptions;
};

const fail = (fault: Fault): Event => ({ type: "turn-fail", fault });

/** What a performance has come to so far. */
type Tally = {
  readonly choices: readonly number[];
  readonly stops: Map<number, StopReason>;
  readonly calls: Map<number, number>;
  readonly readRaw: (step: Raw) => Event[];
  output: number;
  counted: boolean;
  raw: boolean;
};

/** Steps before which an upstream has said nothing at all. */
const unspoken: ReadonlySet<string> = new Set(["error", "raw", "cut", "hang"]);

/** The events and silences that the steps mean. */
function* perform(steps: readonly Step[], stage: Stage): Generator<Act, void, undefined> {
  const { turn, model, options } = stage;
  const choices = Array.from({ length: turn.params.n ?? 1 }, (_, choice) => choice);
  const tally: Tally = {
    choices,
    stops: new Map(),
    calls: new Map(),
    readRaw: rawReader(options),
    output: 0,
    counted: false,
    raw: false,
  };
  const { stops, calls } = tally;

  const spoken = steps.find((step) => step.type !== "delay");
  if (!unspoken.has(spoken?.type ?? "")) yield { type: "turn-start", model };
  for (const step of steps) {
    if (step.type === "cut") return;
    yield* performStep(step, stage, tally);
    if (step.type === "error") return;
  }
  if (!tally.counted && !tally.raw) yield usageOf(inputTokens(turn), tally.output);
  for (const choice of choices) {
    const stop = stops.get(choice) ?? (calls.has(choice) ? "calls" : "end");
    // Raw frames say their own end, or leave it out on purpose.
    if (!tally.raw || stops.has(choice)) yield { type: "turn-end", choice, stop };
  }
}

function* performStep(
  step: Exclude<Step, { type: "cut" }>,
  stage: Stage,
  tally: Tally,
): Generator<Act, void, undefined> {
  const mine = tally.choices.filter((one) => step.choice === undefined || step.choice === one);
  switch (step.type) {
    case "text":
    case "refusal":
    case "reasoning":
      tally.output += countTokens(step.pieces.join("")) * mine.length;
      for (const choice of mine) for (const text of step.pieces) yield delta(step, choice, text);
      return;
    case "calls":
      for (const choice of mine)
        for (const made of step.calls) {
          const call = tally.calls.get(choice) ?? 0;
          tally.calls.set(choice, call + 1);
          tally.output += countTokens(made.name + made.pieces.join(""));
          yield* sayCall(made, { choice, call, id: callId(stage, choice, call) });
        }
      return;
    case "stop":
      for (const choice of mine) tally.stops.set(choice, step.stop);
      return;
    case "usage":
      tally.counted = true;
      yield { type: "usage", usage: step.usage };
      return;
    case "raw":
      tally.raw = true;
      yield* tally.readRaw(step);
      return;
    case "delay":
    case "hang":
      yield step;
      return;
    case "error":
      yield fail(faultOf(step.error, stage.options.name));
      return;
    default:
      step satisfies never;
  }
}

type Said = Extract<Step, { type: "text" | "refusal" | "reasoning" }>;

const delta = (step: Said, choice: number, text: string): Event =>
  step.type === "reasoning"
    ? { type: "reasoning-delta", choice, text, of: step.of, part: 0 }
    : { type: `${step.type}-delta`, choice, text };

type Made = Extract<Step, { type: "calls" }>["calls"][number];

function* sayCall(
  made: Made,
  { choice, call, id }: { choice: number; call: number; id: string },
): Generator<Event, void, undefined> {
  const { kind, namespace } = made;
  const name = upstreamName(made.name);
  yield { type: "call-start", choice, call, id: made.id ?? id, kind, name, namespace };
  for (const text of made.pieces) yield { type: "call-delta", choice, call, text };
  yield { type: "call-end", choice, call, complete: true };
}

/** The same in every run, and no two alike in one conversation. */
const callId = ({ position }: Stage, choice: number, call: number): string =>
  `call_${position}_${call}${choice === 0 ? "" : `_${choice}`}`;

const usageOf = (input: number, output: number): Event => ({
  type: "usage",
  usage: { input, output, total: input + output },
});

function faultOf(error: ScriptError, name: string): Fault {
  const { status, code, message, retryAfter } = error;
  if (status === undefined)
    return new Fault("upstream.said_error", message, { upstreamCode: code });
  const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
  const body = JSON.stringify({ error: { message, code } });
  return refusal({ name, origin: "", secrets: [] }, { status, headers, body, now: 0 }).fault;
}

/** Reads raw frames as the dialect would from the wire; one reader for the whole turn. */
function rawReader({ dialects, newId, name }: ScriptedOptions): (step: Raw) => Event[] {
  const readers = new Map<string, EventReader>();
  return (step) => {
    const dialect = dialects?.get(step.dialect)?.upstream;
    if (dialect === undefined) {
      const message = `The script of upstream \`${name}\` has frames of \`${step.dialect}\`, which nobody here reads.`;
      return [fail(new Fault("config.invalid", message))];
    }
    const reader = readers.get(step.dialect) ?? dialect.readEvents({ newId, frames: false });
    readers.set(step.dialect, reader);
    const events: Event[] = [];
    for (const { data, name: event } of step.frames)
      if (!reader.done()) reader.frame(data, event, false, (one) => void events.push(one));
    return events;
  };
}

/** A source that says the acts in their time. */
function play(acts: Iterable<Act>, clock: Clock): Source<Event> {
  return (sink) => {
    const rest = acts[Symbol.iterator]();
    let state: "going" | "paused" | "over" = "going";
    let silent = false;
    let calledOff = (): void => {};

    const go = (): void => {
      while (state === "going" && !silent) {
        const { done, value: act } = rest.next();
        if (done === true) {
          state = "over";
          sink.flush();
          sink.end();
        } else if (act.type === "delay" || act.type === "hang") {
          silent = true;
          sink.flush();
          if (act.type === "delay") calledOff = clock.at(clock.now() + act.ms, wake);
        } else {
          sink.each(act);
          sink.flush();
        }
      }
    };
    const wake = (): void => {
      silent = false;
      go();
    };
    queueMicrotask(go);
    return {
      pause: () => void (state === "going" && (state = "paused")),
      resume() {
        if (state !== "paused") return;
        state = "going";
        queueMicrotask(go);
      },
      stop() {
        state = "over";
        calledOff();
      },
    };
  };
}
