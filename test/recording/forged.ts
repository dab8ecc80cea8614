/** Bundles as somebody else may write them: with other lines, and a seal that fits. */

import { hash } from "node:crypto";
import type { Platform } from "../../src/gateway/platform.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { readBundle } from "../../src/observe/recording/bundle.ts";
import { explain } from "../../src/observe/recording/explain.ts";
import { replayBundle } from "../../src/observe/recording/replay/replay.ts";
import { Fault } from "../../src/turn/fault.ts";

export type ForgedLine = Record<string, unknown> & { line?: unknown };

/** The text of a bundle whose lines were changed. */
export function forged(bundle: string, change: (lines: ForgedLine[]) => void): string {
  const lines = bundle
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as ForgedLine)
    .filter(({ line }) => line !== "seal" && line !== "expect");
  change(lines);
  return sealed(lines);
}

/** The lines as a bundle, with the seal that belongs to them. */
function sealed(lines: readonly unknown[]): string {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const seal = { line: "seal", lines: lines.length, sha256: hash("sha256", text) };
  return `${text}${JSON.stringify(seal)}\n`;
}

/** The line of a kind, to be changed. */
export function lineOf(lines: readonly ForgedLine[], kind: string): ForgedLine {
  const found = lines.find(({ line }) => line === kind);
  if (found === undefined) throw new Error(`The bundle has no line \`${kind}\`.`);
  return found;
}

/** Does all with a bundle that commands do. What is wrong with the bundle is a sentence for its reader. */
export async function used(text: string): Promise<string> {
  try {
    const bundle = readBundle(text);
    JSON.stringify(explain(bundle));
    const { difference } = await replayBundle(bundle, { platform: guarded, paced: false });
    return JSON.stringify(difference) ?? "the same";
  } catch (error) {
    if (error instanceof Fault && error.code === "request.invalid") return error.message;
    throw error;
  }
}

const reached = (what: string) => (): never => {
  throw new Error(`A bundle reached ${what}.`);
};
const platform = nodePlatform();
/** A platform whose programs, databases and addresses must not be reached. */
const guarded: Platform = {
  ...platform,
  runtime: {
    ...platform.runtime,
    connect: reached("an address"),
    codex: reached("a program"),
    openStore: reached("a database"),
  },
};
