import type { Environment } from "../../src/host/config/env.ts";
import {
  isCodexSignedIn,
  keyedProviders,
  type KeyedProvider,
} from "../../src/host/config/providers.ts";
import { onPath } from "../../src/upstreams/codex/command.ts";
import { agents } from "../launch/agents.ts";
import { findLocalServers, type LocalServer } from "./local-servers.ts";

export type FoundAgent = { readonly name: string; readonly title: string };

/** What there is on this machine that a gateway could stand between. */
export type Found = {
  readonly keys: readonly KeyedProvider[];
  /** Whether Codex can be a model by its own sign-in. */
  readonly codex: boolean;
  readonly servers: readonly LocalServer[];
  readonly agents: readonly FoundAgent[];
};

export async function findAll(
  env: Environment,
  servers: () => Promise<readonly LocalServer[]> = findLocalServers,
): Promise<Found> {
  const path = env["PATH"] ?? env["Path"] ?? "";
  return {
    keys: keyedProviders(env),
    codex: isCodexSignedIn(env),
    servers: await servers(),
    agents: agents
      .filter(({ commands }) => commands.some((command) => onPath(command, path) !== undefined))
      .map(({ name, title }) => ({ name, title })),
  };
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
