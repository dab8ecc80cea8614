import { describe, expect, it } from "vitest";
import { loggedFields, turnDone } from "../../test/support/turn-done.ts";
import { eventLines, usageLine } from "./lines.ts";

describe("the usage line", () => {
  it("tells of a burst in the fields of the older proxy", () => {
    expect(usageLine(turnDone())).toEqual({
      ts: "2026-01-02T03:04:05.006Z",
      phase: "usage_summary",
      event: "usage_summary",
      component: "usage",
      req_id: "req_1",
      route: "/v1/chat/completions",
      method: "POST",
      status_code: 200,
      outcome: "completed",
      error_code: null,
      requested_model: "gpt",
      effective_model: "demo/model",
      stream: true,
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      cached_tokens: null,
      cache_write_tokens: null,
      reasoning_tokens: null,
      counts_source: "event",
      duration_ms: 40,
      time_to_first_token_ms: 12,
      emission_trigger: "turn_end",
      finish_reason: "tool_calls",
      has_tool_calls: true,
      tool_call_count_total: 4,
      tool_call_truncated_total: 0,
      stop_after_tools_mode: "burst",
      stop_after_tools_enabled: false,
      tool_block_max: 0,
      suppress_tail_after_tools: false,
      tool_calls_withheld: 0,
      tool_calls_repeated: 0,
      choice_count: 1,
      output_mode: null,
    });
  });

  it("makes up no tokens where the upstream counted none", () => {
    expect(usageLine(turnDone({ usage: undefined }))).toMatchObject({
      prompt_tokens: null,
      completion_tokens: null,
      total_tokens: null,
      counts_source: "none",
    });
  });

  it("says what went wrong, and that a client left", () => {
    const failed = turnDone({ outcome: "failed", status: 502, fault: "upstream.cut", stops: [] });
    expect(usageLine(failed)).toMatchObject({
      status_code: 502,
      error_code: "upstream.cut",
      emission_trigger: "upstream.cut",
      finish_reason: null,
    });
    expect(usageLine(turnDone({ outcome: "left", status: 499 }))).toMatchObject({
      outcome: "left",
      emission_trigger: "client_abort",
    });
  });
});

describe("the event lines", () => {
  it("follow a turn from its request to its end", () => {
    const begun = {
      type: "begun",
      requestId: "req_1",
      door: "responses",
      route: "/v1/responses",
      upstream: "a/x",
      tenant: "local",
      requestBytes: 9,
      toolBytes: 0,
    } as const;
    const lines = [
      ...eventLines({ ...begun, model: "gpt", stream: false }, 0),
      ...eventLines(
        { type: "fallback", requestId: "req_1", from: "a/x", to: "b/y", fault: "upstream.auth" },
        1,
      ),
      ...eventLines(turnDone({ stream: false }), 2),
    ];
    expect(lines.map(({ phase, kind }) => [phase, kind])).toEqual([
      ["http_ingress", "client_request"],
      ["backend_lifecycle", "fallback"],
      ["client_egress", "tool_call_summary"],
      ["client_egress", "client_json"],
    ]);
    expect(new Set(lines.map((line) => line.req_id))).toEqual(new Set(["req_1"]));
  });

  it("sum up the calls of every choice, also of one that made none", () => {
    const callsByChoice: number[] = [];
    callsByChoice[1] = 2;
    const calls = { given: 2, withheld: 1, repeated: 0, truncated: true, stopped: false };
    const rules = { ...turnDone().rules, max: 2, stopAfter: true, suppressTail: true };
    const [summary] = eventLines(turnDone({ choices: 3, callsByChoice, calls, rules }), 0);
    expect(summary).toEqual({
      ts: "2026-01-02T03:04:05.006Z",
      phase: "client_egress",
      kind: "tool_call_summary",
      req_id: "req_1",
      tool_calls_by_choice: [0, 2, 0],
      parallel_supported: true,
      tool_call_count_total: 2,
      tool_call_truncated_total: 1,
      stop_after_tools_mode: "burst",
      stop_after_tools_enabled: true,
      tool_block_max: 2,
      suppress_tail_after_tools: true,
      tool_calls_withheld: 1,
      tool_calls_repeated: 0,
    });
  });

  it("say nothing of what is no turn's", () => {
    expect(eventLines({ type: "reload", ok: true, problems: [] }, 0)).toEqual([]);
    expect(eventLines({ type: "child", upstream: "codex", event: "started" }, 0)).toEqual([]);
  });
});

it("logs a turn without anything inside anything", () => {
  const fields = Object.values(loggedFields(turnDone()));
  expect(fields.filter((value) => typeof value === "object")).toEqual([]);
});

it("logs every field of a turn that failed", () => {
  const reason = { code: "context_length", message: 'It said "no".' };
  const turn = turnDone({
    model: 'a "model"',
    outcome: "failed",
    status: 502,
    fault: "upstream.failed",
    attempts: [{ upstream: "demo/model", fault: "upstream.failed", reason, atMs: 1, ms: 38 }],
    usage: { input: 10, output: 5, total: 15, estimated: true },
  });
  expect(loggedFields(turn)).toEqual({
    requestId: "req_1",
    door: "chat",
    model: 'a "model"',
    upstream: "demo/model",
    stream: true,
    straight: false,
    outcome: "failed",
    status: 502,
    fault: "upstream.failed",
    reason,
    stops: "calls",
    tool_call_count_total: 4,
    tool_call_truncated_total: 0,
    stop_after_tools_mode: "burst",
    stop_after_tools_enabled: false,
    tool_block_max: 0,
    suppress_tail_after_tools: false,
    withheld: 0,
    repeated: 0,
    inputTokens: 10,
    outputTokens: 5,
    tokensEstimated: true,
    plan: "native=1 degraded=0 deferred=0 ignored=0",
    decisions: 0,
    ms: 40,
    firstEventMs: 12,
  });
});
