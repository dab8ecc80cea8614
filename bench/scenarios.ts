/** The same conversation for every subject: what is asked, what the model says, what must arrive. */
export type Scenario = {
  /** Also the model's name: it is how the upstream knows which answer to play. */
  readonly id: string;
  readonly title: string;
  readonly stream: boolean;
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  readonly reply: Reply;
  /** `drip` sends every frame as its own packet; `burst` lets the kernel join them. */
  readonly pace: "burst" | "drip";
  /** Requests per second at which CPU is compared: what the slowest subject can still serve. */
  readonly rate: number;
};

type Message = { readonly role: "system" | "user" | "assistant"; readonly content: string };

type Tool = {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
};

/** Text or one call, cut into the fragments that a stream sends. */
export type Reply =
  | { readonly type: "text"; readonly fragments: readonly string[] }
  | { readonly type: "call"; readonly name: string; readonly fragments: readonly string[] };

export type Door = "chat" | "responses" | "messages" | "gemini";

/** Prefixes that route a model to an upstream of another dialect than chat. */
export const prefixes = { messages: "claude-", gemini: "gemini-" } as const;

/** The rows every subject is measured on. */
export const scenarios: readonly Scenario[] = [
  {
    id: "one-tool",
    title: "answer with one tool",
    stream: false,
    messages: [user("What is the weather in Oslo?")],
    tools: [weather()],
    reply: call("get_weather", ['{"city":"Oslo","unit":"celsius"}']),
    pace: "burst",
    rate: 500,
  },
  {
    id: "text-stream",
    title: "stream of 100 deltas",
    stream: true,
    messages: [user("Tell me about Oslo.")],
    tools: [weather()],
    reply: { type: "text", fragments: words(100) },
    pace: "burst",
    rate: 150,
  },
  {
    id: "argument-stream",
    title: "stream of 1,000 argument fragments",
    stream: true,
    messages: [user("Write the report.")],
    tools: [tool("write_file", ["path", "content"])],
    reply: call("write_file", ['{"path":"report.md","content":"', ...words(998), '"}']),
    pace: "burst",
    rate: 25,
  },
  {
    id: "large-request",
    title: "60 kB request with 30 tools",
    stream: false,
    messages: history(),
    tools: Array.from({ length: 30 }, (_, at) => largeTool(at)),
    reply: call("tool_7", ['{"field_0":"north","field_1":"south"}']),
    pace: "burst",
    rate: 250,
  },
  {
    id: "text-drip",
    title: "stream of 100 deltas, a packet each",
    stream: true,
    messages: [user("Tell me about Oslo.")],
    tools: [weather()],
    reply: { type: "text", fragments: words(100) },
    pace: "drip",
    rate: 150,
  },
];

/** One-character argument fragments in one call, to see that time grows with their number only. */
export const longCounts = [250_000, 500_000, 1_000_000] as const;

export function longScenario(count: number): Scenario {
  return { ...scenario("argument-stream"), id: `long-${count}`, title: `${count} fragments` };
}

/** Every model that a subject is asked for. */
export const models = [
  ...scenarios.map((each) => each.id),
  ...longCounts.map((count) => longScenario(count).id),
];

/** The scenario of that id; a mistyped id is a mistake in the bench. */
export function scenario(id: string): Scenario {
  const found = scenarios.find((each) => each.id === id);
  if (!found) throw new Error(`no scenario is called ${id}`);
  return found;
}

/** The request as a client of that door writes it; `prefix` chooses the dialect of the upstream. */
export function requestBody(scenario: Scenario, door: Door, prefix = ""): string {
  const { id, stream, messages, tools } = scenario;
  const model = prefix + id;
  if (door === "messages")
    return JSON.stringify({
      model,
      max_tokens: 4096,
      system: messages
        .filter(({ role }) => role === "system")
        .map(({ content: text }) => ({ type: "text", text })),
      messages: messages.filter(({ role }) => role !== "system"),
      tools: tools.map(({ name, description, parameters }) => ({
        name,
        description,
        input_schema: parameters,
      })),
      stream,
    });
  if (door === "gemini") return geminiBody(scenario);
  if (door === "chat")
    return JSON.stringify({
      model,
      messages,
      tools: tools.map((each) => ({ type: "function", function: each })),
      stream,
    });
  return JSON.stringify({
    model,
    input: messages,
    tools: tools.map(({ name, description, parameters }) => ({
      type: "function",
      name,
      description,
      parameters,
      strict: false,
    })),
    stream,
  });
}

/** The path of the request, which names the model in one dialect. */
export function requestPath({ id, stream }: Scenario, door: Door, prefix = ""): string {
  const action = stream ? "streamGenerateContent?alt=sse" : "generateContent";
  return door === "gemini" ? `/v1beta/models/${prefix}${id}:${action}` : paths[door];
}

const paths = {
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
  messages: "/v1/messages",
} as const;

function geminiBody({ messages, tools }: Scenario): string {
  const system = messages.filter(({ role }) => role === "system");
  return JSON.stringify({
    contents: messages
      .filter(({ role }) => role !== "system")
      .map(({ role, content: text }) => ({
        role: role === "user" ? "user" : "model",
        parts: [{ text }],
      })),
    ...(system.length > 0 && {
      systemInstruction: { parts: system.map(({ content: text }) => ({ text })) },
    }),
    tools: [
      {
        functionDeclarations: tools.map(({ name, description, parameters }) => ({
          name,
          description,
          parametersJsonSchema: parameters,
        })),
      },
    ],
  });
}

function user(content: string): Message {
  return { role: "user", content };
}

function call(name: string, fragments: readonly string[]): Reply {
  return { type: "call", name, fragments };
}

function weather(): Tool {
  return tool("get_weather", ["city", "unit"]);
}

function tool(name: string, fields: readonly string[]): Tool {
  return {
    name,
    description: `Does what ${name} says, once, and reports what came of it.`,
    parameters: {
      type: "object",
      properties: Object.fromEntries(fields.map((field) => [field, { type: "string" }])),
      required: fields,
      additionalProperties: false,
    },
  };
}

/** About 1.5 kB of JSON, with the nesting that real tool sets have. */
function largeTool(at: number): Tool {
  const field = (number: number): [string, unknown] => [
    `field_${number}`,
    number % 4 === 3
      ? { type: "array", items: { type: "string", enum: ["north", "east", "south", "west"] } }
      : { type: "string", description: `Part ${number} of the order: ${words(8).join("")}` },
  ];
  return {
    name: `tool_${at}`,
    description: `Number ${at} of the set. ${words(30).join("")}`,
    parameters: {
      type: "object",
      properties: Object.fromEntries(Array.from({ length: 12 }, (_, number) => field(number))),
      required: ["field_0", "field_1"],
      additionalProperties: false,
    },
  };
}

function history(): Message[] {
  const turns = Array.from({ length: 8 }, (_, at): Message => ({
    role: at % 2 === 0 ? "user" : "assistant",
    content: words(195).join(""),
  }));
  return [{ role: "system", content: words(280).join("") }, ...turns, user("Now use a tool.")];
}

/** Plain words of varied length, the same on every run. */
function words(count: number): string[] {
  const stock = ["The ", "harbour ", "lies ", "below ", "the ", "old ", "fortress, ", "and "];
  return Array.from({ length: count }, (_, at) => stock[(at * 5 + (at >> 3)) % 8] ?? "");
}
