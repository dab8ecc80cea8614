import { Fault } from "../turn/fault.ts";
import type { Exchange, Reply } from "./exchange.ts";

/** Serves hosts that speak `fetch`: the same push sink, with a Web stream at its very end. */
export async function serveFetch(
  request: Request,
  bodyLimit: number,
  handle: (exchange: Exchange) => void,
  refuse: (fault: Fault, reply: Reply) => void,
): Promise<Response> {
  const { reply, response } = fetchReply(request.signal);
  const url = new URL(request.url);
  try {
    handle({
      method: request.method,
      path: url.pathname,
      query: url.search,
      headers: Object.fromEntries(request.headers),
      body: await readText(request, bodyLimit),
      reply,
    });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    refuse(error, reply);
  }
  return response;
}

function fetchReply(signal: AbortSignal): { reply: Reply; response: Promise<Response> } {
  const { promise: response, resolve } = Promise.withResolvers<Response>();
  const encoder = new TextEncoder();
  let init: ResponseInit = {};
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let over = false;
  let drained = (): void => {};
  let left = (): void => {};
  const leave = (): void => {
    if (over) return;
    over = true;
    left();
  };
  const open = (): ReadableStreamDefaultController<Uint8Array> => {
    const body = new ReadableStream<Uint8Array>({
      start: (own) => void (controller = own),
      pull: () => drained(),
      cancel: leave,
    });
    resolve(new Response(body, init));
    if (controller === undefined) throw new Error("a stream starts at once");
    return controller;
  };
  signal.addEventListener("abort", leave, { once: true });

  const reply: Reply = {
    head(status, headers) {
      init = { status, headers };
    },
    write(text) {
      if (over) return true;
      const sink = controller ?? open();
      sink.enqueue(encoder.encode(text));
      return (sink.desiredSize ?? 1) > 0;
    },
    end(text = "") {
      if (over) return;
      over = true;
      if (controller === undefined) return resolve(new Response(text, init));
      if (text !== "") controller.enqueue(encoder.encode(text));
      controller.close();
    },
    onDrain: (then) => void (drained = then),
    onLeave: (then) => void (left = then),
  };
  return { reply, response };
}

/** The body as text, given up as soon as it is too long. */
async function readText(request: Request, limit: number): Promise<string> {
  if (request.body === null) return "";
  const pieces: string[] = [];
  const decoder = new TextDecoder();
  let size = 0;
  for await (const chunk of request.body) {
    size += chunk.byteLength;
    if (size > limit) throw tooLarge(limit);
    pieces.push(decoder.decode(chunk, { stream: true }));
  }
  return pieces.join("") + decoder.decode();
}

export const tooLarge = (limit: number): Fault =>
  new Fault(
    "request.too_large",
    `The body is larger than ${limit} bytes; send less, or raise \`server.body_limit\`.`,
  );
