import {
  defineUpstream,
  Fault,
  upstreamName,
  type Turn,
  type TurnEvent,
  type UpstreamName,
} from "../../src/index.ts";
import type { Body } from "../support/fake-upstream.ts";
import type { Backend } from "./backend.ts";
import { callsOf, stopOf, type Heard, type Offered } from "./heard.ts";
import { BROKEN, COUNTS, scenarioOf, type Scenario } from "./scenario.ts";

type Asked = Turn<UpstreamName>;
type Event = TurnEvent<UpstreamName>;

function heardOf({ tools, toolChoice, format }: Asked): Heard {
  return {
    tools: tools.flatMap((tool): Offered[] =>
      tool.type === "function"
        ? [{ kind: "function", name: tool.name, schema: tool.schema as Body }]
        : [],
    ),
    choice:
      toolChoice?.type === "tool"
        ? { name: toolChoice.tool.name }
        : toolChoice?.type === "none" || toolChoice?.type === "required"
          ? toolChoice.type
          : "auto",
    schema: format?.type === "schema" ? (format.schema as Body) : undefined,
  };
}

function* answer(scenario: Scenario, heard: Heard): Generator<Event, void> {
  const { plays } = scenario;
  if (plays.type !== "answer") return;
  for (const [choice, say] of plays.says.entries()) {
    const { reasoning, text } = say;
    if (reasoning !== undefined)
      yield { type: "reasoning-delta", choice, text: reasoning, of: "content", part: 0 };
    if (text !== undefined) yield { type: "text-delta", choice, text };
    for (const [call, { id, kind, name, input }] of callsOf(say, scenario, heard).entries()) {
      yield { type: "call-start", choice, call, id, kind, name: upstreamName(name) };
      yield { type: "call-delta", choice, call, text: input };
      yield { type: "call-end", choice, call, complete: true };
    }
    yield { type: "turn-end", choice, stop: stopOf(say) };
  }
  const total = COUNTS.input + COUNTS.output;
  yield { type: "usage", usage: { ...COUNTS, total } };
}

const broken = (): Fault => new Fault("upstream.failed", `The model is ${BROKEN}.`);

/** An upstream that a user of the library wrote, asked in this process. */
export const ownUpstream: Backend = {
  name: "own",
  can: new Set(["choices", "heard", "left"]),
  async open() {
    let heard: Heard | undefined;
    let { promise, resolve } = Promise.withResolvers<void>();
    const upstream = defineUpstream({
      name: "own",
      async *answer(turn, { model, signal }) {
        heard = heardOf(turn);
        ({ promise, resolve } = Promise.withResolvers<void>());
        const scenario = scenarioOf(model);
        const { plays } = scenario;
        const before = plays.type === "fail" ? plays.after : undefined;
        const text = plays.type === "hang" ? plays.text : before;
        if (text !== undefined) yield { type: "text-delta", choice: 0, text };
        if (plays.type === "fail") throw broken();
        yield* answer(scenario, heard);
        if (plays.type !== "hang") return;
        await new Promise<void>((left) => signal.addEventListener("abort", () => left()));
        resolve();
      },
    });
    return {
      upstream,
      heard: () => heard,
      left: () => promise,
      [Symbol.asyncDispose]: async () => {},
    };
  },
};
