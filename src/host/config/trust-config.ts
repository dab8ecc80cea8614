import { Fault } from "../../turn/fault.ts";
import { Problems } from "../platform/print.ts";
import { findingLine } from "./config-file.ts";
import type { Environment } from "./env.ts";
import { loadConfig } from "./load.ts";
import { digestOf, saveTrust } from "./trust.ts";

/**
 * Trusts a configuration, with the files that it names by relative paths. With `text`, the
 * content that this process has just written there, any other content is refused.
 */
export function trustConfig(file: string, env: Environment, text?: string): true {
  const loaded = loadConfig({ file, env, directory: "/", isAgain: true });
  const digest = loaded.digests.get(file);
  if (digest === undefined)
    throw new Problems(loaded.ok ? [`${file} cannot be read.`] : loaded.findings.map(findingLine));
  if (text !== undefined && digest !== digestOf(text))
    throw new Fault(
      "request.invalid",
      `${file} has changed since it was written, so it is not trusted; read it, then run \`patchbay trust\`.`,
    );
  saveTrust(file, loaded.digests, env);
  return true;
}
