import type { ReadContext, RequestLine } from "../../dialects/dialect.ts";
import type { UpstreamEntry } from "../../dialects/registry.ts";
import { bearer } from "../../dialects/shared/headers.ts";
import { pathModel } from "../../dialects/shared/model-path.ts";
import type { Flow, Sink } from "../../stream/flow.ts";
import { append } from "../../turn/append.ts";
import type { Clock, NewId } from "../../turn/clock.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import { type Failure, Retries } from "../retry.ts";
import { tapped, type TryTap } from "../tap.ts";
import type { OpenOptions, Prepared, Upstream } from "../upstream.ts";
import { version } from "../version.ts";
import { HttpAnswer, type AnswerOwner } from "./answer.ts";
import { ConnectionShares, type Waiting } from "./connection-shares.ts";
import { noConnection } from "./fault.ts";
import { type UpstreamConnection, fetchModels, tokenCounter, tryRoute } from "./requests.ts";
import { secretsOf } from "./secrets.ts";
import {
  type Connect,
  type HttpRequest,
  pairsOf,
  type ResponseController,
  type Timeouts,
  type Transport,
} from "./transport.ts";

type Event = TurnEvent<UpstreamName>;

export type HttpOptions = {
  readonly name: string;
  readonly dialect: UpstreamEntry;
  readonly profile: Profile;
  /** The address without the route: `https://api.example.com/v1`. A query is kept. */
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly timeouts?: Partial<Timeouts> | undefined;
  /** Most further attempts before the first event. */
  readonly retries?: number | undefined;
  /** Most connections at once. */
  readonly connections?: number | undefined;
  readonly proxy?: URL | undefined;
  readonly newId: NewId;
  readonly clock: Clock;
  /** From 0 up to 1, to spread retries. */
  readonly random: () => number;
  /** The runtime's HTTP client. */
  readonly connect: Connect;
  /** Signs requests to services without keys. */
  readonly sign?: SignRequest | undefined;
};

/** A complete request, before its signature. */
export type UnsignedRequest = {
  readonly method: string;
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
  /** The service has refused the last signature (401). */
  readonly isRefused: boolean;
};

/**
 * Returns the headers of a signature, such as those of AWS. The program that embeds the
 * gateway configures it for an upstream; each attempt is signed again.
 */
export type SignRequest = (
  request: UnsignedRequest,
) => Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>;

const defaults: Timeouts = { connect: 10_000, queue: 30_000, headers: 300_000, idle: 300_000 };
const CONNECTIONS = 256;
const RETRIES = 2;

/** An upstream's connection and its options. */
type HttpConnection = UpstreamConnection & {
  readonly options: HttpOptions;
  /** The transport without signatures. */
  readonly unsigned: Transport;
};

/** Path and headers of the requests for one model. */
type Route = {
  readonly profile: Profile;
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
};

/** Most routes that an upstream keeps: clients may name any model. */
const MOST_ROUTES = 1024;

/** A model over HTTP, in any dialect. */
export function httpUpstream(given: HttpOptions): Upstream {
  const connection = connectionFor(given);
  const { options, transport, unsigned, failing, headers, pathTo } = connection;
  const { name, dialect, profile, newId, sign, retries = RETRIES } = options;
  const { upstream: wire, traits } = dialect;
  const routes = new Map<string, Route>();
  /** By the profile of a model: what its refusals have shown. */
  const corrected = new WeakMap<Profile, Profile>();
  let closing: Promise<void> | undefined;

  function newRoute(profile: Profile, line: RequestLine): Route {
    const { route } = profile;
    const isStreamed = line.stream && (route === undefined || route.stream !== undefined);
    const accept = isStreamed ? "text/event-stream" : "application/json";
    const path = pathTo(configuredRoute(profile, line) ?? wire.path(line));
    const made: Route = { profile, path, headers: [...headers, "accept", accept] };
    if (routes.size >= MOST_ROUTES) routes.clear();
    routes.set(`${line.stream} ${line.model}`, made);
    return made;
  }

  return {
    name,
    profile,
    traits,
    emitsFrames: wire.emitsFrames,
    showsBytes: true,
    prepare(turn, to): Prepared {
      const { stream, params } = turn;
      const { model, straight } = to;
      let profile = corrected.get(to.profile) ?? to.profile;
      const target = profile === to.profile ? to : { ...to, profile, straight: false };
      const { text, decisions, headers: own } = wire.writeRequest(turn, target);
      // Bytes: the collector does not move them in memory while the turn lasts.
      const body = transport.encode(text);
      const known = routes.get(`${stream} ${model}`);
      const route = known?.profile === profile ? known : newRoute(profile, { model, stream });
      const common = own === undefined ? route.headers : withOwn(route.headers, own);
      const { path } = route;
      const open: Prepared["open"] = (opening) => {
        const { requestId, headers: more, retry, watch } = opening;
        const asked = params.n ?? 1;
        const reading = {
          newId,
          frames: straight,
          asked,
          report: watch?.report,
          // Of several answers, one may have begun.
          retriesBlank: retry && retries > 0 && asked === 1 && turn.items.at(-1)?.type === "result",
        };
        const fields = [...common, "x-request-id", requestId];
        if (more !== undefined) append(fields, Object.entries(more).flat());
        const request: HttpRequest = { method: "POST", path, headers: fields, body };
        const rewrite = (fault: Fault): HttpRequest | undefined => {
          reading.retriesBlank = false;
          if (fault.code !== "upstream.refused") return undefined;
          const found = wire.correct?.(fault.detail.said?.message ?? "", profile);
          if (found === undefined) return undefined;
          ({ profile } = found);
          if (found.lasts) corrected.set(to.profile, profile);
          const { conversation } = turn.traits;
          watch?.report?.({ path: conversation, action: "changed", reason: found.reason });
          const again = wire.writeRequest(turn, { ...to, profile, straight: false });
          return { ...request, body: transport.encode(again.text) };
        };
        const opened = { request, reading, opening, rewrite };
        return (sink) => new HttpTurn(connection, sink, opened).begin();
      };
      const form = profile.countsTokens === true ? wire.tokenCount : undefined;
      if (form === undefined) return { decisions, open };
      const counting = {
        ...connection,
        headers: own === undefined ? headers : withOwn(headers, own),
      };
      return { decisions, open, count: tokenCounter(form, { model, written: body }, counting) };
    },
    models: () => fetchModels(connection),
    hasKey: sign !== undefined || failing.secrets.length > 0 || options.apiKey !== undefined,
    async tryRoute(trial) {
      // A name that can be part of a path.
      const line = { model: trial.model ?? profile.defaultModel ?? "none", stream: false };
      const path = pathTo(trial.route ?? configuredRoute(profile, line) ?? wire.path(line));
      const bare = { ...connection, transport: unsigned };
      return tryRoute(trial.isSignedIn ? connection : bare, path, trial);
    },
    close: () => (closing ??= transport.close()),
  };
}

function connectionFor(given: HttpOptions): HttpConnection {
  // Keys are pasted and read from files, and a header cannot contain their line end.
  const options = { ...given, apiKey: given.apiKey?.trim() };
  const { name, proxy, clock, connections = CONNECTIONS } = options;
  const base = new URL(options.baseUrl);
  const { origin, pathname, search } = base;
  const timeouts = { ...defaults, ...options.timeouts };
  const prefix = pathname.replace(/\/+$/, "");
  // Without the user and password of the proxy.
  const shownOrigin = proxy === undefined ? origin : `${origin} (by the proxy ${proxy.host})`;
  const unsigned = options.connect({ origin, timeouts, connections, proxy, clock });
  const failing = { name, origin: shownOrigin, secrets: secretsOf(options, base) };
  return {
    options,
    clock,
    timeouts,
    unsigned,
    transport: signedTransport(unsigned, { sign: options.sign, base, failing }),
    shares: new ConnectionShares({ connections, waitMs: timeouts.queue, clock }),
    failing,
    headers: headersFor(options),
    // The path of a dialect may have a query too.
    pathTo: (route) => prefix + route + (route.includes("?") ? search.replace(/^\?/, "&") : search),
  };
}

type Opened = {
  readonly request: HttpRequest;
  readonly reading: ReadContext;
  readonly opening: OpenOptions;
  /** Writes a refused request in another form, if its upstream might take that. */
  readonly rewrite: (fault: Fault) => HttpRequest | undefined;
};

/** One turn of an upstream: its attempts, each on a connection of its tenant's share. */
class HttpTurn extends Retries implements AnswerOwner, Waiting {
  readonly connection: HttpConnection;
  readonly opening: OpenOptions;
  readonly #opened: Opened;
  #request: HttpRequest;
  #answer: HttpAnswer | undefined;

  constructor(connection: HttpConnection, sink: Sink<Event>, opened: Opened) {
    const { clock, options } = connection;
    const { random, retries = RETRIES } = options;
    const { retry, watch } = opened.opening;
    super(sink, { watch, retries: retry ? retries : 0, clock, random });
    this.connection = connection;
    this.opening = opened.opening;
    this.#opened = opened;
    this.#request = opened.request;
  }

  protected attempt(): Flow {
    const { options, transport, shares } = this.connection;
    const reader = options.dialect.upstream.readEvents(this.#opened.reading);
    const answer = (this.#answer = new HttpAnswer(this, reader, transport.newDecoder()));
    shares.enter(this.opening.tenant, this);
    return answer;
  }

  start(): void {
    const { options, transport } = this.connection;
    const request = this.#request;
    const { tap } = this.opening;
    const answer = this.#answer;
    if (answer === undefined) return;
    const handler = tap === undefined ? answer : tapped(answer, tap.request(options.name, request));
    transport.send(request, handler);
  }

  override failed(failure: Failure): void {
    const request = this.#opened.rewrite(failure.fault);
    if (request === undefined) return super.failed(failure);
    this.#request = request;
    const { watch } = this.opening;
    watch?.retrying(failure.fault, 0);
    watch?.sentAgain();
    this.begin();
  }

  late(): void {
    const { failing, timeouts } = this.connection;
    this.failed(noConnection(failing, timeouts.queue));
  }

  override stop(): void {
    this.connection.shares.leaveQueue(this.opening.tenant, this);
    super.stop();
  }
}

type Signing = {
  readonly sign: SignRequest | undefined;
  readonly base: URL;
  readonly failing: { secrets: readonly string[] };
};

/** A transport that adds a signature to each request. Credentials in it become secrets of the upstream. */
function signedTransport(transport: Transport, { sign, base, failing }: Signing): Transport {
  if (sign === undefined) return transport;
  const configured = failing.secrets;
  let isRefused = false;
  const watch: TryTap = { head: (status) => (isRefused = status === 401), bytes() {}, end() {} };
  const signed = async (request: HttpRequest): Promise<HttpRequest> => {
    const { method, path, headers, body } = request;
    const url = new URL(path, base).href;
    const fields = Object.fromEntries(pairsOf(headers));
    const made = await sign({ method, url, headers: fields, body, isRefused });
    const found = secretsOf({ headers: made }, new URL(base.origin));
    // Answers to earlier requests may still quote their signatures.
    if (found.some((secret) => !failing.secrets.includes(secret)))
      failing.secrets = [...new Set([...configured, ...found, ...failing.secrets])].slice(
        0,
        configured.length + MOST_SIGNATURES,
      );
    const own = Object.entries(made).map(([name, value]) => [name.toLowerCase(), value]);
    return { ...request, headers: [...withOwn(headers, Object.fromEntries(own))] };
  };
  return {
    ...transport,
    send(request, handler) {
      // Not at once: a source emits nothing before it has returned.
      void Promise.resolve(request)
        .then(signed)
        .then(
          (whole) => transport.send(whole, tapped(handler, watch)),
          (cause: unknown) => handler.onResponseError(notSent, notSigned(cause)),
        );
    },
  };
}

/** The last secrets of signatures that are kept. */
const MOST_SIGNATURES = 8;

/** The controller of a request that was never sent. */
const notSent: ResponseController = { pause() {}, resume() {}, abort() {} };

const notSigned = (cause: unknown): Fault =>
  cause instanceof Fault
    ? cause
    : new Fault(
        "upstream.auth",
        "The request could not be signed. Check the `sign` function of this upstream.",
        {},
        cause,
      );

/** Headers of one request replace the headers of all requests. */
const withOwn = (
  headers: readonly string[],
  own: Readonly<Record<string, string>>,
): readonly string[] => [...new Map([...pairsOf(headers), ...Object.entries(own)])].flat();

/** The route that a profile configures, for services with a path for each model. */
function configuredRoute({ route }: Profile, { model, stream }: RequestLine): string | undefined {
  const path = stream ? (route?.stream ?? route?.path) : route?.path;
  return path?.replace("{model}", () => encodeURIComponent(pathModel(model)));
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
