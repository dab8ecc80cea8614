/** Finds the bundle that a command line names, by its file or by the id of its turn. */

import { existsSync, readFileSync } from "node:fs";
import { findBundle } from "../../../recording/bundle-folder.ts";
import { Fault } from "../../../turn/fault.ts";
import { environment } from "../../config/env.ts";
import { loadConfig } from "../../config/load.ts";
import { recordingsFolder } from "../../config/user-folders.ts";

export type BundleFile = { readonly path: string; readonly text: string };

export async function openBundleFile(name: string, config?: string): Promise<BundleFile> {
  const path = existsSync(name) ? name : await findBundle(folderOf(config), name);
  if (path === undefined)
    throw new Fault(
      "request.invalid",
      `There is no file ${name}, and no turn of that id in ${folderOf(config)}; look there for what was recorded.`,
    );
  try {
    return { path, text: readFileSync(path, "utf8") };
  } catch (error) {
    throw new Fault("request.invalid", `${path} cannot be read; name a file.`, {}, error);
  }
}

/** Where the configuration has bundles kept; one that has problems may still have recorded some. */
function folderOf(file: string | undefined): string {
  const env = environment();
  const loaded = loadConfig({ file, env, directory: process.cwd() });
  return (loaded.ok ? loaded.config.recording.folder : undefined) ?? recordingsFolder(env);
}
