import { standIns } from "../../dialects/registry.ts";
import { writeParams } from "../../dialects/shared/params.ts";
import { sourceOf } from "../../stream/flow.ts";
import type { StopReason, TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Item, Turn } from "../../turn/turn.ts";
import { replyTo, type DemoReply } from "./reply.ts";
import { demo } from "../../profiles/scripted.ts";
import { inputTokens } from "../tokens.ts";
import type { Upstream } from "../upstream.ts";

type Event = TurnEvent<UpstreamName>;

export type DemoOptions = {
  readonly name?: string | undefined;
  readonly profile?: Profile | undefined;
};

/**
 * The embedded model of a gateway without another. It follows rules: the same
 * request always gets the same answer, and no other service is called.
 */
export function demoUpstream({ name = "demo", profile = demo }: DemoOptions = {}): Upstream {
  return {
    name,
    profile,
    isDemo: true,
    prepare: (turn, { model }) => ({
      decisions: writeParams(turn, standIns.scripted, profile).decisions,
      // The reply is made before the stream starts, so that an error fails the request.
      open: () => sourceOf(eventsOf(turn, model, replyTo(turn))),
    }),
    models: async () => ["demo"],
    close: async () => {},
  };
}

/** Numbers of the whole answer. */
type Tally = { output: number; reasoning: number; calls: number };

function* eventsOf(
  turn: Turn<UpstreamName>,
  model: string,
  reply: DemoReply,
): Generator<Event, void> {
  const { n = 1, maxTokens = Infinity } = turn.params;
  const tally: Tally = { output: 0, reasoning: 0, calls: lastCall(turn.items) };
  const input = inputTokens(turn);
  yield { type: "turn-start", model };
  for (let choice = 0; choice < n; choice++) {
    let stop: StopReason = reply.calls.length > 0 ? "calls" : "end";
    const limit = tally.output + maxTokens;
    for (const event of choiceEvents(varied(reply, choice, turn), choice, turn, tally)) {
      if (event.type !== "call-end" && tally.output === limit) {
        stop = "length";
        break;
      }
      if (event.type !== "call-end") tally.output++;
      if (event.type === "reasoning-delta") tally.reasoning++;
      yield event;
    }
    yield { type: "turn-end", choice, stop };
  }
  const { output, reasoning } = tally;
  yield { type: "usage", usage: { input, output, total: input + output, cached: 0, reasoning } };
}

/** The number of the last call that the demo made in a conversation. */
const lastCall = (items: readonly Item<UpstreamName>[]): number =>
  items.reduce((last, item) => {
    const [, number] = item.type === "call" ? (/^call_demo_(\d+)$/.exec(item.id) ?? []) : [];
    return Math.max(last, Number(number ?? 0));
  }, 0);

const openings = ["Put another way: ", "Once more: ", "In short: "];

/** Each choice has another wording if the format leaves the wording free. */
function varied(reply: DemoReply, choice: number, { format }: Turn<UpstreamName>): DemoReply {
  const free = format === undefined || format.type === "text";
  if (choice === 0 || !free || reply.text === "") return reply;
  return { ...reply, text: `${openings[(choice - 1) % openings.length]}${reply.text}` };
}

/** One reply, a token in each event except `call-end`. */
function* choiceEvents(
  reply: DemoReply,
  choice: number,
  { params }: Turn<UpstreamName>,
  tally: Tally,
): Generator<Event, void> {
  const { effort, reasoningSummary, stop } = params;
  const of = reasoningSummary === undefined ? "content" : "summary";
  if (effort !== undefined && effort !== "none")
    for (const text of tokens(reply.reasoning))
      yield { type: "reasoning-delta", choice, text, of, part: 0 };
  for (const text of tokens(untilStop(reply.text, stop)))
    yield { type: "text-delta", choice, text };
  for (const [call, { tool, namespace, input }] of reply.calls.entries()) {
    const id = `call_demo_${tally.calls + 1}`;
    yield { type: "call-start", choice, call, id, kind: tool.type, name: tool.name, namespace };
    tally.calls++;
    for (const text of tokens(input)) yield { type: "call-delta", choice, call, text };
    yield { type: "call-end", choice, call, complete: true };
  }
}

/** A word with the space before it, or a few signs: about a tokeniser's pieces. */
const tokens = (text: string): readonly string[] =>
  text.match(/\s*[\p{L}\p{M}\p{N}_'’-]+|\s*[^\s\p{L}\p{M}\p{N}_]{1,3}|\s+/gu) ?? [];

function untilStop(text: string, stops: readonly string[] | undefined): string {
  let end = text.length;
  for (const stop of stops ?? []) {
    const at = stop === "" ? -1 : text.indexOf(stop);
    if (at !== -1) end = Math.min(end, at);
  }
  return text.slice(0, end);
}
