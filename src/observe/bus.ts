import { wordsOnly } from "../turn/failure-reason.ts";
import type { AttemptReport, Happening, HappeningType, Report } from "./happening.ts";
import { Metrics } from "./metrics.ts";
import { RecentTurns } from "./recent-turns.ts";

/** Types that a listener receives only with the option `steps`. */
export const stepTypes = ["step", "attempt", "call"] as const satisfies readonly HappeningType[];

/** Types that each listener without `types` receives. */
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
  /** Also reports each step, attempt and call of a turn. */
  readonly steps?: boolean | undefined;
};

type Entry = { readonly listener: Report; readonly types: readonly HappeningType[] };

/** Counts happenings of a gateway, keeps its latest turns, and calls its listeners. */
export class Bus {
  readonly metrics = new Metrics();
  readonly recent = new RecentTurns();
  /** False: listeners do not receive the sentences of upstreams, which may quote requests. */
  tellsMessages = true;
  /** The listeners of each type. A happening without listeners that is not counted need not be made. */
  listeners: ReadonlyMap<HappeningType, readonly Pick<Entry, "listener">[]> = new Map();
  /** True if steps, attempts and calls have a listener. */
  followsSteps = false;
  #entries: readonly Entry[] = [];

  readonly report = (happening: Happening): void => {
    if (happening.type === "turn" || happening.type === "refusal") this.recent.add(happening);
    this.metrics.count(happening);
    const listeners = this.listeners.get(happening.type);
    if (listeners === undefined) return;
    const shown = this.tellsMessages ? happening : withoutMessages(happening);
    for (const { listener } of listeners)
      try {
        listener(shown);
      } catch {
        // A failing listener must not end the turn.
      }
  };

  /**
   * Calls a listener with every happening of its `types`, until the returned function is called.
   * Without `types` it receives all but steps, attempts and calls.
   */
  subscribe(listener: Report, { steps = false }: SubscribeOptions = {}): () => void {
    const types = listener.types ?? (steps ? [...mainTypes, ...stepTypes] : mainTypes);
    const entry = { listener, types };
    this.#listen([...this.#entries, entry]);
    return () => this.#listen(this.#entries.filter((other) => other !== entry));
  }

  #listen(entries: readonly Entry[]): void {
    this.#entries = entries;
    const pairs = entries.flatMap(({ listener, types }) =>
      types.map((type) => ({ type, listener })),
    );
    this.listeners = Map.groupBy(pairs, ({ type }) => type);
    this.followsSteps = this.listeners.has("step");
  }
}

/** The same happening without the messages of reasons, which may quote requests. */
export function withoutMessages(happening: Happening): Happening {
  switch (happening.type) {
    case "turn":
      for (const { reason } of happening.attempts)
        if (reason?.message !== undefined)
          return { ...happening, attempts: happening.attempts.map(withWordsOnly) };
      return happening;
    case "attempt":
    case "fallback":
      return withWordsOnly(happening);
    default:
      return happening;
  }
}

const withWordsOnly = <One extends Pick<AttemptReport, "reason">>(one: One): One =>
  one.reason?.message === undefined ? one : { ...one, reason: wordsOnly(one.reason) };
