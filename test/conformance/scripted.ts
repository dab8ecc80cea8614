import type { Body } from "../support/fake-upstream.ts";
import type { Backend } from "./backend.ts";
import { BROKEN, callables, COUNTS, scenarios, type Said, type Scenario } from "./scenario.ts";

function stepsOf({ reasoning, text, calls = [], stop }: Said, scenario: Scenario, choice: number) {
  const known = callables(scenario.asked);
  const steps: Body[] = [];
  if (reasoning !== undefined) steps.push({ reasoning, chunks: 3, choice });
  if (text !== undefined) steps.push({ text, chunks: 3, choice });
  for (const { tool, input } of calls) {
    const { kind = "function", name, namespace } = known[tool] ?? {};
    const said = kind === "custom" ? { input } : { arguments: input };
    steps.push({ call: { name, ...said, ...(namespace !== undefined && { namespace }) }, choice });
  }
  if (stop !== undefined) steps.push({ stop, choice });
  return steps;
}

function turnOf(scenario: Scenario): Body[] {
  const { plays } = scenario;
  switch (plays.type) {
    case "answer":
      return [
        ...plays.says.flatMap((say, choice) => stepsOf(say, scenario, choice)),
        { usage: COUNTS },
      ];
    case "fail":
      return plays.after === undefined
        ? [{ error: { status: 503, message: BROKEN } }]
        : [{ text: plays.after }, { error: BROKEN }];
    case "hang":
      return [{ text: plays.text }, { hang: true }];
    default:
      return plays satisfies never;
  }
}

/** A script takes every kind of tool as it is; what it was asked cannot be seen from outside. */
export const scripted: Backend = {
  name: "scripted",
  can: new Set(["choices"]),
  open: async () => ({
    config: {
      dialect: "scripted",
      script: scenarios.map((scenario) => ({
        when: { model: `/^${scenario.name}$/` },
        steps: turnOf(scenario),
      })),
    },
    heard: () => undefined,
    left: () => Promise.resolve(),
    [Symbol.asyncDispose]: async () => {},
  }),
};
