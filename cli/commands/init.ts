import { existsSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { Fault } from "../../src/turn/fault.ts";
import { environment } from "../../src/host/config/env.ts";
import { replaceFile } from "../../src/host/config/replace-file.ts";
import { trustConfig } from "../../src/host/config/trust-config.ts";
import { configText } from "../found/config-text.ts";
import { findAll, foundLines } from "../found/found.ts";
import { askPerson, isTerminal, print, printJson } from "../../src/host/platform/print.ts";

export type InitOptions = {
  readonly yes?: boolean | undefined;
  readonly force?: boolean | undefined;
  readonly json?: boolean | undefined;
};

const FILE = "patchbay.yaml";

/** `patchbay init`: finds keys, local servers and agents, and writes a configuration of them. */
export async function init({
  yes = false,
  force = false,
  json = false,
}: InitOptions): Promise<void> {
  const found = await findAll(environment());
  const text = configText(found);
  const file = resolve(FILE);
  if (!json) print([...foundLines(found), ""]);
  const writes = yes || force || (!json && isTerminal() && (await isWanted()));
  if (writes) {
    write(file, text, force);
    trustConfig(file, environment(), text);
  }
  if (json) printJson({ ...found, file: writes ? file : null, config: text });
  else if (writes) print(`${file} is written. Next: patchbay check, then patchbay serve`);
  else
    print([
      ...text.split("\n"),
      `Nothing is written; \`patchbay init --yes\` writes it to ${file}`,
    ]);
}

async function isWanted(): Promise<boolean> {
  const answer = await askPerson(`Write ${FILE} here? [Y/n] `);
  return /^(?:y|yes)?$/i.test(answer.trim());
}

/** What was there before is kept beside it. */
function write(file: string, text: string, force: boolean): void {
  if (existsSync(file)) {
    if (force) return void replaceFile(file, text);
    throw new Fault(
      "request.invalid",
      `${file} is there already; \`--force\` replaces it and keeps the old one beside it.`,
    );
  }
  try {
    writeFileSync(file, text, { flag: "wx" });
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    throw new Fault(
      "request.invalid",
      `${file} cannot be written (${code}); go to another directory, or print it with \`--json\`.`,
      {},
      error,
    );
  }
}
