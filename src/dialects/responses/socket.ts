import type { Fields } from "../../turn/turn.ts";
import type { SocketForm } from "../dialect.ts";
import { invalid } from "../shared/shape.ts";

/** What a message holds beside the fields of a request, or what means something only over HTTP. */
const envelope = new Set(["type", "generate", "stream", "stream_options", "background"]);

/**
 * Requests over a WebSocket: `response.create` with the fields of a request. The
 * answer is always streamed, so `stream` is passed over, as real clients send it;
 * what would need an answer of another form is refused.
 */
export const socket: SocketForm = {
  readMessage(message) {
    const { type, generate, background, stream_id } = message;
    if (type !== "response.create")
      throw invalid("type", "must be `response.create`; nothing else is taken on this connection");
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
