import { standIns } from "../../dialects/registry.ts";
import { writeParams } from "../../dialects/shared/params.ts";
import { sourceOf } from "../../stream/flow.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Item, Turn } from "../../turn/turn.ts";
import { replyTo, type Reply } from "./reply.ts";
import { demo } from "../../profiles/scripted.ts";
import { inputTokens } from "../tokens.ts";
import type { Upstream } from "../upstream.ts";

type Event = TurnEvent<UpstreamName>;

export type DemoOptions = {
  readonly name?: string | undefined;
  readonly profile?: Profile | undefined;
};

/**
 * The embedded model, for those who have not configured another. It follows
 * rules: the same request always gets the same answer, and nobody is called.
 */
export function demoUpstream({ name = "demo", profile = demo }: DemoOptions = {}): Upstream {
  return {
    name,
    profile,
    isDemo: true,
    prepare: (turn, { model }) => ({
      decisions: writeParams(turn, standIns.scripted, profile).decisions,
      // The reply is made before the stream starts: what throws here fails the request, not the stream.
      open: () => sourceOf(eventsOf(turn, model, replyTo(turn))),
    }),
    models: async () => ["demo"],
    close: async () => {},
  };
}

type Tally = { output: number; reasoning: number; calls: number };
type Choice = { readonly choice: number; readonly turn: Turn<UpstreamName>; readonly tally: Tally };

function* eventsOf(turn: Turn<UpstreamName>, model: string, reply: Reply): Generator<Event, void> {
  const tally: Tally = { output: 0, reasoning: 0, calls: lastCall(turn.items) };
  const input = inputTokens(turn);
  yield { type: "turn-start", model };
  for (let choice = 0; choice < (turn.params.n ?? 1); choice++) {
    const isWhole = yield* choiceEvents(varied(reply, choice, turn), { choice, turn, tally });
    const stop = !isWhole ? "length" : reply.calls.length > 0 ? "calls" : "end";
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

/** Another choice is another wording, where wording is free. */
function varied(reply: Reply, choice: number, { format }: Turn<UpstreamName>): Reply {
  const free = format === undefined || format.type === "text";
  if (choice === 0 || !free || reply.text === "") return reply;
  return { ...reply, text: `${openings[(choice - 1) % openings.length]}${reply.text}` };
}

/** One reply token by token; false if the token limit ends it early. */
function* choiceEvents(reply: Reply, { choice, turn, tally }: Choice): Generator<Event, boolean> {
  const { maxTokens = Infinity, effort, reasoningSummary, stop } = turn.params;
  const limit = tally.output + maxTokens;
  const spend = (): boolean => tally.output < limit && ++tally.output > 0;

  if (effort !== undefined && effort !== "none") {
    const of = reasoningSummary === undefined ? "content" : "summary";
    for (const text of tokens(reply.reasoning)) {
      if (!spend()) return false;
      tally.reasoning++;
      yield { type: "reasoning-delta", choice, text, of, part: 0 };
    }
  }
  for (const text of tokens(untilStop(reply.text, stop))) {
    if (!spend()) return false;
    yield { type: "text-delta", choice, text };
  }
  for (const [call, { callable, input }] of reply.calls.entries()) {
    const { tool, namespace } = callable;
    if (!spend()) return false;
    const id = `call_demo_${++tally.calls}`;
    yield { type: "call-start", choice, call, id, kind: tool.type, name: tool.name, namespace };
    for (const text of tokens(input)) {
      if (!spend()) return false;
      yield { type: "call-delta", choice, call, text };
    }
    yield { type: "call-end", choice, call, complete: true };
  }
  return true;
}

/** A word with the space before it, or a few signs: about what a tokeniser makes. */
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
