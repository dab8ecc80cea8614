import { fieldsOf, filledText } from "../src/dialects/shared/loose.ts";
import { Fault } from "../src/turn/fault.ts";
import { environment, type Environment } from "../src/host/config/env.ts";
import { findGateways, foreignFolders, type LocalGateway } from "../src/host/control/gateways.ts";
import { printError } from "../src/host/platform/print.ts";
import { exitCode } from "./exit-code.ts";

export type GatewayOptions = {
  /** Which one, where several run; or one elsewhere. */
  readonly url?: string | undefined;
  /** For one elsewhere. */
  readonly key?: string | undefined;
};

/** A gateway elsewhere, which is asked over HTTP. */
export type RemoteGateway = { readonly url: string; readonly key: string | undefined };

export type Chosen =
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
