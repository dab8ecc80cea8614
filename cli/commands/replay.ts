import { readBundle, type Bundle } from "../../src/observe/recording/bundle/read-bundle.ts";
import type { TurnDifference } from "../../src/observe/recording/replay/compare-turns.ts";
import { replayBundle } from "../../src/observe/recording/replay/replay.ts";
import type { AnswerDifference } from "../../src/observe/recording/replay/compare-answers.ts";
import {
  replayAgainst,
  type AgainstResult,
  type AnswerSummary,
} from "../../src/observe/recording/replay/replay-against.ts";
import { Fault } from "../../src/turn/fault.ts";
import { findingLine } from "../../src/host/config/config-file.ts";
import { environment } from "../../src/host/config/env.ts";
import { loadConfig } from "../../src/host/config/load.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { exitCode } from "../exit-code.ts";
import { openBundleFile } from "./bundle-file.ts";
import { print, printJson, Problems } from "../../src/host/platform/print.ts";

export type ReplayCommandOptions = {
  readonly config?: string | undefined;
  readonly paced?: boolean | undefined;
  readonly against?: string | undefined;
  readonly anyway?: boolean | undefined;
  readonly json?: boolean | undefined;
};

/** `patchbay replay`: a recorded request through this gateway, and the first thing that differs. */
export async function replay(name: string, options: ReplayCommandOptions): Promise<void> {
  const { text } = await openBundleFile(name, options.config);
  const bundle = readBundle(text);
  if (options.against !== undefined) return askLive(bundle, options.against, options);
  const { paced = false } = options;
  const { difference } = await replayBundle(bundle, { platform: nodePlatform(), paced });
  process.exitCode = difference === undefined ? exitCode.well : exitCode.wrong;
  if (options.json === true)
    return printJson({ id: bundle.head.id, same: difference === undefined, difference });
  if (difference === undefined) return print(`Turn ${bundle.head.id} replays the same.`);
  print(differenceLines(difference));
}

function differenceLines(difference: TurnDifference): string[] {
  const { what, at } = difference;
  const where =
    difference.side === "upstream"
      ? `Request ${difference.nth} to an upstream differs`
      : difference.frame === 0
        ? "The reply to the client differs"
        : `Frame ${difference.frame} to the client differs${difference.after === undefined ? "" : ` (written after ${difference.after} pieces of the upstream)`}`;
  return [
    `${where}: ${what}.`,
    ...(at === undefined
      ? []
      : [`  recorded: ${shown(at.recorded)}`, `  replayed: ${shown(at.replayed)}`]),
  ];
}

const shown = (value: unknown): string => {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
};

/** Asks a live upstream of the configuration; words that are masked would be asked as they are. */
async function askLive(
  bundle: Bundle,
  against: string,
  { config: file, anyway = false, json = false }: ReplayCommandOptions,
): Promise<void> {
  if (bundle.head.content === "masked" && !anyway)
    throw new Fault(
      "request.invalid",
      "The bundle is masked, so a model would be asked nonsense. Record the turn again with `recording.content: full`, or add `--anyway` to ask it all the same.",
    );
  const loaded = loadConfig({ file, env: environment(), directory: process.cwd() });
  if (!loaded.ok) throw new Problems(loaded.findings.map(findingLine));
  const { config } = loaded;
  const result = await replayAgainst(bundle, { against, config, platform: nodePlatform() });
  process.exitCode = {
    same: exitCode.well,
    different: exitCode.wrong,
    unreachable: exitCode.nobody,
  }[result.outcome];
  const { id } = bundle.head;
  if (json) printJson({ id, against, same: result.outcome === "same", ...result });
  else print(againstLines(result));
}

function againstLines({
  target,
  outcome,
  recorded,
  live,
  difference,
  value,
}: AgainstResult): string[] {
  const lines = [`Recorded: ${summaryLine(recorded)}`, `${target}: ${summaryLine(live)}`];
  if (outcome === "unreachable")
    return [...lines, "Nothing was compared, since the upstream did not answer."];
  if (difference !== undefined)
    return [...lines, `The answers differ: ${difference.what}.`, ...sidesOf(difference)];
  if (value === undefined) return [...lines, "The answers are the same; words are not compared."];
  return [
    ...lines,
    `The answers are the same; words and values are not compared, such as those of ${value.what}:`,
    ...sidesOf(value),
  ];
}

const sidesOf = (difference: AnswerDifference): string[] =>
  "live" in difference
    ? [`  recorded: ${shown(difference.recorded)}`, `  now: ${shown(difference.live)}`]
    : [];

function summaryLine({ status, text, calls, problem }: AnswerSummary): string {
  if (problem !== undefined && status !== 200) return `${status}, ${problem}`;
  const called = calls.length === 0 ? "no calls" : `calls of ${calls.join(", ")}`;
  const failed = problem === undefined ? "" : `; it failed: ${problem}`;
  return `${status}, ${text ? "text" : "no text"}, ${called}${failed}`;
}
