import { wordsOnly } from "../turn/failure-reason.ts";
import type { AttemptReport, Happening, HappeningType, Report } from "./happening.ts";
import { Metrics } from "./metrics.ts";
import { RecentTurns } from "./recent-turns.ts";

/** The types that only listeners with the option `steps` are told of. */
const stepTypes = ["step", "attempt", "call"] as const satisfies readonly HappeningType[];

/** The types that every listener without `types` is told of. */
export const mainTypes = [
  "begun",
  "turn",
  "round",
  "fallback",
  "refusal",
  "trouble",
  "reload",
  "unwritable",
  "store",
  "child",
  "blocked",
] as const satisfies readonly HappeningType[];

export type SubscribeOptions = {
  /** Also tells of each step, attempt and call of a turn. */
  readonly steps?: boolean | undefined;
};

type Entry = { readonly listener: Report; readonly types: readonly HappeningType[] };

type Listeners = ReadonlyMap<HappeningType, readonly { readonly listener: Report }[]>;

/** Counts what happens in a gateway, keeps its latest turns, and tells its listeners. */
export class Bus {
  readonly metrics = new Metrics();
  readonly recent = new RecentTurns();
  /** False: listeners are not told the sentences of upstreams, which may quote requests. */
  tellsMessages = true;
  /** The listeners of each type. A happening that has none and is not counted need not be made. */
  listeners: Listeners = new Map();
  /** True if steps, attempts and calls have a listener. */
  followsSteps = false;
  #entries: readonly Entry[] = [];

  readonly report = (happening: Happening): void => {
    if (happening.type === "turn" || happening.type === "refusal") this.recent.add(happening);
    this.metrics.hear(happening);
    const listeners = this.listeners.get(happening.type);
    if (listeners === undefined) return;
    const told = this.tellsMessages ? happening : withoutMessages(happening);
    for (const { listener } of listeners)
      try {
        listener(told);
      } catch {
        // A listener must not end the turn that it is told of.
      }
  };

  /**
   * Calls a listener with every happening of its `types` from now on, until the returned function
   * is called. Without `types` it hears all but steps, attempts and calls.
   */
  subscribe(listener: Report, { steps = false }: SubscribeOptions = {}): () => void {
    const entry = {
      listener,
      types: listener.types ?? (steps ? [...mainTypes, ...stepTypes] : mainTypes),
    };
    this.#tell([...this.#entries, entry]);
    return () => this.#tell(this.#entries.filter((other) => other !== entry));
  }

  #tell(entries: readonly Entry[]): void {
    this.#entries = entries;
    const pairs = entries.flatMap(({ listener, types }) =>
      types.map((type) => ({ type, listener })),
    );
    this.listeners = Map.groupBy(pairs, ({ type }) => type);
    this.followsSteps = this.listeners.has("step");
  }
}

type Reasoned = Pick<AttemptReport, "reason">;

/** The same happening without the messages of reasons, which may quote requests. */
export function withoutMessages(happening: Happening): Happening {
  switch (happening.type) {
    case "turn":
      for (const { reason } of happening.attempts)
        if (reason?.message !== undefined)
          return { ...happening, attempts: happening.attempts.map(told) };
      return happening;
    case "attempt":
    case "fallback":
      return told(happening);
    default:
      return happening;
  }
}

const told = <One extends Reasoned>(one: One): One =>
  one.reason?.message === undefined ? one : { ...one, reason: wordsOnly(one.reason) };
