import { z } from "zod";
import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import { jsonOf } from "../../json/json.ts";
import type { Headers } from "../retry.ts";
import { broken, type Failing, refusal, tooLong } from "./fault.ts";
import type { HttpRequest, ResponseController, Transport } from "./transport.ts";

const LONGEST = 16 * 1024 * 1024;
/** All of it must be there by then, however steadily it trickles. */
const WHOLE_MS = 60_000;

type WholeResponse = {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
};

/** The whole body of a response, such as a list of models. Throws the Fault of any other than a success. */
export async function fetchText(
  transport: Transport,
  request: HttpRequest,
  failing: Failing,
  clock: Clock,
): Promise<string> {
  try {
    const response = await receive(transport, request, failing, clock);
    if (response.status < 300) return response.body;
    throw refusal(failing, { ...response, now: clock.date() }).fault;
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw broken(failing, error as Error, false).fault;
  }
}

/** A response of whatever status, once all of it is there. */
export function receive(
  transport: Transport,
  request: HttpRequest,
  failing: Failing,
  clock: Clock,
  mostMs = WHOLE_MS,
): Promise<WholeResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<WholeResponse>();
  const decoder = transport.newDecoder();
  let status = 0;
  let headers: Headers = {};
  let body = "";
  let controller: ResponseController | undefined;
  let isLate = false;
  const callOff = clock.at(clock.now() + mostMs, () => {
    isLate = true;
    controller?.abort(late(failing, mostMs));
    reject(late(failing, mostMs));
  });
  transport.send(request, {
    onRequestStart(started) {
      controller = started;
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
      callOff();
      resolve({ status, headers, body: body + decoder.end() });
    },
    onResponseError(_, error) {
      callOff();
      reject(error);
    },
  });
  return promise;
}

const late = ({ name }: Failing, mostMs: number): Fault =>
  new Fault(
    "upstream.idle_timeout",
    `Upstream \`${name}\` took longer than ${mostMs} ms to send a list. Try again, or name its models in \`models\`.`,
    { log: { upstream: name } },
  );

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

/** The names in a model list, in whichever of the shapes that servers have for it. */
export function readModels(text: string): readonly string[] {
  // A server without a list is a server all the same.
  const { data, models } = list.parse(jsonOf(text));
  const names = (data ?? models ?? []).map((entry) =>
    typeof entry === "string" ? entry : (entry.id ?? entry.slug ?? entry.name ?? ""),
  );
  return [...new Set(names.filter((name) => name !== ""))];
}
