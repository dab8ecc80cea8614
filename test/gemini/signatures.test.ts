import { describe, expect, it } from "vitest";
import type { ConfigInput } from "../../src/gateway/config.ts";
import type { Body } from "../support/fake-upstream.ts";
import { serve, type Served } from "../support/serve.ts";
import { signaturesIn, signingGemini, type SayParts } from "../support/signing-gemini.ts";

const schema = { type: "object", properties: { at: { type: "string" } } };

/** What a client must do for another turn: keep the answer, and send the results. */
type Client = {
  readonly name: string;
  ask(model: string): Body;
  readonly path: string;
  /** The answer's calls by their ids; the conversation goes on with it. */
  take(answer: Body): readonly string[];
  answer(ids: readonly string[], text?: string): void;
};

function chatClient(keeps: boolean): Client {
  const messages: Body[] = [{ role: "user", content: "Go." }];
  return {
    name: keeps ? "chat" : "chat without its reasoning",
    path: "/v1/chat/completions",
    ask: (model) => ({
      model,
      messages,
      reasoning_effort: "high",
      tools: [{ type: "function", function: { name: "look", parameters: schema } }],
    }),
    take({ choices }) {
      const { content, tool_calls: calls, reasoning_details: details } = choices[0].message as Body;
      messages.push({
        role: "assistant",
        content,
        ...(calls !== undefined && { tool_calls: calls }),
        ...(keeps && details !== undefined && { reasoning_details: details }),
      });
      return ((calls ?? []) as Body[]).map(({ id }) => id as string);
    },
    answer(ids, text) {
      for (const id of ids) messages.push({ role: "tool", tool_call_id: id, content: `saw ${id}` });
      if (text !== undefined) messages.push({ role: "user", content: text });
    },
  };
}

function responsesClient(): Client {
  const input: Body[] = [{ role: "user", content: "Go." }];
  return {
    name: "responses",
    path: "/v1/responses",
    ask: (model) => ({
      model,
      input,
      store: false,
      include: ["reasoning.encrypted_content"],
      reasoning: { effort: "high", summary: "auto" },
      tools: [{ type: "function", name: "look", parameters: schema }],
    }),
    take({ output }) {
      input.push(...(output as Body[]));
      return (output as Body[]).flatMap(({ type, call_id: id }) =>
        type === "function_call" ? [id as string] : [],
      );
    },
    answer(ids, text) {
      for (const id of ids)
        input.push({ type: "function_call_output", call_id: id, output: `saw ${id}` });
      if (text !== undefined) input.push({ role: "user", content: text });
    },
  };
}

function storedClient(): Client {
  let input: Body[] = [{ role: "user", content: "Go." }];
  let previous: string | undefined;
  return {
    name: "responses from the store",
    path: "/v1/responses",
    ask: (model) => ({
      model,
      input,
      ...(previous !== undefined && { previous_response_id: previous }),
      tools: [{ type: "function", name: "look", parameters: schema }],
    }),
    take({ id, output }) {
      previous = id as string;
      input = [];
      return (output as Body[]).flatMap(({ type, call_id }) =>
        type === "function_call" ? [call_id as string] : [],
      );
    },
    answer(ids, text) {
      input = ids.map((id) => ({
        type: "function_call_output",
        call_id: id,
        output: `saw ${id}`,
      }));
      if (text !== undefined) input.push({ role: "user", content: text });
    },
  };
}

function messagesClient(): Client {
  const messages: Body[] = [{ role: "user", content: "Go." }];
  return {
    name: "messages",
    path: "/v1/messages",
    ask: (model) => ({
      model,
      messages,
      max_tokens: 4000,
      thinking: { type: "adaptive" },
      tools: [{ name: "look", input_schema: schema }],
    }),
    take({ content }) {
      messages.push({ role: "assistant", content });
      return (content as Body[]).flatMap(({ type, id }) =>
        type === "tool_use" ? [id as string] : [],
      );
    },
    answer(ids, text) {
      const results = ids.map((id) => ({
        type: "tool_result",
        tool_use_id: id,
        content: `saw ${id}`,
      }));
      const said = text === undefined ? [] : [{ type: "text", text }];
      messages.push({ role: "user", content: [...results, ...said] });
    },
  };
}

const clients: readonly (() => Client)[] = [
  () => chatClient(true),
  () => chatClient(false),
  responsesClient,
  storedClient,
  messagesClient,
];

/** Thinks and calls, every third time two tools at once; every fourth answer is a text. */
const busy: SayParts = (_, at) => {
  const call = (id: string): Body => ({
    functionCall: { id, name: "look", args: { at: `place ${id}` } },
  });
  const thought = { text: `Thought ${at}.`, thought: true };
  if (at % 4 === 3) return [thought, { text: `Done ${at}.` }];
  const random = `0123456789abcdefghij${at}`;
  if (at % 3 === 0)
    return [thought, { text: "Let me see." }, call(`a${random}`), call(`b${random}`)];
  return [thought, call(`a${random}`)];
};

const config = (url: string, more: object = {}): ConfigInput => ({
  upstreams: {
    fake: { dialect: "gemini", profile: "gemini", base_url: url, retries: 0, api_key: "k" },
  },
  models: { "*": "fake/*" },
  store: { kind: "memory" },
  ...more,
});

async function step(served: Served, client: Client, model: string): Promise<readonly string[]> {
  const response = await fetch(served.url + client.path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(client.ask(model)),
  });
  const answer = (await response.json()) as Body;
  expect([response.status, answer["error"] ?? null]).toEqual([200, null]);
  return client.take(answer);
}

/** Returns the ids of the calls of each model. */
async function turns(
  served: Served,
  client: Client,
  models: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const made = new Map<string, readonly string[]>();
  for (const [at, model] of models.entries()) {
    const ids = await step(served, client, model);
    made.set(model, [...(made.get(model) ?? []), ...ids]);
    client.answer(ids, ids.length === 0 ? `Go on ${at}.` : undefined);
  }
  return made;
}

const ten = (model: string): readonly string[] => Array.from({ length: 10 }, () => model);

describe.each(clients.map((make) => [make().name, make] as const))(
  "the signatures of a %s client",
  (_, make) => {
    it("come back byte for byte over ten turns", async () => {
      await using gemini = await signingGemini(busy);
      await using served = await serve(config(gemini.upstream.url));
      await turns(served, make(), [...ten("gemini-3.5-flash"), "gemini-3.5-flash"]);
      expect(gemini.refusals).toEqual([]);
      const sent = signaturesIn(gemini.last());
      expect(Object.keys(sent)).toHaveLength(11);
      const returned = Object.entries(sent).filter(([, one]) => one !== undefined);
      expect(returned).toEqual(returned.map(([id]) => [id, gemini.signed.get(id)]));
      expect(returned).toHaveLength(8);
    });

    it("are left out for another model, and come back to their own", async () => {
      await using gemini = await signingGemini(busy);
      await using served = await serve(config(gemini.upstream.url));
      const client = make();
      const models = [
        "gemini-3.5-flash",
        "gemini-3.5-flash",
        "gemini-4-argon",
        "gemini-4-argon",
        "gemini-2.5-pro",
        "gemini-3.5-flash",
        "gemini-3.5-flash",
      ];
      const made = await turns(served, client, models);
      expect(gemini.refusals).toEqual([]);
      const sent = signaturesIn(gemini.last());
      const own = (made.get("gemini-3.5-flash") ?? []).filter((id) => gemini.signed.has(id));
      // The answer to the last request is not in it.
      const before = own.filter((id) => id in sent);
      expect(before.length).toBeGreaterThan(2);
      expect(before.map((id) => sent[id])).toEqual(before.map((id) => gemini.signed.get(id)));
    });
  },
);
