/**
 * Counts what one warm turn executes: distinct functions of `src`, their calls, the files they
 * are in, and the bytes allocated. V8 does the counting, so every run gives the same numbers.
 *
 * `node bench/turn-counts.ts` prints a table; with `--json` it prints the figures, which
 * `src/architecture.test.ts` compares with its budgets. With `--turn "chat on chat"` it prints each
 * function of that turn with its number of calls, by file.
 */

import { createServer, type Server } from "node:http";
import { Session } from "node:inspector";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { getHeapStatistics } from "node:v8";
import { createGateway, type Exchange, type Gateway } from "../src/index.ts";
import { nodeRuntime } from "../src/host/platform/node.ts";
import type { Connect, HttpRequest, ResponseHandler } from "../src/upstreams/http/transport.ts";
import { geminiChunks } from "./gemini-answers.ts";
import {
  prefixes,
  requestBody,
  requestPath,
  scenarios,
  type Door,
  type Scenario,
} from "./scenarios.ts";

export type TurnCounts = {
  readonly files: number;
  readonly functions: number;
  readonly calls: number;
  readonly kilobytes: number;
  /** Calls of each function, by file. */
  readonly byFile: ReadonlyMap<string, ReadonlyMap<string, number>>;
};

type Turn = () => Promise<void>;

/** Needs what a log at its default level needs. */
const silent = Object.assign(() => {}, { types: ["turn", "refusal", "fallback"] as const });

const WARM_TURNS = 40;
const COUNTED_TURNS = 5;
/** V8 counts bytes in steps of some hundred kilobytes, so that only many turns tell the bytes of one. */
const MEASURED_TURNS = 120;
const sources = new URL("../src/", import.meta.url).href;

/** Calls of each function of `src` while a turn runs. */
async function countTurn(session: Session, turn: Turn): Promise<TurnCounts> {
  for (let at = 0; at < WARM_TURNS; at++) await turn();
  take(session);
  let least: Omit<TurnCounts, "kilobytes"> | undefined;
  for (let at = 0; at < COUNTED_TURNS; at++) {
    await turn();
    const counted = take(session);
    // A timer of the gateway may fall into a turn; the least count is that of a turn alone.
    if (least === undefined || counted.calls < least.calls) least = counted;
  }
  if (least === undefined) throw new Error("no turn was counted");
  return { ...least, kilobytes: 0 };
}

async function kilobytesOf(turn: Turn): Promise<number> {
  for (let at = 0; at < MEASURED_TURNS; at++) await turn();
  const before = allocated();
  for (let at = 0; at < MEASURED_TURNS; at++) await turn();
  return Math.round((allocated() - before) / MEASURED_TURNS / 1024);
}

const allocated = (): number =>
  (getHeapStatistics() as { readonly total_allocated_bytes?: number }).total_allocated_bytes ?? 0;

type Coverage = {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly count: number; readonly startOffset: number }[];
    }[];
  }[];
};

/** The counts since the last call. */
function take(session: Session): Omit<TurnCounts, "kilobytes"> {
  const byFile = new Map<string, Map<string, number>>();
  let functions = 0;
  let calls = 0;
  session.post("Profiler.takePreciseCoverage", (error, taken: Coverage) => {
    if (error) throw error;
    for (const { url, functions: list } of taken.result) {
      if (!url.startsWith(sources)) continue;
      for (const { functionName, ranges } of list) {
        const [range] = ranges;
        const count = range?.count ?? 0;
        if (range === undefined || count === 0) continue;
        const file = url.slice(sources.length);
        const called = byFile.get(file) ?? new Map<string, number>();
        byFile.set(file, called.set(functionName || `(at ${range.startOffset})`, count));
        functions++;
        calls += count;
      }
    }
  });
  return { files: byFile.size, functions, calls, byFile };
}

/* The three standard turns: through `fetch`, to an HTTP upstream on loopback. */

const look = { name: "look", description: "Looks.", parameters: { type: "object" } };
const asFunction = (tool: typeof look) => ({ type: "function", function: tool });
const toolNames = Array.from({ length: 300 }, (_, at) => `server_${at % 10}_tool_${at}`);

const chatFrames = (deltas: readonly unknown[], finish: string): string =>
  [
    ...deltas.map((delta) => ({ index: 0, delta, finish_reason: null })),
    { index: 0, delta: {}, finish_reason: finish },
  ]
    .map(
      (choice) =>
        `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m", choices: [choice] })}\n\n`,
    )
    .join("") + "data: [DONE]\n\n";

const chatCall = chatFrames(
  [
    { role: "assistant", content: null },
    {
      tool_calls: [
        { index: 0, id: "call_1", type: "function", function: { name: "look", arguments: "" } },
      ],
    },
    { tool_calls: [{ index: 0, function: { arguments: '{"at":1}' } }] },
  ],
  "tool_calls",
);

const chatText = chatFrames(
  [{ role: "assistant", content: "Well" }, { content: " done." }],
  "stop",
);

function responsesCall(): string {
  const item = { id: "fc_1", type: "function_call", call_id: "call_1", name: "look" };
  const whole = '{"at":1}';
  const base = { id: "resp_1", object: "response", created_at: 1, model: "m", error: null };
  const usage = {
    input_tokens: 9,
    output_tokens: 5,
    total_tokens: 14,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  const done = { ...item, arguments: whole, status: "completed" };
  const place = { item_id: "fc_1", output_index: 0 };
  const events: readonly Record<string, unknown>[] = [
    { type: "response.created", response: { ...base, status: "in_progress", output: [] } },
    { type: "response.in_progress", response: { ...base, status: "in_progress", output: [] } },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { ...item, arguments: "", status: "in_progress" },
    },
    { type: "response.function_call_arguments.delta", ...place, delta: whole },
    { type: "response.function_call_arguments.done", ...place, arguments: whole },
    { type: "response.output_item.done", output_index: 0, item: done },
    {
      type: "response.completed",
      response: { ...base, status: "completed", output: [done], usage },
    },
  ];
  return events
    .map(
      (event, at) =>
        `event: ${String(event["type"])}\ndata: ${JSON.stringify({ ...event, sequence_number: at })}\n\n`,
    )
    .join("");
}

const chatRequest = {
  model: "chat",
  stream: true,
  messages: [{ role: "user", content: "Look." }],
  tools: [asFunction(look)],
};

const foldedRequest = {
  model: "folded",
  stream: true,
  messages: [
    { role: "user", content: "Look." },
    {
      role: "assistant",
      content: null,
      tool_calls: [
        { id: "call_1", type: "function", function: { name: toolNames[7], arguments: "{}" } },
      ],
    },
    { role: "tool", tool_call_id: "call_1", content: "Found." },
  ],
  tools: toolNames.map((name) => asFunction({ ...look, name, description: `Does ${name}.` })),
};

const messagesRequest = {
  model: "responses",
  stream: true,
  max_tokens: 100,
  messages: [{ role: "user", content: "Look." }],
  tools: [{ name: "look", description: "Looks.", input_schema: { type: "object" } }],
};

type Standard = { readonly title: string; readonly path: string; readonly body: unknown };

const standards: readonly Standard[] = [
  { title: "chat on chat", path: "/v1/chat/completions", body: chatRequest },
  { title: "Messages on Responses", path: "/v1/messages", body: messagesRequest },
  { title: "300 folded tools", path: "/v1/chat/completions", body: foldedRequest },
];

function standardUpstream(): Server {
  return createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (piece: string) => void (text += piece));
    request.on("end", () => {
      const isChat = request.url?.endsWith("/chat/completions") === true;
      response.writeHead(200, { "content-type": "text/event-stream" });
      const said = text.includes('"role":"tool"') ? chatText : chatCall;
      response.end(isChat ? said : responsesCall());
    });
  });
}

async function countStandards(session: Session): Promise<[string, TurnCounts][]> {
  const upstream = standardUpstream();
  await new Promise<void>((resolve) => void upstream.listen(0, "127.0.0.1", resolve));
  const base_url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;
  await using gateway = createGateway(
    {
      upstreams: {
        chat: { dialect: "chat", base_url },
        responses: { dialect: "responses", base_url },
        narrow: { dialect: "chat", base_url, capabilities: { tools: { max: 128 } } },
      },
      models: { chat: "chat/m", responses: "responses/m", folded: "narrow/m", "*": "chat/m" },
      store: { kind: "memory" },
    },
    { report: silent },
  );
  const rows: [string, TurnCounts][] = [];
  for (const { title, path, body } of standards) {
    const text = JSON.stringify(body);
    const turn = async (): Promise<void> => {
      const response = await gateway.fetch(
        new Request(`http://127.0.0.1${path}`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: text,
        }),
      );
      const answer = await response.text();
      if (!response.ok) throw new Error(answer);
      await settled();
    };
    rows.push([title, { ...(await countTurn(session, turn)), kilobytes: await kilobytesOf(turn) }]);
  }
  upstream.closeAllConnections();
  upstream.close();
  return rows;
}

/* The rows of the bench, without sockets. */

/** Plays an answer piece by piece, as undici hands over the chunks of one network read. */
const scripted: Connect = () => ({
  send(request: HttpRequest, handler: ResponseHandler) {
    const inPath = /\/models\/([\w-]+):/.exec(request.path)?.[1];
    const model = inPath ?? modelIn(request.body ?? new Uint8Array());
    const scenario = scenarios.find(({ id }) => id === model);
    if (scenario === undefined) throw new Error(`no scenario is called ${model}`);
    const controller = { pause() {}, resume() {}, abort() {} };
    const { headers, pieces } = answerTo(scenario, inPath === undefined);
    handler.onRequestStart(controller);
    setImmediate(() => {
      handler.onResponseStart(controller, 200, headers);
      for (const piece of pieces) handler.onResponseData(controller, piece);
      handler.onResponseEnd();
    });
  },
  encode: (text) => Buffer.from(text),
  newDecoder: () => {
    const decoder = new TextDecoder();
    return {
      write: (chunk) => decoder.decode(chunk, { stream: true }),
      end: () => decoder.decode(),
    };
  },
  close: async () => {},
});

/** The model of a request. It is not parsed: what that allocates is not the gateway's. */
function modelIn({ buffer, byteOffset, byteLength }: Uint8Array): string {
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  const start = bytes.indexOf('"model":"') + '"model":"'.length;
  return bytes.toString("latin1", start, bytes.indexOf('"', start));
}

type Played = { readonly headers: Record<string, string>; readonly pieces: readonly Buffer[] };
const played = new Map<string, Played>();

function answerTo(scenario: Scenario, isChat: boolean): Played {
  const key = `${scenario.id} ${isChat}`;
  let made = played.get(key);
  if (made === undefined)
    played.set(key, (made = isChat ? playedAnswer(scenario) : playedChunks(scenario)));
  return made;
}

function playedChunks(scenario: Scenario): Played {
  const chunks = geminiChunks(scenario);
  const { stream } = scenario;
  return {
    headers: { "content-type": stream ? "text/event-stream" : "application/json" },
    pieces: chunks.map((chunk) => Buffer.from(stream ? `data: ${chunk}\r\n\r\n` : chunk)),
  };
}

function playedAnswer({ reply, stream, id }: Scenario): Played {
  const isCall = reply.type === "call";
  const finish = isCall ? "tool_calls" : "stop";
  const name = isCall ? reply.name : "";
  const callOf = (text: string) => ({
    id: "call_1",
    type: "function",
    function: { name, arguments: text },
  });
  const base = { id: "chatcmpl-1", created: 1, model: id };
  if (!stream) {
    const text = reply.fragments.join("");
    const message = isCall
      ? { role: "assistant", content: null, tool_calls: [callOf(text)] }
      : { role: "assistant", content: text };
    const usage = { prompt_tokens: 400, completion_tokens: 100, total_tokens: 500 };
    const choices = [{ index: 0, message, finish_reason: finish }];
    const body = { ...base, object: "chat.completion", choices, usage };
    return {
      headers: { "content-type": "application/json" },
      pieces: [Buffer.from(JSON.stringify(body))],
    };
  }
  const opening = isCall
    ? { role: "assistant", content: null, tool_calls: [{ index: 0, ...callOf("") }] }
    : { role: "assistant", content: "" };
  const deltas = reply.fragments.map((text) =>
    isCall ? { tool_calls: [{ index: 0, function: { arguments: text } }] } : { content: text },
  );
  const text = chatFrames([opening, ...deltas], finish);
  const pieces = text.split(/(?<=\n\n)/).map((piece) => Buffer.from(piece));
  return { headers: { "content-type": "text/event-stream" }, pieces };
}

type Way = { readonly title: string; readonly door: Door; readonly prefix?: string };

const ways: readonly Way[] = [
  { title: "chat", door: "chat" },
  { title: "responses", door: "responses" },
  { title: "messages", door: "messages" },
  { title: "gemini", door: "gemini" },
  { title: "chat on gemini", door: "chat", prefix: prefixes.gemini },
];

/** The turns of one row do not fill the lists that a gateway keeps, so that rows do not depend on each other. */
const newGateway = (): Gateway =>
  createGateway(
    {
      upstreams: {
        chat: { dialect: "chat", base_url: "http://127.0.0.1:9/v1" },
        gemini: { dialect: "gemini", base_url: "http://127.0.0.1:9/v1" },
      },
      models: {
        ...Object.fromEntries(scenarios.map(({ id }) => [prefixes.gemini + id, `gemini/${id}`])),
        "*": "chat/*",
      },
      store: { kind: "memory" },
    },
    { report: silent, runtime: { ...nodeRuntime, connect: scripted } },
  );

async function countScenarios(session: Session): Promise<[string, TurnCounts][]> {
  const rows: [string, TurnCounts][] = [];
  for (const { title, door, prefix } of ways)
    for (const scenario of scenarios.filter(({ pace }) => pace === "burst")) {
      await using gateway = newGateway();
      const body = requestBody(scenario, door, prefix);
      const path = requestPath(scenario, door, prefix);
      const turn = (): Promise<void> => handled(gateway, path, body);
      const counts = await countTurn(session, turn);
      rows.push([`${title}: ${scenario.title}`, { ...counts, kilobytes: await kilobytesOf(turn) }]);
    }
  return rows;
}

async function handled(gateway: Gateway, path: string, body: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let status = 0;
  const reply: Exchange["reply"] = {
    head: (given) => void (status = given),
    write: () => true,
    end: (data) => (status === 200 ? resolve() : reject(new Error(String(data)))),
    onDrain() {},
    onLeave() {},
  };
  const headers = { "content-type": "application/json", "content-length": String(body.length) };
  const [route = path, query = ""] = path.split("?");
  gateway.handle({ method: "POST", path: route, query, headers, body, reply });
  await promise;
  await settled();
}

/** What a turn leaves for later, such as its record, belongs to it. */
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** All rows, by their titles. */
export async function turnCounts(): Promise<ReadonlyMap<string, TurnCounts>> {
  const session = new Session();
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  try {
    return new Map([...(await countStandards(session)), ...(await countScenarios(session))]);
  } finally {
    session.post("Profiler.stopPreciseCoverage");
    session.disconnect();
  }
}

const tableOf = (rows: ReadonlyMap<string, TurnCounts>): string =>
  [...rows]
    .map(
      ([title, { files, functions, calls, kilobytes }]) =>
        `${title.padEnd(50)} ${files} files, ${functions} functions, ${calls} calls, ${kilobytes} kB`,
    )
    .join("\n");

function functionsOf({ byFile }: TurnCounts): string {
  const lines: string[] = [];
  for (const [file, called] of [...byFile].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    lines.push(`${file} (${called.size})`);
    for (const [name, count] of called) lines.push(`  ${String(count).padStart(6)} ${name}`);
  }
  return lines.join("\n");
}

function told(rows: ReadonlyMap<string, TurnCounts>, args: readonly string[]): string {
  if (args.includes("--json")) {
    const figures = [...rows].map(([title, { files, functions, calls, kilobytes }]) => [
      title,
      { files, functions, calls, kilobytes },
    ]);
    return JSON.stringify(Object.fromEntries(figures));
  }
  if (!args.includes("--turn")) return tableOf(rows);
  const title = args[args.indexOf("--turn") + 1] ?? "";
  const counts = rows.get(title);
  return counts === undefined ? `No turn is called "${title}".` : functionsOf(counts);
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.stdout.write(`${told(await turnCounts(), process.argv)}\n`);
