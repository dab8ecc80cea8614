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

/** What is known of a turn before it runs. */
export type TurnAhead = Pick<TurnDone, "upstream" | "provider" | "stream">;

/** A turn in somebody's trace. */
export type TurnSpan = {
  /** A span below it for one upstream call. */
  startRound(ahead: TurnAhead): RoundSpan;
  end(turn: TurnDone): void;
};

/** One upstream call in somebody's trace. */
export type RoundSpan = {
  /** Headers that hand the trace on to the upstream. */
  readonly headers: Readonly<Record<string, string>>;
  /** None: nobody waited for its end. */
  end(round?: RoundDone): void;
};

/**
 * A span by the GenAI conventions of OpenTelemetry, below the caller's. Only
 * where the process has an SDK: without one nothing is made, and nothing asked
 * but whether there is one.
 */
export function startSpan(ahead: TurnAhead, asked: Headers): TurnSpan | undefined {
  // An SDK may come at any time.
  const provider = trace.getTracerProvider();
  const tracer =
    provider instanceof ProxyTracerProvider
      ? provider.getDelegateTracer("patchbay")
      : provider.getTracer("patchbay");
  if (tracer === undefined) return undefined;
  const attributes = aheadOf(ahead);
  const parent = above(asked);
  const span = tracer.startSpan(nameOf(ahead), { kind: SpanKind.CLIENT, attributes }, parent);
  return {
    startRound: (round) => startRound(tracer, span, round),
    end: (turn) => end(span, turn),
  };
}

function startRound(tracer: Tracer, turn: Span, ahead: TurnAhead): RoundSpan {
  const below = trace.setSpan(ROOT_CONTEXT, turn);
  const attributes = aheadOf(ahead);
  const span = tracer.startSpan(nameOf(ahead), { kind: SpanKind.CLIENT, attributes }, below);
  const headers: Record<string, string> = {};
  // Whatever else came along, such as baggage, is between the caller and us.
  propagation.inject(trace.setSpan(ROOT_CONTEXT, span), headers);
  return {
    headers,
    end(round) {
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

/** The span that the host has opened for the request, or else what the request's head says. */
function above(asked: Headers): Context {
  const active = context.active();
  return trace.getSpan(active) === undefined ? propagation.extract(active, asked) : active;
}

function end(span: Span, turn: TurnDone): void {
  if (span.isRecording()) {
    span.updateName(nameOf(turn));
    span.setAttributes(attributesOf(turn));
    if (turn.outcome === "failed") span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

const nameOf = (turn: TurnAhead): string => `chat ${modelOf(turn)}`;
const modelOf = ({ upstream }: TurnAhead): string => upstream.slice(upstream.indexOf("/") + 1);

/** What a sampler may want to know. */
const aheadOf = (turn: TurnAhead): Attributes => ({
  "gen_ai.operation.name": "chat",
  "gen_ai.provider.name": turn.provider,
  "gen_ai.request.model": modelOf(turn),
  "gen_ai.request.stream": turn.stream,
});

/** All there is to know. An attribute that is undefined is none. */
function attributesOf(turn: TurnDone): Attributes {
  const { usage, calls, firstEventMs } = turn;
  const attributes: Attributes = {
    ...aheadOf(turn),
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
