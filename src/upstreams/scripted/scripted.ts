import type { EventReader } from "../../dialects/dialect.ts";
import { type DialectRegistry, standIns } from "../../dialects/registry.ts";
import { filledText } from "../../dialects/shared/loose.ts";
import { writeParams } from "../../dialects/shared/params.ts";
import { scripted } from "../../profiles/scripted.ts";
import { type Source, sourceOf } from "../../stream/flow.ts";
import { SseReader } from "../../stream/sse.ts";
import type { Clock, NewId } from "../../turn/clock.ts";
import type { StopReason, TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Turn } from "../../turn/turn.ts";
import { httpFailure } from "../http/fault.ts";
import { countTokens, inputTokens } from "../tokens.ts";
import { joinText, lastUserText, modelTurns } from "../turn-text.ts";
import type { Upstream } from "../upstream.ts";
import {
  asJsonText,
  readScript,
  type RawStep,
  type ScriptCall,
  type ScriptError,
  type ScriptTurn,
  type Step,
} from "./script.ts";

type Event = TurnEvent<UpstreamName>;

export type ScriptedOptions = {
  readonly name: string;
  /** YAML or JSON text, or what that parses to. */
  readonly script: unknown;
  readonly profile?: Profile | undefined;
  /** The dialects that raw steps may be in. */
  readonly dialects?: Pick<DialectRegistry, "get"> | undefined;
  readonly newId: NewId;
  readonly clock: Clock;
};

/** An upstream that answers from a script, for trials and tests. */
export function scriptedUpstream(options: ScriptedOptions): Upstream {
  const { name, clock, profile = scripted } = options;
  const script = readScript(options.script, name);
  let asked = 0;
  return {
    name,
    profile,
    prepare: (turn, { model, profile: modelProfile }) => ({
      decisions: writeParams(turn, standIns.scripted, modelProfile).decisions,
      open() {
        const position = script.sequence === "requests" ? asked : modelTurns(turn.items);
        asked++;
        const given: Asked = { turn, model, position };
        return play(new ScriptedAnswer(options, given).actions(chooseTurn(given)), clock);
      },
    }),
    models: async () => script.models,
    close: async () => {},
  };

  /** The first turn whose conditions hold; else the turn at this position of the sequence. */
  function chooseTurn({ turn, model, position }: Asked): ScriptTurn {
    const last = turn.items.at(-1);
    const result = last?.type === "result" ? joinText(last.parts) : undefined;
    const user = lastUserText(turn);
    const inSequence = script.turns.filter(({ when }) => when === undefined);
    const matching = script.turns.find(
      ({ when }) =>
        when !== undefined &&
        (when.user?.test(user) ?? true) &&
        (when.model?.test(model) ?? true) &&
        (when.position ?? position) === position &&
        (when.result === undefined || (result !== undefined && when.result.test(result))),
    );
    const found = matching ?? inSequence[position];
    if (found !== undefined) return found;
    const message = `The script of upstream \`${name}\` has ${inSequence.length} turns in sequence and this would be number ${position + 1}. Add a turn, or one with a \`when\` that fits.`;
    return { steps: [{ type: "error", error: { message, headers: {} } }] };
  }
}

/** The next step of a scripted upstream. */
type Action = Event | { readonly type: "delay"; readonly ms: number } | { readonly type: "hang" };

/** A source of the actions' events, which a delay pauses. */
const play =
  (actions: Iterable<Action>, clock: Clock): Source<Event> =>
  (sink) => {
    const holds = { pause: false, delay: false };
    const hold = (by: keyof typeof holds, isHeld: boolean): void => {
      holds[by] = isHeld;
      if (holds.pause || holds.delay) flow.pause();
      else flow.resume();
    };
    let cancelTimer = (): void => {};
    const flow = sourceOf(actions)({
      each(action) {
        if (action.type !== "delay" && action.type !== "hang") return sink.each(action);
        hold("delay", true);
        if (action.type === "hang") return;
        cancelTimer = clock.at(clock.now() + action.ms, () => hold("delay", false));
      },
      flush: () => sink.flush(),
      end: () => sink.end(),
    });
    return {
      pause: () => hold("pause", true),
      resume: () => hold("pause", false),
      stop() {
        cancelTimer();
        flow.stop();
      },
    };
  };

type Asked = {
  readonly turn: Turn<UpstreamName>;
  readonly model: string;
  /** Number of earlier answers in the conversation. */
  readonly position: number;
};

/** A reader of raw steps: all those of a dialect in one turn have the same. */
type RawReader = {
  readonly reader: EventReader;
  readonly decoder: TextDecoder;
  readonly sse: SseReader;
};

/** Steps that may come before `turn-start`, or bring their own. */
const withoutStart: ReadonlySet<string> = new Set(["error", "raw", "cut", "hang"]);

/** The events and delays of one turn's steps. */
class ScriptedAnswer {
  readonly #options: ScriptedOptions;
  readonly #asked: Asked;
  readonly #choices: readonly number[];
  readonly #stops = new Map<number, StopReason>();
  readonly #calls = new Map<number, number>();
  readonly #readers = new Map<string, RawReader>();
  /** Events of raw steps, which are read before they are emitted. */
  #read: Event[] = [];
  #outputTokens = 0;
  #hasUsage = false;

  constructor(options: ScriptedOptions, asked: Asked) {
    this.#options = options;
    this.#asked = asked;
    this.#choices = Array.from({ length: asked.turn.params.n ?? 1 }, (_, choice) => choice);
  }

  *actions({ steps }: ScriptTurn): Generator<Action, void, undefined> {
    const { turn, model } = this.#asked;
    const first = steps.find((step) => step.type !== "delay");
    if (!withoutStart.has(first?.type ?? "")) yield { type: "turn-start", model };
    for (const step of steps) {
      if (step.type === "cut") break;
      yield* this.#step(step);
      if (step.type === "error") return;
    }
    // The connection closes: half a character or half a frame may be left.
    for (const { reader, decoder, sse } of this.#readers.values()) {
      sse.feed(decoder.decode());
      sse.end();
      if (!reader.done()) reader.end?.(this.#note);
      yield* this.#take();
    }
    if (steps.some(({ type }) => type === "cut")) return;
    const hasRaw = steps.some(({ type }) => type === "raw");
    if (!this.#hasUsage && !hasRaw) {
      const [input, output] = [inputTokens(turn), this.#outputTokens];
      yield { type: "usage", usage: { input, output, total: input + output } };
    }
    for (const choice of this.#choices) {
      const stop = this.#stops.get(choice) ?? (this.#calls.has(choice) ? "calls" : "end");
      // Raw steps contain their own end, or omit it on purpose.
      if (!hasRaw || this.#stops.has(choice)) yield { type: "turn-end", choice, stop };
    }
  }

  *#step(step: Exclude<Step, { type: "cut" }>): Generator<Action, void> {
    const { choice } = step as { readonly choice?: number | undefined };
    const choices = this.#choices.filter((one) => (choice ?? one) === one);
    switch (step.type) {
      case "text":
      case "refusal":
      case "reasoning":
        this.#outputTokens += countTokens(step.pieces.join("")) * choices.length;
        for (const choice of choices)
          for (const text of step.pieces)
            yield step.type === "reasoning"
              ? { type: "reasoning-delta", choice, text, of: step.of, part: 0 }
              : { type: `${step.type}-delta`, choice, text };
        return;
      case "calls":
        for (const choice of choices) for (const one of step.calls) yield* this.#call(one, choice);
        return;
      case "stop":
        for (const choice of choices) this.#stops.set(choice, step.stop);
        return;
      case "usage":
        this.#hasUsage = true;
        yield step;
        return;
      case "raw":
        yield* this.#raw(step.raw);
        return;
      case "delay":
      case "hang":
        yield step;
        return;
      case "error":
        yield { type: "turn-fail", fault: faultOf(step.error, this.#options.name) };
        return;
      default:
        step satisfies never;
    }
  }

  /** Ids are the same in every run, and differ within a conversation. */
  *#call({ kind, namespace, pieces, ...given }: ScriptCall, choice: number): Generator<Event> {
    const call = this.#calls.get(choice) ?? 0;
    this.#calls.set(choice, call + 1);
    this.#outputTokens += countTokens(given.name + pieces.join(""));
    const suffix = choice === 0 ? "" : `_${choice}`;
    const id = given.id ?? `call_${this.#asked.position}_${call}${suffix}`;
    const name = upstreamName(given.name);
    yield { type: "call-start", choice, call, id, kind, name, namespace };
    for (const text of pieces) yield { type: "call-delta", choice, call, text };
    yield { type: "call-end", choice, call, complete: true };
  }

  /** Reads a raw step as its dialect reads from the wire. */
  *#raw({ dialect, body, frames = [], sse: text, bytes }: RawStep): Generator<Event, void> {
    const open = this.#readers.get(dialect) ?? this.#start(dialect);
    if (open === undefined) {
      const message = `The script of upstream \`${this.#options.name}\` has frames of \`${dialect}\`, which this gateway does not read.`;
      yield { type: "turn-fail", fault: new Fault("config.invalid", message) };
      return;
    }
    const { reader, decoder, sse } = open;
    if (body !== undefined) {
      reader.whole(asJsonText(body), this.#note);
      yield* this.#take();
    }
    for (const frame of frames) {
      const name = typeof frame === "string" ? undefined : filledText(frame.type);
      if (!reader.done()) reader.frame(asJsonText(frame), name, false, this.#note);
      yield* this.#take();
    }
    const encoded = new TextEncoder().encode(text);
    const size = bytes ?? encoded.length;
    for (let at = 0; at < encoded.length; at += size) {
      sse.feed(decoder.decode(encoded.subarray(at, at + size), { stream: true }));
      yield* this.#take();
    }
  }

  #start(dialect: string): RawReader | undefined {
    const { dialects, newId } = this.#options;
    const reader = dialects?.get(dialect)?.upstream?.readEvents({ newId, frames: false });
    if (reader === undefined) return undefined;
    const sse = new SseReader((data, name, partial) => {
      if (!reader.done()) reader.frame(data, name, partial, this.#note);
    });
    const open = { reader, decoder: new TextDecoder(), sse };
    this.#readers.set(dialect, open);
    return open;
  }

  readonly #note = (event: Event): void => void this.#read.push(event);

  #take(): readonly Event[] {
    const events = this.#read;
    this.#read = [];
    return events;
  }
}

function faultOf(error: ScriptError, name: string): Fault {
  const { status, code, message, retry_after: wait, body } = error;
  if (status === undefined)
    return new Fault("upstream.said_error", message, { upstreamCode: code });
  const text = asJsonText(body ?? { error: { message, code } });
  const headers =
    wait === undefined ? error.headers : { "retry-after": String(wait), ...error.headers };
  const failing = { name, origin: "", secrets: [] };
  return httpFailure(failing, { status, headers, body: text, now: 0 }).fault;
}
