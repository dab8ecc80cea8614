import { genericChat } from "../profiles/generic.ts";
import type { Flow, Sink } from "../stream/flow.ts";
import type { TurnEvent } from "../turn/event.ts";
import { Fault } from "../turn/fault.ts";
import type { UpstreamName } from "../turn/names.ts";
import type { Profile } from "../turn/profile.ts";
import type { Turn } from "../turn/turn.ts";
import type { OpenOptions, Upstream } from "./upstream.ts";

type Event = TurnEvent<UpstreamName>;

/** The input of an answer besides the turn. */
export type AnswerContext = Omit<OpenOptions, "retry"> & {
  /** The model's name at the upstream. */
  readonly model: string;
  /** Aborted if the client has left. */
  readonly signal: AbortSignal;
};

export type UpstreamDefinition = Pick<Upstream, "name" | "models" | "trouble"> &
  Partial<Pick<Upstream, "close">> & {
    /** Its capabilities; by default those of any server of chat completions. */
    readonly profile?: Omit<Profile, "dialect"> | undefined;
    /**
     * Answers one turn. To return is to end it, to throw is to fail: the client
     * receives a `Fault`; any other error is only logged. Starts and ends of blocks
     * may be left out.
     */
    answer(turn: Turn<UpstreamName>, context: AnswerContext): AsyncIterable<Event>;
  };

/** An upstream whose answers are made by an async generator: a client that reads slowly slows it down. */
export function defineUpstream(definition: UpstreamDefinition): Upstream {
  const { name, profile = genericChat } = definition;
  return {
    ...definition,
    // Another dialect than all clients have, so that no client's fields are forwarded unchanged.
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
  /** Settles when the sink takes more events. */
  let ready = Promise.resolve();
  let release: (() => void) | undefined;
  const resume = (): void => {
    release?.();
    release = undefined;
  };
  const emit = async (events: AsyncIterable<Event>): Promise<void> => {
    for await (const event of withEnds(events)) {
      await ready;
      if (signal.aborted) return;
      sink.each(event);
      sink.flush();
    }
  };
  // Not at once: a source emits nothing before it has returned.
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

/** Ends the choices that an answer has left open when it returns. */
async function* withEnds(events: AsyncIterable<Event>): AsyncGenerator<Event, void> {
  const open = new Map<number, "end" | "calls">([[0, "end"]]);
  const ended = new Set<number>();
  for await (const event of events) {
    if (event.type === "turn-fail") open.clear();
    if ("choice" in event) {
      const { type, choice } = event;
      if (type === "turn-end") ended.add(choice);
      else if (type === "call-start") open.set(choice, "calls");
      else if (!open.has(choice)) open.set(choice, "end");
    }
    yield event;
  }
  for (const [choice, stop] of open)
    if (!ended.has(choice)) yield { type: "turn-end", choice, stop };
}
