import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import type { Headers as Fields } from "../retry.ts";
import {
  CLOSE_MS,
  type Connect,
  type HttpRequest,
  type ResponseController,
  type ResponseHandler,
  type Timeouts,
  type Utf8Decoder,
} from "./transport.ts";

/** The part of `fetch` that is used: a binding of a worker or a test may stand for it. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * A transport for runtimes without sockets of their own, or with others than
 * Node's. Connecting has no time of its own there: `timeouts.headers` counts
 * from the beginning.
 */
export const fetchTransport =
  (fetch: Fetch): Connect =>
  ({ origin, timeouts, proxy, clock }) => {
    if (proxy !== undefined) throw noProxy(proxy);
    const running = new Set<FetchExchange>();
    const encoder = new TextEncoder();
    let isClosed = false;
    let whenIdle = (): void => {};
    const isOver = (one: FetchExchange): void => {
      running.delete(one);
      if (running.size === 0) whenIdle();
    };
    return {
      send(request, handler) {
        const exchange = new FetchExchange({ handler, timeouts, clock });
        if (isClosed) return handler.onResponseError(exchange, coded("UND_ERR_CLOSED"));
        running.add(exchange);
        void exchange.run(fetch, origin, request).finally(() => isOver(exchange));
      },
      encode: (text) => encoder.encode(text),
      newDecoder,
      async close() {
        isClosed = true;
        if (running.size === 0) return;
        await new Promise<void>((resolve) => {
          const calledOff = clock.at(clock.now() + CLOSE_MS, resolve);
          whenIdle = () => {
            calledOff();
            resolve();
          };
        });
        for (const exchange of running) exchange.abort(coded("UND_ERR_DESTROYED"));
      },
    };
  };

const noProxy = (proxy: URL): Fault =>
  new Fault(
    "config.invalid",
    `The proxy ${proxy.host} cannot be used here: \`fetch\` takes none. Leave \`environment\` out, or run under Node.`,
  );

/** An error of the connection, by the names that undici and so Node's own `fetch` have for it. */
const coded = (code: string, cause?: unknown): Error =>
  Object.assign(new Error(code, { cause }), { code });

/** What a rejected `fetch` says of its cause; runtimes differ in where. */
function connectionError(error: unknown): Error {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown; name?: unknown } };
  const isParser = cause?.name === "HTTPParserError";
  const known = isParser ? cause.name : [cause?.code, code].find((one) => typeof one === "string");
  return coded(typeof known === "string" ? known : "FETCH_FAILED", error);
}

/** The mark at the beginning of a text is left in it, as Node's decoder does. */
function newDecoder(): Utf8Decoder {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return {
    write: (chunk) => decoder.decode(chunk, { stream: true }),
    end: () => decoder.decode(),
  };
}

type ExchangeOptions = {
  readonly handler: ResponseHandler;
  readonly timeouts: Timeouts;
  readonly clock: Clock;
};

/** One request and its response, read a chunk at a time: a handler that pauses is given no more. */
class FetchExchange implements ResponseController {
  readonly #options: ExchangeOptions;
  readonly #aborter = new AbortController();
  #isPaused = false;
  #resumed = (): void => {};
  #reason: Error | undefined;

  constructor(options: ExchangeOptions) {
    this.#options = options;
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
    const { handler } = this.#options;
    try {
      handler.onRequestStart(this);
      const response = await this.#fetch(fetch, origin, request);
      // Browsers hide where they are sent: the status is 0 then.
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
    const { headers } = this.#options.timeouts;
    return this.#within(headers, "UND_ERR_HEADERS_TIMEOUT", fetch(origin + path, init));
  }

  async #read(reader: ReadableStreamDefaultReader<Uint8Array> | undefined): Promise<void> {
    if (reader === undefined) return;
    const { handler, timeouts } = this.#options;
    for (;;) {
      const read = this.#within(timeouts.idle, "UND_ERR_BODY_TIMEOUT", reader.read());
      const { done, value } = await read;
      while (this.#isPaused && this.#reason === undefined)
        await new Promise<void>((resolve) => (this.#resumed = resolve));
      if (this.#reason !== undefined) throw this.#reason;
      if (done) return;
      handler.onResponseData(this, value);
    }
  }

  /** Gives a step of the exchange so many milliseconds, and what goes wrong in it a code. */
  async #within<T>(limit: number, code: string, step: Promise<T>): Promise<T> {
    const { clock } = this.#options;
    const calledOff = clock.at(clock.now() + limit, () => this.abort(coded(code)));
    try {
      return await step;
    } catch (error) {
      throw connectionError(error);
    } finally {
      calledOff();
    }
  }
}

function pairsOf(flat: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at < flat.length; at += 2) pairs.push([flat[at] ?? "", flat[at + 1] ?? ""]);
  return pairs;
}

/** `fetch` has undone what `content-encoding` names. */
function headersOf(headers: Headers): Fields {
  const { "content-encoding": _, ...fields } = Object.fromEntries(headers);
  return fields;
}
