import { genericChat } from "../profiles/generic.ts";
import type { Flow, Sink } from "../stream/flow.ts";
import type { TurnEvent } from "../turn/event.ts";
import { Fault } from "../turn/fault.ts";
import type { UpstreamName } from "../turn/names.ts";
import type { Profile } from "../turn/profile.ts";
import type { Turn } from "../turn/turn.ts";
import type { OpenOptions, Upstream } from "./upstream.ts";

type Event = TurnEvent<UpstreamName>;

/** What an answer may depend on besides the turn. */
export type AnswerContext = Omit<OpenOptions, "retry"> & {
  /** The model's name at the upstream. */
  readonly model: string;
  /** Aborted when nobody waits for the answer any longer. */
  readonly signal: AbortSignal;
};

export type UpstreamDefinition = Pick<Upstream, "name" | "models" | "trouble"> &
  Partial<Pick<Upstream, "close">> & {
    /** What it can do; default: what any server of chat completions can. */
    readonly profile?: Omit<Profile, "dialect"> | undefined;
    /**
     * Answers one turn. To return is to end it, to throw is to fail: a `Fault`
     * is told to the client, anything else is a fault of ours and only logged.
     * Starts and ends of blocks may be left out.
     */
    answer(turn: Turn<UpstreamName>, context: AnswerContext): AsyncIterable<Event>;
  };

/** An upstream whose answers are made by an async generator: a client that reads slowly slows it down. */
export function defineUpstream(definition: UpstreamDefinition): Upstream {
  const { name, profile = genericChat } = definition;
  return {
    ...definition,
    // A language of its own: nothing that a client sent is forwarded to it as it stands.
    profile: { ...profile, dialect: name },
    prepare: (turn, { model }) => ({
      decisions: [],
      open:
        ({ requestId, tenant, headers }) =>
        (sink) =>
          run(
            (signal) => definition.answer(turn, { model, signal, requestId, tenant, headers }),
            sink,
          ),
    }),
    close: async () => definition.close?.(),
  };
}

/** Emits an answer to a sink, an event at a time. */
function run(answer: (signal: AbortSignal) => AsyncIterable<Event>, sink: Sink<Event>): Flow {
  const aborter = new AbortController();
  const { signal } = aborter;
  /** Settles when the sink may be given more. */
  let ready = Promise.resolve();
  let release: (() => void) | undefined;
  const resume = (): void => {
    release?.();
    release = undefined;
  };
  const emit = async (events: AsyncIterable<Event>): Promise<void> => {
    const ending = ends();
    for await (const event of events) {
      await ready;
      if (signal.aborted) return;
      ending.note(event);
      sink.each(event);
      sink.flush();
    }
    for (const event of ending.missing()) sink.each(event);
  };
  // Later, also where the answer is there at once: a source speaks only once it has returned.
  void Promise.resolve()
    .then(() => emit(answer(signal)))
    .catch((error: unknown) => {
      if (!signal.aborted) sink.each({ type: "turn-fail", fault: faultOf(error) });
    })
    .then(() => {
      if (signal.aborted) return;
      sink.flush();
      sink.end();
    });
  return {
    pause() {
      if (release === undefined)
        ({ promise: ready, resolve: release } = Promise.withResolvers<void>());
    },
    resume,
    stop() {
      aborter.abort();
      resume();
    },
  };
}

const faultOf = (error: unknown): Fault =>
  error instanceof Fault
    ? error
    : new Fault("gateway.internal", "The upstream's own code failed.", {}, error);

/** Notes which choices have ended: what an answer leaves open ends when it returns. */
function ends() {
  const open = new Map<number, "end" | "calls">([[0, "end"]]);
  let isFailed = false;
  const ended = new Set<number>();
  return {
    note(event: Event): void {
      if (event.type === "turn-fail") isFailed = true;
      if (!("choice" in event)) return;
      if (event.type === "turn-end") ended.add(event.choice);
      else if (event.type === "call-start") open.set(event.choice, "calls");
      else if (!open.has(event.choice)) open.set(event.choice, "end");
    },
    *missing(): Generator<Event, void> {
      if (isFailed) return;
      for (const [choice, stop] of open)
        if (!ended.has(choice)) yield { type: "turn-end", choice, stop };
    },
  };
}
