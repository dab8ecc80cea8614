import type { DisclosureFigures, Happening } from "./happening.ts";
import { Family, type Series } from "./registry.ts";

const CALLS = [0, 1, 2, 4, 8, 16, 32, 64];
const SECONDS = [0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

export const buckets: Readonly<Record<string, readonly number[]>> = {
  patchbay_tool_calls_per_turn: CALLS,
  patchbay_turn_seconds: SECONDS,
  patchbay_first_event_seconds: SECONDS,
};

/** The labels and the help text of each metric. */
export const metrics = {
  patchbay_turns_total: "door upstream outcome: Turns by door, upstream and outcome.",
  patchbay_refusals_total: "fault: Requests that were refused before a turn began, by fault.",
  patchbay_fallbacks_total:
    "from fault: Failed attempts after which a turn moved to the next upstream of its chain.",
  patchbay_tools_total: "verdict kind: Declared tools by verdict and kind.",
  tool_call_count_total: "door upstream stop_after_tools_mode: Tool calls sent to clients.",
  tool_call_truncated_total:
    "door upstream stop_after_tools_mode: Turns in which a cap or a stop removed tool calls.",
  patchbay_tool_calls_withheld_total:
    "door upstream: Tool calls of the model that the client did not receive, because of a cap or a stop, or because the request did not allow them.",
  patchbay_tool_calls_repeated_total:
    "door upstream: Tool calls removed because they repeat an earlier call.",
  patchbay_tool_calls_per_turn: "door upstream: Tool calls sent to the client in one turn.",
  patchbay_disclosure_tokens_saved_total:
    "upstream: Tokens of tool definitions that were not sent, estimated at four bytes per token.",
  patchbay_disclosure_openings_total: "upstream: Sections of folded tools that models opened.",
  wink_tools_injected_total:
    "upstream: Tools that were added to a running conversation because the model opened their section.",
  wink_disclosure_dynamic_total: "upstream: Calls of the loader that opened sections of tools.",
  patchbay_disclosure_rounds_total:
    "upstream: Upstream calls that only answered questions about folded tools.",
  patchbay_disclosure_misses_total:
    "upstream: Calls of the loader or of folded tools with an unknown name or invalid arguments.",
  patchbay_tokens_total:
    "upstream direction: Tokens as the upstream counted them, or an estimate if it did not.",
  patchbay_cost_total:
    "model: Cost of turns by the configured prices, by the model name of the price.",
  patchbay_turn_seconds: "door upstream: Seconds from the request to the end of the answer.",
  patchbay_first_event_seconds:
    "door upstream: Seconds from the request to the first event of the upstream.",
  patchbay_child_events_total:
    "upstream event: Events of child processes, such as starts and exits, and their output that was dropped.",
  patchbay_store_events_total:
    "event: Times the store became unavailable or available, and turns that it did not store.",
  patchbay_event_loop_blocked_total:
    "work: Pieces of work on one request that blocked the event loop longer than `server.block_budget_ms`.",
  patchbay_event_loop_blocked_seconds_total:
    "work: Seconds for which such work blocked the event loop.",
  patchbay_turns_running: ": Turns that are running.",
} as const;

type Families = Readonly<Record<keyof typeof metrics, Family>>;

const newFamilies = (): Families =>
  Object.fromEntries(
    Object.entries(metrics).map(([name, content]) => {
      const [labels = "", ...help] = content.split(": ");
      const type =
        name in buckets ? "histogram" : name === "patchbay_turns_running" ? "gauge" : "counter";
      return [name, new Family(type, help.join(": "), labels, buckets[name])];
    }),
  ) as Families;

/** Bytes of JSON for each token, about. */
const TOKEN_BYTES = 4;

/** The Prometheus metrics. Labels are names of the configuration and words of closed sets, never a client's words. */
export class Metrics {
  readonly #families = newFamilies();
  /** By door, mode and upstream. */
  readonly #turns = new Map<string, ReturnType<typeof turnSeries>>();
  readonly #tools = new WeakMap<readonly PlannedTools[], readonly CountedTools[]>();
  /** Turns under way; the gateway counts its `amount`. */
  readonly running: Series = this.#families.patchbay_turns_running.of();

  count(happening: Happening): void {
    const families = this.#families;
    switch (happening.type) {
      case "turn": {
        const { door, calls, rules, usage, firstEventMs, disclosure } = happening;
        // Clients choose names of models, so labels name the upstream alone.
        const upstream = happening.upstream.slice(0, happening.upstream.indexOf("/"));
        const key = `${door} ${rules.stopMode} ${upstream}`;
        let series = this.#turns.get(key);
        if (series === undefined)
          this.#turns.set(key, (series = turnSeries(families, door, upstream, rules.stopMode)));
        series[happening.outcome].amount++;
        series.duration.observe(happening.ms / 1000);
        if (firstEventMs !== undefined) series.firstEvent.observe(firstEventMs / 1000);
        series.calls.amount += calls.given;
        if (calls.truncated) series.truncated.amount++;
        series.withheld.amount += calls.withheld;
        series.repeated.amount += calls.repeated;
        series.callsPerTurn.observe(calls.given);
        series.input.amount += usage?.input ?? 0;
        series.output.amount += usage?.output ?? 0;
        if (disclosure !== undefined) countDisclosure(families, disclosure, upstream);
        return;
      }
      case "refusal":
        families.patchbay_refusals_total.of(happening.fault).amount++;
        return;
      case "fallback": {
        const from = happening.from.slice(0, happening.from.indexOf("/"));
        families.patchbay_fallbacks_total.of(from, happening.fault).amount++;
        return;
      }
      case "child":
        families.patchbay_child_events_total.of(happening.upstream, happening.event).amount++;
        return;
      case "store":
        families.patchbay_store_events_total.of(happening.event).amount++;
        return;
      case "blocked": {
        const { work, ms } = happening;
        families.patchbay_event_loop_blocked_total.of(work).amount++;
        families.patchbay_event_loop_blocked_seconds_total.of(work).amount += ms / 1000;
        return;
      }
      default:
    }
  }

  /** Counts the tools of a plan; plans of the same tools share the list. */
  tools(planned: readonly PlannedTools[]): void {
    let counted = this.#tools.get(planned);
    if (counted === undefined) {
      const { patchbay_tools_total: family } = this.#families;
      counted = planned.map(({ verdict, kind, count }) => ({
        series: family.of(verdict, kind),
        count,
      }));
      this.#tools.set(planned, counted);
    }
    for (const { series, count } of counted) series.amount += count;
  }

  /** Adds the cost of a turn by the price of this model. Tenants are not named, because `/metrics` needs no key. */
  spent(cost: number, model: string): void {
    this.#families.patchbay_cost_total.of(model).amount += cost;
  }

  text(): string {
    return Object.entries(this.#families)
      .map(([name, family]) => family.text(name))
      .join("");
  }
}

type CountedTools = { readonly series: Series; readonly count: number };
type PlannedTools = {
  readonly verdict: string;
  readonly kind: string;
  readonly count: number;
};

/**
 * The series of turns of one door, upstream and mode. All of them exist from the first turn on,
 * because a rate needs the number before.
 */
const turnSeries = (families: Families, door: string, upstream: string, mode: string) => ({
  completed: families.patchbay_turns_total.of(door, upstream, "completed"),
  incomplete: families.patchbay_turns_total.of(door, upstream, "incomplete"),
  failed: families.patchbay_turns_total.of(door, upstream, "failed"),
  left: families.patchbay_turns_total.of(door, upstream, "left"),
  calls: families.tool_call_count_total.of(door, upstream, mode),
  truncated: families.tool_call_truncated_total.of(door, upstream, mode),
  withheld: families.patchbay_tool_calls_withheld_total.of(door, upstream),
  repeated: families.patchbay_tool_calls_repeated_total.of(door, upstream),
  callsPerTurn: families.patchbay_tool_calls_per_turn.of(door, upstream),
  duration: families.patchbay_turn_seconds.of(door, upstream),
  firstEvent: families.patchbay_first_event_seconds.of(door, upstream),
  input: families.patchbay_tokens_total.of(upstream, "input"),
  output: families.patchbay_tokens_total.of(upstream, "output"),
});

function countDisclosure(
  families: Families,
  disclosure: DisclosureFigures,
  upstream: string,
): void {
  const { eagerBytes, sentBytes } = disclosure;
  const saved = Math.max(0, Math.round((eagerBytes - sentBytes) / TOKEN_BYTES));
  families.patchbay_disclosure_tokens_saved_total.of(upstream).amount += saved;
  families.patchbay_disclosure_openings_total.of(upstream).amount += disclosure.openings;
  families.wink_tools_injected_total.of(upstream).amount += disclosure.injected;
  families.wink_disclosure_dynamic_total.of(upstream).amount += disclosure.dynamic;
  families.patchbay_disclosure_rounds_total.of(upstream).amount += disclosure.hiddenRounds;
  families.patchbay_disclosure_misses_total.of(upstream).amount += disclosure.misses;
}
