import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { builtinDialects } from "../../src/dialects/registry.ts";
import { doorPath } from "../support/door-path.ts";
import type { Body } from "../support/fake-upstream.ts";
import {
  chatClient,
  geminiClient,
  messagesClient,
  responsesClient,
  type ClientStep,
  type GrowingClient,
} from "../support/growing-clients.ts";
import { serve, type Served } from "../support/serve.ts";
import { signingGemini, type SigningGemini } from "../support/signing-gemini.ts";

let say: (names: readonly string[]) => readonly Body[] = () => [];
let gemini: SigningGemini;
let served: Served;
beforeAll(async () => {
  gemini = await signingGemini((_, __, { body }) => say(namesIn(body)));
  const up = { dialect: "gemini" as const, base_url: gemini.upstream.url, retries: 0 };
  served = await serve({ upstreams: { up }, store: { kind: "memory" } });
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  await gemini?.[Symbol.asyncDispose]();
});

const object = { type: "object", properties: { at: { type: "string" } } };
const names = ["read", "look at"];

/** The same tools in every dialect, and what Responses has more. */
const clients = {
  chat: (settings: Body) =>
    chatClient(
      { reasoning_effort: "low", ...settings },
      names.map((name) => ({ type: "function", function: { name, parameters: object } })),
      "Hi",
    ),
  responses: (settings: Body) =>
    responsesClient(
      { reasoning: { effort: "low", summary: "auto" }, ...settings },
      [
        ...names.map((name) => ({ type: "function", name, parameters: object, strict: false })),
        { type: "custom", name: "patch" },
        { type: "namespace", name: "lab", tools: [{ type: "function", name: "find" }] },
        { type: "shell", environment: { type: "local" } },
        { type: "tool_search", execution: "client", description: "d", parameters: object },
      ],
      "Hi",
    ),
  messages: (settings: Body) =>
    messagesClient(
      { thinking: { type: "adaptive" }, ...settings },
      names.map((name) => ({ name, input_schema: object })),
      "Hi",
    ),
  gemini: (settings: Body) =>
    geminiClient(
      { generationConfig: { thinkingConfig: { includeThoughts: true } }, ...settings },
      [{ name: "read", parametersJsonSchema: object }, { name: "lab.find" }],
      "Hi",
    ),
} as const satisfies Record<string, (settings: Body) => GrowingClient<string>>;
type Door = keyof typeof clients;

const models = ["gemini-3.5-flash", "gemini-4-argon", "gemini-2.5-pro"];
const steps = fc.record({
  model: fc.constantFrom(...models),
  said: fc.array(
    fc.oneof(
      fc.constantFrom("Hm.", "é\u2028").map((text) => ({ text, thought: true })),
      fc.constantFrom("So.", "\n\nYes").map((text) => ({ text })),
      fc.nat(9).map((tool) => ({ tool })),
      fc.nat(9).map((tool) => ({ tool })),
    ),
    { minLength: 1, maxLength: 6 },
  ),
  order: fc.array(fc.nat(9), { maxLength: 4 }),
  result: fc.constantFrom("fine", "", '{"a":1}', '{"$ref":"#/a"}'),
  says: fc.constantFrom<readonly string[]>([], ["Go on."], ["", "Mind the gap."]),
});
type Step = typeof steps extends fc.Arbitrary<infer T> ? T : never;

/** The parts of an answer, with calls of tools that were offered; every second answer gives its calls ids. */
function saying({ said }: Step, turn: number, offered: readonly string[]): readonly Body[] {
  return said.map((part): Body => {
    if (!("tool" in part)) return part;
    const name = offered[part.tool % offered.length] ?? "";
    const id = turn % 2 === 0 ? { id: `id${made++}` } : {};
    return { functionCall: { ...id, name, args: inputs[name] ?? {} } };
  });
}
let made = 0;
const inputs: Readonly<Record<string, Body>> = {
  shell: { commands: ["ls"] },
  patch: { input: "x" },
};

const namesIn = ({ tools = [] }: Body): string[] =>
  (tools as Body[]).flatMap(({ functionDeclarations: list = [] }) =>
    (list as Body[]).map(({ name }) => name as string),
  );

async function ask(door: Door, model: string, request: Body): Promise<Body> {
  const dialect = builtinDialects.get(door)?.door;
  if (dialect === undefined) throw new Error(`there is no ${door} door`);
  const response = await served.fetch(served.url + doorPath(dialect, { model }), {
    method: "POST",
    body: JSON.stringify(request),
    headers: { "content-type": "application/json" },
  });
  const answer = (await response.json()) as Body;
  expect([response.status, answer["error"] ?? null]).toEqual([200, null]);
  return answer;
}

/** What a client knows again of an answer: some do not keep what they do not show. */
const forgets: Readonly<Record<Door, (answer: Body) => Body>> = {
  chat: ({ choices }) => {
    const { reasoning_details: _, ...message } = choices[0].message as Body;
    return { choices: [{ message }] };
  },
  responses: (answer) => ({
    output: (answer["output"] as Body[]).filter(({ type }) => type !== "reasoning"),
  }),
  messages: (answer) => ({
    content: (answer["content"] as Body[]).filter(({ type }) => !/thinking/.test(String(type))),
  }),
  gemini: (answer) => {
    const { content } = answer["candidates"][0] as Body;
    const kept = (content.parts as Body[]).filter(({ thought }) => thought !== true);
    return { candidates: kept.length > 0 ? [{ content: { ...content, parts: kept } }] : [] };
  },
};

async function converse(door: Door, script: readonly Step[], keeps: boolean): Promise<void> {
  const settings: Body = {};
  const client: GrowingClient<string> = clients[door](settings);
  for (const [turn, step] of script.entries()) {
    const model = `up/${step.model}`;
    say = (offered) => saying(step, turn, offered);
    const answer = await ask(door, model, { ...client.request(), model });
    // Somebody must ask for another answer.
    const asks = step.said.some((part) => "tool" in part) ? step.says : [...step.says, "And?"];
    const next: ClientStep = {
      ...step,
      says: asks.map((content) => ({ role: "user", content })),
    };
    client.take(keeps ? answer : forgets[door](answer), next);
  }
}

describe.each(Object.keys(clients) as Door[])("a conversation of a %s client", (door) => {
  it.each([
    ["keeps all of the answers", true],
    ["keeps what it shows", false],
  ])("that %s is never refused, whatever models answer", async (_, keeps) => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 2, maxLength: 6 }), async (script) => {
        const before = gemini.refusals.length;
        await converse(door, script, keeps);
        // Signatures of Gemini are forwarded to Gemini clients, which do not tell the model that made them.
        const told = door === "gemini" ? ["Corrupted thought signature."] : [];
        const refused = gemini.refusals.slice(before);
        expect(refused.filter((one) => !told.includes(one))).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });
});
