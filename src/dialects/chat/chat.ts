import { rateLimitHeaders } from "../shared/rate-limit-headers.ts";
import { sseDone } from "../../stream/sse.ts";
import { bearer } from "../shared/bearer.ts";
import type { Dialect } from "../dialect.ts";
import { errorText } from "../errors/fault-body.ts";
import { readEvents } from "./read-events.ts";
import { readRequest } from "./read-request.ts";
import { chatDoor, chatRoute } from "./route.ts";
import { completions } from "./stored.ts";
import { chatTraits } from "./traits.ts";
import { writeAnswer } from "./write-answer.ts";
import { writeEvents } from "./write-events.ts";
import { writeRequest } from "./write-request.ts";

/** OpenAI Chat Completions, and whoever calls itself compatible. */
export const chat = {
  name: "chat",
  title: "Chat Completions",
  traits: chatTraits,
  door: {
    routes: [chatDoor],
    isRequest: (body) => "messages" in body,
    readRequest,
    newAnswerId: (newId) => newId("chatcmpl").replace("_", "-"),
    writeEvents,
    endMarker: sseDone,
    writeAnswer,
    writeError: errorText,
    rateLimitHeaders,
    completions,
  },
  upstream: {
    path: () => chatRoute,
    headers: bearer,
    writeRequest,
    readEvents: (context) => readEvents(context),
    emitsFrames: true,
  },
} as const satisfies Dialect;
