import type { Environment } from "../../config/env.ts";
import { keyVariable, providers } from "../../config/providers.ts";
import { onPath } from "../../../upstreams/codex/command.ts";
import { agents } from "../launch/agents.ts";
import { findLocalServers, type LocalServer } from "./local-servers.ts";

export type FoundKey = {
  /** The provider, by the name of its upstream. */
  readonly provider: keyof typeof providers;
  /** The variable that it is in. What is in it is nobody's business here. */
  readonly variable: string;
};

export type FoundAgent = { readonly name: string; readonly title: string };

/** What there is on this machine that a gateway could stand between. */
export type Found = {
  readonly keys: readonly FoundKey[];
  readonly servers: readonly LocalServer[];
  readonly agents: readonly FoundAgent[];
};

export async function findAll(
  env: Environment,
  servers: () => Promise<readonly LocalServer[]> = findLocalServers,
): Promise<Found> {
  const path = env["PATH"] ?? env["Path"] ?? "";
  return {
    keys: keysIn(env),
    servers: await servers(),
    agents: agents
      .filter(({ commands }) => commands.some((command) => onPath(command, path) !== undefined))
      .map(({ name, title }) => ({ name, title })),
  };
}

function keysIn(env: Environment): FoundKey[] {
  const named = Object.entries(providers) as [keyof typeof providers, { env: readonly string[] }][];
  return named.flatMap(([provider, { env: variables }]) => {
    const variable = keyVariable({ env: variables }, env);
    return variable === undefined ? [] : [{ provider, variable }];
  });
}

/** What was found, one line for each kind. */
export function foundLines({ keys, servers, agents: there }: Found): string[] {
  const list = (all: readonly string[]): string => (all.length === 0 ? "none" : all.join(", "));
  return [
    `keys     ${list(keys.map(({ variable }) => variable))}`,
    `servers  ${list(servers.map(serverText))}`,
    `agents   ${list(there.map(({ name }) => name))}`,
  ];
}

const serverText = ({ title, address, version, models }: LocalServer): string =>
  `${title}${version === undefined ? "" : ` ${version}`} at ${address} (${models.length} model${models.length === 1 ? "" : "s"})`;
