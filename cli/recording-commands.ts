/** `record`, `explain`, `replay` and `bundle` on the command line. */

import { type Command, InvalidArgumentError, Option } from "commander";
import { Fault, printFault } from "../src/terminal.ts";
import type { BundleOptions, ExplainOptions, ReplayCommandOptions } from "./commands/bundles.ts";
import type { RecordOptions } from "./commands/record.ts";
import { exitCode } from "./output.ts";

const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };

function readDuration(text: string): number {
  const [, number = "", unit = "s"] = /^(\d+(?:\.\d+)?)([smh])?$/.exec(text) ?? [];
  const ms = Number(number) * (units[unit] ?? 0);
  if (number !== "" && ms > 0 && ms <= 24 * 3_600_000) return ms;
  throw new InvalidArgumentError("Give a time of up to a day, such as 30s, 10m or 2h.");
}

/** A bundle or a name that will not do is misuse: 1 is for what was found in a bundle. */
async function unlessMisused(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    printFault(error);
    process.exitCode = exitCode.misuse;
  }
}

const NAMED = "a .bundle.jsonl file, or the id of a recorded turn";

export function addRecordingCommands(program: Command, configOption: () => Option): void {
  addRecord(program, configOption);
  addReaders(program, configOption);
}

function addRecord(program: Command, configOption: () => Option): void {
  program
    .command("record")
    .description(
      "record the turns of the running gateway, or of an agent that is run for it; docs/recording.md",
    )
    .argument("[command...]", "an agent as `launch` knows it, or any program; write -- before it")
    .option("--for <time>", "how long, such as 10m; default: until it is interrupted", readDuration)
    .option("--failures", "only turns that fail")
    .option("-m, --model <name>", "the model of an agent that is run")
    .addOption(configOption())
    .option("--json", "print what was recorded as JSON")
    .addHelpText(
      "after",
      `
Examples:
  patchbay record --for 10m --failures
  patchbay record -- codex exec "Run the tests"`,
    )
    .action(async (command: string[], options: RecordOptions) =>
      (await import("./commands/record.ts")).record(command, options),
    );
}

/** What is done with a bundle. */
function addReaders(program: Command, configOption: () => Option): void {
  program
    .command("explain")
    .description("a recorded turn in sentences; exit code 1 if the gateway is at fault")
    .argument("<bundle>", NAMED)
    .addOption(configOption())
    .option("--json", "print it as JSON")
    .action(async (name: string, options: ExplainOptions) =>
      unlessMisused(async () =>
        (await import("./commands/bundles.ts")).explainBundle(name, options),
      ),
    );
  program
    .command("replay")
    .description(
      "send a recorded request through this gateway against what its upstream said then; exit code 1 if anything differs, 3 if the upstream of --against does not answer",
    )
    .argument("<bundle>", NAMED)
    .addOption(configOption())
    .addOption(
      new Option("--paced", "keep the times between the pieces of the answer").conflicts("against"),
    )
    .option("--against <upstream>", "ask a live upstream, or upstream/model, instead")
    .option("--anyway", "with --against: also where the bundle is masked")
    .option("--json", "print the outcome as JSON")
    .action(async (name: string, options: ReplayCommandOptions) =>
      unlessMisused(async () => (await import("./commands/bundles.ts")).replay(name, options)),
    );
  program
    .command("bundle")
    .description(
      "look at a bundle before it is shared; exit code 1 if it holds what looks like a key",
    )
    .argument("<bundle>", NAMED)
    .addOption(configOption())
    .option("--preview", "print all that is in it")
    .option("--check", "look for keys again (always done)")
    .option("--json", "print the outcome as JSON")
    .action(async (name: string, options: BundleOptions) =>
      unlessMisused(async () => (await import("./commands/bundles.ts")).bundle(name, options)),
    );
}
