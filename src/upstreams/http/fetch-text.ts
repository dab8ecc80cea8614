import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import type { Headers } from "../retry.ts";
import { broken, refusal, tooLong, type Failing } from "./fault.ts";
import type { HttpRequest, Transport } from "./transport.ts";

const LONGEST = 16 * 1024 * 1024;

type Response = { readonly status: number; readonly headers: Headers; readonly body: string };

/** The whole body of a response, such as a list of models. Throws the Fault of any other than a success. */
export async function fetchText(
  transport: Transport,
  request: HttpRequest,
  failing: Failing,
  clock: Clock,
): Promise<string> {
  try {
    const response = await receive(transport, request, failing);
    if (response.status < 300) return response.body;
    throw refusal(failing, { ...response, now: clock.now() }).fault;
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw broken(failing, error as Error, false).fault;
  }
}

function receive(transport: Transport, request: HttpRequest, failing: Failing): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const decoder = transport.newDecoder();
  let status = 0;
  let headers: Headers = {};
  let body = "";
  transport.send(request, {
    onRequestStart() {},
    onResponseStart(_, code, fields) {
      status = code;
      headers = fields;
    },
    onResponseData(controller, chunk) {
      body += decoder.write(chunk);
      if (body.length > LONGEST) controller.abort(tooLong(failing, LONGEST).fault);
    },
    onResponseEnd: () => resolve({ status, headers, body: body + decoder.end() }),
    onResponseError: (_, error) => reject(error),
  });
  return promise;
}
