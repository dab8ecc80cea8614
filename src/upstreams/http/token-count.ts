/** Asks an upstream how many tokens a request has. */

import type { UpstreamTokenCount } from "../../dialects/dialect.ts";
import { parseExactly } from "../../dialects/shared/exact-json.ts";
import { fieldsOf, numberOf } from "../../dialects/shared/loose.ts";
import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import { jsonOf } from "../../turn/json.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Prepared } from "../upstream.ts";
import type { Failing } from "./fault.ts";
import { fetchText } from "./fetch-text.ts";
import { pathsUnder } from "./path.ts";
import type { HttpRequest, Transport } from "./transport.ts";

type Sending = {
  readonly transport: Transport;
  readonly failing: Failing;
  readonly clock: Clock;
  readonly base: URL;
  /** Names and values in turn. */
  readonly headers: readonly string[];
};

/** Counts the tokens of a request that was written; nothing where the upstream cannot. */
export function tokenCounter(
  form: UpstreamTokenCount | undefined,
  { countsTokens }: Profile,
  body: Uint8Array,
  { transport, failing, clock, base, headers }: Sending,
): Pick<Prepared, "count"> {
  if (form === undefined || countsTokens !== true) return {};
  const count = async (): Promise<number> => {
    const decoder = transport.newDecoder();
    const text = decoder.write(body) + decoder.end();
    const request: HttpRequest = {
      method: "POST",
      path: pathsUnder(base)(form.path),
      headers: [...headers, "accept", "application/json"],
      body: transport.encode(pickFields(text, form.fields)),
    };
    return readCount(await fetchText(transport, request, failing, clock), failing);
  };
  return { count };
}

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
