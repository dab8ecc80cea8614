import { accessSync, constants, existsSync, readdirSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, isAbsolute, join, resolve, sep } from "node:path";

/** The binary as a file: a path, a name on PATH or, for `codex` itself, the npm package's. */
export function findCommand(command: string, path: string): string | undefined {
  const named = isAbsolute(command) || command.includes("/") || command.includes(sep);
  const found = named ? runnable(resolve(command)) : onPath(command, path);
  if (found !== undefined) return nativeOf(found);
  return command === "codex" ? packaged() : undefined;
}

/** A program on PATH. */
export const onPath = (command: string, path: string): string | undefined =>
  path
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => runnable(join(folder, command)))
    .find((file) => file !== undefined);

function runnable(file: string): string | undefined {
  try {
    accessSync(file, constants.X_OK);
    return file;
  } catch {
    return undefined; // Not there, or not executable.
  }
}

function packaged(): string | undefined {
  try {
    const manifest = createRequire(import.meta.url).resolve("@openai/codex/package.json");
    return nativeOf(join(dirname(manifest), "bin", "codex.js"));
  } catch {
    return undefined; // The package is not installed.
  }
}

/**
 * The npm package starts its binary through a script. The binary itself is one
 * process less, and its exit is seen as such.
 */
function nativeOf(file: string): string {
  const real = realpathSync(file);
  if (!real.endsWith(join("bin", "codex.js"))) return file;
  const vendor = join(
    dirname(real),
    "..",
    "..",
    `codex-${process.platform}-${process.arch}`,
    "vendor",
  );
  if (!existsSync(vendor)) return file;
  const native = readdirSync(vendor)
    .map((triple) => join(vendor, triple, "bin", "codex"))
    .find((candidate) => existsSync(candidate));
  return native ?? file;
}
