import type { IncomingMessage, ServerResponse } from "node:http";
import { expect, onTestFinished } from "vitest";
import { chat } from "../../src/dialects/chat/chat.ts";
import { StreamNormalizer } from "../../src/stream/normalize.ts";
import type { Flow } from "../../src/stream/flow.ts";
import { fold, type Answer } from "../../src/stream/fold.ts";
import { sseDone, sseFrame } from "../../src/stream/sse.ts";
import { runStage } from "../../src/stream/stage.ts";
import type { TurnEvent } from "../../src/turn/event.ts";
import type { Fault } from "../../src/turn/fault.ts";
import type { UpstreamName } from "../../src/turn/names.ts";
import type { Turn } from "../../src/turn/turn.ts";
import { httpUpstream, type HttpOptions } from "../../src/upstreams/http/http.ts";
import { undiciTransport } from "../../src/upstreams/http/undici-transport.ts";
import { genericChat } from "../../src/profiles/generic.ts";
import type { Upstream } from "../../src/upstreams/upstream.ts";
import { loopback, type Loopback } from "./loopback.ts";
import { stillClock, type StillClock } from "./still-clock.ts";

type Event = TurnEvent<UpstreamName>;

export const turn: Turn<UpstreamName> = {
  dialect: "chat",
  traits: chat.traits,
  model: "m",
  items: [],
  tools: [],
  params: {},
  stream: true,
  usageWanted: false,
  extra: { dialect: "chat", fields: {} },
  body: {},
};

export const chunk = (delta: object, finish_reason: string | null = null): object => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 7,
  model: "m-1",
  choices: [{ index: 0, delta, finish_reason }],
});
export const frame = (body: object): string => sseFrame(JSON.stringify(body));
export const word = (content: string): string => frame(chunk({ content }));
export const stop = frame(chunk({}, "stop"));
export const hello = word("Hello") + word(", world") + stop + sseDone;
export const completion = {
  id: "chatcmpl-1",
  object: "chat.completion",
  choices: [
    { index: 0, message: { role: "assistant", content: "Hello, world" }, finish_reason: "stop" },
  ],
};
export const words = (heard: OpenedTurn): string[] =>
  heard.events.flatMap((event) => (event.type === "text-delta" ? [event.text] : []));

export const sse = (response: ServerResponse, ...pieces: string[]): void => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const piece of pieces) response.write(piece);
};
export const json = (response: ServerResponse, status: number, body: unknown, headers = {}): void =>
  void response
    .writeHead(status, { "content-type": "application/json", ...headers })
    .end(JSON.stringify(body));

type Opened = { readonly servers: AsyncDisposable[]; readonly upstreams: Upstream[] };
let open: Opened | undefined;

/** What the running test has opened; all of it is closed when the test has ended. */
function opened(): Opened {
  if (open !== undefined) return open;
  const all: Opened = { servers: [], upstreams: [] };
  onTestFinished(async () => {
    open = undefined;
    // Servers first: an upstream waits for the turns under way.
    for (const server of all.servers) await server[Symbol.asyncDispose]();
    for (const upstream of all.upstreams) await upstream.close();
  });
  return (open = all);
}

/** Closes a server when the running test has ended, the last one opened first. */
export const closeAfterTest = (server: AsyncDisposable): void =>
  void opened().servers.unshift(server);

/** Long enough for a connection to be found idle. */
export const untilIdle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10));

type StartedUpstream = { upstream: Upstream; server: Loopback; clock: StillClock };

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

export async function startUpstream(
  listener: Listener,
  more: Partial<HttpOptions> = {},
): Promise<StartedUpstream> {
  const server = await loopback((request, response) => void listener(request, response));
  const clock = stillClock(1_000);
  const upstream = makeUpstream(`${server.url}/v1`, { clock, ...more });
  closeAfterTest(server);
  return { upstream, server, clock };
}

export function makeUpstream(baseUrl: string, more: Partial<HttpOptions> = {}): Upstream {
  const upstream = httpUpstream({
    name: "box",
    dialect: chat,
    profile: genericChat,
    baseUrl,
    newId: (prefix) => `${prefix}_1`,
    clock: stillClock(),
    random: () => 0.5,
    connect: undiciTransport,
    ...more,
  });
  opened().upstreams.push(upstream);
  return upstream;
}

export type OpenedTurn = {
  events: Event[];
  flushes: number;
  ends: number;
  flow: Flow;
  ended: Promise<void>;
};

/** Opens a turn and keeps all that it says. */
export function openTurn(
  upstream: Upstream,
  {
    retry = false,
    straight = false,
    asked = turn,
  }: { retry?: boolean; straight?: boolean; asked?: typeof turn } = {},
): OpenedTurn {
  const ended = Promise.withResolvers<void>();
  const heard: Omit<OpenedTurn, "flow"> = { events: [], flushes: 0, ends: 0, ended: ended.promise };
  const source = upstream
    .prepare(asked, { model: "m-1", profile: upstream.profile, straight })
    .open({ retry, requestId: "req_7", tenant: "" });
  const flow = source({
    each: (event) => void heard.events.push(event),
    flush: () => void heard.flushes++,
    end() {
      heard.ends++;
      ended.resolve();
    },
  });
  return Object.assign(heard, { flow });
}

export async function answerOf(
  upstream: Upstream,
  options?: Parameters<typeof openTurn>[1],
): Promise<Answer<UpstreamName>> {
  const heard = openTurn(upstream, options);
  await heard.ended;
  expect(heard.ends).toBe(1);
  return fold(runStage(new StreamNormalizer<UpstreamName>(), heard.events));
}

export async function faultOf(
  upstream: Upstream,
  options?: Parameters<typeof openTurn>[1],
): Promise<Fault> {
  const { fault } = await answerOf(upstream, options);
  if (fault === undefined) throw new Error("It did not fail.");
  return fault;
}

export const textOf = (answer: Answer<UpstreamName>): string =>
  answer.choices
    .flatMap((choice) => choice.items)
    .flatMap((item) => (item.type === "message" ? item.parts : []))
    .map((part) => ("text" in part ? part.text : ""))
    .join("");

export async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of request) text += String(piece);
  return text;
}
