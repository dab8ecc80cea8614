import type { StopReason } from "../turn/event.ts";
import { figuresOf } from "./figures.ts";
import type { Happening, HappeningType, TurnDone } from "./happening.ts";

/** Flat fields: counts and names, no content. */
type Line = Readonly<Record<string, string | number | boolean | readonly number[] | null>>;

/** Ends of a choice in the words of chat. */
export const finishWords: Readonly<Record<StopReason, string>> = {
  end: "stop",
  calls: "tool_calls",
  length: "length",
  filter: "content_filter",
  pause: "pause_turn",
};

/**
 * The fields of a turn's log line, as the text of a JSON object without its braces. One template
 * writes them, because every turn has a line; `json` writes what is not a word of ours.
 */
export function turnFields(turn: TurnDone, json: (value: unknown) => string): string {
  const { fault, calls, rules, usage, firstEventMs } = turn;
  const reason = fault === undefined ? undefined : turn.attempts.at(-1)?.reason;
  const why =
    fault === undefined
      ? ""
      : `"fault":"${fault}",${reason === undefined ? "" : `"reason":${json(reason)},`}`;
  const estimated = usage?.estimated === undefined ? "" : `"tokensEstimated":${usage.estimated},`;
  const tokens =
    usage === undefined
      ? ""
      : `"inputTokens":${usage.input},"outputTokens":${usage.output},${estimated}`;
  const first = firstEventMs === undefined ? "" : `,"firstEventMs":${firstEventMs}`;
  return (
    `"requestId":${json(turn.requestId)},"door":${json(turn.door)},"model":${json(turn.model)},` +
    `"upstream":${json(turn.upstream)},"stream":${turn.stream},"straight":${turn.straight},` +
    `"outcome":"${turn.outcome}","status":${turn.status},${why}"stops":"${turn.stops.join(" ")}",` +
    `"tool_call_count_total":${calls.given},"tool_call_truncated_total":${calls.truncated ? 1 : 0},` +
    `"stop_after_tools_mode":"${rules.stopMode}","stop_after_tools_enabled":${rules.stopAfter},` +
    `"tool_block_max":${rules.max},"suppress_tail_after_tools":${rules.suppressTail},` +
    `"withheld":${calls.withheld},"repeated":${calls.repeated},${tokens}` +
    `"plan":${json(turn.plan)},"decisions":${turn.decisions},"ms":${turn.ms}${first}`
  );
}

/** A turn in the usage log, in the fields of the older Codex proxy. Tokens without a count or an estimate are null. */
export const usageLine = (turn: TurnDone): Line => ({
  ts: stamp(turn.at),
  phase: "usage_summary",
  event: "usage_summary",
  component: "usage",
  req_id: turn.requestId,
  route: turn.route,
  method: "POST",
  status_code: turn.status,
  outcome: turn.outcome,
  error_code: turn.fault ?? null,
  requested_model: turn.model,
  effective_model: turn.upstream,
  stream: turn.stream,
  prompt_tokens: turn.usage?.input ?? null,
  completion_tokens: turn.usage?.output ?? null,
  total_tokens: turn.usage?.total ?? null,
  cached_tokens: turn.usage?.cached ?? null,
  cache_write_tokens: turn.usage?.cacheWrite ?? null,
  reasoning_tokens: turn.usage?.reasoning ?? null,
  counts_source: turn.usage === undefined ? "none" : turn.usage.estimated ? "estimate" : "event",
  duration_ms: turn.ms,
  time_to_first_token_ms: turn.firstEventMs ?? null,
  emission_trigger: triggerOf(turn),
  finish_reason: finishReason(turn),
  has_tool_calls: turn.calls.given > 0,
  ...figuresOf(turn),
  tool_calls_withheld: turn.calls.withheld,
  tool_calls_repeated: turn.calls.repeated,
  choice_count: turn.choices,
  output_mode: turn.rules.output ?? null,
});

/** The lines of a happening in the event log; none if it belongs to no turn. */
export function eventLines(happening: Happening, at: number): readonly Line[] {
  switch (happening.type) {
    case "begun":
      return [
        eventLine("http_ingress", "client_request", at, happening, {
          route: happening.route,
          method: "POST",
          requested_model: happening.model,
          stream: happening.stream,
        }),
      ];
    case "fallback":
      return [
        eventLine("backend_lifecycle", "fallback", at, happening, {
          from: happening.from,
          to: happening.to,
          error_code: happening.fault,
        }),
      ];
    case "refusal":
      return [
        eventLine("http_ingress", "refusal", at, happening, {
          route: happening.route,
          status_code: happening.status,
          error_code: happening.fault,
        }),
      ];
    case "turn":
      return [
        eventLine("client_egress", "tool_call_summary", happening.at, happening, {
          tool_calls_by_choice: callsByChoice(happening),
          parallel_supported: happening.rules.parallel === true,
          ...figuresOf(happening),
          tool_calls_withheld: happening.calls.withheld,
          tool_calls_repeated: happening.calls.repeated,
        }),
        eventLine(
          "client_egress",
          happening.stream ? "client_sse_done" : "client_json",
          happening.at,
          happening,
          {
            outcome: happening.outcome,
            status_code: happening.status,
            error_code: happening.fault ?? null,
            finish_reason: finishReason(happening),
            effective_model: happening.upstream,
            duration_ms: happening.ms,
            time_to_first_token_ms: happening.firstEventMs ?? null,
          },
        ),
      ];
    default:
      return [];
  }
}

const eventLine = (
  phase: string,
  kind: string,
  at: number,
  { requestId }: Pick<TurnDone, "requestId">,
  fields: Line,
): Line => ({ ts: stamp(at), phase, kind, req_id: requestId, ...fields });

/** Files with lines about turns, by their settings under `telemetry`. */
export const turnLogs = {
  usage_log: {
    types: ["turn"],
    lines: (happening) => (happening.type === "turn" ? [usageLine(happening)] : []),
  },
  event_log: { types: ["begun", "fallback", "refusal", "turn"], lines: eventLines },
} as const satisfies Record<
  string,
  {
    readonly types: readonly HappeningType[];
    readonly lines: (happening: Happening, at: number) => readonly Line[];
  }
>;

export type TurnLog = keyof typeof turnLogs;

const stamp = (at: number): string => new Date(at).toISOString();

/** A count for each choice that the request asks for, also for those without a call. */
const callsByChoice = ({ choices, callsByChoice: counts }: TurnDone): readonly number[] =>
  Array.from({ length: Math.max(choices, counts.length) }, (_, at) => counts[at] ?? 0);

/** The end of the first choice. */
const finishReason = ({ stops: [stop] }: TurnDone): string | null =>
  stop === undefined ? null : finishWords[stop];

/** The cause of the line. */
function triggerOf({ outcome, fault, calls }: TurnDone): string {
  if (outcome === "left") return "client_abort";
  if (calls.stopped) return "stop_after_tools";
  return fault ?? (outcome === "failed" ? "failed" : "turn_end");
}
