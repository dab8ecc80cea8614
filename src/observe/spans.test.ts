import { context, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from "@opentelemetry/sdk-trace-base";
import * as fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { anyTurnDone, turnDone } from "../../test/support/turn-done.ts";
import { figuresOf } from "./figures.ts";
import type { TurnDone } from "./happening.ts";
import { startSpan } from "./spans.ts";

afterEach(() => {
  trace.disable();
  propagation.disable();
  context.disable();
});

/** A process whose owner brought an SDK. */
function withSdk(): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  trace.setGlobalTracerProvider(provider);
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  return exporter;
}

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

function spanOf(turn: TurnDone, headers: Readonly<Record<string, string>> = {}): ReadableSpan {
  const exporter = withSdk();
  startSpan(turn, headers)?.end(turn);
  const [span] = exporter.getFinishedSpans();
  if (span === undefined) throw new Error("there is a span");
  return span;
}

describe("the span of a turn", () => {
  it("is not made where nobody brought an SDK", () => {
    expect(startSpan(turnDone(), { traceparent: parent })).toBeUndefined();
  });

  it("says what the GenAI conventions ask for", () => {
    const span = spanOf(turnDone({ provider: "deepseek", upstream: "ds/deepseek-chat" }));
    expect(span.name).toBe("chat deepseek-chat");
    expect(span.kind).toBe(SpanKind.CLIENT);
    expect(span.status.code).toBe(SpanStatusCode.UNSET);
    expect(span.attributes).toEqual({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "deepseek",
      "gen_ai.request.model": "deepseek-chat",
      "gen_ai.request.stream": true,
      "gen_ai.response.id": "chatcmpl-1",
      "gen_ai.response.model": "model-2026",
      "gen_ai.response.finish_reasons": ["tool_calls"],
      "gen_ai.response.time_to_first_chunk": 0.012,
      "gen_ai.usage.input_tokens": 10,
      "gen_ai.usage.output_tokens": 5,
      "patchbay.request_id": "req_1",
      "patchbay.door": "chat",
      "patchbay.requested_model": "gpt",
      "patchbay.upstream": "ds/deepseek-chat",
      "patchbay.outcome": "completed",
      "patchbay.tool_calls_withheld": 0,
      "patchbay.tool_calls_repeated": 0,
      "patchbay.tool_call_count_total": 4,
      "patchbay.tool_call_truncated_total": 0,
      "patchbay.stop_after_tools_mode": "burst",
      "patchbay.stop_after_tools_enabled": false,
      "patchbay.tool_block_max": 0,
      "patchbay.suppress_tail_after_tools": false,
    });
  });

  it("says why a turn failed", () => {
    const span = spanOf(turnDone({ outcome: "failed", fault: "upstream.cut" }));
    expect(span.status.code).toBe(SpanStatusCode.ERROR);
    expect(span.attributes["error.type"]).toBe("upstream.cut");
  });

  it("goes by the upstream that answered, not by the one that was tried first", () => {
    const exporter = withSdk();
    const first = { upstream: "a/one", provider: "openai", stream: true };
    startSpan(first, {})?.end(turnDone({ upstream: "b/two", provider: "groq" }));
    expect(exporter.getFinishedSpans()).toMatchObject([
      { name: "chat two", attributes: { "gen_ai.provider.name": "groq" } },
    ]);
  });

  it("stands below the caller's span, and hands the trace on to the upstream", () => {
    const exporter = withSdk();
    const begun = startSpan(turnDone(), { traceparent: parent });
    const asked = begun?.startRound(turnDone());
    asked?.end();
    begun?.end(turnDone());
    const [round, span] = exporter.getFinishedSpans();
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    expect(span?.parentSpanContext).toMatchObject({ traceId, spanId: "b7ad6b7169203331" });
    expect(asked?.headers).toEqual({
      traceparent: `00-${traceId}-${round?.spanContext().spanId}-01`,
    });
  });

  it("has a span below it for each upstream call, with what that one counted", () => {
    const exporter = withSdk();
    const begun = startSpan(turnDone(), {});
    const place = { upstream: "a/one", provider: "openai" };
    const round = { type: "round", requestId: "req_1", ms: 5, ...place } as const;
    const usage = { input: 3, output: 2, total: 5 };
    begun?.startRound({ ...place, stream: true }).end({ ...round, round: 1, usage });
    begun
      ?.startRound({ ...place, stream: true })
      .end({ ...round, round: 2, fault: "upstream.failed" });
    begun?.end(turnDone());
    const [first, second, turn] = exporter.getFinishedSpans();
    const spanId = turn?.spanContext().spanId;
    expect(first).toMatchObject({
      name: "chat one",
      kind: SpanKind.CLIENT,
      parentSpanContext: { spanId },
      attributes: { "patchbay.round": 1, "gen_ai.usage.input_tokens": 3 },
    });
    expect(second).toMatchObject({
      parentSpanContext: { spanId },
      status: { code: SpanStatusCode.ERROR },
      attributes: { "patchbay.round": 2, "error.type": "upstream.failed" },
    });
  });

  it("tells the same of a turn's calls as every other view", () => {
    const exporter = withSdk();
    fc.assert(
      fc.property(anyTurnDone, (turn) => {
        exporter.reset();
        startSpan(turn, {})?.end(turn);
        const told = exporter.getFinishedSpans()[0]?.attributes ?? {};
        for (const [name, value] of Object.entries(figuresOf(turn)))
          expect(told[`patchbay.${name}`]).toBe(value);
      }),
    );
  });
});
