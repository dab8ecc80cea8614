/** Sends requests that no upstream can answer, to see by the refusal what is wrong with its configuration. */

import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import type { RouteReply, RouteTrial } from "../upstream.ts";
import { headerValue } from "../retry.ts";
import { broken, safeError, type Failing } from "./fault.ts";
import { receive } from "./fetch-text.ts";
import { isCredential } from "./secrets.ts";
import type { HttpRequest, Transport } from "./transport.ts";

/** A refusal takes no thought; whoever takes longer is not refusing. */
const PATIENCE_MS = 10_000;

export type Trying = {
  readonly transport: Transport;
  readonly failing: Failing;
  readonly clock: Clock;
  /** Of the dialect's own route, for a model. */
  readonly ownPath: (model: string) => string;
  readonly pathTo: (route: string) => string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
};

/** Throws a Fault where nobody answers. */
export async function tryRoute(
  { transport, failing, clock, ownPath, pathTo, headers }: Trying,
  { route, isSignedIn, model }: RouteTrial,
): Promise<RouteReply> {
  const request: HttpRequest = {
    method: "POST",
    path: route === undefined ? ownPath(model ?? "") : pathTo(route),
    headers: [
      ...(isSignedIn ? headers : withoutCredentials(headers)),
      "accept",
      "application/json",
    ],
    body: transport.encode(JSON.stringify(model === undefined ? {} : { model })),
  };
  try {
    const reply = await receive(transport, request, failing, clock, PATIENCE_MS);
    const { message, code, type } = safeError(failing, reply.body);
    const { date } = reply.headers;
    return { status: reply.status, message, code: code ?? type, date: headerValue(date) };
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw broken(failing, error as Error, false).fault;
  }
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
