import { isFields, jsonOf } from "../../json/json.ts";
import type { CompletionForm } from "../dialect.ts";
import { chatDoor } from "./route.ts";

/** Completions with `store: true`, as they are kept and shown. */
export const completions: CompletionForm = {
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
