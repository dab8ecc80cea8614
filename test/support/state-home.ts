import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileCache } from "./compile-cache.ts";

/**
 * Gateways that tests start as users do keep their state in a folder of the run, not in the
 * user's. Processes and worker threads of tests share compiled modules.
 */
export function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-state-"));
  process.env["XDG_STATE_HOME"] = folder;
  process.env["PATCHBAY_RUNTIME_DIR"] = join(folder, "run");
  Object.assign(process.env, compileCache);
  return () => rmSync(folder, { recursive: true, force: true });
}
