import { figuresOf } from "./figures.ts";
import type { Happening, Outcome, TurnDone } from "./happening.ts";
import { createRegistry, type Registry } from "./registry.ts";

export type Metrics = {
  hear(happening: Happening): void;
  /** Tools of a turn were planned. Both labels come from closed sets. */
  tools(count: number, verdict: string, kind: string): void;
  running(change: 1 | -1): void;
  /** A turn cost this much by the price of this model. Without tenants: `/metrics` needs no key. */
  spent(cost: number, model: string): void;
  text(): string;
};

const CALLS = [0, 1, 2, 4, 8, 16, 32, 64];
const SECONDS = [0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** The Prometheus view of what happens. Labels are names from the configuration, never a client's words. */
export function createMetrics(): Metrics {
  const registry = createRegistry();
  const numbers = numbersIn(registry);
  const countTurn = turnCounters(numbers);
  return {
    hear(happening) {
      switch (happening.type) {
        case "turn":
          countTurn(happening);
          return countDisclosure(numbers, happening);
        case "refusal":
          return numbers.refusals.add(1, happening.fault);
        case "fallback":
          return numbers.fallbacks.add(1, upstreamOf(happening.from), happening.fault);
        case "child":
          return numbers.children.add(1, happening.upstream, happening.event);
        case "store":
          return numbers.store.add(1, happening.event);
        case "blocked":
          numbers.blocked.add(1, happening.work);
          return numbers.blockedSeconds.add(happening.ms / 1000, happening.work);
        case "begun":
        case "round":
        case "step":
        case "attempt":
        case "call":
        case "trouble":
        case "reload":
        case "unwritable":
          return;
        default:
          happening satisfies never;
      }
    },
    tools: (count, verdict, kind) => numbers.tools.add(count, verdict, kind),
    running: (change) => numbers.active.add(change),
    spent: (cost, model) => numbers.cost.add(cost, model),
    text: () => registry.text(),
  };
}

const place = ["door", "upstream"];
const burst = [...place, "stop_after_tools_mode"];

/** Every number there is. */
const numbersIn = (registry: Registry) => ({
  turns: registry.counter("patchbay_turns_total", "Turns by door, upstream and outcome.", [
    ...place,
    "outcome",
  ]),
  refusals: registry.counter(
    "patchbay_refusals_total",
    "Requests that never became a turn, by fault.",
    ["fault"],
  ),
  fallbacks: registry.counter(
    "patchbay_fallbacks_total",
    "Turns moved on to the next upstream of a chain.",
    ["from", "fault"],
  ),
  tools: registry.counter("patchbay_tools_total", "Declared tools by verdict and kind.", [
    "verdict",
    "kind",
  ]),
  ...callNumbersIn(registry),
  ...disclosureNumbersIn(registry),
  tokens: registry.counter(
    "patchbay_tokens_total",
    "Tokens as upstreams counted them, or else estimated.",
    ["upstream", "direction"],
  ),
  cost: registry.counter(
    "patchbay_cost_total",
    "What turns cost by the configured prices, by the name of the price.",
    ["model"],
  ),
  duration: registry.histogram(
    "patchbay_turn_seconds",
    "From request to the end of the answer.",
    place,
    SECONDS,
  ),
  firstEvent: registry.histogram(
    "patchbay_first_event_seconds",
    "From request to the upstream's first event.",
    place,
    SECONDS,
  ),
  children: registry.counter(
    "patchbay_child_events_total",
    "What happened to child processes, and what they said that was dropped.",
    ["upstream", "event"],
  ),
  store: registry.counter(
    "patchbay_store_events_total",
    "That the store could not be used, could again, or did not store a turn.",
    ["event"],
  ),
  blocked: registry.counter(
    "patchbay_event_loop_blocked_total",
    "Pieces of work on one request that held the event loop longer than `server.block_budget_ms`.",
    ["work"],
  ),
  blockedSeconds: registry.counter(
    "patchbay_event_loop_blocked_seconds_total",
    "How long that work took.",
    ["work"],
  ),
  active: registry.gauge("patchbay_turns_running", "Turns under way."),
});
type Numbers = ReturnType<typeof numbersIn>;

/** Those of tool calls. */
const callNumbersIn = (registry: Registry) => ({
  calls: registry.counter("tool_call_count_total", "Tool calls given to clients.", burst),
  truncated: registry.counter(
    "tool_call_truncated_total",
    "Turns whose tool calls a cap or a stop cut short.",
    burst,
  ),
  withheld: registry.counter(
    "patchbay_tool_calls_withheld_total",
    "Tool calls seen and not given: for a cap or a stop, or not allowed by the request.",
    place,
  ),
  repeated: registry.counter(
    "patchbay_tool_calls_repeated_total",
    "Tool calls left out since they repeat an earlier one.",
    place,
  ),
  callsPerTurn: registry.histogram(
    "patchbay_tool_calls_per_turn",
    "Tool calls given in a turn.",
    place,
    CALLS,
  ),
});

/** Those of folded tools. */
const disclosureNumbersIn = (registry: Registry) => ({
  tokensSaved: registry.counter(
    "patchbay_disclosure_tokens_saved_total",
    "Tokens of tool definitions that were not sent, at four bytes a token.",
    ["upstream"],
  ),
  openings: registry.counter(
    "patchbay_disclosure_openings_total",
    "Sections of folded tools that models opened.",
    ["upstream"],
  ),
  injected: registry.counter(
    "wink_tools_injected_total",
    "Tools that opening a section added to a conversation under way.",
    ["upstream"],
  ),
  dynamic: registry.counter(
    "wink_disclosure_dynamic_total",
    "Readings that opened sections of tools without a restart.",
    ["upstream"],
  ),
  restarts: registry.counter(
    "wink_disclosure_restarts_total",
    "Requests that were written anew because sections of tools were opened.",
    ["upstream"],
  ),
  hiddenRounds: registry.counter(
    "patchbay_disclosure_rounds_total",
    "Upstream calls that answered questions about folded tools and nothing else.",
    ["upstream"],
  ),
  misses: registry.counter(
    "patchbay_disclosure_misses_total",
    "Readings and calls of folded tools that are not there, or whose arguments did not fit.",
    ["upstream"],
  ),
});

/** The numbers that turns of one door, upstream and mode count into, found once. */
function turnCounter(numbers: Numbers, door: string, upstream: string, mode: string) {
  const turns = {
    completed: numbers.turns.of(door, upstream, "completed"),
    incomplete: numbers.turns.of(door, upstream, "incomplete"),
    failed: numbers.turns.of(door, upstream, "failed"),
    left: numbers.turns.of(door, upstream, "left"),
  } satisfies Record<Outcome, unknown>;
  const calls = numbers.calls.of(door, upstream, mode);
  const truncated = numbers.truncated.of(door, upstream, mode);
  const withheld = numbers.withheld.of(door, upstream);
  const repeated = numbers.repeated.of(door, upstream);
  const callsPerTurn = numbers.callsPerTurn.of(door, upstream);
  const duration = numbers.duration.of(door, upstream);
  const firstEvent = numbers.firstEvent.of(door, upstream);
  const input = numbers.tokens.of(upstream, "input");
  const output = numbers.tokens.of(upstream, "output");
  return (turn: TurnDone): void => {
    const figures = figuresOf(turn);
    turns[turn.outcome].add(1);
    duration.observe(turn.ms / 1000);
    if (turn.firstEventMs !== undefined) firstEvent.observe(turn.firstEventMs / 1000);
    // None is counted too: a rate can only be figures of a number that was there before.
    calls.add(figures.tool_call_count_total);
    truncated.add(figures.tool_call_truncated_total);
    withheld.add(turn.calls.withheld);
    repeated.add(turn.calls.repeated);
    callsPerTurn.observe(figures.tool_call_count_total);
    input.add(turn.usage?.input ?? 0);
    output.add(turn.usage?.output ?? 0);
  };
}

/** How many bytes of JSON are about a token. */
const TOKEN_BYTES = 4;

function countDisclosure(numbers: Numbers, { disclosure, upstream: place }: TurnDone): void {
  if (disclosure === undefined) return;
  const upstream = upstreamOf(place);
  const { eagerBytes, sentBytes, hiddenRounds, misses } = disclosure;
  numbers.tokensSaved.add(
    Math.max(0, Math.round((eagerBytes - sentBytes) / TOKEN_BYTES)),
    upstream,
  );
  numbers.openings.add(disclosure.openings, upstream);
  numbers.injected.add(disclosure.injected, upstream);
  numbers.dynamic.add(disclosure.dynamic, upstream);
  numbers.restarts.add(disclosure.restarts, upstream);
  numbers.hiddenRounds.add(hiddenRounds, upstream);
  numbers.misses.add(misses, upstream);
}

function turnCounters(numbers: Numbers): (turn: TurnDone) => void {
  const known = new Map<string, (turn: TurnDone) => void>();
  return (turn) => {
    const upstream = upstreamOf(turn.upstream);
    const mode = turn.rules.stopMode;
    const key = `${turn.door} ${mode} ${upstream}`;
    let count = known.get(key);
    if (count === undefined)
      known.set(key, (count = turnCounter(numbers, turn.door, upstream, mode)));
    count(turn);
  };
}

/** The upstream of an `upstream/model`: models may be as many as clients think of. */
const upstreamOf = (place: string): string => place.slice(0, place.indexOf("/"));
