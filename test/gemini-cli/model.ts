import { builtinDialects } from "../../src/dialects/registry.ts";
import { answerInGemini, geminiResults } from "../support/fake-gemini.ts";
import { answerInMessages, messagesResults } from "../support/fake-messages.ts";
import {
  answerInChat,
  answerInResponses,
  chatResults,
  responsesResults,
  type FakeAnswer,
  type FakeCall,
} from "../support/fake-model.ts";
import {
  cut,
  json,
  type Answer,
  type Body,
  type Model,
  type ReceivedRequest,
} from "../support/fake-upstream.ts";

/** Asks for one answer after the other, with the calls of a step each. */
export const prompt = "Go through the steps.";
/** Asks for an answer whose stream breaks off once its call is complete. */
export const brokenPrompt = "Write the file, and break off.";

const call = (id: string, name: string, input: object): FakeCall => ({
  id: `call_${id}`,
  name,
  arguments: JSON.stringify(input),
});
/** Appends, so that a command that runs twice shows. */
const shell = (id: string, word: string): FakeCall =>
  call(id, "run_shell_command", { command: `printf ${word} >> ${id}.txt`, description: "Writes" });

/** The name that Gemini CLI gives to a tool of an MCP server. */
const loadedTool = "mcp_lab_write_7";

const steps: readonly (readonly FakeCall[])[] = [
  [call("note", "write_file", { file_path: "note.txt", content: "noted" })],
  [shell("a", "one"), shell("b", "two")],
  [call("mcp", loadedTool, { text: "seven" })],
  [call("picture", "read_file", { file_path: "pixel.png" })],
  [call("lost", "read_file", { file_path: "nowhere.txt" })],
];

/** The ids of all calls of the steps, in their order. */
export const callIds = steps.flat().map(({ id }) => id);

function play({ text }: ReceivedRequest, results: ReadonlyMap<string, string>): FakeAnswer {
  if (text.includes(brokenPrompt)) return { text: "Next.", calls: [shell("broken", "never")] };
  if (!text.includes(prompt)) return { text: "{}" };
  const next = steps.find((calls) => calls.some(({ id }) => !results.has(id)));
  return next === undefined ? { text: "All steps are done." } : { text: "Next.", calls: next };
}

/** The first frame of each dialect that ends an answer. */
const ending = /"finish_reason":"|response\.completed|message_delta|"finishReason"/;

/** Breaks an answer off before its end; its calls have arrived whole. */
function brokenOff(answer: Answer): Answer {
  const frames = [...(answer.steps as Iterable<string>)];
  const end = frames.findIndex((frame) => ending.test(frame));
  return { ...answer, steps: [...frames.slice(0, end), cut] };
}

type Speech = {
  readonly results: (body: Body) => ReadonlyMap<string, string>;
  readonly answer: (request: ReceivedRequest, say: FakeAnswer) => Answer;
};

const speech = {
  chat: { results: chatResults, answer: ({ body }, say) => answerInChat(body, say) },
  responses: { results: responsesResults, answer: ({ body }, say) => answerInResponses(body, say) },
  messages: { results: messagesResults, answer: ({ body }, say) => answerInMessages(body, say) },
  gemini: { results: geminiResults, answer: ({ path }, say) => answerInGemini(path, say) },
} as const satisfies Record<string, Speech>;

export type Back = keyof typeof speech;
/** The dialects of upstreams. */
export const backs = (Object.keys(speech) as Back[]).filter((back) =>
  builtinDialects.upstreams.some(({ name }) => name === back),
);

/** True for a request that asks for an answer: Gemini CLI counts the tokens of pictures before. */
export const isTurn = ({ path }: ReceivedRequest): boolean => !path.includes("ountTokens");

/** The results in a request, by the ids of their calls. */
export const resultsIn = (back: Back, body: Body): ReadonlyMap<string, string> =>
  speech[back].results(body);

/** The same model in every dialect. */
export const modelOf = (back: Back): Model => {
  const { results, answer }: Speech = speech[back];
  return (request) => {
    if (!isTurn(request)) return json({ totalTokens: 11 });
    const said = answer(request, play(request, results(request.body)));
    return request.text.includes(brokenPrompt) ? brokenOff(said) : said;
  };
};
