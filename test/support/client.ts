import { builtinDialects, type BuiltinDialectName } from "../../src/dialects/registry.ts";
import { readChatBody, readChatStream } from "./chat-reader.ts";
import type { Body } from "./fake-upstream.ts";
import { readResponsesBody, readResponsesStream } from "./responses-reader.ts";
import type { Served } from "./serve.ts";
import { noAnswer, received, type ClientAnswer } from "./client-answer.ts";
import { doorPath } from "./door-path.ts";
import { readGeminiAnswer, readGeminiBody, readGeminiFailure } from "./gemini-reader.ts";

/** The dialects of the OpenAI API; `test/messages` and `test/gemini` have the tests of the others. */
export type DoorName = Exclude<BuiltinDialectName, "messages" | "gemini">;
const isOpenAi = (name: string): name is DoorName => name !== "messages" && name !== "gemini";
/** The doors that clients of the OpenAI API know. */
export const doors = builtinDialects.doors.map(({ name }) => name).filter(isOpenAi);
/** The same dialects as HTTP upstreams speak them. */
export const upstreamDialects = builtinDialects.upstreams.map(({ name }) => name).filter(isOpenAi);

/** The doors whose answers the readers here know. */
export type ReadDoor = DoorName | "gemini";
export const readDoors: readonly ReadDoor[] = [...doors, "gemini"];

/** `asked`: fields of a request that are in the path at some doors. */
export function doorUrl(
  { url }: Pick<Served, "url">,
  door: ReadDoor,
  { model = "m", stream }: Body = {},
): string {
  const found = builtinDialects.get(door)?.door;
  if (found === undefined) throw new Error(`there is no ${door} door`);
  if (door !== "gemini") return url + doorPath(found);
  const action = stream === true ? "streamGenerateContent" : "generateContent";
  const path = doorPath(found, { model: String(model), action });
  return `${url}${path}${stream === true ? "?alt=sse" : ""}`;
}

type TestClient = {
  /** The smallest request there is. */
  readonly body: Body;
  readStream(text: string): ClientAnswer;
  readBody(body: Body): ClientAnswer;
};

const clients: Readonly<Record<ReadDoor, TestClient>> = {
  chat: {
    body: { model: "m", messages: [{ role: "user", content: "Hi" }] },
    readStream: readChatStream,
    readBody: readChatBody,
  },
  responses: {
    body: { model: "m", input: "Hi" },
    readStream: readResponsesStream,
    readBody: readResponsesBody,
  },
  gemini: {
    body: { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
    readStream: readGeminiAnswer,
    readBody: readGeminiBody,
  },
};

/** A plain request to a door; `more` is merged into the body. */
export const ask = (
  served: Pick<Served, "url">,
  door: ReadDoor,
  more: Readonly<Record<string, unknown>> = {},
  init: RequestInit = {},
): Promise<Response> => fetch(doorUrl(served, door, more), postOf(door, more, init));

/** The same without a connection, for tests that ask often and not about HTTP. */
export const askWithin = (
  served: Pick<Served, "url" | "fetch">,
  door: ReadDoor,
  more: Readonly<Record<string, unknown>> = {},
  init: RequestInit = {},
): Promise<Response> => served.fetch(doorUrl(served, door, more), postOf(door, more, init));

const postOf = (
  door: ReadDoor,
  more: Readonly<Record<string, unknown>>,
  init: RequestInit,
): RequestInit => ({
  method: "POST",
  ...init,
  headers: { "content-type": "application/json", ...(init.headers as Record<string, string>) },
  body: JSON.stringify(bodyFor(door, more)),
});

/** The smallest request a door takes, and more. */
export function bodyFor(door: ReadDoor, more: Readonly<Record<string, unknown>> = {}): Body {
  const body = { ...clients[door].body, ...more };
  if (door !== "gemini") return body;
  const { model: _, stream: __, ...rest } = body;
  return rest;
}

/** Reads an answer to its end, whatever it turns out to be. */
export async function readAnswer(
  door: ReadDoor,
  response: Response,
): Promise<ClientAnswer & { readonly status: number }> {
  const { status } = response;
  const { text } = await received(response);
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("text/event-stream")) return { ...readStream(door, text), status };
  const body = JSON.parse(text) as Body;
  return status === 200
    ? { ...readBody(door, body), status }
    : { ...noAnswer, error: errorIn(door, body), status };
}

const errorIn = (door: ReadDoor, { error }: Body): Body =>
  door === "gemini" ? readGeminiFailure(error as Body) : (error as Body);

/** Reads a stream as the strictest client would, and throws at whatever that client may not be sent. */
export const readStream = (door: ReadDoor, text: string): ClientAnswer =>
  clients[door].readStream(text);

export const readBody = (door: ReadDoor, body: Body): ClientAnswer => clients[door].readBody(body);
