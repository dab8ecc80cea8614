import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ConfigInput } from "../../src/gateway/config.ts";
import { doorUrl } from "../support/client.ts";
import { done, type Body } from "../support/fake-upstream.ts";
import { chatClient, responsesClient, type GrowingClient } from "../support/growing-clients.ts";
import { sharedGateway } from "../support/shared-gateway.ts";
import { strictMessages, type SaidBlock } from "../support/strict-messages/upstream.ts";

/** What the model says next, given the names that it was offered. */
type Say = (names: readonly string[]) => readonly SaidBlock[];

let strict = strictMessages();
let say: Say = () => [{ type: "text", text: "Hi" }];
const here = sharedGateway(
  ({ body }) => strict.answer(body, () => say(offered(body))),
  (base_url): ConfigInput => ({
    upstreams: { up: { dialect: "messages", profile: "anthropic", base_url, retries: 0 } },
  }),
);

const offered = ({ tools = [] }: Body): string[] =>
  (tools as Body[]).flatMap(({ name, type }) => (type === undefined ? [name as string] : []));

const png = "data:image/png;base64,iVBORw0KGgo=";
const chatTools: Body[] = [
  { type: "function", function: { name: "read", parameters: { type: "object" } } },
  {
    type: "function",
    function: { name: "odd name!", parameters: { anyOf: [{ type: "object" }] } },
  },
];
const responsesTools: Body[] = [
  { type: "function", name: "read", parameters: { type: "object" }, strict: false },
  { type: "custom", name: "apply patch" },
  { type: "namespace", name: "mcp__lab", tools: [{ type: "function", name: "look" }] },
  { type: "shell", environment: { type: "local" } },
  { type: "local_shell" },
  { type: "apply_patch" },
  { type: "tool_search", execution: "client", description: "d", parameters: { type: "object" } },
];

/** Arguments as the schema of each tool has them: others could not be told again as they were. */
const inputFor = (name: string): Body =>
  ({
    read: { path: "a", n: 1.5 },
    apply_patch: { operation: { type: "delete_file", path: "a" } },
    apply_patch_2: { input: "*** Begin Patch" },
    shell: { commands: ["ls"] },
    local_shell: { command: ["ls"] },
    odd_name_: { value: {} },
  })[name] ?? {};

/** A block of the model's answer; `tool` is the number of the tool that it calls. */
const blocks = fc.oneof(
  {
    arbitrary: fc
      .constantFrom("Let me see.", "", "é\u2028")
      .map((thinking) => ({ type: "thinking", thinking })),
    weight: 3,
  },
  fc.constant({ type: "redacted_thinking" }),
  fc.constant({ type: "search" }),
  fc.constantFrom("So.", "Well: ", "\n\nYes").map((text) => ({ type: "text", text })),
  {
    arbitrary: fc.nat(9).map((tool) => ({ type: "tool_use", tool })),
    weight: 3,
  },
);
const steps = fc.record({
  said: fc.array(blocks, { minLength: 1, maxLength: 6 }),
  order: fc.array(fc.nat(9), { maxLength: 4 }),
  result: fc.constantFrom("fine", "", "  "),
  says: fc.array(
    fc.oneof(
      fc.record({
        role: fc.constantFrom("user", "developer", "system"),
        content: fc.constantFrom("Go on.", "", "Mind the gap."),
      }),
      fc.constant({ role: "image", content: "" }),
    ),
    { maxLength: 3 },
  ),
});
type Step = typeof steps extends fc.Arbitrary<infer T> ? T : never;

const imageFor = {
  chat: { type: "image_url", image_url: { url: png } },
  responses: { type: "input_image", image_url: png },
};

/** A search that the provider makes itself. */
const searched = (id: string): SaidBlock[] => [
  { type: "server_tool_use", id, name: "web_search", input: { query: "news" } },
  {
    type: "web_search_tool_result",
    tool_use_id: id,
    content: [
      { type: "web_search_result", title: "T", url: "https://t.example", encrypted_content: "x" },
    ],
  },
];

/** A chat message has one text, before its calls: what is said in another order cannot be told again as it was. */
const inChatOrder = (said: Step["said"]): Step["said"] => {
  const text = said.findIndex(({ type }) => type === "text");
  const isCall = ({ type }: Step["said"][number]): boolean => type === "tool_use";
  const first = said.findIndex(isCall);
  return said.filter(
    (block, at) => block.type !== "text" || (at === text && (first === -1 || at < first)),
  );
};

/** Every answer has something to it, and no thought at its end. */
function saying(step: Step, turn: number, door: GrowingClient["door"]): Say {
  const said = door === "chat" ? inChatOrder(step.said) : step.said;
  return (names) => {
    const list = said.flatMap((block, at): SaidBlock[] => {
      if (block.type === "search") return searched(`srvtoolu_${turn}_${at}`);
      if (!("tool" in block)) return [block];
      const name = names[block.tool % names.length] ?? "";
      return [{ type: "tool_use", id: `toolu_${turn}_${at}`, name, input: inputFor(name) }];
    });
    const isOver = ["text", "tool_use"].includes(list.at(-1)?.type ?? "");
    if (isOver) return list;
    const end = list.findLastIndex(({ type }) => type === "text" || type === "tool_use");
    // Chat has no place behind the last call either.
    return end === -1 || door === "responses"
      ? [...list, { type: "text", text: "Done." }]
      : list.slice(0, end + 1);
  };
}

/** What a client reads of a stream or a body, as the whole answer. */
async function wholeAnswer(response: Response, door: GrowingClient["door"]): Promise<Body> {
  const text = await response.text();
  if (response.status !== 200) throw new Error(text);
  if (door === "chat" || !text.startsWith("event:")) return JSON.parse(text) as Body;
  const last = text
    .split("\n")
    .findLast((line) => line.startsWith("data: ") && !done.includes(line));
  return (JSON.parse(last?.slice("data: ".length) ?? "{}") as Body)["response"] as Body;
}

/** Plays a conversation; gives what was refused in it. */
async function converse(
  client: GrowingClient,
  script: readonly Step[],
): Promise<readonly string[]> {
  strict = strictMessages();
  const { requests } = here.upstream;
  let before: Body | undefined;
  for (const [turn, step] of script.entries()) {
    say = saying(step, turn, client.door);
    const response = await here.served.fetch(doorUrl(here.served, client.door), {
      method: "POST",
      body: JSON.stringify(client.request()),
      headers: { "content-type": "application/json" },
    });
    const answer = await wholeAnswer(response, client.door);
    const sent = requests.at(-1)?.body ?? {};
    if (before !== undefined) expectPrefix(before, sent);
    before = sent;
    const says = step.says.map(({ role, content }) =>
      role === "image" ? { role: "user", content: [imageFor[client.door]] } : { role, content },
    );
    client.take(answer, { ...step, says });
    // Somebody must ask for another answer.
    if (
      !step.says.some(
        ({ role, content }) => role === "image" || (role === "user" && content !== ""),
      )
    )
      client.take(nothing[client.door], {
        order: [],
        result: "",
        says: [{ role: "user", content: "And?" }],
      });
  }
  return strict.refusals;
}

/** An answer without a word, to say something more. */
const nothing: Readonly<Record<GrowingClient["door"], Body>> = {
  chat: { choices: [{ message: { role: "user", content: "One more thing." } }] },
  responses: { output: [] },
};

/** Whatever was sent before stands at the beginning of what is sent now, to the byte. */
function expectPrefix(before: Body, now: Body): void {
  const bytes = ({ messages }: Body): string => JSON.stringify(messages).slice(0, -1);
  expect(bytes(now).slice(0, bytes(before).length)).toBe(bytes(before));
  expect(JSON.stringify(now["system"])).toBe(JSON.stringify(before["system"]));
  const eager = ({ tools }: Body): unknown =>
    (tools as Body[]).filter(({ defer_loading }) => defer_loading !== true);
  expect(JSON.stringify(eager(now))).toBe(JSON.stringify(eager(before)));
}

const models = ["claude-opus-5-5", "claude-opus-4-8", "claude-haiku-4-5"];
const scripts = fc.array(steps, { minLength: 2, maxLength: 5 });

describe.each(models)("a conversation with %s that grows", (name) => {
  const model = `up/${name}`;

  it("is never refused to a chat client, and only ever appended to", async () => {
    await fc.assert(
      fc.asyncProperty(scripts, fc.constantFrom("low", undefined), async (script, effort) => {
        const settings = { model, ...(effort !== undefined && { reasoning_effort: effort }) };
        expect(await converse(chatClient(settings, chatTools, "Hi"), script)).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });

  it("is never refused to a client of the Responses API, and only ever appended to", async () => {
    await fc.assert(
      fc.asyncProperty(scripts, fc.boolean(), async (script, stream) => {
        const settings = { model, stream, reasoning: { effort: "low" } };
        expect(await converse(responsesClient(settings, responsesTools, "Hi"), script)).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });
});
