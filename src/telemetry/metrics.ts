import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Happening } from "./happening.ts";

export type Metrics = {
  hear(happening: Happening): void;
  /** A tool was planned. Both labels come from closed sets. */
  tool(verdict: string, kind: string): void;
  running(change: 1 | -1): void;
  text(): Promise<string>;
  readonly contentType: string;
};

const SECONDS = [0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** The Prometheus view of what happens. Labels are names from the configuration, never a client's words. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const turns = new Counter({
    name: "patchbay_turns_total",
    help: "Turns by door, upstream and outcome.",
    labelNames: ["door", "upstream", "outcome"],
    registers,
  });
  const refusals = new Counter({
    name: "patchbay_refusals_total",
    help: "Requests that never became a turn, by fault.",
    labelNames: ["fault"],
    registers,
  });
  const fallbacks = new Counter({
    name: "patchbay_fallbacks_total",
    help: "Turns moved on to the next upstream of a chain.",
    labelNames: ["from", "fault"],
    registers,
  });
  const tools = new Counter({
    name: "patchbay_tools_total",
    help: "Declared tools by verdict of the plan and kind.",
    labelNames: ["verdict", "kind"],
    registers,
  });
  const calls = new Counter({
    name: "patchbay_calls_total",
    help: "Tool calls delivered to clients.",
    labelNames: ["door"],
    registers,
  });
  const tokens = new Counter({
    name: "patchbay_tokens_total",
    help: "Tokens as upstreams counted them.",
    labelNames: ["upstream", "direction"],
    registers,
  });
  const duration = new Histogram({
    name: "patchbay_turn_seconds",
    help: "From request to the end of the answer.",
    labelNames: ["door", "upstream"],
    buckets: SECONDS,
    registers,
  });
  const firstEvent = new Histogram({
    name: "patchbay_first_event_seconds",
    help: "From request to the upstream's first event.",
    labelNames: ["door", "upstream"],
    buckets: SECONDS,
    registers,
  });
  const active = new Gauge({ name: "patchbay_turns_running", help: "Turns under way.", registers });

  return {
    hear(happening) {
      switch (happening.type) {
        case "turn": {
          const { door } = happening;
          const upstream = happening.upstream.slice(0, happening.upstream.indexOf("/"));
          turns.inc({ door, upstream, outcome: happening.outcome });
          duration.observe({ door, upstream }, happening.ms / 1000);
          if (happening.firstEventMs !== undefined)
            firstEvent.observe({ door, upstream }, happening.firstEventMs / 1000);
          if (happening.calls > 0) calls.inc({ door }, happening.calls);
          if (happening.usage) {
            tokens.inc({ upstream, direction: "input" }, happening.usage.input);
            tokens.inc({ upstream, direction: "output" }, happening.usage.output);
          }
          return;
        }
        case "refusal":
          return refusals.inc({ fault: happening.fault });
        case "fallback":
          return fallbacks.inc({
            from: happening.from.slice(0, happening.from.indexOf("/")),
            fault: happening.fault,
          });
        case "trouble":
        case "reload":
          return;
        default:
          happening satisfies never;
      }
    },
    tool: (verdict, kind) => tools.inc({ verdict, kind }),
    running: (change) => active.inc(change),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}
