/** A gateway at an address, which commands call over HTTP as its clients do. */

import {
  Fault,
  type Fields,
  fieldsIn,
  fieldsOf,
  filledText,
  listOf,
  refusal,
} from "../src/terminal.ts";

export type RemoteGateway = {
  /** Without `/v1`. */
  readonly url: string;
  readonly key: string | undefined;
  /** The time limit of an answer; default: 10 s. */
  readonly timeoutMs?: number | undefined;
};

const ANSWER_MS = 10_000;

/** An address without the path of the API. */
export const rootOf = (url: string): string => url.replace(/\/+(?:v1\/*)?$/, "");

export class Unreachable extends Fault {}

type Sent = { readonly body?: Fields; readonly headers?: Readonly<Record<string, string>> };

/** Sends a request: GET or, with a body, POST. Throws Unreachable with the reason if no server answers. */
export async function reach(
  remote: RemoteGateway,
  path: string,
  { body, headers }: Sent = {},
): Promise<Response> {
  const { url, key, timeoutMs = ANSWER_MS } = remote;
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const posted = body && { method: "POST", body: JSON.stringify(body) };
  const type = body && { "content-type": "application/json" };
  try {
    return await fetch(`${url}${path}`, {
      ...posted,
      headers: { ...type, ...headers, ...authorization },
      signal: AbortSignal.timeout(Math.ceil(timeoutMs)),
    });
  } catch (error) {
    const remedy = isTimeout(error)
      ? "wait longer with `--timeout`, or check its upstream"
      : "start it with `patchbay serve`, or check `--url`";
    const message = `No gateway answers at ${url}${path} (${connectionReason(error, remote)}); ${remedy}.`;
    throw new Unreachable("upstream.unreachable", message, {}, error);
  }
}

/** The text of an answer. Throws a Fault if the connection ends before the text. */
export async function bodyText(response: Response, remote: RemoteGateway): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    const reason = connectionReason(error, remote);
    throw refusal(`The answer of ${response.url} broke off (${reason}); check \`--url\`.`, error);
  }
}

/** Reads JSON. Throws a Fault with the reason and a remedy for a status other than 2xx. */
export async function askRemote(remote: RemoteGateway, path: string): Promise<Fields | undefined> {
  const response = await reach(remote, path);
  const text = await bodyText(response, remote);
  if (!response.ok) throw refusedBy(remote, response.status, text);
  return fieldsIn(text);
}

export const modelsAt = async (remote: RemoteGateway): Promise<readonly string[]> =>
  modelsIn(await askRemote(remote, "/v1/models"));

/** The names in a list of models. */
export const modelsIn = (body: Fields | undefined): readonly string[] =>
  (listOf(body?.data) ?? []).flatMap((one) => filledText(fieldsOf(one)?.id) ?? []);

export async function firstModel(remote: RemoteGateway): Promise<string> {
  const [first] = await modelsAt(remote);
  if (first !== undefined) return first;
  throw refusal(
    `${remote.url} lists no models; name one with \`--model\`, such as UPSTREAM/MODEL.`,
  );
}

export type Readiness = {
  readonly isReady: boolean;
  /** The state of each upstream by its name. */
  readonly upstreams: Fields;
  readonly body: Fields;
};

/** Reads `/readyz`; undefined if no gateway answers. A failing proxy before a gateway names no upstreams. */
export async function readinessOf(remote: RemoteGateway): Promise<Readiness | undefined> {
  try {
    const response = await reach(remote, "/readyz");
    const body = fieldsIn(await bodyText(response, remote)) ?? {};
    const upstreams = fieldsOf(body.upstreams);
    if (upstreams === undefined)
      return response.ok ? undefined : { isReady: false, upstreams: {}, body: {} };
    return { isReady: response.ok, upstreams, body };
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && error.name === "TimeoutError";

/** The reason why a connection failed: `fetch` throws an error whose cause has the code. */
export function connectionReason(error: unknown, { timeoutMs = ANSWER_MS }: RemoteGateway): string {
  if (isTimeout(error)) return `timeout after ${timeoutMs / 1000} s`;
  const { cause, message } = error as Error;
  const deeper = cause as NodeJS.ErrnoException | undefined;
  return deeper?.code ?? deeper?.message ?? message;
}

export function refusedBy({ url, key }: RemoteGateway, status: number, text: string): Fault {
  const message = errorMessage(fieldsIn(text));
  if (status === 401 || status === 403) {
    const remedy =
      key === undefined
        ? "pass its key with `--key` or PATCHBAY_API_KEY"
        : "the key from `--key` or PATCHBAY_API_KEY is not one of its `server.keys`";
    return refusal(`${url} needs a key (HTTP ${status}); ${remedy}.`);
  }
  if (message?.startsWith("model") === true)
    return refusal(`${message} Name another with \`--model\`.`);
  return status === 404 || message === undefined
    ? refusal(`${url} is not the address of a Patchbay gateway (HTTP ${status}); check \`--url\`.`)
    : refusal(`${url} refused the request (HTTP ${status}): ${message}`);
}

/** The code and the message of an error body, or of an error in a stream. */
export function errorMessage(fields: Fields | undefined): string | undefined {
  const inner = fieldsOf(fields?.error) ?? fields;
  const words = [filledText(inner?.code), filledText(inner?.message) ?? filledText(fields?.error)];
  return words.filter((word) => word !== undefined).join(": ") || undefined;
}
