import { errors, Pool, ProxyAgent, type Dispatcher } from "undici";
import type { UpstreamEntry } from "../../dialects/registry.ts";
import type { Clock, NewId } from "../../turn/clock.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import { HttpAnswer } from "./answer.ts";
import { broken, refusal, type Failing } from "./fault.ts";
import { readModels } from "./model-list.ts";
import { retrying } from "../retry.ts";
import type { OpenOptions, Prepared, Upstream } from "../upstream.ts";
import { version } from "../version.ts";

type Event = TurnEvent<UpstreamName>;

/** All in milliseconds. */
type Timeouts = {
  readonly connect: number;
  readonly headers: number;
  /** Of silence in mid-answer. */
  readonly idle: number;
};

export type HttpOptions = {
  readonly name: string;
  readonly dialect: UpstreamEntry;
  readonly profile: Profile;
  /** Up to and without the route: `https://api.example.com/v1`. A query is kept. */
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly timeouts?: Partial<Timeouts> | undefined;
  /** How often to try again before the first event. */
  readonly retries?: number | undefined;
  /** How many connections it may hold at once. */
  readonly connections?: number | undefined;
  /** What it is reached through. */
  readonly proxy?: URL | undefined;
  readonly newId: NewId;
  readonly clock: Clock;
  /** From 0 up to 1, to spread retries. */
  readonly random: () => number;
  /** Whoever gives one keeps it: it is not closed with the upstream. */
  readonly dispatcher?: Dispatcher | undefined;
};

const defaults: Timeouts = { connect: 10_000, headers: 300_000, idle: 300_000 };
/** Agents pause between turns for tools; a connection kept over that saves a handshake. */
const KEPT_MS = 30_000;
const CLOSE_MS = 10_000;

/** A model behind HTTP, in whichever dialect. */
export function httpUpstream(given: HttpOptions): Upstream {
  // Keys are pasted and read from files, and no header takes their line end.
  const options = { ...given, apiKey: given.apiKey?.trim() };
  const { name, dialect, profile, clock, newId } = options;
  const base = new URL(options.baseUrl);
  const timeouts = { ...defaults, ...options.timeouts };
  const dispatcher = options.dispatcher ?? poolFor(base.origin, timeouts, options);
  const headers = headersFor(options);
  const failing: Failing = { name, origin: wayTo(base, options), secrets: secretsOf(options) };
  const { headers: headersTimeout, idle: bodyTimeout } = timeouts;
  const common = { origin: base.origin, headersTimeout, bodyTimeout };
  const { upstream: wire, traits } = dialect;

  let closing: Promise<void> | undefined;

  return {
    name,
    profile,
    traits,
    prepare(turn, to): Prepared {
      const { text, decisions } = wire.writeRequest(turn, to);
      // Bytes and not text from here on: they are not moved about in memory while the turn lasts.
      const body = Buffer.from(text);
      const accept = turn.stream ? "text/event-stream" : "application/json";
      const reading = { newId, frames: to.straight, asked: turn.params.n ?? 1 };
      const path = pathOf(base, wire.path({ model: to.model, stream: turn.stream }));
      return { decisions, open };

      function open({ retry, requestId, headers: more }: OpenOptions) {
        const request: Dispatcher.DispatchOptions = {
          ...common,
          method: "POST",
          path,
          headers: [...headers, "accept", accept, "x-request-id", requestId, ...flat(more)],
          body,
        };
        return retrying<Event>(
          (sink, fail) => {
            const reader = wire.readEvents(reading);
            const answer = new HttpAnswer({ reader, sink, fail, failing, clock });
            dispatcher.dispatch(request, answer);
            return answer;
          },
          {
            retries: retry ? (options.retries ?? 2) : 0,
            clock,
            random: options.random,
            failed: (fault) => ({ type: "turn-fail", fault }),
          },
        );
      }
    },
    async models() {
      const list = { ...common, method: "GET", path: pathOf(base, "/models"), headers } as const;
      return readModels(await fetchText(dispatcher, list, failing, clock));
    },
    close: () => (closing ??= options.dispatcher ? Promise.resolve() : closeOff(dispatcher, clock)),
  };
}

function poolFor(
  origin: string,
  timeouts: Timeouts,
  { connections = 256, proxy }: HttpOptions,
): Dispatcher {
  const options = {
    connections,
    pipelining: 1,
    // One turn, one connection: to stop a turn is to close its socket, and nobody else's.
    allowH2: false,
    connectTimeout: timeouts.connect,
    headersTimeout: timeouts.headers,
    bodyTimeout: timeouts.idle,
    keepAliveTimeout: KEPT_MS,
  };
  return proxy === undefined
    ? new Pool(origin, options)
    : new ProxyAgent({
        ...options,
        uri: proxy.href,
        clientFactory: (to, more) =>
          new TunnelPool(to, { ...more, headersTimeout: timeouts.connect }),
      });
}

/** To undici a proxy that does not answer is late with an answer; to whoever waits, it is the connection that is late. */
class TunnelPool extends Pool {
  override async connect(asked: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> {
    try {
      return await super.connect(asked);
    } catch (error) {
      if (error instanceof errors.HeadersTimeoutError) throw new errors.ConnectTimeoutError();
      throw error;
    }
  }
}

/** In words, and without what a proxy wants to know of who asks. */
const wayTo = ({ origin }: URL, { proxy }: HttpOptions): string =>
  proxy === undefined ? origin : `${origin} (by the proxy ${proxy.host})`;

const flat = (headers: OpenOptions["headers"]): readonly string[] =>
  headers === undefined ? [] : Object.entries(headers).flat();

const pathOf = (base: URL, route: string): string =>
  base.pathname.replace(/\/+$/, "") + route + base.search;

/** Names and values in turn, as undici takes them; what is configured wins. */
function headersFor({ apiKey, headers = {}, dialect }: HttpOptions): string[] {
  const all = new Map([
    ["content-type", "application/json"],
    ["user-agent", `patchbay/${version}`],
    ...Object.entries(dialect.upstream.headers(apiKey)),
  ]);
  for (const [name, value] of Object.entries(headers)) all.set(name.toLowerCase(), value);
  return [...all].flat();
}

function secretsOf({ apiKey, headers = {} }: HttpOptions): string[] {
  const secrets = Object.entries(headers)
    .filter(([name]) => /key|token|auth|secret|cookie/i.test(name))
    .map(([, value]) => value.replace(/^\w+ (?=\S)/, ""));
  if (apiKey) secrets.push(apiKey);
  // A very short one is in every other word.
  return secrets.filter((secret) => secret.length >= 4);
}

async function fetchText(
  dispatcher: Dispatcher,
  request: Dispatcher.RequestOptions,
  failing: Failing,
  clock: Clock,
): Promise<string> {
  try {
    const { statusCode: status, headers, body } = await dispatcher.request(request);
    const text = await body.text();
    if (status < 300) return text;
    throw refusal(failing, { status, headers, body: text, now: clock.now() }).fault;
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw broken(failing, error as Error, false).fault;
  }
}

/** Lets running turns end, but not for ever. */
async function closeOff(dispatcher: Dispatcher, clock: Clock): Promise<void> {
  let calledOff = (): void => {};
  const late = new Promise<void>((resolve) => {
    calledOff = clock.at(clock.now() + CLOSE_MS, resolve);
  });
  await Promise.race([dispatcher.close(), late]);
  calledOff();
  await dispatcher.destroy();
}
