/** `patchbay launch AGENT --keep` and `--restore`: settings that last, and their undoing. */

import { dirname, isAbsolute, join } from "node:path";
import { type Environment, Fault, homeFolder } from "../../../src/terminal.ts";
import type { Agent, Keeping, Lasting, Output, Place } from "../agent.ts";
import { journalFolder } from "./journal.ts";
import { keepSettings } from "./keep.ts";
import { restoreSettings, type Restored } from "./restore.ts";
import { MARK } from "./settings-text.ts";

export type Kept = { readonly file: string; readonly notes: readonly string[] };

const undo = (agent: Agent): string => `patchbay launch ${agent.name} --restore`;

/** Points the agent's own settings at a gateway, until they are restored. */
export async function keepAgent(
  agent: Agent,
  to: Lasting,
  { env, output }: { readonly env: Environment; readonly output: Output },
): Promise<Kept> {
  const keeping = keepingOf(agent);
  const place = placeOf(env);
  const file = keeping.file(place);
  const texts = (await keeping.beside?.(to, output)) ?? {};
  const beside = Object.fromEntries(
    Object.keys(texts).map((name) => [name, join(dirname(file), name)]),
  );
  // What was kept before is undone first, so that the backup is always the user's own.
  restoreAgent(agent, env);
  const entries = keeping.entries(to, beside);
  keepSettings(journalFolder(agent.name, env), {
    agent: agent.name,
    file,
    format: keeping.format,
    entries,
    own: Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [join(dirname(file), name), text]),
    ),
    mark: `${MARK}${undo(agent)}`,
    isSecret: to.key !== undefined && JSON.stringify(entries).includes(to.key),
    at: new Date(),
  });
  return { file, notes: [keeping.note?.(to) ?? [], `To undo it: ${undo(agent)}`].flat() };
}

export function restoreAgent(agent: Agent, env: Environment): Restored {
  const keeping = keepingOf(agent);
  const nobody: Lasting = { url: "", model: "", small: "", models: [], context: 0 };
  // Their names alone matter.
  const entries = keeping.entries(nobody, {});
  return restoreSettings(journalFolder(agent.name, env), {
    file: keeping.file(placeOf(env)),
    format: keeping.format,
    entries,
  });
}

function keepingOf(agent: Agent): Keeping {
  if (agent.keeping !== undefined) return agent.keeping;
  throw new Fault(
    "request.invalid",
    `No settings file of ${agent.title} is known that was tried; \`patchbay launch ${agent.name}\` needs none.`,
  );
}

function placeOf(env: Environment): Place {
  const home = env["HOME"] ?? homeFolder();
  if (home !== undefined && isAbsolute(home)) return { home, env };
  throw new Fault("request.invalid", "There is no home directory to keep settings in; set HOME.");
}

/** What was done, in sentences. */
export function restoredLines(agent: Agent, restored: Restored): string[] {
  switch (restored.outcome) {
    case "nothing":
      return [`Nothing of ours is in the settings of ${agent.title}.`];
    case "put back":
      return [
        restored.gone
          ? `${restored.file} is gone again, as before.`
          : `${restored.file} is as it was, byte for byte.`,
      ];
    case "taken out":
      return [
        `${restored.file} has changed since, so only our entries were taken out.`,
        ...restored.left.map((name) => `\`${name}\` was changed by somebody else and stays.`),
        ...(restored.backup === undefined ? [] : [`The file as it was: ${restored.backup}`]),
      ];
    case "by hand":
      return [
        `${restored.file} ${restored.problem}, so our entries could not be taken out.`,
        `Remove them by hand: ${restored.entries.join(", ")}`,
        ...(restored.backup === undefined ? [] : [`The file as it was: ${restored.backup}`]),
      ];
    default:
      return restored satisfies never;
  }
}
