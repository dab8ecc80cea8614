import { describe, expect, it } from "vitest";
import { stillClock, type StillClock } from "../../../test/support/still-clock.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { BufferedSink } from "./buffered-sink.ts";
import { Rpc } from "./rpc.ts";
import { Thread } from "./thread.ts";

type Event = TurnEvent<UpstreamName>;
type Message = { readonly id?: number; readonly method?: string; readonly error?: Fields };

type Talk = {
  readonly clock: StillClock;
  /** What Codex was told since its turn began. */
  readonly sent: readonly Message[];
  readonly events: readonly Event[];
  readonly parked: readonly Thread[];
  /** Codex says something, and whatever that brings about is over. */
  hear(...messages: Fields[]): Promise<void>;
};

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const answers: Readonly<Record<string, Fields>> = {
  "thread/start": { thread: { id: "thread" } },
  "turn/start": { turn: { id: "turn" } },
};

/** A thread that has been told its conversation, before a Codex that answers at once. */
async function talk(): Promise<Talk> {
  const clock = stillClock();
  const sent: Message[] = [];
  const events: Event[] = [];
  const parked: Thread[] = [];
  const rpc = new Rpc({
    send(lines) {
      for (const line of lines.trimEnd().split("\n")) {
        const message = JSON.parse(line) as Message;
        sent.push(message);
        const { id, method } = message;
        if (method !== undefined)
          queueMicrotask(() => rpc.receive(JSON.stringify({ id, result: answers[method] ?? {} })));
      }
    },
    clock,
    timeout: 10_000,
    limit: 8,
    onUnexpected: () => {},
  });
  const thread = new Thread({
    rpc,
    request: {
      model: "m",
      thread: { dynamicTools: [{ name: "look" }] },
      items: [{ type: "message" }],
      options: {},
      decisions: [],
    },
    codex: { name: "codex", origin: "", secrets: [], home: "/" },
    clock,
    idle: 300_000,
    park: (waiting) => parked.push(waiting) > 0,
    onEnd: () => {},
  });
  const sink = { each: (event: Event) => void events.push(event), flush() {}, end() {} };
  const out = new BufferedSink(sink, { onStop() {}, onFailure() {} });
  await thread.answer(out, () => {});
  const hear = async (...messages: Fields[]): Promise<void> => {
    for (const message of messages) rpc.receive(JSON.stringify(message));
    await settled();
  };
  await hear(note("turn/started", { turn: { id: "turn" } }));
  sent.length = 0;
  return { clock, sent, events, parked, hear };
}

const note = (method: string, params: Fields): Fields => ({
  method,
  params: { threadId: "thread", turnId: "turn", ...params },
});
const call = (nth: number): readonly Fields[] => {
  const item = { type: "function_call", call_id: `call_${nth}`, name: "look", arguments: "{}" };
  const asking = note("item/tool/call", { callId: item.call_id, tool: "look", arguments: {} });
  return [note("rawResponseItem/completed", { item }), { ...asking, id: nth }];
};
const end = note("rawResponse/completed", {});
const broken = (message: string): Fields => {
  const error = { message, codexErrorInfo: "other" };
  return note("turn/completed", { turn: { id: "turn", status: "failed", error } });
};
const refusals = ({ sent }: Talk): unknown[] =>
  sent.filter(({ error }) => error !== undefined).map(({ id }) => id);

describe("a thread whose model falls silent behind a call", () => {
  it("gives the call up, because Codex tells only then that its model broke off", async () => {
    const thread = await talk();
    await thread.hear(...call(1));
    thread.clock.move(4_900);
    expect(refusals(thread)).toEqual([]);
    thread.clock.move(100);
    await settled();
    expect(refusals(thread)).toEqual([1]);
    await thread.hear(broken("stream disconnected before completion: boom"));
    expect(thread.events.at(-1)).toMatchObject({
      type: "turn-fail",
      fault: { code: "upstream.cut" },
    });
  });

  it("ends as the model did, where that ran into its limit", async () => {
    const thread = await talk();
    await thread.hear(...call(1));
    thread.clock.move(5_000);
    await thread.hear(broken("Incomplete response returned, reason: max_output_tokens"));
    expect(thread.events.at(-1)).toMatchObject({ type: "turn-end", stop: "length" });
  });

  it("has all calls of a model that was only slow, and does not wait for their results", async () => {
    const thread = await talk();
    await thread.hear(...call(1));
    thread.clock.move(6_000);
    await thread.hear(...call(2));
    thread.clock.move(6_000);
    await settled();
    expect(refusals(thread)).toEqual([1, 2]);
    await thread.hear(...call(3), end);
    const ids = thread.events.flatMap((one) => (one.type === "call-start" ? one.id : []));
    expect(ids).toEqual(["call_1", "call_2", "call_3"]);
    expect(thread.events.at(-1)).toMatchObject({ type: "turn-end", stop: "calls" });
    expect(thread.parked).toEqual([]);
    expect(thread.sent.map(({ method }) => method)).toContain("turn/interrupt");
  });

  it("waits for results as ever where the model speaks in time", async () => {
    const thread = await talk();
    await thread.hear(...call(1));
    thread.clock.move(4_000);
    await thread.hear(...call(2));
    thread.clock.move(4_000);
    await thread.hear(end);
    thread.clock.move(60_000);
    expect(refusals(thread)).toEqual([]);
    expect(thread.parked).toHaveLength(1);
  });

  it("is given up in the end, whatever it waits for", async () => {
    const thread = await talk();
    await thread.hear(...call(1));
    thread.clock.move(300_000);
    await settled();
    expect(thread.events.at(-1)).toMatchObject({ fault: { code: "upstream.idle_timeout" } });
  });
});
