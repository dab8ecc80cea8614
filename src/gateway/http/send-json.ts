import type { RequestContext } from "../state.ts";

/** Answers a request with JSON. */
export function sendJson(
  context: RequestContext,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  context.exchange.reply.head(status, { ...headOf(context), ...headers });
  context.exchange.reply.end(JSON.stringify(body));
}

/** Characters that are written at once. */
const SLICE = 128 * 1024;
/** A piece that marks a pause: the next piece takes long to make. */
export const REST = "";

/**
 * Answers with JSON of any length, made and sent piece by piece. Other requests are served in
 * between, and back-pressure of the client is kept. Resolves when all of it is sent, or the
 * client has left.
 */
export async function sendPieces(
  context: RequestContext,
  pieces: Iterable<string>,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { exchange, state } = context;
  const { reply } = exchange;
  const rest = state.steps.resting(Infinity);
  const client = { hasLeft: false, wake: (): void => {} };
  const write = async (text: string): Promise<void> => {
    for (let from = 0, to = 0; from < text.length && !client.hasLeft; from = to) {
      await rest();
      to = from + SLICE + Number(isHigh(text.charCodeAt(from + SLICE - 1)));
      const drained = new Promise<void>((resolve) => void (client.wake = resolve));
      if (!reply.write(text.slice(from, to))) await drained;
    }
  };
  let text = "";
  let isLong = false;
  reply.head(200, { ...headOf(context), ...headers });
  for (const piece of pieces) {
    if (piece === REST) await rest();
    text += piece;
    if (text.length < SLICE) continue;
    if (!isLong) {
      isLong = true;
      reply.onDrain(() => client.wake());
      reply.onLeave(() => {
        client.hasLeft = true;
        client.wake();
      });
    }
    await write(text);
    if (client.hasLeft) return;
    text = "";
  }
  reply.end(text);
}

/** Whether a character is the first half of one that takes two. */
const isHigh = (code: number): boolean => code >= 0xd800 && code < 0xdc00;

const headOf = ({ requestId }: RequestContext): Record<string, string> => ({
  "content-type": "application/json; charset=utf-8",
  "x-request-id": requestId,
});
