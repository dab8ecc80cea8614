import type { RequestLine } from "../../dialects/dialect.ts";
import type { UpstreamEntry } from "../../dialects/registry.ts";
import { bearer } from "../../dialects/shared/bearer.ts";
import type { Flow } from "../../stream/flow.ts";
import type { Clock, NewId } from "../../turn/clock.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import { type Attempt, retrying, type RetryOptions } from "../retry.ts";
import type { OpenOptions, Prepared, Upstream } from "../upstream.ts";
import { version } from "../version.ts";
import { HttpAnswer } from "./answer.ts";
import { ConnectionShares } from "./connection-shares.ts";
import { type Failing, noConnection } from "./fault.ts";
import { pathsUnder } from "./path.ts";
import { fetchText, readModels } from "./fetch-text.ts";
import { tokenCounter } from "./token-count.ts";
import { type Trying, tryRoute } from "./route-trial.ts";
import { secretsOf } from "./secrets.ts";
import { sendSigned, type SignRequest } from "./sign.ts";
import type { Connect, HttpRequest, Timeouts } from "./transport.ts";

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
  /** What it is reached through. */
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

const defaults: Timeouts = { connect: 10_000, queue: 30_000, headers: 300_000, idle: 300_000 };
const CONNECTIONS = 256;

/** A model behind HTTP, in whichever dialect. */
export function httpUpstream(given: HttpOptions): Upstream {
  // Keys are pasted and read from files, and no header takes their line end.
  const options = { ...given, apiKey: given.apiKey?.trim() };
  const { name, dialect, profile, clock, newId, proxy, sign } = options;
  const base = new URL(options.baseUrl);
  const pathTo = pathsUnder(base);
  const timeouts = { ...defaults, ...options.timeouts };
  const { connections = CONNECTIONS } = options;
  const transport = options.connect({ origin: base.origin, timeouts, connections, proxy, clock });
  const headers = headersFor(options);
  const failing = failingOf(options, base);
  const shares = new ConnectionShares({ connections, waitMs: timeouts.queue, clock });
  const { upstream: wire, traits } = dialect;
  let closing: Promise<void> | undefined;
  return {
    name,
    profile,
    traits,
    emitsFrames: wire.emitsFrames,
    showsBytes: true,
    prepare(turn, to): Prepared {
      const { text, decisions, headers: own } = wire.writeRequest(turn, to);
      // Bytes and not text from here on: they are not moved about in memory while the turn lasts.
      const body = transport.encode(text);
      const common = withOwn(headers, own);
      const isStreamed = turn.stream && canStream(to.profile);
      const accept = isStreamed ? "text/event-stream" : "application/json";
      const reading = { newId, frames: to.straight, asked: turn.params.n ?? 1 };
      const line = { model: to.model, stream: turn.stream };
      const path = pathTo(routeOf(to.profile, line) ?? wire.path(line));
      const sending = { transport, failing, clock, base, headers: common };
      const counting = { ...sending, shares, timeouts };
      return { decisions, open, ...tokenCounter(wire.tokenCount, to.profile, body, counting) };

      function open({ retry, requestId, tenant, worked, watch, headers: more, tap }: OpenOptions) {
        const fields = [...common, "accept", accept, "x-request-id", requestId, ...flat(more)];
        const request: HttpRequest = { method: "POST", path, headers: fields, body };
        const attempt: Attempt<Event> = (sink, fail) => {
          const closed = (): void => shares.leave(tenant);
          const decoder = transport.newDecoder();
          const to = { sink, fail, failing, clock, decoder, closed, worked, watch };
          const answer = new HttpAnswer({ ...to, reader: wire.readEvents(reading) });
          const late = (): void => fail(noConnection(failing, timeouts.queue));
          return sharing(answer, {
            enter: (start) => shares.enter(tenant, start, late),
            send: () => sendSigned(request, { ...sending, name, sign, answer, fail, closed, tap }),
          });
        };
        return retrying(attempt, retriesOf(options, retry, watch));
      }
    },
    async models() {
      const list: HttpRequest = { method: "GET", path: pathTo("/models"), headers };
      return readModels(await fetchText(transport, list, failing, clock));
    },
    ...routeTrials(options, { transport, failing, clock, pathTo, headers }),
    close: () => (closing ??= transport.close()),
  };
}

const canStream = ({ route }: Profile): boolean =>
  route === undefined || route.stream !== undefined;

/** None where somebody else signs: what is sent without that is always refused. */
function routeTrials(
  { sign, apiKey, profile, dialect }: HttpOptions,
  trying: Omit<Trying, "ownPath">,
): Pick<Upstream, "tryRoute" | "hasKey"> {
  if (sign !== undefined) return {};
  const ownPath = (model: string): string => {
    const line = { model, stream: false };
    return trying.pathTo(routeOf(profile, line) ?? dialect.upstream.path(line));
  };
  return {
    hasKey: trying.failing.secrets.length > 0 || apiKey !== undefined,
    tryRoute: (trial) => tryRoute({ ...trying, ownPath }, trial),
  };
}

const retriesOf = (
  { retries = 2, clock, random }: HttpOptions,
  retry: boolean,
  watch: OpenOptions["watch"],
): RetryOptions<Event> => ({
  watch,
  retries: retry ? retries : 0,
  clock,
  random,
  failed: (fault) => ({ type: "turn-fail", fault }),
});

type Sharing = {
  readonly enter: (start: () => void) => () => void;
  readonly send: () => void;
};

/** Sends a request when it has a connection. One that is stopped before leaves the queue. */
function sharing(answer: HttpAnswer, { enter, send }: Sharing): Flow {
  let isSent = false;
  const start = (): void => {
    isSent = true;
    send();
  };
  const leaveQueue = enter(start);
  if (isSent) return answer;
  return {
    pause: () => answer.pause(),
    resume: () => answer.resume(),
    stop() {
      if (!isSent) leaveQueue();
      answer.stop();
    },
  };
}

const failingOf = (options: HttpOptions, base: URL): Failing => ({
  name: options.name,
  origin: wayTo(base, options),
  secrets: secretsOf(options, base),
});

/** In words, and without what a proxy wants to know of who asks. */
const wayTo = ({ origin }: URL, { proxy }: HttpOptions): string =>
  proxy === undefined ? origin : `${origin} (by the proxy ${proxy.host})`;

/** What a request says of itself takes the place of what all of them say. */
function withOwn(
  headers: readonly string[],
  own: Readonly<Record<string, string>> | undefined,
): readonly string[] {
  if (own === undefined) return headers;
  const all = new Map<string, string>();
  for (let at = 0; at < headers.length; at += 2) all.set(headers[at] ?? "", headers[at + 1] ?? "");
  for (const [name, value] of Object.entries(own)) all.set(name, value);
  return [...all].flat();
}

const flat = (headers: OpenOptions["headers"]): readonly string[] =>
  headers === undefined ? [] : Object.entries(headers).flat();

/** Where a service is asked that has a path of its own for every model. */
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

/** Names and values in turn; what is configured wins. */
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
