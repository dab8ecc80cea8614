import { describe, expect, it } from "vitest";
import { openTurn, turn, words } from "../../test/support/http-upstream.ts";
import type { TurnEvent } from "../turn/event.ts";
import { Fault } from "../turn/fault.ts";
import { upstreamName, type UpstreamName } from "../turn/names.ts";
import { defineUpstream, type AnswerContext } from "./define.ts";

type Event = TurnEvent<UpstreamName>;

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const text = (piece: string): Event => ({ type: "text-delta", choice: 0, text: piece });

/** Opens a turn on an upstream that answers so. */
function open(answer: (context: AnswerContext) => AsyncIterable<Event>) {
  const upstream = defineUpstream({ name: "mine", answer: (_, context) => answer(context) });
  return openTurn(upstream);
}

describe("an upstream that a generator answers", () => {
  it("ends what the generator leaves open when it returns", async () => {
    const heard = open(async function* () {
      yield { type: "turn-start" };
      yield text("Hi");
    });
    expect(heard.events).toEqual([]);
    await heard.ended;
    expect(heard.events).toEqual([
      { type: "turn-start" },
      text("Hi"),
      { type: "turn-end", choice: 0, stop: "end" },
    ]);
  });

  it("ends with calls where it made any, and as it said where it said so", async () => {
    const heard = open(async function* () {
      const name = upstreamName("look");
      yield { type: "call-start", choice: 0, call: 0, id: "c", kind: "function", name };
      yield { type: "text-delta", choice: 1, text: "cut" };
      yield { type: "turn-end", choice: 1, stop: "length" };
    });
    await heard.ended;
    expect(heard.events.filter(({ type }) => type === "turn-end")).toEqual([
      { type: "turn-end", choice: 1, stop: "length" },
      { type: "turn-end", choice: 0, stop: "calls" },
    ]);
  });

  it("fails with the Fault that was thrown, and with one of ours for anything else", async () => {
    const refused = new Fault("upstream.refused", "Not today.");
    const told = open(async function* () {
      yield text("Hm");
      throw refused;
    });
    await told.ended;
    expect(told.events).toEqual([text("Hm"), { type: "turn-fail", fault: refused }]);
    const broken = open(() => {
      throw new TypeError("a bug");
    });
    await broken.ended;
    expect(broken.events).toMatchObject([{ fault: { code: "gateway.internal" } }]);
    expect(broken.ends).toBe(1);
  });

  it("makes nothing more while it is paused", async () => {
    let made = 0;
    const heard = open(async function* () {
      for (; made < 5; made++) yield text(String(made));
    });
    heard.flow.pause();
    for (let looks = 0; looks < 5; looks++) await settled();
    expect([made, heard.events.length]).toEqual([0, 0]);
    heard.flow.resume();
    await heard.ended;
    expect(words(heard)).toEqual(["0", "1", "2", "3", "4"]);
  });

  it("tells the generator when it is stopped, says nothing more, and lets it clean up", async () => {
    const seen: string[] = [];
    const heard = open(async function* ({ signal }) {
      signal.addEventListener("abort", () => seen.push("abort"));
      try {
        for (;;) {
          yield text("a");
          await settled();
        }
      } finally {
        seen.push("released");
      }
    });
    while (heard.events.length === 0) await settled();
    heard.flow.stop();
    const before = heard.events.length;
    for (let looks = 0; looks < 5; looks++) await settled();
    expect(seen).toEqual(["abort", "released"]);
    expect([heard.events.length, heard.ends]).toEqual([before, 0]);
  });

  it("is asked with the model, the tenant and the request's id, and never for frames", async () => {
    let asked: AnswerContext | undefined;
    const upstream = defineUpstream({
      name: "mine",
      async *answer(_, context) {
        asked = context;
        yield text("Hi");
      },
    });
    const { profile } = upstream;
    expect(profile.dialect).toBe("mine");
    const ended = Promise.withResolvers<void>();
    upstream
      .prepare(turn, { model: "m-1", profile, straight: false })
      .open({ retry: true, requestId: "r", tenant: "t" })({
      each() {},
      flush() {},
      end: () => ended.resolve(),
    });
    await ended.promise;
    expect(asked).toMatchObject({ model: "m-1", requestId: "r", tenant: "t" });
    await upstream.close();
  });
});
