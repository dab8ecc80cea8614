import { describe, expect, it } from "vitest";
import { ask, calling, custom, fn, plain, withTools } from "../../../test/support/turns.ts";
import { chain, runStage } from "../../stream/stage.ts";
import type { Decision } from "../../turn/decision.ts";
import { restoreAnswer } from "./restore.ts";
import { planTools } from "./plan.ts";

const schema = {
  type: "object",
  properties: {
    at: { type: "string", pattern: "^[a-z]+$" },
    map: { type: "object", additionalProperties: { type: "number", maximum: 3 } },
  },
  required: ["at"],
};
/** Takes no pattern and no maximum, and no objects of any keys. */
const narrow = withTools({ schema: { keywords: [] } });
const tools = [fn("look", schema), custom("patch")];

/** What is reported of a call, and the arguments that reach the client. */
function judged(name: string, text: string, profile = narrow, more = {}) {
  const reports: Decision[] = [];
  const plan = planTools(ask({ tools }), profile);
  const events = runStage(
    chain(restoreAnswer(plan, (decision) => void reports.push(decision))),
    calling(name, [text.slice(0, 3), text.slice(3)], more),
  );
  const input = events.map((event) => (event.type === "call-delta" ? event.text : "")).join("");
  return { reports, input };
}

describe("the arguments of a call", () => {
  it("that break a rule the upstream was only told reach the client, and it is told in the plan", () => {
    const text = '{"at": "A1"}';
    expect(judged("look", text)).toEqual({
      input: text,
      reports: [
        {
          path: "output",
          action: "noticed",
          reason:
            "the arguments of a call of `look` violate its schema at `#/properties/at/pattern`",
        },
      ],
    });
  });

  it("are told of in words of the schema, never in their own", () => {
    const { reports } = judged("look", '{"at":"a","map":{"secret":9}}');
    expect(reports).toHaveLength(1);
    expect(reports[0]?.reason).toMatch(/additionalProperties\/maximum/);
    expect(reports[0]?.reason).not.toContain("secret");
  });

  it("may be no JSON at all, or missing", () => {
    expect(judged("look", '{"at":').reports[0]?.reason).toMatch(/are not JSON/);
    expect(judged("look", "").reports[0]?.reason).toMatch(/#\/required/);
  });

  it.each<[string, ...Parameters<typeof judged>]>([
    ["they keep to the schema", "look", '{"at":"abc","map":{"x":3}}'],
    ["the upstream was given the schema itself", "look", '{"at":"A1"}', plain],
    ["they were cut off", "look", '{"at":"A', narrow, { complete: false }],
    ["they are the text of a tool that takes text", "patch", '{"input":"x"}'],
  ])("are nobody's business where %s", (_, ...call) => {
    expect(judged(...call).reports).toEqual([]);
  });
});
