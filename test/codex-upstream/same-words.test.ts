import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, doors, type DoorName } from "../support/client.ts";
import { answerInResponses, type FakeAnswer } from "../support/fake-model.ts";
import type { Body } from "../support/fake-upstream.ts";
import { missing, openCodex, type CodexGateway } from "./gateway.ts";

const url =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** What the model says, and what the client makes of it. */
const steps = fc.record({
  text: fc.constantFrom("", "Let me see.", "é😀", " "),
  calls: fc.array(
    fc.record({
      name: fc.constantFrom("look", "take"),
      arguments: fc.constantFrom('{"at":"x"}', '{"at": "y", "n": 1.50}', "{}", "[1]", " {} "),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  results: fc.constantFrom("all", "reversed", "but one", "one twice"),
  result: fc.constantFrom("text", "nothing", "parts", "image"),
  detail: fc.constantFrom(undefined, "auto", "low", "high"),
  more: fc.constantFrom("nothing", "words", "two messages", "an image", "a rule"),
  change: fc.constantFrom("nothing", "nothing", "nothing", "history", "tools", "model"),
});
type Step = typeof steps extends fc.Arbitrary<infer T> ? T : never;

let say: FakeAnswer = {};
let gateways: readonly CodexGateway[] = [];
beforeAll(async () => {
  if (missing) return;
  const open = (parkMs: number): Promise<CodexGateway> =>
    openCodex(({ body }) => answerInResponses(body, say), { park_ms: parkMs });
  gateways = [await open(600_000), await open(0)];
});
afterAll(async () => {
  for (const gateway of gateways) await gateway[Symbol.asyncDispose]();
});

/** A client of one door. */
const clients = {
  chat: {
    history: "messages",
    tool: (name: string): Body => ({ type: "function", function: { name } }),
    text: (text: string): Body => ({ type: "text", text }),
    image: (detail?: string): Body => ({ type: "image_url", image_url: { url, detail } }),
    said: ({ choices }: Body): Body[] => [choices[0].message],
    callIds: ({ choices }: Body): string[] =>
      (choices[0].message.tool_calls ?? []).map(({ id }: Body) => id),
    result: (id: string, content: unknown): Body => ({ role: "tool", tool_call_id: id, content }),
    // Chat has no images in results.
    shown: (): Body[] => [{ type: "text", text: "a picture" }],
  },
  responses: {
    history: "input",
    tool: (name: string): Body => ({ type: "function", name, parameters: {} }),
    text: (text: string): Body => ({ type: "input_text", text }),
    image: (detail?: string): Body => ({ type: "input_image", image_url: url, detail }),
    said: ({ output }: Body): Body[] => output,
    callIds: ({ output }: Body): string[] =>
      (output as Body[]).flatMap(({ type, call_id }) => (type === "function_call" ? call_id : [])),
    result: (id: string, output: unknown): Body => ({
      type: "function_call_output",
      call_id: id,
      output,
    }),
    shown: (detail?: string): Body[] => [{ type: "input_image", image_url: url, detail }],
  },
} as const satisfies Record<DoorName, unknown>;

/** What a client sends back for the calls of a step. */
function resultsOf(door: DoorName, ids: readonly string[], step: Step): Body[] {
  const { result, text, shown } = clients[door];
  const outputs = {
    text: "a tree",
    nothing: "",
    parts: [text("a"), text("b")],
    image: shown(step.detail),
  };
  const all = ids.map((id) => result(id, outputs[step.result]));
  const [first] = all;
  if (step.results === "reversed") return all.toReversed();
  if (step.results === "but one") return all.slice(0, Math.max(1, all.length - 1));
  return step.results === "one twice" && first !== undefined ? [...all, first] : all;
}

function moreOf(door: DoorName, { more, detail }: Step): Body[] {
  const { text, image } = clients[door];
  const user = (content: unknown): Body => ({ role: "user", content });
  const says: Record<Step["more"], Body[]> = {
    nothing: [],
    words: [user("Quick.")],
    "two messages": [user("One."), user([text("Two."), text("Three.")])],
    "an image": [user([text("See:"), image(detail)])],
    "a rule": [{ role: "system", content: "Be kind." }],
  };
  return says[more];
}

const made = new Set("id status annotations logprobs client_metadata prompt_cache_key".split(" "));

/** Without what Codex makes up, and what says the same where it is left out. */
function plainly(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainly);
  if (typeof value !== "object" || value === null) return value;
  const own = Object.entries(value).filter(
    ([key, one]) => !made.has(key) && !(key === "detail" && one === "auto"),
  );
  return Object.fromEntries(own.map(([key, one]) => [key, plainly(one)]));
}

/** Asks both gateways; what the models behind them heard must be the same, as must what they said. */
async function askBoth(door: DoorName, body: Body): Promise<Body> {
  const answers: Body[] = [];
  for (const { served, model } of gateways) {
    const before = model.requests.length;
    const response = await ask(served, door, body);
    expect(response.status).toBe(200);
    expect(model.requests.length - before, "how often the model was asked").toBe(1);
    answers.push((await response.json()) as Body);
  }
  const [parked, replayed] = gateways.map(({ model }) => plainly(model.requests.at(-1)?.body));
  expect(parked).toEqual(replayed);
  const [first = {}, second = {}] = answers;
  const { said } = clients[door];
  expect(plainly(said(first))).toEqual(plainly(said(second)));
  return first;
}

let conversations = 0;

async function converse(door: DoorName, planned: readonly Step[]): Promise<void> {
  const { history, tool, said, callIds } = clients[door];
  const own = `Conversation ${++conversations}`;
  let tools = ["look", "take"].map(tool);
  let model = "m";
  let told: Body[] = [{ role: "user", content: own }];
  for (const [at, step] of planned.entries()) {
    const calls = step.calls.map((one, nth) => ({ ...one, id: `${own} ${at} ${nth}` }));
    say = { ...(step.text !== "" && { text: step.text }), calls };
    const answer = await askBoth(door, { model, tools, [history]: told });
    told = told.concat(said(answer), resultsOf(door, callIds(answer), step), moreOf(door, step));
    if (step.change === "history") told = told.with(0, { role: "user", content: `${own} anew` });
    if (step.change === "tools") tools = tools.concat(tool(`more_${at}`));
    if (step.change === "model") model = `m${at}`;
  }
  say = { text: "Done." };
  await askBoth(door, { model, tools, [history]: told });
}

describe.skipIf(missing)("a thread of the real codex app-server that waited", () => {
  it.each(doors)("has its model told what a fresh one would, at the %s door", async (door) => {
    const conversation = fc.array(steps, { minLength: 1, maxLength: 3 });
    const told = fc.asyncProperty(conversation, (planned) => converse(door, planned));
    await expect(fc.assert(told, { numRuns: 8 })).resolves.toBeUndefined();
  });
});
