import type { Environment } from "../config/env.ts";
import { runtimeFolders } from "../config/user-folders.ts";
import { foreignFolder } from "../platform/careful-files.ts";
import { entriesIn, type FoundEntry } from "./files.ts";

/** A gateway that runs on this machine for this user. */
export type LocalGateway = {
  /** Where clients reach it. */
  readonly url: string;
  readonly version: string;
  /** The process to signal: that of the workers' parent where there are several. */
  readonly pid: number;
  readonly startedAt: number;
  readonly agent?: string | undefined;
  /** How many processes it is to have; one that has ended is started again. */
  readonly workers: number;
  /** The socket of each of its processes that is there: one, or one for each worker. */
  readonly sockets: readonly string[];
};

/** The gateways of this user that answer on their sockets, the oldest first. */
export async function findGateways(env: Environment): Promise<readonly LocalGateway[]> {
  const found = await Promise.all(runtimeFolders(env).map(entriesIn));
  const groups = Map.groupBy(found.flat(), ({ group, url }) => `${group} ${url}`);
  return Array.from(groups.values(), gatewayOf).toSorted((a, b) => a.startedAt - b.startedAt);
}

/** The folders in which no gateway is looked for, because another user could have put the files there. */
export const foreignFolders = (env: Environment): readonly string[] =>
  runtimeFolders(env).flatMap((folder) => {
    const problem = foreignFolder(folder);
    if (problem === undefined) return [];
    const remedy = "remove it, or set PATCHBAY_RUNTIME_DIR to a folder of your own";
    return `${folder} ${problem}, so no gateway is looked for in it; ${remedy}.`;
  });

function gatewayOf(entries: FoundEntry[]): LocalGateway {
  const [first] = entries;
  if (first === undefined) throw new RangeError("A group has a member.");
  const { url, version, group: pid, startedAt, agent, workers = entries.length } = first;
  const sockets = entries.map(({ socket }) => socket);
  return { url, version, pid, startedAt, agent, workers, sockets };
}
