import * as fc from "fast-check";
import { expect, it } from "vitest";
import { anyTurnDone, turnDone } from "../../test/support/turn-done.ts";
import type { AttemptReport, CallDetail, TurnDone } from "./happening.ts";
import { TurnSlot } from "./turn-slot.ts";

/** A turn in which no field is left out and none is as in that of another number. */
const completeTurn = (n: number, lists = 1): TurnDone => {
  const attempt: Required<AttemptReport> = {
    upstream: `u/${n}`,
    status: 200 + n,
    fault: n % 2 === 0 ? "upstream.cut" : "upstream.failed",
    reason: { code: `code_${n}` },
    waitMs: n + 0.1,
    atMs: n + 0.2,
    ms: n + 0.3,
  };
  const call: Required<CallDetail> = {
    choice: n,
    call: n + 1,
    name: `tool_${n}`,
    kind: `kind_${n}`,
    atMs: n + 0.4,
    ms: n + 0.5,
    argumentChars: n + 2,
    outcome: n % 2 === 0 ? "given" : "withheld",
  };
  return {
    type: "turn",
    at: n,
    requestId: `req_${n}`,
    tenant: `tenant_${n}`,
    agent: n % 2 === 0 ? "codex" : "aider",
    run: `run_${n}`,
    requestBytes: n + 3,
    toolBytes: n + 4,
    toolBytesSent: n + 5,
    door: n % 2 === 0 ? "chat" : "responses",
    route: `/${n}`,
    model: `m${n}`,
    upstream: `u/${n}`,
    provider: `p${n}`,
    stream: n % 2 === 0,
    straight: n % 2 === 1,
    rounds: n + 6,
    outcome: n % 2 === 0 ? "completed" : "failed",
    status: 300 + n,
    fault: n % 2 === 0 ? "client.left" : "upstream.cut",
    choices: n + 7,
    calls: {
      given: n,
      withheld: n + 1,
      repeated: n + 2,
      truncated: n % 2 === 0,
      stopped: n % 2 === 1,
    },
    callsByChoice: Array.from({ length: lists }, () => n),
    rules: { ...turnDone().rules, max: n },
    stops: Array.from({ length: lists }, () => (n % 2 === 0 ? "end" : "calls")),
    usage: {
      input: n,
      output: n + 1,
      total: n + 2,
      cached: n + 3,
      cacheWrite: n + 4,
      reasoning: n + 5,
      extra: { dialect: "chat", fields: { n } },
      estimated: n % 2 === 0 ? true : undefined,
    },
    answerId: `a${n}`,
    answerModel: `am${n}`,
    plan: `plan ${n}`,
    disclosure: {
      strategy: `s${n}`,
      tools: n,
      sections: n,
      eagerBytes: n,
      sentBytes: n,
      openings: n,
      dynamic: n,
      injected: n,
      restarts: n,
      hiddenRounds: n,
      misses: n,
    },
    decisions: n + 8,
    attempts: Array.from({ length: lists }, () => attempt),
    callDetails: Array.from({ length: lists }, () => call),
    ms: n + 0.6,
    plannedMs: n + 0.7,
    askedMs: n + 0.8,
    headersMs: n + 0.9,
    firstEventMs: n + 0.25,
    firstCallMs: n + 0.75,
  } satisfies Required<TurnDone>;
};

it("gives back every field of the turn that was put in last", () => {
  for (const lists of [0, 1, 2]) {
    const slot = new TurnSlot(completeTurn(1));
    slot.put(completeTurn(2, lists));
    expect(slot.read()).toStrictEqual(completeTurn(2, lists));
    slot.put(turnDone());
    expect(slot.read()).toEqual(turnDone());
  }
});

it("gives back any turn, whatever was there before", () => {
  fc.assert(
    fc.property(fc.array(anyTurnDone, { minLength: 1, maxLength: 5 }), (turns) => {
      const slot = new TurnSlot(turnDone());
      for (const turn of turns) {
        slot.put(turn);
        expect(slot.read()).toEqual(turn);
      }
    }),
  );
});

it("changes nothing that was read before", () => {
  const slot = new TurnSlot(completeTurn(1));
  const read = slot.read();
  slot.put(completeTurn(2));
  expect(read).toStrictEqual(completeTurn(1));
});
