/** Finds the gateways of this user, and says what those that were killed have left behind. */

import { readdirSync } from "node:fs";
import type { Check } from "../../src/observe/console/wire-checks.ts";
import type { Environment } from "../../src/host/config/env.ts";
import { runtimeFolders } from "../../src/host/config/user-folders.ts";
import {
  findGateways,
  foreignFolders,
  type LocalGateway,
} from "../../src/host/control/gateways.ts";

export type FoundGateways = {
  readonly gateways: readonly LocalGateway[];
  readonly checks: readonly Check[];
};

/** Looking for gateways removes the sockets at which nobody answers any more. */
export async function findWithLeftovers(env: Environment): Promise<FoundGateways> {
  const folders = runtimeFolders(env);
  const before = folders.map(socketsIn);
  const gateways = await findGateways(env);
  const checks = folders.flatMap((folder, at): Check[] => {
    const after = new Set(socketsIn(folder));
    const gone = (before[at] ?? []).filter((name) => !after.has(name));
    if (gone.length === 0) return [];
    const left = gone.length === 1 ? "a gateway that was killed" : "gateways that were killed";
    return [
      {
        group: "machine",
        id: "machine.sockets",
        subject: folder,
        outcome: "note",
        evidence: `${left} had left ${gone.join(", ")}, now removed`,
        remedy: "See in the log of the gateway, or of the system, what ended it.",
      },
    ];
  });
  return { gateways, checks: [...checks, ...foreignFolders(env).map(foreignCheck)] };
}

function foreignCheck(note: string): Check {
  const [evidence = note, remedy] = note.split("; ");
  const about = { group: "machine", id: "machine.foreign_folder", subject: "sockets" } as const;
  return { ...about, outcome: "note", evidence, remedy };
}

function socketsIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(".sock"));
  } catch {
    return []; // No gateway has been here.
  }
}
