import { isFields, jsonOf } from "../../json/json.ts";
import { bearer, rateLimitHeaders } from "../shared/headers.ts";
import { sseDone } from "../../stream/sse.ts";
import type { CompletionForm, Dialect } from "../dialect.ts";
import { faultBodyText } from "../errors/fault-body.ts";
import { readEvents } from "./read-events.ts";
import { readRequest } from "./read-request.ts";
import { chatDoor, chatRoute, chatTraits } from "./traits.ts";
import { writeAnswer, writeEvents } from "./write-events.ts";
import { writeRequest } from "./write-request.ts";

/** Completions with `store: true`, as they are kept and shown. */
const history: CompletionForm = {
  type: "completions",
  route: chatDoor,
  prefix: "chatcmpl-",
  isWanted: ({ params }) => params.store === true,
  completionIn(text, { metadata }) {
    const completion = jsonOf(text);
    if (!isFields(completion)) return undefined;
    return { ...completion, metadata: isFields(metadata) ? metadata : {} };
  },
  messagesIn: ({ messages }, id) =>
    (Array.isArray(messages) ? messages.filter(isFields) : []).map((message, at) => {
      const own = `${id}-${at}`;
      return { id: own, json: JSON.stringify({ ...message, id: own }) };
    }),
};

/** OpenAI Chat Completions and compatible APIs. */
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
    writeError: faultBodyText,
    rateLimitHeaders,
    history,
  },
  upstream: {
    path: () => chatRoute,
    headers: bearer,
    writeRequest,
    readEvents,
    emitsFrames: true,
  },
} as const satisfies Dialect;
