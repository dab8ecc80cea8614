import { answerInGemini } from "../support/fake-gemini.ts";
import { answerInChat } from "../support/fake-model.ts";
import { cut, json, sse, type Answer, type Body } from "../support/fake-upstream.ts";

/** What a model does in one round, whatever it is asked in. */
export type Say = {
  readonly text?: string;
  /** Sections that it reads. */
  readonly reads?: readonly string[];
  /** Tools that it calls, as the strategy has them called. */
  readonly calls?: readonly {
    readonly name: string;
    readonly arguments: Body;
    readonly section?: string;
  }[];
  /** Names of functions that it calls as they are. */
  readonly plain?: readonly { readonly name: string; readonly arguments: Body }[];
  readonly error?: number;
  readonly cut?: true;
};

/** A provider with one way of folding. */
export type Back = {
  readonly name: string;
  readonly strategy: "wrap" | "append" | "native";
  readonly dialect: "chat" | "responses" | "gemini";
  readonly more: Body;
  answer(asked: Body, say: Say, round: number, path?: string): Answer;
  /** The names of the functions in a request, those of a search among them. */
  tools(asked: Body): readonly string[];
  /** The conversation of a request. */
  items(asked: Body): readonly Body[];
  /** True if a request asks for any call. */
  requires(asked: Body): boolean;
};

const isRequired = (asked: Body): boolean => asked["tool_choice"] === "required";

const MAX = 40;

type Function = { readonly name: string; readonly arguments: string; readonly namespace?: string };

/** The functions that a model of an upstream without searches calls. */
function functionsOf(
  { reads = [], calls = [], plain = [] }: Say,
  strategy: Back["strategy"],
  names: Loaders,
): Function[] {
  return [
    ...reads.map((key) => ({ name: names.read, arguments: JSON.stringify({ key }) })),
    ...calls.map(({ name, arguments: given }) =>
      strategy === "wrap"
        ? { name: names.call, arguments: JSON.stringify({ name, arguments: given }) }
        : { name, arguments: JSON.stringify(given) },
    ),
    ...plain.map(({ name, arguments: given }) => ({ name, arguments: JSON.stringify(given) })),
  ];
}

type Loaders = { readonly read: string; readonly call: string };
const loadersIn = (names: readonly string[]): Loaders => ({
  read: names.includes("pb_read_section") ? "pb_read_section" : "read_section",
  call: names.includes("pb_call_tool") ? "pb_call_tool" : "call_tool",
});

const refused = (status: number): Answer => json({ error: { message: "Overloaded." } }, status);
const broken = (): Answer => sse(": begun\n\n", cut);

const chatBack = (strategy: Back["strategy"]): Back => ({
  name: `chat, ${strategy}`,
  strategy,
  dialect: "chat",
  more: { capabilities: { tools: { max: MAX } } },
  answer(asked, say, round) {
    if (say.error !== undefined) return refused(say.error);
    if (say.cut) return broken();
    const calls = functionsOf(say, strategy, loadersIn(this.tools(asked))).map((one, at) =>
      Object.assign({ id: `call_${round}_${at}` }, one),
    );
    return answerInChat(asked, {
      ...(say.text !== undefined && { text: say.text }),
      ...(calls.length > 0 && { calls }),
    });
  },
  tools: (asked) =>
    ((asked["tools"] ?? []) as Body[]).map((tool) => tool["function"].name as string),
  items: (asked) => asked["messages"] as Body[],
  requires: isRequired,
});

const responsesBack = (strategy: Back["strategy"]): Back => ({
  name: `responses, ${strategy}`,
  strategy,
  dialect: "responses",
  more: {
    profile: strategy === "native" ? "openai-responses" : "generic-responses",
    capabilities: { tools: { max: MAX } },
  },
  answer(asked, say, round) {
    if (say.error !== undefined) return refused(say.error);
    if (say.cut) return broken();
    return itemsAnswer(asked, outputOf(say, strategy, round, loadersIn(this.tools(asked))), round);
  },
  tools: (asked) =>
    ((asked["tools"] ?? []) as Body[]).map((tool) => (tool["name"] ?? tool["type"]) as string),
  items: (asked) => asked["input"] as Body[],
  requires: isRequired,
});

const geminiBack = (strategy: Back["strategy"]): Back => ({
  name: `gemini, ${strategy}`,
  strategy,
  dialect: "gemini",
  more: { capabilities: { tools: { max: MAX, cached: false } } },
  answer(asked, say, round, path = "") {
    if (say.error !== undefined) return refused(say.error);
    if (say.cut) return broken();
    const calls = functionsOf(say, strategy, loadersIn(this.tools(asked))).map((one, at) =>
      Object.assign({ id: `call_${round}_${at}` }, one),
    );
    return answerInGemini(path, {
      ...(say.text !== undefined && { text: say.text }),
      ...(calls.length > 0 && { calls }),
    });
  },
  tools: (asked) =>
    ((asked["tools"] ?? []) as Body[]).flatMap(({ functionDeclarations = [] }) =>
      (functionDeclarations as Body[]).map(({ name }) => name as string),
    ),
  items: (asked) => asked["contents"] as Body[],
  requires: (asked) => asked["toolConfig"]?.functionCallingConfig?.mode === "ANY",
});

function outputOf(say: Say, strategy: Back["strategy"], round: number, names: Loaders): Body[] {
  const status = "completed";
  const { text } = say;
  const parts = [{ type: "output_text", text, annotations: [], logprobs: [] }];
  const message = {
    type: "message",
    id: `msg_${round}`,
    role: "assistant",
    status,
    content: parts,
  };
  const isNative = strategy === "native";
  const searches = (isNative ? (say.reads ?? []) : []).map((key, at) => ({
    type: "tool_search_call",
    id: `tsc_${round}_${at}`,
    call_id: `search_${round}_${at}`,
    execution: "client",
    status,
    arguments: { key },
  }));
  const loaded = (isNative ? (say.calls ?? []) : []).map(({ name, section, arguments: given }) =>
    Object.assign(
      { name, arguments: JSON.stringify(given) },
      section === undefined ? {} : { namespace: section },
    ),
  );
  const rest = isNative ? { plain: say.plain ?? [] } : say;
  const calls = [...loaded, ...functionsOf(rest, strategy, names)].map((one, at) => {
    const ids = { id: `fc_${round}_${at}`, call_id: `call_${round}_${at}` };
    return Object.assign({ type: "function_call", status }, ids, one);
  });
  return [...(text === undefined ? [] : [message]), ...searches, ...calls];
}

/** Items as an answer of the Responses API. */
function itemsAnswer(asked: Body, output: readonly Body[], round: number): Answer {
  const usage = { input_tokens: 11, output_tokens: 7, total_tokens: 18 };
  const response = {
    id: `resp_${round}`,
    object: "response",
    created_at: 1_700_000_000,
    status: "completed",
    model: "fake-1",
    output,
    usage,
  };
  if (asked["stream"] !== true) return json(response);
  const events = [
    {
      type: "response.created",
      response: { ...response, status: "in_progress", output: [], usage: null },
    },
    ...output.flatMap((item, output_index) => [
      {
        type: "response.output_item.added",
        output_index,
        item: { ...item, status: "in_progress" },
      },
      { type: "response.output_item.done", output_index, item },
    ]),
    { type: "response.completed", response },
  ];
  return sse(
    ...events.map(
      (event, sequence_number) =>
        `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`,
    ),
  );
}

export const backs: readonly Back[] = [
  chatBack("wrap"),
  chatBack("append"),
  responsesBack("wrap"),
  responsesBack("append"),
  responsesBack("native"),
  geminiBack("wrap"),
  geminiBack("append"),
];
