import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type Adapter } from "../../src/agent.ts";
import type { Strategy } from "../../src/agent/strategy.ts";
import type { ConfigInput } from "../../src/gateway/config.ts";
import { newId } from "../../src/host/platform/ids.ts";
import { systemClock } from "../../src/host/platform/clock.ts";
import { upstreamAdapter } from "../../src/agent/adapters/upstream.ts";
import type { UpstreamName } from "../../src/turn/names.ts";
import type { Turn } from "../../src/turn/turn.ts";
import { profileFor } from "../../src/profiles/profiles.ts";
import { scriptedUpstream } from "../../src/upstreams/scripted/scripted.ts";
import type { Upstream } from "../../src/upstreams/upstream.ts";
import { command, missing } from "../codex-upstream/gateway.ts";
import { answerInChat, answerInResponses } from "../support/fake-model.ts";
import {
  cut,
  fakeUpstream,
  frame,
  json,
  sse,
  type Answer,
  type Body,
} from "../support/fake-upstream.ts";

/** What a model does in one answer, in no dialect and whatever the strategy. */
export type Move =
  | { readonly say: string }
  | { readonly read: string }
  | { readonly use: string; readonly with?: unknown }
  /** A call of a tool by its own name, though it was not declared. */
  | { readonly blurt: string; readonly with?: unknown }
  | { readonly think: string }
  /** `hang`: nothing more comes; only a script does that. */
  | { readonly fail: "cut" | "error" | "hang" };

export type Moves = readonly Move[];

/** What a model was asked, as far as every dialect tells it. */
export type Asked = {
  readonly tools: readonly string[];
  readonly text: string;
  readonly body: Body;
};

export type Back = AsyncDisposable & {
  readonly adapter: Adapter;
  readonly asked: () => readonly Asked[];
};

export type BackName = "scripted" | "chat" | "responses" | "codex";

/** Which strategies an upstream has of its own; `append` is `restart` where tools are fixed. */
export const backs: Readonly<Record<BackName, readonly Strategy[]>> = {
  scripted: ["eager", "wrap", "append", "restart"],
  chat: ["eager", "wrap", "append", "restart"],
  responses: ["eager", "native", "wrap", "append", "restart"],
  codex: missing ? [] : ["eager", "wrap", "restart"],
};

type Called = {
  readonly name: string;
  readonly input: string;
  readonly kind?: string;
  readonly namespace?: string;
};

/** Which section of the library a tool is in, as native providers name it. */
const namespaces: Readonly<Record<string, string>> = {
  search: "archive",
  cite: "archive",
  to_csv: "archive__export",
};

/** A call as a model makes it under a strategy. */
function callOf(move: Move, strategy: Strategy): Called | undefined {
  if ("read" in move) {
    const input = JSON.stringify({ key: move.read });
    return strategy === "native"
      ? { name: "tool_search", input, kind: "tool_search" }
      : { name: "read_section", input };
  }
  if ("blurt" in move) return { name: move.blurt, input: JSON.stringify(move.with ?? {}) };
  if (!("use" in move)) return undefined;
  const input = JSON.stringify(move.with ?? { text: "x" });
  const namespace = namespaces[move.use];
  if (namespace === undefined) return { name: move.use, input };
  if (strategy === "wrap")
    return { name: "call_tool", input: `{"name":"${move.use}","arguments":${input}}` };
  return { name: move.use, input, ...(strategy === "native" && { namespace }) };
}

const textOf = (moves: Moves): string =>
  moves.map((move) => ("say" in move ? move.say : "")).join("");
const callsOf = (moves: Moves, strategy: Strategy): readonly Called[] =>
  moves.map((move) => callOf(move, strategy)).filter((call) => call !== undefined);
const failOf = (moves: Moves): "cut" | "error" | "hang" | undefined =>
  moves.map((move) => ("fail" in move ? move.fail : undefined)).find((fail) => fail !== undefined);

/** Opens an upstream whose model makes these moves, one list for each time it is asked. */
export async function openBack(
  name: BackName,
  strategy: Strategy,
  script: readonly Moves[],
): Promise<Back> {
  return name === "scripted" ? openScripted(strategy, script) : openHttp(name, strategy, script);
}

function openScripted(strategy: Strategy, script: readonly Moves[]): Back {
  const turns = script.map((moves, turn) => [
    ...moves.flatMap((move) => ("think" in move ? [{ reasoning: move.think }] : [])),
    ...(failOf(moves) === "hang" ? [{ text: "So far" }, { hang: true }] : []),
    ...(textOf(moves) === "" ? [] : [{ text: textOf(moves) }]),
    ...(failOf(moves) === "error" ? [{ error: { status: 400, message: "Broken." } }] : []),
    ...(failOf(moves) === "cut" ? [{ text: "So far" }, { cut: true }] : []),
    ...callsOf(moves, strategy).map(({ name, input }, at) => ({
      call: { name, arguments: input, id: `call_${turn}_${at}` },
    })),
  ]);
  const upstream = scriptedUpstream({
    name: "scripted",
    script: { sequence: "requests", turns },
    profile: profileFor("scripted", "scripted"),
    newId,
    clock: systemClock,
  });
  const asked: Turn<UpstreamName>[] = [];
  const watched: Upstream = {
    ...upstream,
    prepare(turn, to) {
      asked.push(turn);
      return upstream.prepare(turn, to);
    },
  };
  return {
    adapter: upstreamAdapter(watched, "m", { clock: systemClock, newId }),
    asked: () =>
      asked.map((turn) => ({
        tools: turn.tools.map((tool) => String(tool.name)),
        text: JSON.stringify(turn.items),
        body: { tools: turn.tools, items: turn.items },
      })),
    async [Symbol.asyncDispose]() {},
  };
}

/** An upstream over HTTP that many tests share: the real codex takes a second to start. */
type Shared = { readonly adapter: Adapter; play: Play; close(): Promise<void> };
type Play = {
  readonly strategy: Strategy;
  readonly script: readonly Moves[];
  readonly bodies: Body[];
};

const opened = new Map<BackName, Promise<Shared>>();

/** Closes what the tests of a file have opened. */
export async function closeBacks(): Promise<void> {
  const open = await Promise.all(opened.values());
  opened.clear();
  await Promise.all(open.map((shared) => shared.close()));
}

async function openHttp(
  name: Exclude<BackName, "scripted">,
  strategy: Strategy,
  script: readonly Moves[],
): Promise<Back> {
  const opening = opened.get(name) ?? openShared(name);
  opened.set(name, opening);
  const shared = await opening;
  const bodies: Body[] = [];
  shared.play = { strategy, script, bodies };
  return {
    adapter: shared.adapter,
    asked: () => bodies.map(askedIn),
    async [Symbol.asyncDispose]() {},
  };
}

async function openShared(name: Exclude<BackName, "scripted">): Promise<Shared> {
  const home = await mkdtemp(join(tmpdir(), "patchbay-agent-"));
  const model = await fakeUpstream(({ body }) => {
    const { bodies, strategy, script } = shared.play;
    bodies.push(body);
    const moves = script[bodies.length - 1] ?? [{ say: "The script is over." }];
    return answer(name, strategy, moves, body);
  });
  const http = { base_url: model.url, api_key: "sk-test" };
  const upstreams = {
    chat: { dialect: "chat", retries: 0, ...http },
    responses: { dialect: "responses", profile: "openai", retries: 0, ...http },
    codex: { dialect: "codex", command, home, ...http },
  } as const satisfies ConfigInput["upstreams"];
  const connection = connect(
    { upstreams: { [name]: upstreams[name] } },
    { environment: { HOME: home } },
  );
  const shared: Shared = {
    adapter: connection.adapter(`${name}/m`),
    play: { strategy: "eager", script: [], bodies: [] },
    async close() {
      await connection.close();
      await model[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  return shared;
}

let answers = 0;

function answer(name: BackName, strategy: Strategy, moves: Moves, body: Body): Answer {
  answers++;
  const isChat = name === "chat";
  const fail = failOf(moves);
  if (fail === "error")
    return json({ error: { message: "Broken.", type: "invalid_request_error" } }, 400);
  if (fail === "cut") return sse(isChat ? CHAT_START : RESPONSES_START, cut);
  const calls = callsOf(moves, strategy);
  const text = textOf(moves);
  if (calls.some(({ kind, namespace }) => kind !== undefined || namespace !== undefined))
    return sayItems(calls);
  const say = {
    ...(text !== "" && { text }),
    ...(calls.length > 0 && {
      calls: calls.map(({ name: called, input }, at) => ({
        id: `call_${answers}_${at}`,
        name: called,
        arguments: input,
      })),
    }),
  };
  return isChat ? answerInChat(body, say) : answerInResponses(body, say);
}

const CHAT_START = frame({
  id: "c",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta: { role: "assistant", content: "So far" }, finish_reason: null }],
});
const RESPONSES_START = `event: response.created\n${frame({
  type: "response.created",
  sequence_number: 0,
  response: {
    id: "resp_1",
    object: "response",
    created_at: 1,
    status: "in_progress",
    model: "m",
    output: [],
  },
})}`;

/** Calls of a kind or in a namespace, as the Responses API tells them in one piece. */
function sayItems(calls: readonly Called[]): Answer {
  const output = calls.map(({ kind, name, namespace, input }, at) => {
    const call_id = `call_${answers}_${at}`;
    return kind === "tool_search"
      ? {
          type: "tool_search_call",
          id: `tsc_${call_id}`,
          call_id,
          execution: "client",
          status: "completed",
          arguments: JSON.parse(input) as unknown,
        }
      : {
          type: "function_call",
          id: `fc_${call_id}`,
          call_id,
          name,
          ...(namespace !== undefined && { namespace }),
          arguments: input,
          status: "completed",
        };
  });
  const usage = {
    input_tokens: 11,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 18,
  };
  const response = {
    id: "resp_1",
    object: "response",
    created_at: 1,
    status: "completed",
    model: "m",
    output,
    usage,
  };
  const events = [
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
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
      (event, at) => `event: ${event.type}\n${frame({ ...event, sequence_number: at })}`,
    ),
  );
}

function askedIn(body: Body): Asked {
  const tools = ((body["tools"] ?? []) as Body[]).map(
    (tool) => (tool["function"]?.name ?? tool["name"] ?? tool["type"]) as string,
  );
  return { tools, text: JSON.stringify(body["messages"] ?? body["input"]), body };
}
