/** Requests beside turns whose whole response is read: the list of models, the count of tokens, trials of a route. */

import { z } from "zod";
import type { UpstreamTokenCount } from "../../dialects/dialect.ts";
import { fieldsOf, numberOf } from "../../dialects/shared/loose.ts";
import { parseExactly } from "../../json/exact.ts";
import { jsonOf } from "../../json/json.ts";
import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import { headerValue, type Headers } from "../retry.ts";
import type { CountOptions, Prepared, RouteReply, RouteTrial } from "../upstream.ts";
import type { ConnectionShares } from "./connection-shares.ts";
import { broken, type Failing, noConnection, refusal, safeError, tooLong } from "./fault.ts";
import { isCredential } from "./secrets.ts";
import type { HttpRequest, ResponseController, Timeouts, Transport } from "./transport.ts";

const LONGEST = 16 * 1024 * 1024;
/** A whole response must arrive within this time, however steadily it trickles. */
const WHOLE_MS = 60_000;
/** A refusal needs no computing, so that a route which takes longer does not refuse. */
const TRIAL_MS = 10_000;

/** What the requests of one upstream have in common. */
export type Connection = {
  readonly transport: Transport;
  readonly shares: ConnectionShares;
  readonly failing: Failing;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  /** The path of a route below the base URL, whose query is kept. */
  readonly pathTo: (route: string) => string;
};

type WholeResponse = {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
};

/** Reads a response of any status to its end. `onStart` receives what aborts the exchange. Rejects with a Fault. */
async function receive(
  { transport, failing, clock }: Connection,
  request: HttpRequest,
  mostMs: number,
  onStart: (controller: ResponseController) => void = () => {},
): Promise<WholeResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<WholeResponse>();
  const decoder = transport.newDecoder();
  let status = 0;
  let headers: Headers = {};
  let body = "";
  let controller: ResponseController | undefined;
  let isLate = false;
  const cancelTimer = clock.at(clock.now() + mostMs, () => {
    isLate = true;
    controller?.abort(late(failing, mostMs));
    reject(late(failing, mostMs));
  });
  transport.send(request, {
    onRequestStart(started) {
      controller = started;
      onStart(controller);
      if (isLate) controller.abort(late(failing, mostMs));
    },
    onResponseStart(_, code, fields) {
      status = code;
      headers = fields;
    },
    onResponseData(own, chunk) {
      body += decoder.write(chunk);
      if (body.length > LONGEST) own.abort(tooLong(failing, LONGEST).fault);
    },
    onResponseEnd() {
      cancelTimer();
      resolve({ status, headers, body: body + decoder.end() });
    },
    onResponseError(_, error) {
      cancelTimer();
      reject(error);
    },
  });
  try {
    return await promise;
  } catch (error) {
    throw error instanceof Fault ? error : broken(failing, error as Error, false).fault;
  }
}

const late = ({ name }: Failing, mostMs: number): Fault =>
  new Fault(
    "upstream.idle_timeout",
    `Upstream \`${name}\` took longer than ${mostMs} ms to send a list. Try again, or name its models in \`models\`.`,
    { log: { upstream: name } },
  );

/** The body of a success; any other response is thrown as a Fault. */
function bodyOf({ failing, clock }: Connection, response: WholeResponse): string {
  if (response.status < 300) return response.body;
  throw refusal(failing, { ...response, now: clock.date() }).fault;
}

export async function listModels(connection: Connection): Promise<readonly string[]> {
  const { pathTo, headers } = connection;
  const request: HttpRequest = { method: "GET", path: pathTo("/models"), headers: [...headers] };
  return readModels(bodyOf(connection, await receive(connection, request, WHOLE_MS)));
}

const named = z.looseObject({
  id: z.string().optional().catch(undefined),
  slug: z.string().optional().catch(undefined),
  name: z.string().optional().catch(undefined),
});
const entries = z
  .array(z.union([z.string(), named]))
  .optional()
  .catch(undefined);
const list = z
  .union([z.array(z.unknown()).transform((data) => ({ data })), z.looseObject({})])
  .pipe(z.looseObject({ data: entries, models: entries }))
  .catch({ data: [], models: [] });

/** The names in a model list, in any of the shapes that servers have for it; a server without a list has none. */
export function readModels(text: string): readonly string[] {
  const { data, models } = list.parse(jsonOf(text));
  const names = (data ?? models ?? []).map((entry) =>
    typeof entry === "string" ? entry : (entry.id ?? entry.slug ?? entry.name ?? ""),
  );
  return [...new Set(names.filter((name) => name !== ""))];
}

/** Counts the tokens of a written request, on a connection of its tenant's share. */
export const tokenCounter =
  (
    form: UpstreamTokenCount,
    written: Uint8Array,
    connection: Connection,
  ): NonNullable<Prepared["count"]> =>
  async ({ tenant, onLeave }: CountOptions) => {
    const { transport, shares, failing, timeouts, headers, pathTo } = connection;
    const decoder = transport.newDecoder();
    const text = decoder.write(written) + decoder.end();
    const request: HttpRequest = {
      method: "POST",
      path: pathTo(form.path),
      headers: [...headers, "accept", "application/json"],
      body: transport.encode(pickFields(text, form.fields)),
    };
    const { promise, resolve, reject } = Promise.withResolvers<WholeResponse>();
    let isGone = false;
    let controller: ResponseController | undefined;
    const waiting = {
      start() {
        const response = receive(connection, request, WHOLE_MS, (started) => {
          controller = started;
          if (isGone) started.abort(left());
        });
        resolve(response.finally(() => shares.leave(tenant)));
      },
      late: () => reject(noConnection(failing, timeouts.queue).fault),
    };
    shares.enter(tenant, waiting);
    onLeave(() => {
      isGone = true;
      shares.leaveQueue(tenant, waiting);
      controller?.abort(left());
      reject(left());
    });
    const count = numberOf(fieldsOf(jsonOf(bodyOf(connection, await promise)))?.input_tokens);
    if (count !== undefined) return count;
    throw new Fault(
      "upstream.malformed",
      `Upstream \`${failing.name}\` did not say how many tokens it counts.`,
      { log: { upstream: failing.name } },
    );
  };

const left = (): Fault =>
  new Fault("client.left", "The client left before its tokens were counted.");

/** A request body with only these fields. */
function pickFields(text: string, fields: readonly string[]): string {
  const body = fieldsOf(parseExactly(text)) ?? {};
  const picked = fields.filter((key) => body[key] !== undefined).map((key) => [key, body[key]]);
  return JSON.stringify(Object.fromEntries(picked));
}

/**
 * Sends a request that no upstream can answer: its refusal shows what is wrong with the
 * configuration. Throws a Fault if there is no response.
 */
export async function tryRoute(
  connection: Connection,
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
  const reply = await receive(connection, request, TRIAL_MS);
  const { message, code, type } = safeError(failing, reply.body);
  return {
    status: reply.status,
    message,
    code: code ?? type,
    date: headerValue(reply.headers.date),
  };
}

/** Headers without those that sign in. */
function withoutCredentials(headers: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [name = "", value = ""] = headers.slice(at, at + 2);
    if (!isCredential(name)) kept.push(name, value);
  }
  return kept;
}
