import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import type { Headers as Fields } from "../retry.ts";
import {
  type Connect,
  type HttpRequest,
  pairsOf,
  type ResponseController,
  type ResponseHandler,
  type Timeouts,
  untilIdle,
  type Utf8Decoder,
} from "./transport.ts";

/** The part of `fetch` that is used, so that a binding of a worker can replace it. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * A transport for runtimes without Node's sockets. `fetch` does not show when it has
 * connected, so `timeouts.headers` includes the time of connecting.
 */
export const fetchTransport =
  (fetch: Fetch): Connect =>
  ({ origin, timeouts, proxy, clock }) => {
    if (proxy !== undefined) throw noProxy(proxy);
    const running = new Map<FetchExchange, Promise<void>>();
    const encoder = new TextEncoder();
    let isClosed = false;
    return {
      send(request, handler) {
        const exchange = new FetchExchange(handler, timeouts, clock);
        if (isClosed) return handler.onResponseError(exchange, coded("UND_ERR_CLOSED"));
        const ended = exchange.run(fetch, origin, request);
        running.set(
          exchange,
          ended.finally(() => running.delete(exchange)),
        );
      },
      encode: (text) => encoder.encode(text),
      newDecoder,
      async close() {
        isClosed = true;
        await untilIdle(clock, Promise.all(running.values()));
        for (const exchange of running.keys()) exchange.abort(coded("UND_ERR_DESTROYED"));
      },
    };
  };

const noProxy = (proxy: URL): Fault =>
  new Fault(
    "config.invalid",
    `The proxy ${proxy.host} cannot be used here: \`fetch\` takes none. Leave \`environment\` out, or run under Node.`,
  );

/** An error of the connection, with a code of undici's. */
const coded = (code: string, cause?: unknown): Error =>
  Object.assign(new Error(code, { cause }), { code });

/** The error of a rejected `fetch` with the code of its cause. Runtimes keep it in different places. */
function connectionError(error: unknown): Error {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown; name?: unknown } };
  const isParser = cause?.name === "HTTPParserError";
  const known = isParser ? cause.name : [cause?.code, code].find((one) => typeof one === "string");
  return coded(typeof known === "string" ? known : "FETCH_FAILED", error);
}

/** Keeps a byte order mark in the text, as Node's decoder does. */
function newDecoder(): Utf8Decoder {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return {
    write: (chunk) => decoder.decode(chunk, { stream: true }),
    end: () => decoder.decode(),
  };
}

/** One request and its response. Each chunk is read when the handler has taken the one before it. */
class FetchExchange implements ResponseController {
  readonly #handler: ResponseHandler;
  readonly #timeouts: Timeouts;
  readonly #clock: Clock;
  readonly #aborter = new AbortController();
  #isPaused = false;
  #resumed = (): void => {};
  #reason: Error | undefined;

  constructor(handler: ResponseHandler, timeouts: Timeouts, clock: Clock) {
    this.#handler = handler;
    this.#timeouts = timeouts;
    this.#clock = clock;
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#resumed();
  }

  abort(reason: Error): void {
    this.#reason ??= reason;
    this.#aborter.abort(reason);
    this.#resumed();
  }

  async run(fetch: Fetch, origin: string, request: HttpRequest): Promise<void> {
    const handler = this.#handler;
    try {
      handler.onRequestStart(this);
      const response = await this.#fetch(fetch, origin, request);
      // Browsers hide redirects: the status is 0.
      handler.onResponseStart(this, response.status || 302, headersOf(response.headers));
      await this.#read(response.body?.getReader());
      handler.onResponseEnd();
    } catch (error) {
      this.#aborter.abort();
      handler.onResponseError(this, this.#reason ?? (error as Error));
    }
  }

  #fetch(fetch: Fetch, origin: string, request: HttpRequest): Promise<Response> {
    const { method, path, body } = request;
    const init: RequestInit = { method, redirect: "manual", signal: this.#aborter.signal };
    try {
      init.headers = new Headers(pairsOf(request.headers));
    } catch (error) {
      throw coded("UND_ERR_INVALID_ARG", error);
    }
    // A body of bytes has a known length, which a stream would not have.
    if (body !== undefined) init.body = body as Uint8Array<ArrayBuffer>;
    return this.#within(
      this.#timeouts.headers,
      "UND_ERR_HEADERS_TIMEOUT",
      fetch(origin + path, init),
    );
  }

  async #read(reader: ReadableStreamDefaultReader<Uint8Array> | undefined): Promise<void> {
    if (reader === undefined) return;
    for (;;) {
      const read = this.#within(this.#timeouts.idle, "UND_ERR_BODY_TIMEOUT", reader.read());
      const { done, value } = await read;
      while (this.#isPaused && this.#reason === undefined)
        await new Promise<void>((resolve) => (this.#resumed = resolve));
      if (this.#reason !== undefined) throw this.#reason;
      if (done) return;
      this.#handler.onResponseData(this, value);
    }
  }

  /** Aborts the exchange if a step takes too long, and gives errors of the step a code. */
  async #within<T>(limit: number, code: string, step: Promise<T>): Promise<T> {
    const late = (): void => this.abort(coded(code));
    const cancelTimer = this.#clock.at(this.#clock.now() + limit, late);
    try {
      return await step;
    } catch (error) {
      throw connectionError(error);
    } finally {
      cancelTimer();
    }
  }
}

/** Without `content-encoding`, because `fetch` has decoded the body. */
function headersOf(headers: Headers): Fields {
  const { "content-encoding": _, ...fields } = Object.fromEntries(headers);
  return fields;
}
