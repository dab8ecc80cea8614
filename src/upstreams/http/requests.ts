/** Requests whose whole response is read: lists of models, counts of tokens, trials of a route. */

import type { UpstreamTokenCount } from "../../dialects/dialect.ts";
import { faultOfError } from "../../dialects/errors/upstream-error.ts";
import { fieldsOf, listOf, numberOf } from "../../dialects/shared/loose.ts";
import { parseExactly } from "../../json/exact.ts";
import { jsonOf } from "../../json/json.ts";
import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import type { Fields } from "../../turn/turn.ts";
import { headerValue, type Headers } from "../retry.ts";
import type { CountOptions, Prepared, RouteReply, RouteTrial } from "../upstream.ts";
import type { ConnectionShares } from "./connection-shares.ts";
import {
  broken,
  type Failing,
  badAnswer,
  noConnection,
  httpFailure,
  safeError,
  tooLong,
  upstreamFault,
} from "./fault.ts";
import { isCredential } from "./secrets.ts";
import {
  type HttpRequest,
  pairsOf,
  type ResponseController,
  type Timeouts,
  type Transport,
} from "./transport.ts";

const LONGEST = 16 * 1024 * 1024;
/** Longest time until the end of a response. */
const WHOLE_MS = 60_000;
/** The same for a trial, whose refusal needs no computing. */
const TRIAL_MS = 10_000;

/** Shared by all requests to one upstream. */
export type UpstreamConnection = {
  readonly transport: Transport;
  readonly shares: ConnectionShares;
  readonly failing: Failing;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  /** The path of a route below the base URL, with the query of the base URL. */
  readonly pathTo: (route: string) => string;
};

type WholeResponse = {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
};

type Receiving = {
  /** The response, of any status. Rejects with a Fault. */
  readonly response: Promise<WholeResponse>;
  abort(reason: Fault): void;
};

/** Sends a request and reads its response to the end. */
export function receive(
  { transport, failing, clock }: Pick<UpstreamConnection, "transport" | "failing" | "clock">,
  request: HttpRequest,
  mostMs: number,
): Receiving {
  const { promise, resolve, reject } = Promise.withResolvers<WholeResponse>();
  const decoder = transport.newDecoder();
  let status = 0;
  let headers: Headers = {};
  let body = "";
  let controller: ResponseController | undefined;
  let aborted: Fault | undefined;
  const abort = (reason: Fault): void => {
    aborted ??= reason;
    controller?.abort(aborted);
    reject(aborted);
  };
  const cancelTimer = clock.at(clock.now() + mostMs, () => abort(late(failing, mostMs)));
  transport.send(request, {
    onRequestStart(started) {
      controller = started;
      if (aborted !== undefined) started.abort(aborted);
    },
    onResponseStart(_, code, fields) {
      status = code;
      headers = fields;
    },
    onResponseData(_, chunk) {
      body += decoder.write(chunk);
      if (body.length > LONGEST) abort(badAnswer(failing, tooLong(LONGEST)).fault);
    },
    onResponseEnd: () => resolve({ status, headers, body: body + decoder.end() }),
    onResponseError: (_, error) => reject(broken(failing, error, false).fault),
  });
  return { response: promise.finally(cancelTimer), abort };
}

const late = (failing: Failing, mostMs: number): Fault =>
  upstreamFault(
    "upstream.idle_timeout",
    failing,
    `took longer than ${mostMs} ms to send a complete response. Try again, or name its models in \`models\`.`,
  );

/** The body of a success; any other response is thrown as a Fault. */
function bodyOf({ failing, clock }: UpstreamConnection, response: WholeResponse): string {
  if (response.status < 300) return response.body;
  throw httpFailure(failing, { ...response, now: clock.date() }).fault;
}

export async function fetchModels(connection: UpstreamConnection): Promise<readonly string[]> {
  const { pathTo, headers } = connection;
  const request: HttpRequest = { method: "GET", path: pathTo("/models"), headers: [...headers] };
  return readModels(bodyOf(connection, await receive(connection, request, WHOLE_MS).response));
}

/** The names in a model list, in any of the shapes that servers have for it. */
export function readModels(text: string): readonly string[] {
  const list = jsonOf(text);
  const { data, models } = fieldsOf(list) ?? {};
  const names = (listOf(list) ?? listOf(data) ?? listOf(models) ?? []).flatMap((entry) => {
    const { id, slug, name } = fieldsOf(entry) ?? {};
    const found = [entry, id, slug, name].find((one) => typeof one === "string");
    // Gemini's API names a model by its resource.
    return found?.replace(/^models\//, "") ?? [];
  });
  return [...new Set(names.filter((name) => name !== ""))];
}

/** Counts the tokens of a written request, on a connection of its tenant's share. */
export const tokenCounter =
  (
    form: UpstreamTokenCount,
    { model, written }: { readonly model: string; readonly written: Uint8Array },
    connection: UpstreamConnection,
  ): NonNullable<Prepared["count"]> =>
  async ({ tenant, onLeave }: CountOptions) => {
    const { transport, shares, failing, timeouts, headers, pathTo } = connection;
    const decoder = transport.newDecoder();
    const picked = pickFields(decoder.write(written) + decoder.end(), form.fields);
    const request: HttpRequest = {
      method: "POST",
      path: pathTo(form.path.replace("{model}", () => encodeURIComponent(model))),
      headers: [...headers, "accept", "application/json"],
      body: transport.encode(JSON.stringify(form.wrap?.(picked, model) ?? picked)),
    };
    const { promise, resolve, reject } = Promise.withResolvers<WholeResponse>();
    let receiving: Receiving | undefined;
    const waiting = {
      start() {
        receiving = receive(connection, request, WHOLE_MS);
        resolve(receiving.response.finally(() => shares.leave(tenant)));
      },
      late: () => reject(noConnection(failing, timeouts.queue).fault),
    };
    shares.enter(tenant, waiting);
    onLeave(() => {
      shares.leaveQueue(tenant, waiting);
      receiving?.abort(left());
      reject(left());
    });
    const answer = fieldsOf(jsonOf(bodyOf(connection, await promise)));
    const count = numberOf(answer?.[form.field ?? "input_tokens"]);
    if (count !== undefined) return count;
    throw badAnswer(failing, "returned no token count.").fault;
  };

const left = (): Fault =>
  new Fault("client.left", "The client left before its tokens were counted.");

/** A request body with only these fields. */
function pickFields(text: string, fields: readonly string[]): Fields {
  const body = fieldsOf(parseExactly(text)) ?? {};
  const picked = fields.filter((key) => body[key] !== undefined).map((key) => [key, body[key]]);
  return Object.fromEntries(picked);
}

/**
 * Sends a request that no upstream can answer: its refusal shows what is wrong with the
 * configuration. Throws a Fault if there is no response.
 */
export async function tryRoute(
  connection: UpstreamConnection,
  path: string,
  { isSignedIn, model }: RouteTrial,
): Promise<RouteReply> {
  const { transport, failing } = connection;
  const headers = isSignedIn ? connection.headers : withoutCredentials(connection.headers);
  const request: HttpRequest = {
    method: "POST",
    path,
    headers: [...headers, "accept", "application/json"],
    body: transport.encode(JSON.stringify(model === undefined ? {} : { model })),
  };
  const reply = await receive(connection, request, TRIAL_MS).response;
  const error = safeError(failing, reply.body);
  const { message, code, type } = error;
  return {
    status: reply.status,
    fault: faultOfError(reply.status, error),
    message,
    code: code ?? type,
    date: headerValue(reply.headers.date),
  };
}

const withoutCredentials = (headers: readonly string[]): readonly string[] =>
  pairsOf(headers)
    .filter(([name]) => !isCredential(name))
    .flat();
