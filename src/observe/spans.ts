import {
  context,
  propagation,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type Tracer,
} from "@opentelemetry/api";
import { figuresOf } from "./figures.ts";
import type { RoundDone, TurnDone } from "./happening.ts";
import { finishWords } from "./lines.ts";

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The attributes of a turn that are known before it runs. */
export type TurnAhead = Pick<TurnDone, "upstream" | "provider" | "stream">;

/** The span of a turn in its client's trace. */
export type TurnSpan = NonNullable<ReturnType<typeof startSpan>>;

/** The span of one upstream call. */
export type RoundSpan = ReturnType<TurnSpan["startRound"]>;

/**
 * Starts a span by the GenAI conventions of OpenTelemetry, below the client's span. Undefined if
 * the process has no SDK of OpenTelemetry.
 */
export function startSpan(ahead: TurnAhead, asked: Headers) {
  // The host may register an SDK at any time.
  const provider = trace.getTracerProvider();
  const tracer =
    provider instanceof ProxyTracerProvider
      ? provider.getDelegateTracer("patchbay")
      : provider.getTracer("patchbay");
  if (tracer === undefined) return undefined;
  const span = openSpan(tracer, ahead, parentOf(asked));
  return {
    startRound: (round: TurnAhead) => startRound(tracer, span, round),
    end(turn: TurnDone): void {
      if (span.isRecording()) {
        span.updateName(nameOf(turn));
        span.setAttributes(attributesOf(turn));
        if (turn.outcome === "failed") span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    },
  };
}

const openSpan = (tracer: Tracer, ahead: TurnAhead, parent: Context): Span =>
  tracer.startSpan(
    nameOf(ahead),
    { kind: SpanKind.CLIENT, attributes: attributesAhead(ahead) },
    parent,
  );

function startRound(tracer: Tracer, turn: Span, ahead: TurnAhead) {
  const span = openSpan(tracer, ahead, trace.setSpan(ROOT_CONTEXT, turn));
  /** Headers that continue the trace at the upstream. */
  const headers: Record<string, string> = {};
  // Other fields of the client's trace, such as baggage, are not sent to the upstream.
  propagation.inject(trace.setSpan(ROOT_CONTEXT, span), headers);
  return {
    headers: headers as Readonly<typeof headers>,
    /** Without a round if the turn ended first. */
    end(round?: RoundDone): void {
      span.setAttributes({
        "gen_ai.usage.input_tokens": round?.usage?.input,
        "gen_ai.usage.output_tokens": round?.usage?.output,
        "patchbay.round": round?.round,
        "error.type": round?.fault,
      });
      if (round?.fault !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}

/** The span that the host opened for the request, or else the one that the request's headers name. */
function parentOf(asked: Headers): Context {
  const active = context.active();
  return trace.getSpan(active) === undefined ? propagation.extract(active, asked) : active;
}

const nameOf = (turn: TurnAhead): string => `chat ${modelOf(turn)}`;
const modelOf = ({ upstream }: TurnAhead): string => upstream.slice(upstream.indexOf("/") + 1);

/** Attributes for the decision of a sampler. */
const attributesAhead = (turn: TurnAhead): Attributes => ({
  "gen_ai.operation.name": "chat",
  "gen_ai.provider.name": turn.provider,
  "gen_ai.request.model": modelOf(turn),
  "gen_ai.request.stream": turn.stream,
});

/** All attributes; OpenTelemetry leaves out undefined ones. */
function attributesOf(turn: TurnDone): Attributes {
  const { usage, calls, firstEventMs } = turn;
  const attributes: Attributes = {
    ...attributesAhead(turn),
    "gen_ai.request.choice.count": turn.choices === 1 ? undefined : turn.choices,
    "gen_ai.response.id": turn.answerId,
    "gen_ai.response.model": turn.answerModel,
    "gen_ai.response.finish_reasons": turn.stops.flatMap((stop) => finishWords[stop]),
    "gen_ai.response.time_to_first_chunk":
      turn.stream && firstEventMs !== undefined ? firstEventMs / 1000 : undefined,
    "gen_ai.usage.input_tokens": usage?.input,
    "gen_ai.usage.output_tokens": usage?.output,
    "gen_ai.usage.cache_read.input_tokens": usage?.cached,
    "gen_ai.usage.cache_creation.input_tokens": usage?.cacheWrite,
    "gen_ai.usage.reasoning.output_tokens": usage?.reasoning,
    "patchbay.tokens_estimated": usage?.estimated,
    "error.type": turn.outcome === "failed" ? (turn.fault ?? "failed") : undefined,
    "patchbay.request_id": turn.requestId,
    "patchbay.door": turn.door,
    "patchbay.requested_model": turn.model,
    "patchbay.upstream": turn.upstream,
    "patchbay.outcome": turn.outcome,
    "patchbay.tool_calls_withheld": calls.withheld,
    "patchbay.tool_calls_repeated": calls.repeated,
  };
  for (const [name, value] of Object.entries(figuresOf(turn)))
    attributes[`patchbay.${name}`] = value;
  return attributes;
}
