import * as fc from "fast-check";
import { StreamNormalizer } from "../../src/stream/normalize.ts";
import { runStage } from "../../src/stream/stage.ts";
import type { TurnEvent } from "../../src/turn/event.ts";
import type { UpstreamName } from "../../src/turn/names.ts";
import type { Fields } from "../../src/turn/turn.ts";
import { AnswerReader } from "../../src/upstreams/codex/answer-reader.ts";
import { failureOf } from "../../src/upstreams/codex/faults.ts";
import { isFields } from "../../src/json/json.ts";
import { broken } from "../../test/support/stream-grammar.ts";
import type { Campaign } from "../campaign.ts";
import { changes, mutated } from "../mutate.ts";

type Event = TurnEvent<UpstreamName>;
type Message = readonly [method: string, params: Fields];

const sound: readonly Message[] = [
  ["turn/started", { turn: { id: "t" } }],
  ["item/started", { item: { type: "agentMessage", id: "msg_1" } }],
  ["item/reasoning/summaryTextDelta", { itemId: "rs_1", delta: "Hm.", summaryIndex: 0 }],
  ["item/agentMessage/delta", { itemId: "msg_1", delta: "Hello" }],
  [
    "rawResponseItem/completed",
    {
      turnId: "t",
      item: {
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text: "Hello" }],
      },
    },
  ],
  [
    "rawResponseItem/completed",
    { turnId: "t", item: { type: "function_call", call_id: "c", name: "look", arguments: "{}" } },
  ],
  ["rawResponse/completed", { usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 } }],
  ["turn/completed", { turn: { id: "t", status: "completed" } }],
];

/** Notifications of an app-server: changed, left out, repeated, in any order. */
export const codex = (): Campaign => ({
  properties: [
    {
      name: "messages",
      property: fc.property(
        fc.array(fc.nat(sound.length - 1), { maxLength: 20 }),
        fc.array(fc.tuple(fc.nat(100), fc.array(changes, { maxLength: 3 })), { maxLength: 5 }),
        (order, changed) => {
          const messages = order.map((at) => sound[at] ?? sound[0]);
          for (const [at, list] of changed) {
            const place = at % Math.max(1, messages.length);
            const [method, params] = messages[place] ?? ["x", {}];
            const other = mutated(params, list);
            messages[place] = [method, isFields(other) ? other : {}];
          }
          const events: Event[] = [];
          const reader = new AnswerReader("m");
          try {
            for (const [method, params] of messages.filter((one) => one !== undefined))
              reader.read(method, params, (event) => void events.push(event));
          } catch (error) {
            const { fault } = failureOf(error, {
              name: "codex",
              origin: "",
              secrets: [],
              home: "",
            });
            if (fault.code === "gateway.internal") throw error;
            events.push({ type: "turn-fail", fault });
          }
          const law = broken(runStage(new StreamNormalizer<UpstreamName>(1), events));
          if (law.length > 0) throw new Error(law.join("; "));
        },
      ),
    },
  ],
});
