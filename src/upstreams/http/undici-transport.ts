import { createRequire } from "node:module";
import { StringDecoder } from "node:string_decoder";
import type * as undici from "undici";
import type { Dispatcher } from "undici";
import { keepReserve } from "./descriptor-reserve.ts";
import { type Connect, type ConnectOptions, untilIdle } from "./transport.ts";

/**
 * Loads parts of undici by their files: the whole package, which only proxies need, also has
 * `fetch`, caches, mocks and WebSockets, 7 MB and 50 ms of each start. Its version is pinned.
 */
const load = createRequire(import.meta.url);
const Pool = load("undici/lib/dispatcher/pool.js") as typeof undici.Pool;
const buildConnector = load("undici/lib/core/connect.js") as typeof undici.buildConnector;

/** Agents pause between turns for tools; a connection that is kept over the pause saves a handshake. */
const KEPT_MS = 30_000;

/** Node's transport: undici's dispatcher, without Web streams. */
export const undiciTransport: Connect = (options) => {
  const { origin, timeouts, clock } = options;
  const dispatcher = dispatcherFor(options);
  const common = { origin, headersTimeout: timeouts.headers, bodyTimeout: timeouts.idle };
  return {
    send: ({ method, path, headers, body = null }, handler) =>
      void dispatcher.dispatch({ ...common, method, path, headers, body }, handler),
    encode: (text) => Buffer.from(text),
    newDecoder: () => new StringDecoder("utf8"),
    async close() {
      await untilIdle(clock, dispatcher.close());
      await dispatcher.destroy();
    },
  };
};

function dispatcherFor({ origin, timeouts, connections, proxy }: ConnectOptions): Dispatcher {
  const connect = keepReserve(buildConnector({ allowH2: false, timeout: timeouts.connect }));
  const options = {
    connections,
    pipelining: 1,
    // One turn, one connection: a turn is stopped by closing its socket.
    allowH2: false,
    connectTimeout: timeouts.connect,
    headersTimeout: timeouts.headers,
    bodyTimeout: timeouts.idle,
    keepAliveTimeout: KEPT_MS,
  };
  if (proxy === undefined) return new Pool(origin, { ...options, connect });
  const { errors, Pool: WholePool, ProxyAgent } = load("undici") as typeof undici;
  /** undici reports a proxy that does not answer as late with an answer; for the caller the connection is late. */
  class TunnelPool extends WholePool {
    override async connect(asked: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> {
      try {
        return await super.connect(asked);
      } catch (error) {
        if (error instanceof errors.HeadersTimeoutError) throw new errors.ConnectTimeoutError();
        throw error;
      }
    }
  }
  return new ProxyAgent({
    ...options,
    uri: proxy.href,
    clientFactory: (to, more) =>
      new TunnelPool(to, { ...more, connect, headersTimeout: timeouts.connect }),
  });
}
