import { builtinDialects } from "../../src/dialects/registry.ts";
import { fakeDialects, modelIn, type Results } from "../support/fake-dialects.ts";
import { answerWithBlocks } from "../support/fake-messages.ts";
import type { FakeAnswer, FakeCall } from "../support/fake-model.ts";
import {
  cut,
  json,
  type Answer,
  type Body,
  type Model,
  type ReceivedRequest,
} from "../support/fake-upstream.ts";
import { geminiRefusal } from "../support/strict-gemini.ts";

/**
 * Asks for one answer after the other, with the calls of a step each. The stream of the last
 * answer breaks off once its call is complete.
 */
export const prompt = "Go through the steps.";
/** Takes the conversation up again, and comes to its end. */
export const again = "And how was it?";

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

type Steps = readonly (readonly FakeCall[])[];

const query = "the height of the tower";
const errand = "Run the errand.";
export const found = "It is seventeen metres high.";
export const thought = "I ponder it.";

/** A web search and a subagent make Gemini CLI ask by itself. */
const steps: Steps = [
  [call("note", "write_file", { file_path: "note.txt", content: "noted" })],
  [shell("a", "one"), shell("b", "two")],
  [call("mcp", loadedTool, { text: "seven" })],
  [call("picture", "read_file", { file_path: "pixel.png" })],
  [call("lost", "read_file", { file_path: "nowhere.txt" })],
  [call("search", "google_web_search", { query })],
  [call("agent", "invoke_agent", { agent_name: "generalist", prompt: errand })],
];
const errandSteps: Steps = [
  [shell("errand", "ran")],
  [call("complete", "complete_task", { result: { response: "The errand is done." } })],
];

/** The ids of all calls of the steps, in their order. */
export const callIds: readonly string[] = steps.flat().map(({ id }) => id);

/** The conversations that a request may belong to. The main one holds the texts of its helpers. */
const scripts: readonly (readonly [words: string, steps: Steps])[] = [
  [prompt, steps],
  [errand, errandSteps],
];

/** True for the answer that breaks off. */
const isBroken = (text: string, results: Results): boolean =>
  text.includes(prompt) && !text.includes(again) && callIds.every((id) => results.has(id));

function play(results: Results, { text }: ReceivedRequest): FakeAnswer {
  if (isBroken(text, results)) return { text: "Next.", calls: [shell("broken", "never")] };
  const [, left] = scripts.find(([words]) => text.includes(words)) ?? [];
  if (left === undefined) return { text: "{}" };
  const next = left.find((calls) => calls.some(({ id }) => !results.has(id)));
  if (next === undefined) return { text: "All steps are done." };
  return { text: "Next.", reasoning: thought, calls: next };
}

const page = { url: "https://tower.example/", title: "The tower" };

/** Answers to a search of the web that name their source, as providers write it. */
const searches: Readonly<Record<string, (body: Body) => Answer>> = {
  responses: () => {
    const annotation = { type: "url_citation", ...page, start_index: 0, end_index: found.length };
    const content = [{ type: "output_text", text: found, annotations: [annotation] }];
    const output = [
      {
        type: "web_search_call",
        id: "ws_1",
        status: "completed",
        action: { type: "search", query },
      },
      { type: "message", id: "msg_1", role: "assistant", status: "completed", content },
    ];
    return json({ id: "resp_1", object: "response", status: "completed", model: "m", output });
  },
  messages: (body) => {
    const call = {
      type: "server_tool_use",
      id: "srvtoolu_1",
      name: "web_search",
      input: { query },
    };
    const results = [
      { type: "web_search_result", ...page, encrypted_content: "x", page_age: null },
    ];
    const citation = { type: "web_search_result_location", ...page, encrypted_index: "x" };
    return answerWithBlocks(
      body,
      [
        call,
        { type: "web_search_tool_result", tool_use_id: call.id, content: results },
        { type: "text", text: found, citations: [{ ...citation, cited_text: "high" }] },
      ],
      "end_turn",
    );
  },
  gemini: () => {
    const { url: uri, title } = page;
    const groundingMetadata = {
      webSearchQueries: [query],
      groundingChunks: [{ web: { uri, title } }],
      groundingSupports: [
        {
          segment: { startIndex: 0, endIndex: found.length, text: found },
          groundingChunkIndices: [0],
        },
      ],
    };
    const content = { role: "model", parts: [{ text: found }] };
    return json({ candidates: [{ content, finishReason: "STOP", index: 0, groundingMetadata }] });
  },
};

/** True for the request of a search, which holds nothing of its conversation. */
const isSearch = ({ text }: ReceivedRequest): boolean =>
  text.includes(query) && !scripts.some(([words]) => text.includes(words));

/** The first frame of each dialect that ends an answer. */
const ending = /"finish_reason":"|response\.completed|message_delta|"finishReason"/;

/** Breaks an answer off before its end; its calls have arrived whole. */
function brokenOff(answer: Answer): Answer {
  const frames = [...(answer.steps as Iterable<string>)];
  const end = frames.findIndex((frame) => ending.test(frame));
  return { ...answer, steps: [...frames.slice(0, end), cut] };
}

/** What the reasoning behind the last call looks like when it comes back. Empty: it has none. */
const reasonings = {
  chat: `"reasoning_content":"${thought}"`,
  responses: "",
  messages: '"signature":"sig"',
  gemini: `"thoughtSignature":"${btoa("signed call_agent")}"`,
} as const;

export type Back = keyof typeof reasonings;
/** The dialects of upstreams. */
export const backs = (Object.keys(reasonings) as Back[]).filter((back) =>
  builtinDialects.upstreams.some(({ name }) => name === back),
);

/** True for a request that asks for an answer: Gemini CLI counts the tokens of pictures before. */
export const isTurn = ({ path }: ReceivedRequest): boolean => !path.includes("ountTokens");

export const reasoningIn = (back: Back): string => reasonings[back];

/** The results in a request, by the ids of their calls. */
export const resultsIn = (back: Back, body: Body): Results => fakeDialects[back].results(body);

/** A signature of the model in the Gemini dialect. */
const isOwn = (signature: string): boolean => atob(signature).startsWith("signed ");

/** The same model in every dialect. In that of Gemini it refuses what Google refuses. */
export const modelOf = (back: Back): Model => {
  const model = modelIn(back, play);
  return (request, index) => {
    if (!isTurn(request)) return json({ totalTokens: 11 });
    const refusal =
      back === "gemini" ? geminiRefusal(request.body, { model: "gemini-4", isOwn }) : undefined;
    if (refusal !== undefined) return json({ error: { code: 400, message: refusal } }, 400);
    const search = isSearch(request) ? searches[back] : undefined;
    if (search !== undefined) return search(request.body);
    const said = model(request, index);
    return isBroken(request.text, resultsIn(back, request.body)) ? brokenOff(said) : said;
  };
};
