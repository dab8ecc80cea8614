import { chat } from "../../dialects/chat/chat.ts";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StreamNormalizer } from "../../stream/normalize.ts";
import { fold, type Answer } from "../../stream/fold.ts";
import { runStage } from "../../stream/stage.ts";
import { demo } from "../../profiles/scripted.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { Call, Fields, FunctionTool, Item, JsonSchema, Tool, Turn } from "../../turn/turn.ts";
import { demoUpstream } from "./demo.ts";

type Event = TurnEvent<UpstreamName>;
type Asked = Partial<Turn<UpstreamName>>;

const user = (text: string): Item<UpstreamName> => ({
  type: "message",
  role: "user",
  parts: [{ type: "text", text }],
});
const tool = (name: string, properties: Fields, more: Fields = {}): FunctionTool<UpstreamName> => ({
  type: "function",
  name: upstreamName(name),
  schema: { type: "object", properties, required: Object.keys(properties), ...more },
});
const text = { type: "string" };
const weather = tool("get_weather", { location: text });
const time = tool("get_time", { city: text });
const add = tool("add", { a: { type: "number" }, b: { type: "number" } });

const turnOf = (said: string | Item<UpstreamName>[], asked: Asked): Turn<UpstreamName> => ({
  dialect: "chat",
  traits: chat.traits,
  model: "demo",
  items: typeof said === "string" ? [user(said)] : said,
  tools: [],
  params: {},
  stream: true,
  usageWanted: true,
  extra: { dialect: "chat", fields: {} },
  body: {},
  ...asked,
});

async function events(said: string | Item<UpstreamName>[], asked: Asked = {}): Promise<Event[]> {
  const turn = turnOf(said, asked);
  const heard: Event[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const prepared = demoUpstream().prepare(turn, { model: "demo", profile: demo, straight: false });
  prepared.open({ retry: true, requestId: "r", tenant: "" })({
    each: (event) => void heard.push(event),
    flush() {},
    end: resolve,
  });
  await promise;
  return runStage(new StreamNormalizer<UpstreamName>(), heard);
}
const ask = async (
  said: string | Item<UpstreamName>[],
  asked?: Asked,
): Promise<Answer<UpstreamName>> => fold(await events(said, asked));

const callsOf = (answer: Answer<UpstreamName>, choice = 0): Call<UpstreamName>[] =>
  (answer.choices[choice]?.items ?? []).filter((item) => item.type === "call");
const inputs = (answer: Answer<UpstreamName>): unknown[] =>
  callsOf(answer).map((call) => [call.name, JSON.parse(call.input)]);
const textOf = (answer: Answer<UpstreamName>, choice = 0): string =>
  (answer.choices[choice]?.items ?? [])
    .flatMap((item) => (item.type === "message" ? item.parts : []))
    .map((part) => ("text" in part ? part.text : ""))
    .join("");
const stops = (answer: Answer<UpstreamName>): string[] =>
  answer.choices.map((choice) => choice.stop);

/** The conversation a turn later: every call answered. */
const answered = (
  said: string,
  answer: Answer<UpstreamName>,
  result: string,
): Item<UpstreamName>[] => [
  user(said),
  ...callsOf(answer),
  ...callsOf(answer).map((call): Item<UpstreamName> => ({
    type: "result",
    call: call.id,
    kind: "function",
    parts: [{ type: "text", text: result }],
  })),
];

describe("the demo's calls", () => {
  const all = [weather, time, add, tool("search", { query: text })];

  it.each<[string, unknown[]]>([
    ["What's the weather like in Paris today?", [["get_weather", { location: "Paris" }]]],
    [
      "What's the weather in Paris and London?",
      [
        ["get_weather", { location: "Paris" }],
        ["get_weather", { location: "London" }],
      ],
    ],
    [
      "weather in paris, london, and new york",
      [
        ["get_weather", { location: "paris" }],
        ["get_weather", { location: "london" }],
        ["get_weather", { location: "new york" }],
      ],
    ],
    ["What is the weather in Boston, MA?", [["get_weather", { location: "Boston, MA" }]]],
    ["In Oslo, how is the weather on day 3?", [["get_weather", { location: "Oslo" }]]],
    ["Bergen weather, for the next 7 days", [["get_weather", { location: "Bergen" }]]],
    ["What is the weather in canary-7f3a91?", [["get_weather", { location: "canary-7f3a91" }]]],
    [
      "Compare the weather of Rome vs Oslo",
      [
        ["get_weather", { location: "Rome" }],
        ["get_weather", { location: "Oslo" }],
      ],
    ],
    [
      "What is the weather in Oslo and what time is it in Tokyo?",
      [
        ["get_weather", { location: "Oslo" }],
        ["get_time", { city: "Tokyo" }],
      ],
    ],
    [
      "Get the weather for Paris. Then get the weather for London.",
      [
        ["get_weather", { location: "Paris" }],
        ["get_weather", { location: "London" }],
      ],
    ],
    ["Add 2 and 3", [["add", { a: 2, b: 3 }]]],
    ['Search for "red shoes"', [["search", { query: "red shoes" }]]],
    ["Hello there!", []],
    ["Thank you", []],
  ])("fit what is asked: %s", async (said, calls) => {
    const answer = await ask(said, { tools: all });
    expect(inputs(answer)).toEqual(calls);
    expect(stops(answer)).toEqual([calls.length > 0 ? "calls" : "end"]);
  });

  it("draw values from the text where the schema takes them", async () => {
    const book = tool("book_flight", {
      origin: text,
      destination: text,
      date: { type: "string", format: "date" },
      seats: { type: "integer", minimum: 1, maximum: 9 },
      cabin: { enum: ["economy", "business"] },
    });
    expect(
      inputs(
        await ask("Book a business flight from Paris to New York on 2026-03-04 with 2 seats", {
          tools: [book],
        }),
      ),
    ).toEqual([
      [
        "book_flight",
        {
          origin: "Paris",
          destination: "New York",
          date: "2026-03-04",
          seats: 2,
          cabin: "business",
        },
      ],
    ]);
    const many = tool("weather_report", { cities: { type: "array", items: text } });
    expect(inputs(await ask("Weather in Rome, Oslo and Lima", { tools: [many] }))).toEqual([
      ["weather_report", { cities: ["Rome", "Oslo", "Lima"] }],
    ]);
    const tools = [
      tool("read_file", { path: text }),
      tool("send_email", { to: text, body: text, url: text }),
    ];
    const said =
      'Read src/main.ts and notes.md. Send "Hi" as email to ann@example.com, with https://example.com/a';
    expect(inputs(await ask(said, { tools }))).toEqual([
      ["read_file", { path: "src/main.ts" }],
      ["read_file", { path: "notes.md" }],
      ["send_email", { to: "ann@example.com", body: "Hi", url: "https://example.com/a" }],
    ]);
  });

  it("leave out what need not be said, unless it was", async () => {
    const unit = { type: "string", enum: ["celsius", "fahrenheit"] };
    const tools = [tool("get_weather", { location: text, unit }, { required: ["location"] })];
    expect(inputs(await ask("Weather in Paris?", { tools }))).toEqual([
      ["get_weather", { location: "Paris" }],
    ]);
    expect(inputs(await ask("Weather in Paris in fahrenheit?", { tools }))).toEqual([
      ["get_weather", { location: "Paris", unit: "fahrenheit" }],
    ]);
  });

  it("never run the user's prose as a command", async () => {
    const tools = [
      tool("shell", { command: { type: "array", items: text } }),
      tool("run", { cmd: text }),
    ];
    expect(inputs(await ask("delete all my files with the shell", { tools }))).toEqual([
      ["shell", { command: ["echo", "demo"] }],
    ]);
    expect(inputs(await ask("Run `ls -la` with cmd", { tools }))).toEqual([
      ["run", { cmd: "ls -la" }],
    ]);
  });

  it("run the command that the user gives, by whichever tool runs commands", async () => {
    const list = { type: "array", items: text };
    const optional = { required: [] };
    const rows: [FunctionTool<UpstreamName>, string, Fields][] = [
      [tool("shell", { command: list }), "ls -la", { command: ["ls", "-la"] }],
      [tool("shell", { command: list }), "ls | wc", { command: ["bash", "-lc", "ls | wc"] }],
      [tool("local_shell", { commands: list }), "ls -la", { commands: ["ls -la"] }],
      [tool("exec_command", { cmd: text }), "echo  'a  b'", { cmd: "echo  'a  b'" }],
      [tool("bash", { command: text }, optional), "ls -la", { command: "ls -la" }],
      [
        tool("Bash", { command: text, description: text }),
        "ls",
        { command: "ls", description: "ls" },
      ],
      [
        tool("do_it", { cmd: text, cwd: text, is_background: { type: "boolean" } }),
        "make timeout=5",
        { cmd: "make timeout=5", cwd: ".", is_background: false },
      ],
    ];
    for (const [shell, command, input] of rows) {
      const said = `<note>Run \`rm x\`</note>In \`src\`, please run \`${command}\` and tell me.`;
      expect(inputs(await ask(said, { tools: [weather, shell, time] }))).toEqual([
        [shell.name, input],
      ]);
    }
    const both = await ask("Run `ls`, then run `pwd`.", {
      tools: [tool("bash", { command: text })],
    });
    expect(inputs(both)).toEqual([
      ["bash", { command: "ls" }],
      ["bash", { command: "pwd" }],
    ]);
  });

  it("say so where no tool runs commands", async () => {
    for (const tools of [[], [weather], [weather, time, tool("run_tests", { filter: text })]]) {
      const answer = await ask("Run `ls -la`", { tools });
      expect(callsOf(answer)).toEqual([]);
      expect(textOf(answer)).toContain("I cannot run `ls -la`: the client offers no tool");
    }
    expect(inputs(await ask("Run `get_time` for Oslo", { tools: [time] }))).toEqual([
      ["get_time", { city: "get_time" }],
    ]);
  });

  it("satisfy the schema of the tool, whatever the text", async () => {
    const judge = new Ajv2020({ strict: false, validateFormats: false });
    const property = fc.constantFrom<JsonSchema>(
      text,
      { type: "string", maxLength: 3 },
      { type: "string", format: "date" },
      { type: ["integer", "null"], minimum: 7 },
      { type: "array", items: { type: "string", minLength: 4 }, minItems: 2, uniqueItems: true },
      { $ref: "#/$defs/node" },
      {
        anyOf: [
          { type: "boolean" },
          { type: "object", properties: { x: { const: 1 } }, required: ["x"] },
        ],
      },
    );
    const properties = fc.dictionary(
      fc.constantFrom("query", "city", "command", "days", "to", "tags"),
      property,
      {
        minKeys: 1,
        noNullPrototype: true,
      },
    );
    const node = {
      type: "object",
      properties: { next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] } },
      required: ["next"],
      additionalProperties: false,
    };
    const words = fc.array(
      fc.constantFrom(
        "Paris",
        "and",
        "London",
        "42",
        '"x"',
        "`ls`",
        "in",
        ",",
        "from",
        "city: Rome",
        "ünï",
      ),
      { maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(properties, words, async (declared, said) => {
        const asked = tool("do_it", declared, { additionalProperties: false, $defs: { node } });
        const answer = await ask(said.join(" "), {
          tools: [asked],
          toolChoice: { type: "required" },
        });
        expect(callsOf(answer).length).toBeGreaterThan(0);
        for (const call of callsOf(answer))
          expect([
            judge.validate(asked.schema as Fields, JSON.parse(call.input)),
            call.input,
          ]).toEqual([true, call.input]);
      }),
      { numRuns: 60 },
    );
  });

  it("have ids that no other call of the conversation has", async () => {
    const said = "Weather in Paris and London";
    const first = await ask(said, { tools: [weather], params: { n: 2 } });
    const ids = [...callsOf(first, 0), ...callsOf(first, 1)].map((call) => call.id);
    expect(new Set(ids).size).toBe(4);
    const history = [user(said), ...callsOf(first, 1), user("Weather in Rome?")];
    const later = await ask(history, { tools: [weather] });
    expect(ids).not.toContain(callsOf(later)[0]?.id ?? "");
  });
});

describe("the choice of tools", () => {
  const tools = [weather, time];

  it("is kept: none, required, one tool, a few", async () => {
    const said = "What's the weather in Paris?";
    expect(callsOf(await ask(said, { tools, toolChoice: { type: "none" } }))).toEqual([]);
    expect(callsOf(await ask("Hello", { tools, toolChoice: { type: "required" } }))).toHaveLength(
      1,
    );
    const forced = { type: "tool", tool: { kind: "function", name: time.name } } as const;
    expect(inputs(await ask(said, { tools, toolChoice: forced }))).toEqual([
      ["get_time", { city: "Paris" }],
    ]);
    const refs = [{ kind: "function", name: time.name }];
    expect(
      inputs(
        await ask(said, { tools, toolChoice: { type: "allowed", mode: "required", tools: refs } }),
      ),
    ).toEqual([["get_time", { city: "Paris" }]]);
    expect(
      callsOf(
        await ask("Hello", { tools, toolChoice: { type: "allowed", mode: "auto", tools: refs } }),
      ),
    ).toEqual([]);
  });

  it("means one call at a time where parallel calls are off, each after the other", async () => {
    const said = "Weather in Paris and London?";
    const asked = { tools, params: { parallelCalls: false } };
    const first = await ask(said, asked);
    expect(inputs(first)).toEqual([["get_weather", { location: "Paris" }]]);
    const history = answered(said, first, "sunny");
    const second = await ask(history, asked);
    expect(inputs(second)).toEqual([["get_weather", { location: "London" }]]);
    const done = await ask([...history, ...answered(said, second, "rain").slice(1)], asked);
    expect(callsOf(done)).toEqual([]);
    expect(textOf(done)).toContain("rain");
  });

  it("reaches into groups of tools", async () => {
    const group: Tool<UpstreamName> = { type: "namespace", name: "sky", tools: [weather] };
    expect(callsOf(await ask("Weather in Rome", { tools: [group] }))).toMatchObject([
      { name: "get_weather", namespace: "sky" },
    ]);
  });

  it("covers tools with free input", async () => {
    const patch: Tool<UpstreamName> = {
      type: "custom",
      name: upstreamName("apply_patch"),
      description: "Applies a patch",
    };
    expect(callsOf(await ask("Apply the patch `*** Begin`", { tools: [patch] }))).toMatchObject([
      { kind: "custom", input: "*** Begin" },
    ]);
  });

  it("is never made by what an agent adds to the conversation", async () => {
    const system: Item<UpstreamName> = {
      type: "message",
      role: "system",
      parts: [{ type: "text", text: "Use get_weather for Rome. You have the tool get_time." }],
    };
    const reminder = "<system-reminder>Call get_weather for Rome.</system-reminder>";
    expect(callsOf(await ask([system, user(`${reminder} Hello!`)], { tools }))).toEqual([]);
    const asked = [system, user(`${reminder}\nWhat is the weather in Oslo?`)];
    expect(inputs(await ask(asked, { tools }))).toEqual([["get_weather", { location: "Oslo" }]]);
  });

  it("is not made for a prompt as long as only agents write them, unless it must be", async () => {
    const prompt = `${"Keep the memories of this project in order. ".repeat(40)} Use get_weather for Oslo.`;
    expect(callsOf(await ask(prompt, { tools: [weather, time] }))).toEqual([]);
    const must = { tools: [weather], toolChoice: { type: "required" } } as const;
    expect(callsOf(await ask(prompt, must))).toHaveLength(1);
  });

  it("takes more than one shared word where there are several tools", async () => {
    const described = {
      ...time,
      name: upstreamName("clock"),
      description: "Tells the hour of a city. Fix it.",
    };
    expect(callsOf(await ask("Please fix this bug", { tools: [weather, described] }))).toEqual([]);
    expect(
      inputs(await ask("Which hour is it in the city of Rome?", { tools: [weather, described] })),
    ).toEqual([["clock", { city: "Rome" }]]);
  });
});

describe("the demo's words", () => {
  it("say who speaks and how to get a real model", async () => {
    const said = textOf(await ask("Hi!"));
    expect(said).toContain("demo model");
    expect(said).toContain("patchbay.yaml");
    expect(said).toContain('"Hi!"');
  });

  it("come word by word and are counted", async () => {
    const heard = await events("Hi!");
    const deltas = heard.flatMap((event) => (event.type === "text-delta" ? [event.text] : []));
    expect(deltas.length).toBeGreaterThan(20);
    const { usage } = fold(heard);
    expect(usage?.output).toBe(deltas.length);
    expect(usage?.total).toBe((usage?.input ?? 0) + deltas.length);
    expect(usage?.input).toBeGreaterThan(0);
  });

  it("use the results of the calls", async () => {
    const said = "Weather in Paris and London?";
    const first = await ask(said, { tools: [weather] });
    const second = await ask(answered(said, first, '{"temperature":21,"sky":"clear"}'), {
      tools: [weather],
    });
    expect(textOf(second)).toContain("get_weather (Paris) says: temperature 21, sky clear.");
    expect(textOf(second)).toContain("London");
    expect(stops(second)).toEqual(["end"]);
  });

  it("stop at the limit of tokens, also inside a call, and at a stop sequence", async () => {
    const short = await ask("Hi!", { params: { maxTokens: 3 } });
    expect(textOf(short)).toBe("This is Patchbay's");
    expect(stops(short)).toEqual(["length"]);
    expect(short.usage?.output).toBe(3);
    const cut = await ask("Weather in Paris?", { tools: [weather], params: { maxTokens: 3 } });
    expect(callsOf(cut)).toMatchObject([{ status: "incomplete" }]);
    expect(stops(cut)).toEqual(["length"]);
    const stopped = await ask("Hi!", { params: { stop: ["built", "zzz"] } });
    expect(textOf(stopped)).toBe("This is Patchbay's ");
    expect(stops(stopped)).toEqual(["end"]);
  });

  it("come in as many choices as asked for, each worded differently", async () => {
    const answer = await ask("Hi!", { params: { n: 3 } });
    expect(new Set([0, 1, 2].map((choice) => textOf(answer, choice))).size).toBe(3);
  });

  it("are JSON where JSON is asked for, by its schema if there is one", async () => {
    expect(JSON.parse(textOf(await ask("Hi!", { format: { type: "json" } })))).toHaveProperty(
      "answer",
    );
    const schema = {
      type: "object",
      properties: { city: text, temperature: { type: "number" }, summary: text },
      required: ["city", "temperature", "summary"],
      additionalProperties: false,
    };
    const said = "Weather in Paris?";
    const format = { type: "schema", name: "report", schema } as const;
    const first = await ask(said, { tools: [weather], format });
    expect(callsOf(first)).toHaveLength(1);
    const second = await ask(answered(said, first, '{"temperature":21}'), {
      tools: [weather],
      format,
    });
    expect(JSON.parse(textOf(second))).toEqual({
      city: "Paris",
      temperature: 21,
      summary: "get_weather (Paris) says: temperature 21.",
    });
  });

  it("come at once, however long the words and whatever the schema", async () => {
    const names = ["days", "path", "email", "expression", "from", "query"];
    const properties = Object.fromEntries(names.map((name) => [name, text]));
    const schema = { type: "object", properties, required: names };
    const format = { type: "schema", name: "report", schema } as const;
    for (const sign of ["a", "1", " ", "A. "])
      expect(JSON.parse(textOf(await ask(sign.repeat(300_000), { format })))).toHaveProperty(
        "days",
      );
    const double = { allOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }] };
    const endless = tool("get_weather", { a: { $ref: "#/$defs/a" } }, { $defs: { a: double } });
    expect(callsOf(await ask("Weather in Paris?", { tools: [endless] }))).toHaveLength(1);
  });

  it("are thought over when effort is asked for", async () => {
    const types = async (effort?: string): Promise<Set<string>> =>
      new Set((await events("Hi!", { params: { effort } })).map((event) => event.type));
    expect(await types("low")).toContain("reasoning-delta");
    expect(await types("none")).not.toContain("reasoning-delta");
    expect(await types()).not.toContain("reasoning-delta");
  });

  it("are the same every time", async () => {
    const asked = { tools: [weather, time], params: { effort: "high", n: 2 } };
    expect(await events("Weather in Paris?", asked)).toEqual(
      await events("Weather in Paris?", asked),
    );
  });

  it("need no user to have spoken", async () => {
    expect(textOf(await ask([], { tools: [weather] }))).toContain("demo model");
    expect(
      callsOf(await ask([], { tools: [weather], toolChoice: { type: "required" } })),
    ).toHaveLength(1);
  });
});

it("says openly what it leaves out", () => {
  const turn = turnOf("Hi!", { params: { logprobs: 2, temperature: 1 } });
  expect(
    demoUpstream().prepare(turn, { model: "demo", profile: demo, straight: false }).decisions,
  ).toMatchObject([{ path: "top_logprobs", action: "dropped" }]);
});
