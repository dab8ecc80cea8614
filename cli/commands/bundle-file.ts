/** Finds the bundle that a command line names, by its file or by the id of its turn. */

import { existsSync } from "node:fs";
import { findBundle } from "../../src/observe/recording/bundle-folder.ts";
import { MAX_TURN_BYTES } from "../../src/observe/recording/turn-record.ts";
import { Fault } from "../../src/turn/fault.ts";
import { environment } from "../../src/host/config/env.ts";
import { loadConfig } from "../../src/host/config/load.ts";
import { recordingsFolder } from "../../src/host/config/user-folders.ts";
import { FileRefusal, foreignPlace, readText } from "../../src/host/platform/careful-files.ts";

/** In bytes: six times what a turn may hold, as JSON writes the worst of it. */
const LONGEST = 6 * MAX_TURN_BYTES;

export type BundleFile = { readonly path: string; readonly text: string };

export async function openBundleFile(name: string, config?: string): Promise<BundleFile> {
  if (existsSync(name)) return read(name, false);
  const { folder, isDefault } = folderOf(config);
  const foreign = isDefault ? foreignPlace(folder) : undefined;
  if (foreign !== undefined)
    throw new Fault(
      "request.invalid",
      `There is no file ${name}, and recorded turns are not looked for because ${foreign}; name the file.`,
    );
  const path = await findBundle(folder, name);
  if (path === undefined)
    throw new Fault(
      "request.invalid",
      `There is no file ${name}, and no turn of that id in ${folder}; look there for what was recorded.`,
    );
  return read(path, isDefault);
}

function read(path: string, isOwn: boolean): BundleFile {
  try {
    return { path, text: readText(path, { limit: LONGEST, isOwn }) };
  } catch (error) {
    const why = error instanceof FileRefusal ? ` because it ${error.message}` : "";
    throw new Fault(
      "request.invalid",
      `${path} cannot be read${why}; name a .bundle.jsonl file.`,
      {},
      error,
    );
  }
}

type Place = { readonly folder: string; readonly isDefault: boolean };

/** Where the configuration has bundles kept; one that has problems may still have recorded some. */
function folderOf(file: string | undefined): Place {
  const env = environment();
  const loaded = loadConfig({ file, env, directory: process.cwd() });
  const named = loaded.ok ? loaded.config.recording.folder : undefined;
  return { folder: named ?? recordingsFolder(env), isDefault: named === undefined };
}
