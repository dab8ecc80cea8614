import type { ReadContext, RequestLine } from "../../dialects/dialect.ts";
import type { UpstreamEntry } from "../../dialects/registry.ts";
import { bearer } from "../../dialects/shared/headers.ts";
import type { Flow, Sink } from "../../stream/flow.ts";
import { append } from "../../turn/append.ts";
import type { Clock, NewId } from "../../turn/clock.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import { Retries } from "../retry.ts";
import { tapped } from "../tap.ts";
import type { OpenOptions, Prepared, Upstream } from "../upstream.ts";
import { version } from "../version.ts";
import { HttpAnswer, type AnswerOwner } from "./answer.ts";
import { ConnectionShares, type Waiting } from "./connection-shares.ts";
import { type Failing, noConnection } from "./fault.ts";
import { type Connection, listModels, tokenCounter, tryRoute } from "./requests.ts";
import { secretsOf } from "./secrets.ts";
import type { Connect, HttpRequest, ResponseHandler, Timeouts } from "./transport.ts";

type Event = TurnEvent<UpstreamName>;

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
  /** The proxy on the way to it. */
  readonly proxy?: URL | undefined;
  readonly newId: NewId;
  readonly clock: Clock;
  /** From 0 up to 1, to spread retries. */
  readonly random: () => number;
  /** How the runtime sends HTTP requests. */
  readonly connect: Connect;
  /** Signs requests, for services that take no key. */
  readonly sign?: SignRequest | undefined;
};

/** A request that is to be signed, as it is about to be sent. */
export type UnsignedRequest = {
  readonly method: string;
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
};

/**
 * Gives the headers that a signature consists of, such as those of AWS. The program
 * that embeds the gateway names it for an upstream; it signs every attempt anew.
 */
export type SignRequest = (
  request: UnsignedRequest,
) => Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>;

const defaults: Timeouts = { connect: 10_000, queue: 30_000, headers: 300_000, idle: 300_000 };
const CONNECTIONS = 256;
const RETRIES = 2;

type Shared = Connection & {
  readonly options: HttpOptions;
  readonly base: URL;
};

/** Where and how requests for one model go. */
type Way = {
  readonly profile: Profile;
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
};

/** How many models an upstream remembers the way to; clients may name any. */
const MOST_WAYS = 1024;

/** A model behind HTTP, in whichever dialect. */
export function httpUpstream(given: HttpOptions): Upstream {
  const shared = share(given);
  const { options, transport, failing, headers, pathTo } = shared;
  const { name, dialect, profile, newId, sign } = options;
  const { upstream: wire, traits } = dialect;
  const ways = new Map<string, Way>();
  let closing: Promise<void> | undefined;

  function wayFor(profile: Profile, line: RequestLine): Way {
    const { route } = profile;
    const isStreamed = line.stream && (route === undefined || route.stream !== undefined);
    const accept = isStreamed ? "text/event-stream" : "application/json";
    const path = pathTo(routeOf(profile, line) ?? wire.path(line));
    const way: Way = { profile, path, headers: [...headers, "accept", accept] };
    if (ways.size >= MOST_WAYS) ways.clear();
    ways.set(`${line.stream} ${line.model}`, way);
    return way;
  }

  return {
    name,
    profile,
    traits,
    emitsFrames: wire.emitsFrames,
    showsBytes: true,
    prepare(turn, to): Prepared {
      const { stream, params } = turn;
      const { profile, model, straight } = to;
      const { text, decisions, headers: own } = wire.writeRequest(turn, to);
      // Bytes and not text from here on: they are not moved about in memory while the turn lasts.
      const body = transport.encode(text);
      const known = ways.get(`${stream} ${model}`);
      const way = known?.profile === profile ? known : wayFor(profile, { model, stream });
      const common = own === undefined ? way.headers : withOwn(way.headers, own);
      const reading: ReadContext = { newId, frames: straight, asked: params.n ?? 1 };
      const { path } = way;
      const open: Prepared["open"] = (opening) => {
        const { requestId, headers: more } = opening;
        const fields = [...common, "x-request-id", requestId];
        if (more !== undefined) append(fields, Object.entries(more).flat());
        const request: HttpRequest = { method: "POST", path, headers: fields, body };
        return (sink) => new HttpTurn(shared, sink, { request, reading, opening }).begin();
      };
      const form = profile.countsTokens === true ? wire.tokenCount : undefined;
      if (form === undefined) return { decisions, open };
      const counting = { ...shared, headers: own === undefined ? headers : withOwn(headers, own) };
      return { decisions, open, count: tokenCounter(form, body, counting) };
    },
    models: () => listModels(shared),
    // A request without a signature is always refused, so that a refusal would show nothing.
    ...(sign === undefined && {
      hasKey: failing.secrets.length > 0 || options.apiKey !== undefined,
      tryRoute: (trial) => {
        const line = { model: trial.model ?? "", stream: false };
        const own = (): string => routeOf(profile, line) ?? wire.path(line);
        return tryRoute(shared, pathTo(trial.route ?? own()), trial);
      },
    }),
    close: () => (closing ??= transport.close()),
  };

  function share(asked: HttpOptions): Shared {
    // Keys are pasted and read from files, and no header takes their line end.
    const options = { ...asked, apiKey: asked.apiKey?.trim() };
    const { name, proxy, clock, connections = CONNECTIONS } = options;
    const base = new URL(options.baseUrl);
    const { origin, pathname, search } = base;
    const timeouts = { ...defaults, ...options.timeouts };
    const prefix = pathname.replace(/\/+$/, "");
    // The user and password of a proxy are not shown.
    const way = proxy === undefined ? origin : `${origin} (by the proxy ${proxy.host})`;
    return {
      options,
      base,
      clock,
      timeouts,
      transport: options.connect({ origin, timeouts, connections, proxy, clock }),
      shares: new ConnectionShares({ connections, waitMs: timeouts.queue, clock }),
      failing: { name, origin: way, secrets: secretsOf(options, base) },
      headers: headersFor(options),
      pathTo: (route) => prefix + route + search,
    };
  }
}

type Opened = {
  readonly request: HttpRequest;
  readonly reading: ReadContext;
  readonly opening: OpenOptions;
};

/** One turn of an upstream: its attempts, each on a connection of its tenant's share. */
class HttpTurn extends Retries implements AnswerOwner, Waiting {
  readonly failing: Failing;
  readonly clock: Clock;
  readonly worked: OpenOptions["worked"];
  readonly watch: OpenOptions["watch"];
  readonly #shared: Shared;
  readonly #opened: Opened;
  #answer: HttpAnswer | undefined;
  #isQueued = false;

  constructor(shared: Shared, sink: Sink<Event>, opened: Opened) {
    const { clock, failing } = shared;
    const { random, retries = RETRIES } = shared.options;
    const { retry, watch, worked } = opened.opening;
    super(sink, { watch, retries: retry ? retries : 0, clock, random });
    this.failing = failing;
    this.clock = clock;
    this.worked = worked;
    this.watch = watch;
    this.#shared = shared;
    this.#opened = opened;
  }

  protected attempt(): Flow {
    const { options, transport, shares } = this.#shared;
    const { reading, opening } = this.#opened;
    const reader = options.dialect.upstream.readEvents(reading);
    const answer = (this.#answer = new HttpAnswer(this, reader, transport.newDecoder()));
    this.#isQueued = !shares.enter(opening.tenant, this);
    return answer;
  }

  start(): void {
    this.#isQueued = false;
    const { options, transport, base } = this.#shared;
    const { request, opening } = this.#opened;
    const answer = this.#answer;
    if (answer === undefined) return;
    const handler =
      opening.tap === undefined
        ? answer
        : tapped(answer, opening.tap.request(options.name, request));
    if (options.sign === undefined) transport.send(request, handler);
    else void this.#sendSigned(options.sign, new URL(request.path, base), handler);
  }

  async #sendSigned(sign: SignRequest, url: URL, handler: ResponseHandler): Promise<void> {
    const { request } = this.#opened;
    const { method, headers, body } = request;
    const named: Record<string, string> = {};
    for (let at = 0; at + 1 < headers.length; at += 2)
      named[headers[at] ?? ""] = headers[at + 1] ?? "";
    let more: readonly string[];
    try {
      // Not at once: a source speaks only once it has returned.
      const unsigned = { method, url: url.href, headers: named, body };
      const signed = await Promise.resolve(unsigned).then(sign);
      more = Object.entries(signed).flatMap(([name, value]) => [name.toLowerCase(), value]);
    } catch (cause) {
      this.closed();
      return this.failed({ fault: notSigned(cause), again: false });
    }
    this.#shared.transport.send({ ...request, headers: [...headers, ...more] }, handler);
  }

  late(): void {
    this.#isQueued = false;
    this.failed(noConnection(this.failing, this.#shared.timeouts.queue));
  }

  closed(): void {
    this.#shared.shares.leave(this.#opened.opening.tenant);
  }

  override stop(): void {
    if (this.#isQueued) this.#shared.shares.leaveQueue(this.#opened.opening.tenant, this);
    super.stop();
  }
}

const notSigned = (cause: unknown): Fault =>
  new Fault(
    "upstream.auth",
    "The request could not be signed; look at what signs for this upstream.",
    {},
    cause,
  );

/** The headers of one request replace those that all requests have. */
function withOwn(
  headers: readonly string[],
  own: Readonly<Record<string, string>>,
): readonly string[] {
  const all = new Map<string, string>();
  for (let at = 0; at < headers.length; at += 2) all.set(headers[at] ?? "", headers[at + 1] ?? "");
  for (const [name, value] of Object.entries(own)) all.set(name, value);
  return [...all].flat();
}

/** The route of a service that has a path of its own for every model. */
function routeOf({ route }: Profile, { model, stream }: RequestLine): string | undefined {
  const path = stream ? (route?.stream ?? route?.path) : route?.path;
  return path?.replace("{model}", () => pathPart(model));
}

/** Characters by which a server, or a proxy on the way, could read another path: also behind an escape. */
const NOT_IN_PATHS = /[\p{Cc}\p{Cs}\s\\?#%;]/u;
const NOT_SEGMENTS: ReadonlySet<string> = new Set(["", ".", ".."]);

/** A model's name as one part of a path. It comes from the client. */
function pathPart(model: string): string {
  if (!NOT_IN_PATHS.test(model) && !model.split("/").some((part) => NOT_SEGMENTS.has(part)))
    return encodeURIComponent(model);
  throw new Fault(
    "request.invalid",
    "`model` cannot be part of a path, where this upstream wants it: leave out blanks, control characters, `\\ ? # % ;`, and parts between slashes that are empty, `.` or `..`.",
    { param: "model" },
  );
}

/** Names and values in turn; configured headers win. */
function headersFor({ apiKey, headers = {}, dialect, profile }: HttpOptions): string[] {
  const own = dialect.upstream.headers(profile.bearer === true ? undefined : apiKey);
  const all = new Map([
    ["content-type", "application/json"],
    ["user-agent", `patchbay/${version}`],
    ...Object.entries(own),
    ...(profile.bearer === true ? Object.entries(bearer(apiKey)) : []),
  ]);
  for (const [name, value] of Object.entries(headers)) all.set(name.toLowerCase(), value);
  return [...all].flat();
}
