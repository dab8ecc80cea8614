import type { Adapter } from "../../src/agent.ts";
import type { ModelRequest } from "../../src/agent/adapter.ts";
import type { TurnEvent } from "../../src/turn/event.ts";
import { clientName, type ClientName } from "../../src/turn/names.ts";

/** One answer: a text, or calls by name and arguments. */
export type ScriptedAnswer = string | readonly (readonly [name: string, input: object])[];

export type ScriptModel = {
  readonly adapter: Adapter;
  /** The requests so far. */
  readonly requests: readonly ModelRequest[];
};

type Abilities = Partial<Adapter["capabilities"]> & { readonly supportsDynamicTools?: boolean };

/** A model that gives one answer of a script after the other, and nothing between it and the agent. */
export function scriptModel(
  script: readonly ScriptedAnswer[] = [],
  { supportsDynamicTools = true, ...more }: Abilities = {},
): ScriptModel {
  const requests: ModelRequest[] = [];
  const capabilities = {
    deferred: false,
    cachedTools: true,
    maxTools: 128,
    maxDescription: Infinity,
    ...more,
  };
  return {
    requests,
    adapter: {
      name: "script/model",
      capabilities,
      supportsDynamicTools,
      async *call(request) {
        requests.push(request);
        yield* answerEvents(script[requests.length - 1] ?? "Done.", requests.length);
      },
    },
  };
}

function answerEvents(answer: ScriptedAnswer, round: number): readonly TurnEvent<ClientName>[] {
  if (typeof answer === "string")
    return [
      { type: "turn-start" },
      { type: "text-start", choice: 0 },
      { type: "text-delta", choice: 0, text: answer },
      { type: "text-end", choice: 0 },
      { type: "turn-end", choice: 0, stop: "end" },
    ];
  return [
    { type: "turn-start" },
    ...answer.flatMap(([name, input], call): TurnEvent<ClientName>[] => [
      {
        type: "call-start",
        choice: 0,
        call,
        id: `call_${round}_${call}`,
        kind: name === "tool_search" ? "tool_search" : "function",
        name: clientName(name),
      },
      { type: "call-delta", choice: 0, call, text: JSON.stringify(input) },
      { type: "call-end", choice: 0, call, complete: true },
    ]),
    { type: "turn-end", choice: 0, stop: "calls" },
  ];
}

/** The names of the tools that a request declares. */
export const toolNames = ({ tools }: Pick<ModelRequest, "tools">): readonly string[] =>
  tools.map(({ name }) => String(name));
