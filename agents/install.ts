import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Tried } from "./catalog.ts";

/**
 * Installs an agent into a folder named by package and version, once, and gives
 * the folder of its programs; undefined where it cannot be had.
 */
export function install({ npm, pypi }: Tried, cache: string): string | undefined {
  const name = npm ?? pypi ?? "";
  const folder = join(cache, name.replaceAll(/[^\w.-]+/g, "_"));
  const programs = npm === undefined ? join(folder, "bin") : join(folder, "node_modules", ".bin");
  if (existsSync(folder)) return programs;
  const part = `${folder}.part`;
  rmSync(part, { recursive: true, force: true });
  mkdirSync(part, { recursive: true });
  const run = (program: string, args: readonly string[]): void =>
    void execFileSync(program, [...args], { stdio: ["ignore", "ignore", "pipe"] });
  try {
    if (npm !== undefined) {
      // Some put their binary in place by a script, which newer npm runs only where it is allowed.
      const manifest = { private: true, allowScripts: { [npm.replace(/@[^@]+$/, "")]: true } };
      writeFileSync(join(part, "package.json"), JSON.stringify(manifest));
      run("npm", ["install", "--no-audit", "--no-fund", "--prefix", part, npm]);
      renameSync(part, folder);
      return programs;
    }
    // Scripts of a virtual environment name its place, so it is made where it stays.
    rmSync(part, { recursive: true, force: true });
    run("python3", ["-m", "venv", folder]);
    run(join(folder, "bin", "pip"), ["install", "--quiet", name]);
    return programs;
  } catch (error) {
    for (const left of [part, ...(npm === undefined ? [folder] : [])])
      rmSync(left, { recursive: true, force: true });
    process.stderr.write(`${name} cannot be installed: ${String(error).split("\n")[0]}\n`);
    return undefined;
  }
}
