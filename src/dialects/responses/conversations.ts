import { isFields } from "../../json/json.ts";
import type { ConversationForm } from "../dialect.ts";
import { invalid } from "../shared/shape.ts";

/** `conversation` in a request: an id, or an object with one. */
export const conversations: ConversationForm = {
  route: "/v1/conversations",
  idIn({ conversation, previous_response_id: previous }) {
    if (conversation === undefined || conversation === null) return undefined;
    const id = isFields(conversation) ? conversation.id : conversation;
    if (typeof id !== "string" || id === "")
      throw invalid("conversation", "must be the id of a conversation, or an object with its `id`");
    if (previous !== undefined && previous !== null)
      throw invalid("conversation", "cannot be used together with `previous_response_id`");
    return id;
  },
  without: (body) => ({ ...body, conversation: undefined, input: body.input ?? [] }),
};
