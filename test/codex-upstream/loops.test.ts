import { createOpenAI } from "@ai-sdk/openai";
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from "@openai/agents";
import { generateText, isStepCount, jsonSchema, streamText, tool as aiTool } from "ai";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { responsesToolLoop } from "../support/fake-dialects.ts";
import type { Body } from "../support/fake-upstream.ts";
import { finalText, question, schemas, toolbox, toolNames, wantedInputs } from "../sdk/gateway.ts";
import type { Toolbox } from "../sdk/gateway.ts";
import { threadsOf } from "../sdk/round.ts";
import { missing, openCodex, pidOf, sharedCodex, type CodexGateway } from "./gateway.ts";

const codexWith = sharedCodex();

setTracingDisabled(true);

/** What a client has at hand: where to ask, how, and its tools. */
type Kit = { readonly url: string; readonly fetch: typeof fetch; readonly box: Toolbox };

const clientOf = ({ url, fetch: send }: Kit): OpenAI =>
  new OpenAI({ baseURL: url, apiKey: "unused", maxRetries: 0, fetch: send });
const described = (name: string): string => name.replace("_", " ");

/** A whole tool loop of one client; says what it ends with. */
type Loop = (kit: Kit, stream: boolean) => Promise<string | null | undefined>;

const runTools: Loop = async (kit, stream) => {
  const tools = toolNames.map((name) => ({
    type: "function" as const,
    function: {
      name,
      description: described(name),
      parameters: schemas[name],
      parse: (text: string) => JSON.parse(text) as object,
      function: (input: object) => kit.box.run(name, input),
    },
  }));
  const messages = [{ role: "user" as const, content: question }];
  const { completions } = clientOf(kit).chat;
  return stream
    ? completions.runTools({ model: "m", messages, tools, stream: true }).finalContent()
    : completions.runTools({ model: "m", messages, tools }).finalContent();
};

const responsesLoop: Loop = async (kit, stream) => {
  const { responses } = clientOf(kit);
  const tools = toolNames.map((name) => ({
    type: "function" as const,
    name,
    parameters: schemas[name],
    strict: true,
  }));
  const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: question }];
  for (;;) {
    const asked = { model: "m", input, tools };
    const answer: OpenAI.Responses.Response = stream
      ? await responses.stream(asked).finalResponse()
      : await responses.create(asked);
    const calls = answer.output.filter((item) => item.type === "function_call");
    if (calls.length === 0) return answer.output_text;
    input.push(...(answer.output as OpenAI.Responses.ResponseInput));
    for (const { call_id, name, arguments: made } of calls) {
      const result = kit.box.run(name as never, JSON.parse(made));
      input.push({ type: "function_call_output", call_id, output: result });
    }
  }
};

const agents: Loop = async (kit, stream) => {
  const tools = toolNames.map((name) =>
    tool({
      name,
      description: described(name),
      parameters: schemas[name],
      strict: true,
      execute: (input) => kit.box.run(name, input),
    }),
  );
  const modelProvider = new OpenAIProvider({ openAIClient: clientOf(kit), useResponses: true });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const agent = new Agent({ name: "Guide", instructions: "Be brief.", model: "m", tools });
  if (!stream) return (await runner.run(agent, question)).finalOutput;
  const run = await runner.run(agent, question, { stream: true });
  await run.completed;
  return run.finalOutput;
};

const ai: Loop = async (kit, stream) => {
  const provider = createOpenAI({ baseURL: kit.url, apiKey: "unused", fetch: kit.fetch });
  const asked = {
    model: provider.responses("m"),
    tools: Object.fromEntries(
      toolNames.map((name) => [
        name,
        aiTool({
          description: described(name),
          inputSchema: jsonSchema(schemas[name]),
          execute: (input: unknown) => kit.box.run(name, input),
        }),
      ]),
    ),
    stopWhen: isStepCount(4),
    prompt: question,
    maxRetries: 0,
  };
  return stream ? streamText(asked).text : (await generateText(asked)).text;
};

const KILLED = "the process is killed";

/** What happens just before the second request, or to it. */
type Between = (body: Body, gateway: CodexGateway) => Body;

const betweens: readonly (readonly [string, Between])[] = [
  [
    KILLED,
    (body, gateway) => {
      process.kill(pidOf(gateway), "SIGKILL");
      return body;
    },
  ],
  [
    "a tool is added",
    (body) => {
      const more = { name: "more", parameters: { type: "object", properties: {} } };
      const isChat = "messages" in body;
      const added = {
        type: "function",
        ...(isChat ? { function: more } : { ...more, strict: false }),
      };
      return { ...body, tools: [...(body["tools"] as unknown[]), added] };
    },
  ],
  [
    "the history is edited",
    (body) => JSON.parse(JSON.stringify(body).replace(question, "Something else?")) as Body,
  ],
];

/** Sends requests on, the second one with what came between. */
const interrupted = (gateway: CodexGateway, between: Between): typeof fetch => {
  let asked = 0;
  return (to, init) => {
    if (++asked !== 2 || typeof init?.body !== "string") return fetch(to, init);
    const body = between(JSON.parse(init.body) as Body, gateway);
    const headers = new Headers(init.headers);
    headers.delete("content-length");
    return fetch(to, { ...init, headers, body: JSON.stringify(body) });
  };
};

describe.skipIf(missing).each([
  ["openai's runTools", runTools],
  ["openai's responses", responsesLoop],
  ["@openai/agents", agents],
  ["the ai package", ai],
] as const)("a loop of %s at the real codex app-server", (_, loop) => {
  describe.each([false, true])("(stream: %s)", (stream) => {
    it.each(betweens)("ends well although %s in mid-loop", async (what, between) => {
      // A process that dies again and again is given longer rests: each test kills one of its own.
      await using own = what === KILLED ? await openCodex(responsesToolLoop) : undefined;
      const gateway = own ?? (await codexWith(responsesToolLoop));
      const box = toolbox();
      const kit = { url: `${gateway.served.url}/v1`, fetch: interrupted(gateway, between), box };
      expect(await loop(kit, stream)).toBe(finalText);
      expect(box.called).toEqual(wantedInputs);
      // Told anew from the beginning, and not gone on with.
      expect(gateway.model.requests).toHaveLength(2);
      expect(threadsOf(gateway.model.requests)).toBe(2);
    });
  });
});
