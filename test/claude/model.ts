import { geminiResults, partsOf } from "../support/fake-gemini.ts";
import { modelIn, type Results } from "../support/fake-dialects.ts";
import type { FakeAnswer, FakeCall } from "../support/fake-model.ts";
import type { Body, ReceivedRequest } from "../support/fake-upstream.ts";
import type { SayParts } from "../support/signing-gemini.ts";

/** What the user asks for: one answer after the other makes the calls of a step. */
export const prompt = "Go through the steps.";
/** What the subagent is asked for. */
const errand = "Write the file of the errand.";
const loadedTool = "mcp__lab__write_7";
/** Codex has names of its own for those that begin as its own MCP tools do. */
export const isLoadedTool = (name: string): boolean => name.endsWith(loadedTool);

const call = (id: string, name: string, input: object): FakeCall => ({
  id: `toolu_${id}`,
  name,
  arguments: JSON.stringify(input),
});
const bash = (id: string, command: string): FakeCall =>
  call(id, "Bash", { command, description: "Writes a file" });

const steps: readonly (readonly FakeCall[])[] = [
  [bash("a", "printf one > a.txt"), bash("b", "printf two > b.txt")],
  [call("search", "ToolSearch", { query: `select:${loadedTool}`, max_results: 5 })],
  [call("mcp", loadedTool, { text: "seven" })],
  [
    call("agent", "Agent", {
      description: "Errand",
      prompt: errand,
      subagent_type: "general-purpose",
      run_in_background: false,
    }),
  ],
  [call("read", "Read", { file_path: "pixel.png" })],
];

/** One step for each answer; the subagent's conversation has a step of its own. */
function play(results: Results, { body, text }: ReceivedRequest): FakeAnswer {
  if (!text.includes(prompt) && !text.includes(errand)) return { text: '{"title":"Steps"}' };
  if (!text.includes(prompt))
    return results.size > 0
      ? { text: "The errand is done." }
      : { calls: [bash("errand", "printf errand > errand.txt")] };
  const next = steps.find((calls) => calls.some(({ id }) => !results.has(id)));
  if (next !== undefined) return { text: "Next.", calls: next.map(namedAs(toolNamesIn(body))) };
  const said = [...results.values()].filter((result) => /errand is done|wrote it/.test(result));
  return { text: `Heard ${said.length} of 2.` };
}

/** A call by the name that the tool was offered under. */
const namedAs =
  (offered: readonly string[]) =>
  (one: FakeCall): FakeCall =>
    isLoadedTool(one.name) ? { ...one, name: offered.find(isLoadedTool) ?? one.name } : one;

export const toolNamesIn = (body: Body): string[] =>
  ((body["tools"] ?? []) as Body[])
    .flatMap((tool) => (tool["functionDeclarations"] ?? [tool]) as Body[])
    .map((tool) => (tool["name"] ?? tool["function"]?.name ?? "") as string);

/** The same model in every dialect. */
export const models = {
  messages: modelIn("messages", play),
  chat: modelIn("chat", play),
  responses: modelIn("responses", play),
} as const;

/** The same as parts of Gemini, for an upstream that signs them. */
export const sayParts: SayParts = (contents, _, asked) =>
  partsOf({ reasoning: "Hm.", ...play(geminiResults({ contents }), asked) });
