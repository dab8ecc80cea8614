/** The folder of bundles: files that only their owner reads, and no more of them than are to be kept. */

import { readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RecordingSettings } from "../../gateway/config.ts";

const BUNDLE_SUFFIX = ".bundle.jsonl";
const HOUR = 3_600_000;

/** The file of a turn: by the time it began, so that names sort by age, and its id. */
export const bundleName = (startedAt: number, requestId: string): string =>
  `${new Date(startedAt).toISOString().replaceAll(/[:.]/g, "-")}-${safeId(requestId)}${BUNDLE_SUFFIX}`;

/** A client may have chosen the id. */
const safeId = (id: string): string => id.replaceAll(/[^\w.-]/g, "_").slice(0, 80);

/** Writes a bundle, and gives its path. What was begun of one that cannot be written is taken away. */
export async function saveBundle(folder: string, name: string, text: string): Promise<string> {
  const path = join(folder, name);
  try {
    await writeFile(path, text, { mode: 0o600, flag: "wx" });
    return path;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST")
      await rm(path, { force: true }).catch(() => {}); // The folder itself is gone.
    throw error;
  }
}

/** Removes what is too old or too much, the oldest first; one that somebody else removed is gone as well. */
export async function prune(
  folder: string,
  keep: RecordingSettings["keep"],
  now: number,
): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(BUNDLE_SUFFIX));
  let [turns, bytes] = [0, 0];
  for (const name of names.toSorted().toReversed()) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found === undefined) continue;
    turns++;
    bytes += found.size;
    const isOld = now - found.mtimeMs > keep.hours * HOUR;
    if (isOld || turns > keep.turns || bytes > keep.bytes) await rm(path, { force: true });
  }
}

/** The file of a turn by its id, the newest of them. */
export async function findBundle(folder: string, id: string): Promise<string | undefined> {
  const names = await readdir(folder).catch(() => []);
  const found = names
    .filter((name) => name.endsWith(`-${safeId(id)}${BUNDLE_SUFFIX}`))
    .toSorted()
    .at(-1);
  return found === undefined ? undefined : join(folder, found);
}
