import { bearer, rateLimitHeaders } from "../shared/headers.ts";
import { sseDone } from "../../stream/sse.ts";
import type { Fields } from "../../turn/turn.ts";
import type { Dialect, SocketForm } from "../dialect.ts";
import { faultBodyText } from "../errors/fault-body.ts";
import { invalid } from "../shared/shape.ts";
import { storedAnswers } from "./history.ts";
import { readEvents } from "./read-events.ts";
import { readRequest } from "./read-request.ts";
import { writeAnswer } from "./resource.ts";
import { responsesDoor, responsesRoute, responsesTraits } from "./traits.ts";
import { writeEvents } from "./write-events.ts";
import { writeRequest } from "./write-request.ts";

/** Fields of a message that are not fields of a request, or have a meaning over HTTP only. */
const envelope = new Set(["type", "generate", "stream", "stream_options", "background"]);

/**
 * Requests over a WebSocket: `response.create` with the fields of a request. The answer is always
 * streamed, so `stream` is ignored, because real clients send it; requests for an answer of another
 * form are refused.
 */
const socket: SocketForm = {
  readMessage(message) {
    const { type, generate, background, stream_id } = message;
    if (type !== "response.create")
      throw invalid("type", "must be `response.create`; this connection takes no other messages");
    if (generate !== undefined && generate !== null && typeof generate !== "boolean")
      throw invalid("generate", "must be a boolean");
    if (background !== undefined && background !== null && background !== false)
      throw invalid("background", "is not offered over a WebSocket; send such a request by POST");
    if (stream_id !== undefined && stream_id !== null)
      throw invalid(
        "stream_id",
        "is not offered: a connection has one turn at a time; open one for each stream",
      );
    return { body: requestIn(message), generates: generate !== false };
  },
};

const requestIn = (message: Fields): Fields => ({
  ...Object.fromEntries(
    Object.entries(message).filter(([name, value]) => !envelope.has(name) && value !== undefined),
  ),
  stream: true,
});

/** The OpenAI Responses API. */
export const responses = {
  name: "responses",
  title: "Responses",
  traits: responsesTraits,
  door: {
    routes: [responsesDoor],
    isRequest: ({ input, previous_response_id, conversation, prompt }) =>
      [input, previous_response_id, conversation, prompt].some((one) => one !== undefined),
    history: storedAnswers,
    readRequest,
    newAnswerId: (newId) => newId("resp"),
    writeEvents,
    endMarker: sseDone,
    writeAnswer,
    writeError: faultBodyText,
    rateLimitHeaders,
    tokenCount: {
      routes: [`${responsesDoor}/input_tokens`],
      body: (input_tokens) => ({ object: "response.input_tokens", input_tokens }),
    },
    socket,
  },
  upstream: {
    path: () => responsesRoute,
    headers: bearer,
    writeRequest,
    readEvents,
    tokenCount: {
      path: `${responsesRoute}/input_tokens`,
      fields: [
        "model",
        "input",
        "instructions",
        "tools",
        "tool_choice",
        "text",
        "reasoning",
        "truncation",
        "parallel_tool_calls",
        "previous_response_id",
        "conversation",
      ],
    },
    emitsFrames: true,
  },
} as const satisfies Dialect;
