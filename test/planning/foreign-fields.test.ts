import { describe, expect, it } from "vitest";
import { chat } from "../../src/dialects/chat/chat.ts";
import { messages } from "../../src/dialects/messages/messages.ts";
import { responses } from "../../src/dialects/responses/responses.ts";
import { genericChat } from "../../src/profiles/generic.ts";
import { genericMessages } from "../../src/profiles/generic.ts";
import { genericResponses } from "../../src/profiles/generic.ts";
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

/** A conversation in which every item has a field of its own dialect. */
const conversations: Readonly<Record<Name, (more: Body) => Body>> = {
  chat: (more) => ({
    messages: [
      { role: "system", content: "Be brief.", ...more },
      { role: "user", content: "Hi", ...more },
      { role: "assistant", content: "Hello.", ...more },
      { role: "user", content: "Look.", ...more },
      {
        role: "assistant",
        tool_calls: [
          { id: "c", type: "function", function: { name: "f", arguments: "{}" }, ...more },
        ],
      },
      { role: "tool", tool_call_id: "c", content: "Seen.", ...more },
    ],
  }),
  messages: (more) => ({
    max_tokens: 9,
    messages: [
      { role: "user", content: "Hi", ...more },
      { role: "assistant", content: "Hello.", ...more },
      { role: "user", content: "Look." },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "c", name: "f", input: {}, ...more }],
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "c", content: "Seen.", ...more }],
      },
    ],
  }),
  responses: (more) => ({
    input: [
      { role: "system", content: "Be brief.", ...more },
      { role: "user", content: "Hi", ...more },
      { role: "assistant", content: "Hello.", ...more },
      { type: "function_call", call_id: "c", name: "f", arguments: "{}", ...more },
      { type: "function_call_output", call_id: "c", output: "Seen.", ...more },
    ],
  }),
};

function decided(from: Name, to: Name, more: Body, asked = requests): Decision[] {
  const body = { model: "m", ...asked[from](more) };
  const profile = profiles[to];
  const plan = planTools(dialects[from].door.readRequest(body), profile);
  const target = { profile, model: "m", straight: false };
  const written = dialects[to].upstream.writeRequest(plan.turn, target);
  return [...plan.decisions, ...written.decisions];
}

type Cited = { readonly sent: Body; readonly decisions: readonly Decision[] };

/** A conversation with a past answer that cites something. */
function cited(from: Name, to: Name, citation: Body): Cited {
  const text = "Water boils.";
  const turns: Record<Name, Body> = {
    chat: {
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: text, annotations: [citation] },
        { role: "user", content: "And?" },
      ],
    },
    messages: {
      max_tokens: 9,
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: [{ type: "text", text, citations: [citation] }] },
        { role: "user", content: "And?" },
      ],
    },
    responses: {
      input: [
        { role: "user", content: "Hi" },
        {
          role: "assistant",
          content: [{ type: "output_text", text, annotations: [citation] }],
        },
        { role: "user", content: "And?" },
      ],
    },
  };
  const turn = dialects[from].door.readRequest({ model: "m", ...turns[from] });
  const profile = profiles[to];
  const plan = planTools(turn, profile);
  const target = { profile, model: "m", straight: false };
  const { text: sent, decisions } = dialects[to].upstream.writeRequest(plan.turn, target);
  return { sent: JSON.parse(sent) as Body, decisions };
}

describe("what a past answer cites", () => {
  const url = "https://a.example/";
  const forms: Record<Name, Body> = {
    chat: { type: "url_citation", url_citation: { url, title: "A", start_index: 0, end_index: 5 } },
    responses: { type: "url_citation", url, title: "A", start_index: 0, end_index: 5 },
    messages: {
      type: "web_search_result_location",
      url,
      title: "A",
      cited_text: "boils",
      encrypted_index: "x",
    },
  };
  const passage = {
    type: "char_location",
    cited_text: "boils",
    document_index: 0,
    document_title: null,
    start_char_index: 0,
    end_char_index: 5,
  };

  it.each(["chat", "messages"] as const)("goes from %s to responses in its words", (from) => {
    const { sent, decisions } = cited(from, "responses", forms[from]);
    const found = (sent["input"] as Body[])[1]?.["content"] as Body[];
    const index = from === "chat" ? 5 : 0;
    expect(found[0]?.["annotations"]).toEqual([
      { type: "url_citation", url, title: "A", start_index: 0, end_index: index },
    ]);
    expect(decisions).toEqual([]);
  });

  it.each([
    ["messages", "responses", passage],
    ["messages", "chat", passage],
    ["chat", "messages", forms.chat],
    ["responses", "messages", forms.responses],
    ["responses", "chat", forms.responses],
  ] as const)("is reported from %s to %s where there is no form for it", (from, to, citation) => {
    const { sent, decisions } = cited(from, to, citation);
    expect(JSON.stringify(sent)).not.toContain(citation.type);
    expect(decisions).toHaveLength(1);
    expect(decisions[0]?.path).toMatch(/^(?:input|messages)\[1\]/);
    expect(decisions[0]?.reason).toMatch(/annotation|citation/);
  });
});

it.each(["chat", "responses"] as const)(
  "a document that answers are to cite is told to %s without that wish, and it is reported",
  (to) => {
    const source = { type: "text", media_type: "text/plain", data: "Water boils." };
    const asked = (citations: Body) => ({
      ...requests,
      messages: () => ({
        max_tokens: 9,
        messages: [{ role: "user", content: [{ type: "document", source, ...citations }] }],
      }),
    });
    expect(decided("messages", to, {}, asked({ citations: { enabled: true } }))).toMatchObject([
      { action: "dropped", reason: "`citations` is a field of the messages dialect" },
    ]);
    expect(decided("messages", to, {}, asked({ citations: { enabled: false } }))).toEqual([]);
  },
);

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

  it("is reported of every message, call and result", () => {
    const places = decided(from, to, { x_mark: [1] }, conversations)
      .filter(({ action, path, reason }) => action === "dropped" && /x_mark/.test(path + reason))
      .map(({ path }) => Number(/\d+/.exec(path)?.[0]));
    const marked = { chat: [0, 1, 2, 3, 4, 5], messages: [0, 1, 3, 4], responses: [0, 1, 2, 3, 4] };
    expect(places).toEqual(marked[from]);
  });

  it("is not reported where it says nothing", () => {
    for (const asked of [requests, conversations])
      expect(decided(from, to, { x_mark: null }, asked)).toEqual(decided(from, to, {}, asked));
  });
});
