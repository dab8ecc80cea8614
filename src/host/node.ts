import { isUtf8 } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Exchange, Reply } from "../gateway/exchange.ts";
import { notUtf8, tooLarge } from "../gateway/fetch.ts";
import { Fault } from "../turn/fault.ts";

/** The whole body as text. One too large is refused at once, and the rest of it read past. */
export function collectBody(
  payload: IncomingMessage,
  limit: number,
  done: (fault: Fault | null, body?: string) => void,
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  if (Number(payload.headers["content-length"] ?? 0) > limit) return done(tooLarge(limit));
  payload.on("data", (chunk: Buffer) => {
    if (size > limit) return;
    size += chunk.length;
    if (size > limit) {
      chunks.length = 0;
      done(tooLarge(limit));
    } else chunks.push(chunk);
  });
  payload.on("end", () => {
    if (size > limit) return;
    const body = wholeOf(chunks);
    if (isUtf8(body)) done(null, body.toString());
    else done(notUtf8());
  });
  payload.on("error", (error) => {
    if (size <= limit) done(cutOff(error));
    size = Infinity;
  });
}

const cutOff = (error: Error): Fault =>
  new Fault(
    "request.invalid",
    "The body did not arrive as announced; check `content-length` and the encoding.",
    {},
    error,
  );

const wholeOf = (chunks: readonly Buffer[]): Buffer =>
  chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);

/** What Node received, as the gateway takes it. */
export function exchangeOf(
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
  prefixLength = 0,
): Exchange {
  const url = request.url ?? "/";
  const mark = url.indexOf("?");
  return {
    method: request.method ?? "GET",
    path: mark < 0 ? url.slice(prefixLength) : url.slice(prefixLength, mark),
    query: mark < 0 ? "" : url.slice(mark + 1),
    headers: request.headers,
    body,
    reply: new NodeReply(response),
  };
}

/** A reply over Node's response. Made for every request, so it holds fields and no closures. */
class NodeReply implements Reply {
  readonly #response: ServerResponse;
  #status = 200;
  #headers: Readonly<Record<string, string>> = {};
  #drained: (() => void) | undefined;
  #left: (() => void) | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** Sent with the first of the body: only then is it known whether that is all of it. */
  head(status: number, headers: Readonly<Record<string, string>>): void {
    this.#status = status;
    this.#headers = headers;
  }

  write(text: string): boolean {
    const response = this.#response;
    if (isOver(response)) return true;
    if (!response.headersSent) response.writeHead(this.#status, this.#headers);
    return response.write(text);
  }

  end(text?: string): void {
    const response = this.#response;
    if (isOver(response)) return;
    if (!response.headersSent) {
      const length = text === undefined ? 0 : Buffer.byteLength(text);
      const headers = isBodiless(this.#status)
        ? this.#headers
        : { ...this.#headers, "content-length": String(length) };
      response.writeHead(this.#status, headers);
    }
    if (text === undefined || text === "") response.end();
    else response.end(text);
  }

  onDrain(then: () => void): void {
    if (this.#drained === undefined) this.#response.on("drain", () => this.#drained?.());
    this.#drained = then;
  }

  onLeave(then: () => void): void {
    const response = this.#response;
    if (response.destroyed) queueMicrotask(then);
    else if (this.#left === undefined)
      response.once("close", () => {
        if (!response.writableFinished) this.#left?.();
      });
    this.#left = then;
  }
}

// Writing to a response that is over would raise an error for nobody to catch.
const isOver = (response: ServerResponse): boolean => response.destroyed || response.writableEnded;

const isBodiless = (status: number): boolean => status === 204 || status === 304;
