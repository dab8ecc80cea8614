import { Fault } from "../../turn/fault.ts";
import type { Tenant } from "../../turn/tenant.ts";
import { ByteBuffer, decompress, notUtf8 } from "./body.ts";
import { HeldBytes } from "./budget.ts";
import type { Entry, LiveGateway } from "./entry.ts";
import type { Reply, ReplyData } from "./exchange.ts";

/** Serves hosts that speak `fetch`: the same push sink, with a Web stream at its very end. */
export async function serveFetch(
  request: Request,
  live: LiveGateway,
  entry: Entry,
): Promise<Response> {
  const { reply, response } = fetchReply(request);
  const url = new URL(request.url);
  const exchange = {
    method: request.method,
    path: url.pathname,
    query: url.search.slice(1),
    headers: Object.fromEntries(request.headers),
    body: "",
    reply,
  };
  const admitted = entry.admit(exchange);
  try {
    if (admitted !== undefined)
      entry.serve(admitted, await readText(request, admitted.tenant, live));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    entry.refuse(exchange, error);
  }
  return request.method === "HEAD" ? new Response(null, await response) : response;
}

function fetchReply(request: Request): { reply: Reply; response: Promise<Response> } {
  const { promise: response, resolve, reject } = Promise.withResolvers<Response>();
  const { signal } = request;
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
  const abort = (): void => {
    if (over) return;
    leave();
    // Ends the wait for the response or for the rest of its body.
    if (controller === undefined) reject(signal.reason);
    else controller.error(signal.reason);
  };
  if (signal.aborted) queueMicrotask(abort);
  else signal.addEventListener("abort", abort, { once: true });

  // Undici's signal of a request follows its caller's only as long as the request is reachable.
  const reply: Reply & { readonly request: Request } = {
    request,
    head(status, headers) {
      init = { status, headers };
    },
    write(data) {
      if (over) return true;
      const sink = controller ?? open();
      if (data.length > 0) sink.enqueue(bytesOf(data));
      return (sink.desiredSize ?? 1) > 0;
    },
    end(data = "", broken = false) {
      if (over) return;
      if (broken && controller === undefined) open();
      over = true;
      if (controller === undefined) return resolve(new Response(bodyOf(data), init));
      if (data.length > 0) controller.enqueue(bytesOf(data));
      if (!broken) return controller.close();
      const body = controller;
      const breakOff = (): void => body.error(new Error("The answer failed."));
      // An error drops what the client has not read yet.
      if ((body.desiredSize ?? 1) > 0) breakOff();
      else drained = breakOff;
    },
    onDrain: (then) => void (drained = then),
    onLeave: (then) => void (left = then),
  };
  return { reply, response };
}

const encoder = new TextEncoder();

const bytesOf = (data: ReplyData): Uint8Array =>
  typeof data === "string" ? encoder.encode(data) : data;

/** `Response` takes no bytes that are shared with another thread. */
const bodyOf = (data: ReplyData): string | Uint8Array<ArrayBuffer> =>
  typeof data === "string" ? data : new Uint8Array(data);
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The body as text, given up as soon as it is too long. */
async function readText(
  { body, headers }: Request,
  tenant: Tenant,
  { state, bodyBudget: budget }: LiveGateway,
): Promise<string> {
  if (body === null) return "";
  const { config, runtime } = state;
  const held = new HeldBytes({ budget, tenant, limit: config.server.body_limit });
  const pieces = new ByteBuffer(held);
  try {
    for await (const piece of body) pieces.add(piece);
    const encoding = headers.get("content-encoding");
    if (encoding === null) return decode(pieces.takeAll());
    const { decompressors } = runtime;
    return decode(await decompress(pieces.takeAll(), { encoding, decompressors, held }));
  } finally {
    held.release();
  }
}

function decode(bytes: Uint8Array<ArrayBuffer>): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw notUtf8();
  }
}
