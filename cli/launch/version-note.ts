import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { fieldsIn, filledText } from "../../src/dialects/shared/loose.ts";
import type { Agent, Output } from "./agent.ts";

/** How long a launch waits for an agent to say its version: some take seconds to start. */
const PATIENCE_MS = 2000;

/** What to know of an agent whose version is not the one that was tried; undefined if it is, or none is told. */
export async function versionNote(
  agent: Agent,
  file: string,
  output: Output,
): Promise<string | undefined> {
  const said = packageVersion(file) ?? (await output(["--version"], PATIENCE_MS));
  const tried = numbersIn(agent.tried);
  const found = numbersIn(said);
  if (tried === undefined || found === undefined) return undefined;
  const order = compare(found, tried);
  if (order === 0) return undefined;
  return `${agent.title} ${found.join(".")} is ${order > 0 ? "newer" : "older"} than ${agent.tried}, the version that was tried: should it ask somebody else, the last line says so.`;
}

/** What came from npm says so without being started. */
function packageVersion(file: string): string | undefined {
  try {
    const [root] =
      /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(realpathSync(file)) ?? [];
    if (root === undefined) return undefined;
    return filledText(fieldsIn(readFileSync(join(root, "package.json"), "utf8"))?.version);
  } catch {
    return undefined; // Then the agent itself is asked.
  }
}

function numbersIn(text: string): number[] | undefined {
  const [version] = /\d+(?:\.\d+)+/.exec(text) ?? [];
  return version?.split(".").map(Number);
}

/** By the first two numbers: a third is for repairs. */
function compare(one: readonly number[], other: readonly number[]): number {
  const [major = 0, minor = 0] = one;
  const [triedMajor = 0, triedMinor = 0] = other;
  return major - triedMajor || minor - triedMinor;
}
