import * as fc from "fast-check";
import type { TurnDone } from "../../src/observe/happening.ts";
import { turnFields } from "../../src/observe/lines.ts";

/** A turn that made four calls, with what is said otherwise. */
export const turnDone = (over: Partial<TurnDone> = {}): TurnDone => ({
  type: "turn",
  at: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  requestId: "req_1",
  tenant: "local",
  requestBytes: 900,
  toolBytes: 300,
  toolBytesSent: 300,
  attempts: [{ upstream: "demo/model", status: 200, atMs: 1, ms: 38 }],
  callDetails: [],
  door: "chat",
  route: "/v1/chat/completions",
  model: "gpt",
  upstream: "demo/model",
  provider: "demo",
  stream: true,
  straight: false,
  rounds: 1,
  outcome: "completed",
  status: 200,
  choices: 1,
  calls: { given: 4, withheld: 0, repeated: 0, truncated: false, stopped: false },
  callsByChoice: [4],
  rules: {
    delimiter: "",
    parallel: true,
    dedup: false,
    max: 0,
    stopAfter: false,
    stopMode: "burst",
    graceMs: 300,
    suppressTail: false,
  },
  stops: ["calls"],
  usage: { input: 10, output: 5, total: 15 },
  answerId: "chatcmpl-1",
  answerModel: "model-2026",
  plan: "native=1 degraded=0 deferred=0 ignored=0",
  decisions: 0,
  ms: 40,
  firstEventMs: 12,
  ...over,
});

const count = fc.nat({ max: 100 });
const words = fc.string({ minLength: 1, maxLength: 12 });

const anyUsage = fc.record(
  {
    input: count,
    output: count,
    total: count,
    cached: count,
    reasoning: count,
    estimated: fc.constant(true as const),
  },
  { requiredKeys: ["input", "output", "total"] },
);

const anyRules = fc.record({
  output: fc.constantFrom(undefined, "openai-json" as const, "obsidian-xml" as const),
  delimiter: fc.string(),
  parallel: fc.boolean(),
  dedup: fc.boolean(),
  max: count,
  stopAfter: fc.boolean(),
  stopMode: fc.constantFrom("first" as const, "burst" as const),
  graceMs: count,
  suppressTail: fc.boolean(),
});

const anyCalls = fc.tuple(fc.array(count, { maxLength: 3 }), count, count, fc.boolean());

/** Any turn there could be. Its given calls are those of its choices. */
export const anyTurnDone: fc.Arbitrary<TurnDone> = fc
  .record({
    door: fc.constantFrom("chat" as const, "responses" as const),
    model: words,
    upstream: words.map((model) => `demo/${model}`),
    stream: fc.boolean(),
    outcome: fc.constantFrom("completed", "incomplete", "failed", "left"),
    status: fc.constantFrom(200, 400, 499, 502),
    fault: fc.constantFrom(undefined, "upstream.cut" as const, "plan.lossy" as const),
    choices: fc.integer({ min: 1, max: 5 }),
    made: anyCalls,
    rules: anyRules,
    stops: fc.array(fc.constantFrom("end", "calls", "length", "filter"), { maxLength: 3 }),
    usage: fc.option(anyUsage, { nil: undefined }),
    ms: count,
    firstEventMs: fc.option(count, { nil: undefined }),
  })
  .map(({ made: [callsByChoice, withheld, repeated, truncated], ...rest }) => {
    const given = callsByChoice.reduce((sum, calls) => sum + calls, 0);
    const calls = { given, withheld, repeated, truncated, stopped: truncated };
    return turnDone({ ...rest, callsByChoice, calls });
  });

/** The fields of a turn in the log, read back. */
export const loggedFields = (turn: TurnDone): Readonly<Record<string, unknown>> =>
  JSON.parse(`{${turnFields(turn, JSON.stringify)}}`) as Record<string, unknown>;
