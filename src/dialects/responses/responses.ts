import { bearer, rateLimitHeaders } from "../shared/headers.ts";
import { sseDone } from "../../stream/sse.ts";
import { background } from "./background.ts";
import type { Dialect } from "../dialect.ts";
import { errorText } from "../errors/fault-body.ts";
import { compaction } from "./compaction.ts";
import { readEvents } from "./read-events.ts";
import { references } from "./references.ts";
import { readRequest } from "./read-request.ts";
import { writeAnswer } from "./resource.ts";
import { responsesDoor, responsesRoute } from "./route.ts";
import { socket } from "./socket.ts";
import { storage } from "./storage.ts";
import { responsesTraits } from "./traits.ts";
import { writeEvents } from "./write-events.ts";
import { writeRequest } from "./write-request.ts";

/** The OpenAI Responses API. */
export const responses = {
  name: "responses",
  title: "Responses",
  traits: responsesTraits,
  door: {
    routes: [responsesDoor],
    isRequest: ({ input, previous_response_id, conversation, prompt }) =>
      [input, previous_response_id, conversation, prompt].some((one) => one !== undefined),
    references,
    storage,
    background,
    readRequest,
    newAnswerId: (newId) => newId("resp"),
    writeEvents,
    endMarker: sseDone,
    writeAnswer,
    writeError: errorText,
    rateLimitHeaders,
    tokenCount: {
      route: `${responsesDoor}/input_tokens`,
      body: (input_tokens) => ({ object: "response.input_tokens", input_tokens }),
    },
    compaction,
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
