import { figuresOf } from "./figures.ts";
import type { Happening, TurnDone } from "./happening.ts";
import { createRegistry, type Registry } from "./registry.ts";

export type Metrics = {
  hear(happening: Happening): void;
  /** A tool was planned. Both labels come from closed sets. */
  tool(verdict: string, kind: string): void;
  running(change: 1 | -1): void;
  text(): string;
};

const CALLS = [0, 1, 2, 4, 8, 16, 32, 64];
const SECONDS = [0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** The Prometheus view of what happens. Labels are names from the configuration, never a client's words. */
export function createMetrics(): Metrics {
  const registry = createRegistry();
  const numbers = numbersIn(registry);
  return {
    hear(happening) {
      switch (happening.type) {
        case "turn":
          return hearTurn(numbers, happening);
        case "refusal":
          return numbers.refusals.add(1, happening.fault);
        case "fallback":
          return numbers.fallbacks.add(1, upstreamOf(happening.from), happening.fault);
        case "child":
          return numbers.children.add(1, happening.upstream, happening.event);
        case "begun":
        case "trouble":
        case "reload":
        case "unwritable":
          return;
        default:
          happening satisfies never;
      }
    },
    tool: (verdict, kind) => numbers.tools.add(1, verdict, kind),
    running: (change) => numbers.active.add(change),
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
  tokens: registry.counter("patchbay_tokens_total", "Tokens as upstreams counted them.", [
    "upstream",
    "direction",
  ]),
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
    "Tool calls seen and not given, for a cap or a stop.",
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

function hearTurn(numbers: Numbers, turn: TurnDone): void {
  const { door, usage } = turn;
  const upstream = upstreamOf(turn.upstream);
  numbers.turns.add(1, door, upstream, turn.outcome);
  numbers.duration.observe(turn.ms / 1000, door, upstream);
  if (turn.firstEventMs !== undefined)
    numbers.firstEvent.observe(turn.firstEventMs / 1000, door, upstream);
  countCalls(numbers, turn, upstream);
  if (usage === undefined) return;
  numbers.tokens.add(usage.input, upstream, "input");
  numbers.tokens.add(usage.output, upstream, "output");
}

/** Nothing is counted too: a rate can only be told of a number that was there before. */
function countCalls(numbers: Numbers, turn: TurnDone, upstream: string): void {
  const { door, calls } = turn;
  const told = figuresOf(turn);
  const mode = told.stop_after_tools_mode;
  numbers.calls.add(told.tool_call_count_total, door, upstream, mode);
  numbers.truncated.add(told.tool_call_truncated_total, door, upstream, mode);
  numbers.withheld.add(calls.withheld, door, upstream);
  numbers.repeated.add(calls.repeated, door, upstream);
  numbers.callsPerTurn.observe(told.tool_call_count_total, door, upstream);
}

/** The upstream of an `upstream/model`: models may be as many as clients think of. */
const upstreamOf = (place: string): string => place.slice(0, place.indexOf("/"));
