/** Asks an upstream how many tokens a request has. */

import type { UpstreamTokenCount } from "../../dialects/dialect.ts";
import { parseExactly } from "../../json/exact.ts";
import { fieldsOf, numberOf } from "../../dialects/shared/loose.ts";
import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import { jsonOf } from "../../json/json.ts";
import type { Profile } from "../../turn/profile.ts";
import type { CountOptions, Prepared } from "../upstream.ts";
import type { ConnectionShares } from "./connection-shares.ts";
import { noConnection, type Failing } from "./fault.ts";
import { fetchText } from "./fetch-text.ts";
import { pathsUnder } from "./path.ts";
import type { HttpRequest, Timeouts, Transport } from "./transport.ts";

type Sending = {
  readonly transport: Transport;
  readonly failing: Failing;
  readonly clock: Clock;
  readonly base: URL;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly shares: ConnectionShares;
  readonly timeouts: Pick<Timeouts, "queue">;
};

/** Counts the tokens of a request that was written; nothing where the upstream cannot. */
export function tokenCounter(
  form: UpstreamTokenCount | undefined,
  { countsTokens }: Profile,
  body: Uint8Array,
  sending: Sending,
): Pick<Prepared, "count"> {
  if (form === undefined || countsTokens !== true) return {};
  const { transport, failing, base, headers } = sending;
  const count = async (options: CountOptions): Promise<number> => {
    const decoder = transport.newDecoder();
    const text = decoder.write(body) + decoder.end();
    const request: HttpRequest = {
      method: "POST",
      path: pathsUnder(base)(form.path),
      headers: [...headers, "accept", "application/json"],
      body: transport.encode(pickFields(text, form.fields)),
    };
    return readCount(await sendShared(request, sending, options), failing);
  };
  return { count };
}

/** Sends a request on one of its tenant's connections, and ends it when the client leaves. */
function sendShared(
  request: HttpRequest,
  { transport, failing, clock, shares, timeouts }: Sending,
  { tenant, onLeave }: CountOptions,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let isGone = false;
  let abort = (): void => {};
  const stoppable: Transport = {
    ...transport,
    send: (asked, handler) =>
      transport.send(asked, {
        ...handler,
        onRequestStart(controller) {
          abort = () => controller.abort(left());
          handler.onRequestStart(controller);
          if (isGone) abort();
        },
      }),
  };
  const start = (): void => {
    const answer = fetchText(stoppable, request, failing, clock);
    resolve(answer.finally(() => shares.leave(tenant)));
  };
  const leaveQueue = shares.enter(tenant, start, () =>
    reject(noConnection(failing, timeouts.queue).fault),
  );
  onLeave(() => {
    isGone = true;
    leaveQueue();
    abort();
    reject(left());
  });
  return promise;
}

const left = (): Fault =>
  new Fault("client.left", "The client left before its tokens were counted.");

/** A request body with only these fields. */
function pickFields(text: string, fields: readonly string[]): string {
  const body = fieldsOf(parseExactly(text)) ?? {};
  const picked = fields.filter((key) => body[key] !== undefined).map((key) => [key, body[key]]);
  return JSON.stringify(Object.fromEntries(picked));
}

function readCount(text: string, { name }: Failing): number {
  const count = numberOf(fieldsOf(jsonOf(text))?.input_tokens);
  if (count !== undefined) return count;
  throw new Fault(
    "upstream.malformed",
    `Upstream \`${name}\` did not say how many tokens it counts.`,
    { log: { upstream: name } },
  );
}
