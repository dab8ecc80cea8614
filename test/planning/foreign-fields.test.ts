import { describe, expect, it } from "vitest";
import { chat } from "../../src/dialects/chat/chat.ts";
import { messages } from "../../src/dialects/messages/messages.ts";
import { responses } from "../../src/dialects/responses/responses.ts";
import { genericChat } from "../../src/profiles/generic-chat.ts";
import { genericMessages } from "../../src/profiles/generic-messages.ts";
import { genericResponses } from "../../src/profiles/generic-responses.ts";
import { planTools } from "../../src/tools/plan/plan.ts";
import type { Decision } from "../../src/turn/decision.ts";
import { crossProduct } from "../support/cross-product.ts";
import type { Body } from "../support/fake-upstream.ts";

const dialects = { chat, messages, responses } as const;
type Name = keyof typeof dialects;
const names = ["chat", "messages", "responses"] as const;
const profiles = { chat: genericChat, messages: genericMessages, responses: genericResponses };

const schema = { type: "object", properties: {} };
const said = (type: string, more: Body): Body => ({
  role: "user",
  content: [{ type, text: "Hi", ...more }],
});
/** A request whose tool and whose text each have a field of its own dialect. */
const requests: Readonly<Record<Name, (more: Body) => Body>> = {
  chat: (more) => ({
    messages: [said("text", more)],
    tools: [{ type: "function", function: { name: "f", parameters: schema }, ...more }],
  }),
  messages: (more) => ({
    max_tokens: 9,
    messages: [said("text", more)],
    tools: [{ name: "f", input_schema: schema, ...more }],
  }),
  responses: (more) => ({
    input: [said("input_text", more)],
    tools: [{ type: "function", name: "f", parameters: schema, ...more }],
  }),
};

function decided(from: Name, to: Name, more: Body): Decision[] {
  const body = { model: "m", ...requests[from](more) };
  const profile = profiles[to];
  const plan = planTools(dialects[from].door.readRequest(body), profile);
  const target = { profile, model: "m", straight: false };
  const written = dialects[to].upstream.writeRequest(plan.turn, target);
  return [...plan.decisions, ...written.decisions];
}

const crossings = crossProduct({ from: names, to: names }).filter(({ from, to }) => from !== to);

describe.each(crossings)("a field that only $from has, towards $to", ({ from, to }) => {
  it("is reported of a tool and of a part", () => {
    const places = decided(from, to, { x_mark: [1] })
      .filter(({ action, reason }) => action === "dropped" && reason.includes("x_mark"))
      .map(({ path }) => path.split(/[.[]/)[0]);
    const items = from === "responses" ? "input" : "messages";
    expect(new Set(places)).toEqual(new Set([items, "tools"]));
    expect(places).toHaveLength(2);
  });

  it("is not reported where it says nothing", () => {
    expect(decided(from, to, { x_mark: null })).toEqual(decided(from, to, {}));
  });
});
