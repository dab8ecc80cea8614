import { setTimeout } from "node:timers/promises";
import {
  environment,
  type Environment,
  Fault,
  fieldsOf,
  filledText,
  findGateways,
  foreignFolders,
  type LocalGateway,
  printError,
  type WatchedBatch,
} from "../src/terminal.ts";
import { batchSchema, turnSchema } from "../src/observe/console/wire.ts";
import { exitCode } from "./output.ts";
import { turnLines } from "./turn-lines.ts";

export type GatewayOptions = {
  /** Which one, where several run; or one elsewhere. */
  readonly url?: string | undefined;
  /** For one elsewhere. */
  readonly key?: string | undefined;
};

/** A gateway elsewhere, which is asked over HTTP. */
export type RemoteGateway = { readonly url: string; readonly key: string | undefined };

type Chosen =
  | { readonly local: LocalGateway }
  | { readonly remote: RemoteGateway }
  /** None is there, or it must be said which: what to print, and the exit code. */
  | { readonly problem: readonly string[]; readonly code: number };

const bare = (url: string): string => url.replace(/\/+(?:v1\/*)?$/, "");

/** The gateways of this user; folders that are not looked in are named on standard error. */
export function runningGateways(env: Environment): Promise<readonly LocalGateway[]> {
  for (const note of foreignFolders(env)) printError(note);
  return findGateways(env);
}

/** The gateway that a command is about. One of this user's is reached by its socket, whatever its keys. */
export async function chooseGateway({ url, key }: GatewayOptions): Promise<Chosen> {
  const env = environment();
  const running = await runningGateways(env);
  if (url !== undefined) {
    const local = running.find((one) => bare(one.url) === bare(url));
    if (local !== undefined && key === undefined) return { local };
    return { remote: { url: bare(url), key: key ?? keyIn(env) } };
  }
  const [only, ...others] = running;
  if (only === undefined)
    return {
      problem: ["No gateway runs here. To start one: patchbay serve"],
      code: exitCode.nobody,
    };
  if (others.length === 0) return { local: only };
  const list = running.map((one) => `  --url ${one.url}${forAgent(one)}`);
  return { problem: ["Several gateways run here; say which:", ...list], code: exitCode.misuse };
}

const forAgent = ({ agent }: LocalGateway): string => (agent === undefined ? "" : `  (${agent})`);

const keyIn = ({ PATCHBAY_API_KEY = "", PROXY_API_KEY = "" }: Environment): string | undefined =>
  PATCHBAY_API_KEY || PROXY_API_KEY || undefined;

/** Asks a gateway elsewhere for JSON. */
export async function askRemote({ url, key }: RemoteGateway, path: string): Promise<unknown> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  let response: Response;
  try {
    response = await fetch(`${url}${path}`, { headers, signal: AbortSignal.timeout(10_000) });
  } catch (error) {
    throw new Fault("request.invalid", `No gateway answers at ${url}.`, {}, error);
  }
  const body: unknown = await response.json().catch(() => undefined);
  if (response.ok) return body;
  const said = filledText(fieldsOf(fieldsOf(body)?.error)?.message) ?? "no reason is given";
  throw new Fault("request.invalid", `${url} answers ${response.status}: ${said}`);
}

const POLL_MS = 1000;

/** Follows a gateway elsewhere: it is asked again and again for the turns of the key's tenant. */
export const watchRemote = (remote: RemoteGateway) => ({
  url: remote.url,
  watch: (signal: AbortSignal, last = 100) => pollTurns(remote, signal, last),
  turn: async (requestId: string): Promise<readonly string[]> =>
    turnLines(
      turnSchema.parse(await askRemote(remote, `/v1/turns/${encodeURIComponent(requestId)}`)),
    ),
});

async function* pollTurns(
  remote: RemoteGateway,
  signal: AbortSignal,
  last: number,
): AsyncGenerator<WatchedBatch> {
  let query = `last=${last}`;
  while (!signal.aborted) {
    const batch = batchSchema.parse(await askRemote(remote, `/v1/turns?${query}`));
    query = `since=${batch.last}`;
    yield { ...batch, socket: remote.url };
    await setTimeout(POLL_MS, undefined, { signal }).catch(() => {}); // It was ended meanwhile.
  }
}
