/** Finds the bundle that a command line names, by its file or by the id of its turn. */

import { existsSync } from "node:fs";
import { findBundle } from "../../../recording/bundle-folder.ts";
import { MAX_TURN_BYTES } from "../../../recording/turn-record.ts";
import { Fault } from "../../../turn/fault.ts";
import { environment } from "../../config/env.ts";
import { loadConfig } from "../../config/load.ts";
import { recordingsFolder } from "../../config/user-folders.ts";
import { FileRefusal, readText } from "../../platform/careful-files.ts";

/** In bytes: six times what a turn may hold, as JSON writes the worst of it. */
const LONGEST = 6 * MAX_TURN_BYTES;

export type BundleFile = { readonly path: string; readonly text: string };

export async function openBundleFile(name: string, config?: string): Promise<BundleFile> {
  const path = existsSync(name) ? name : await findBundle(folderOf(config), name);
  if (path === undefined)
    throw new Fault(
      "request.invalid",
      `There is no file ${name}, and no turn of that id in ${folderOf(config)}; look there for what was recorded.`,
    );
  try {
    return { path, text: readText(path, { limit: LONGEST }) };
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

/** Where the configuration has bundles kept; one that has problems may still have recorded some. */
function folderOf(file: string | undefined): string {
  const env = environment();
  const loaded = loadConfig({ file, env, directory: process.cwd() });
  return (loaded.ok ? loaded.config.recording.folder : undefined) ?? recordingsFolder(env);
}
