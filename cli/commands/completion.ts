/** `patchbay completion`: a script by which a shell completes commands, options and names. */

import type { Command } from "commander";
import { statusSchema } from "../../src/observe/console/wire.ts";
import { askGateway, environment, findGateways, print } from "../../src/terminal.ts";
import { loadConfig } from "../../src/configuration.ts";
import { bashScript } from "../completion/bash.ts";
import { fishScript } from "../completion/fish.ts";
import { powershellScript } from "../completion/powershell.ts";
import type { Shell } from "../completion/shells.ts";
import { commandTree, optionsOf } from "../completion/tree.ts";
import { zshScript } from "../completion/zsh.ts";

const scripts = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
  powershell: powershellScript,
} as const satisfies Record<Shell, typeof bashScript>;

export function completion(shell: Shell, program: Command): void {
  print(scripts[shell](commandTree(program), optionsOf(program)).trimEnd().split("\n"));
}

/** Shells expand some of the words that they complete from, so a name with other characters is left out. */
const PLAIN = /^[\w.:@+~/-]+$/;

/** The names of models, one a line: those of running gateways, or what the configuration here has. */
export async function completeModels(): Promise<void> {
  const env = environment();
  const gateways = await findGateways(env);
  const named = await Promise.all(
    gateways.map(async ({ sockets: [socket = ""] }) => {
      const { models } = await askGateway(socket, statusSchema, { path: "/status" });
      return Object.keys(models);
    }),
  );
  const loaded = gateways.length > 0 ? undefined : loadConfig({ env, directory: process.cwd() });
  const own = loaded?.ok === true ? Object.keys(loaded.config.models) : [];
  const names = new Set([...named.flat(), ...own].filter((name) => PLAIN.test(name)));
  if (names.size > 0) print([...names]);
}
