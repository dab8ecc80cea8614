/** Addresses of gateways: their lookup, their text, and the faults of binding to them. */

import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { Fault } from "../../turn/fault.ts";
import { isLoopback } from "../../upstreams/loopback.ts";

export type Address = { readonly host: string; readonly port: number };

const bare = (host: string): string => host.replaceAll(/^\[|\]$/g, "");

/** `localhost` is two addresses on most machines, and clients try either. */
export async function addressesOf(host: string): Promise<readonly [string, ...string[]]> {
  const name = bare(host);
  if (name !== "localhost") return [name];
  const [first, ...others] = await lookup(name, { all: true });
  return [first?.address ?? name, ...others.map(({ address }) => address)];
}

export function urlOf({ host, port }: Address): string {
  const name = bare(host);
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

export function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

export function bindFault(error: unknown, { host, port }: Address): Fault {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  const remedies: Readonly<Record<string, string>> = {
    EADDRINUSE:
      "is used by another process; stop that process, or choose another port with `--port`",
    EACCES: "is not allowed for this user; choose a port above 1023 with `--port`",
    EADDRNOTAVAIL: "is not an address of this machine; choose another address with `--host`",
    ENOTFOUND: "has a host name that this machine cannot resolve; choose another with `--host`",
  };
  const remedy =
    remedies[code] ?? `cannot be opened for listening (${code}); check \`--host\` and \`--port\``;
  return new Fault("config.invalid", `${host}:${port} ${remedy}.`, {}, error);
}

/** The port for processes that share one; a free port if any is wanted. */
export async function sharedPort(address: Address): Promise<number> {
  try {
    const [first] = await addressesOf(address.host);
    const server = createServer();
    await once(server.listen(address.port, first), "listening");
    const port = portOf(server);
    await once(server.close(), "close");
    return port;
  } catch (error) {
    throw bindFault(error, address);
  }
}

/** The reason why a gateway may not listen at an address: without keys it must not be reached from other machines. */
export function bindProblem(host: string, keys: readonly unknown[]): string | undefined {
  if (keys.length > 0 || isLoopback(host)) return undefined;
  return `listening on ${host} without a key would let every client that reaches it use your upstreams; set \`server.keys\` or PATCHBAY_API_KEY, or listen on 127.0.0.1`;
}
