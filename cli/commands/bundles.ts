import { existsSync } from "node:fs";
import {
  type AgainstResult,
  type AnswerDifference,
  type Bundle,
  explain,
  findBundle,
  MAX_TURN_BYTES,
  readBundle,
  replayAgainst,
  replayBundle,
  scrubber,
  secretsIn,
  type TurnDifference,
} from "../../src/inspection.ts";
import {
  environment,
  FileRefusal,
  foreignPlace,
  print,
  printJson,
  Problems,
  readTextFile,
  recordingsFolder,
  refusal,
} from "../../src/terminal.ts";
import { findingLine, loadConfig } from "../../src/configuration.ts";
import { nodePlatform } from "../../src/serving.ts";
import { exitCode } from "../output.ts";
import type { Options } from "../options.ts";

/** `patchbay bundle`: shows the content of a bundle before it is shared. */
export async function bundle(name: string, options: Options): Promise<void> {
  const { path, text } = await openBundleFile(name, options.config);
  const { head } = readBundle(text);
  const found = leaksIn(text, options.config);
  process.exitCode = found.length === 0 ? exitCode.well : exitCode.wrong;
  const { content, names, left_out } = head;
  if (options.json === true) return printJson({ path, content, names, left_out, found });
  if (options.preview === true) print(previewLines(text));
  print(
    content === "masked"
      ? `${path}: words and numbers of the conversation${names === "masked" ? " and names of tools are masked" : " are masked; names of tools and keys of schemas are readable"}.`
      : `${path}: the conversation is readable; share the file only with readers who may see it.`,
  );
  print(`Omitted: ${left_out.join(", ") || "nothing"}.`);
  for (const one of found) print(`Line ${one.line} contains text that looks like a key.`);
  print(
    found.length === 0
      ? "No key was found."
      : "Do not share the file. Record the turn again with this version, and report the problem.",
  );
}

/** Lines in which something would be taken out, by what this machine knows now. */
function leaksIn(text: string, file: string | undefined): readonly { readonly line: number }[] {
  const env = environment();
  const loaded = loadConfig({ file, env, directory: process.cwd() });
  const scrub = scrubber([...secretsIn(env), ...(loaded.ok ? secretsIn(loaded.config) : [])]);
  return text.split("\n").flatMap((line, at) => (scrub(line) === line ? [] : [{ line: at + 1 }]));
}

const previewLines = (text: string): string[] =>
  text
    .trim()
    .split("\n")
    .flatMap((line) => {
      const { line: type, text: said, body, ...rest } = JSON.parse(line) as Record<string, unknown>;
      const head = `-- ${String(type)} ${JSON.stringify(rest)}`;
      const texts = [said, body].filter((one) => typeof one === "string");
      return [head, ...texts].join("\n").split("\n");
    });

/** `patchbay explain`: a recorded turn in sentences, and whose fault it is. */
export async function explainBundle(name: string, options: Options): Promise<void> {
  const { text } = await openBundleFile(name, options.config);
  const explanation = explain(readBundle(text));
  const { id, recorded, content, sentences, verdict } = explanation;
  process.exitCode = verdict.fault === "gateway" ? exitCode.wrong : exitCode.well;
  if (options.json === true) return printJson(explanation);
  print(`Turn ${id}, recorded ${recorded}, content ${content}`);
  print(sentences);
}

/** `patchbay replay`: a recorded request through this gateway, and the first thing that differs. */
export async function replay(name: string, options: Options): Promise<void> {
  const { text } = await openBundleFile(name, options.config);
  const bundle = readBundle(text);
  if (options.against !== undefined) return askLive(bundle, options.against, options);
  const { paced = false } = options;
  const { difference } = await replayBundle(bundle, { platform: nodePlatform(), paced });
  process.exitCode = difference === undefined ? exitCode.well : exitCode.wrong;
  if (options.json === true)
    return printJson({ id: bundle.head.id, same: difference === undefined, difference });
  if (difference === undefined)
    return print(`Turn ${bundle.head.id} replays without a difference.`);
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
  { config: file, anyway = false, json = false }: Options,
): Promise<void> {
  if (bundle.head.content === "masked" && !anyway)
    throw refusal(
      "The bundle is masked, so the model would receive replaced words. Record the turn again with `recording.content: full`, or pass `--anyway`.",
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

function againstLines({ target, outcome, recorded, live, difference }: AgainstResult): string[] {
  const lines = [`Recorded: ${summaryLine(recorded)}`, `${target}: ${summaryLine(live)}`];
  if (outcome === "unreachable")
    return [...lines, "Nothing was compared, because the upstream did not answer."];
  if (difference !== undefined)
    return [...lines, `The answers differ: ${difference.what}.`, ...sidesOf(difference)];
  return [...lines, "The answers are the same; words and values are not compared."];
}

const sidesOf = (difference: AnswerDifference): string[] =>
  "live" in difference
    ? [`  recorded: ${shown(difference.recorded)}`, `  now: ${shown(difference.live)}`]
    : [];

function summaryLine({ status, text, calls, problem }: AgainstResult["live"]): string {
  if (problem !== undefined && status !== 200) return `${status}, ${problem}`;
  const called = calls.length === 0 ? "no calls" : `calls of ${calls.join(", ")}`;
  const failed = problem === undefined ? "" : `; it failed: ${problem}`;
  return `${status}, ${text ? "text" : "no text"}, ${called}${failed}`;
}

/** In bytes: six times what a turn may hold, as JSON writes the worst of it. */
const LONGEST = 6 * MAX_TURN_BYTES;

export type BundleFile = { readonly path: string; readonly text: string };

export async function openBundleFile(name: string, config?: string): Promise<BundleFile> {
  if (existsSync(name)) return read(name, false);
  const { folder, isDefault } = folderOf(config);
  const foreign = isDefault ? foreignPlace(folder) : undefined;
  if (foreign !== undefined)
    throw refusal(
      `There is no file \`${name}\`, and the folder of recorded turns is not searched because ${foreign}; name the file.`,
    );
  const path = await findBundle(folder, name);
  if (path === undefined)
    throw refusal(
      `There is no file \`${name}\`, and no turn with this id in ${folder}; that folder lists the recorded turns.`,
    );
  return read(path, isDefault);
}

function read(path: string, isOwn: boolean): BundleFile {
  try {
    return { path, text: readTextFile(path, { limit: LONGEST, isOwn }) };
  } catch (error) {
    const why = error instanceof FileRefusal ? ` because it ${error.message}` : "";
    throw refusal(`${path} cannot be read${why}; name a .bundle.jsonl file.`, error);
  }
}

type Place = { readonly folder: string; readonly isDefault: boolean };

/** The folder of bundles. A configuration with problems may still have recorded some in the default one. */
function folderOf(file: string | undefined): Place {
  const env = environment();
  const loaded = loadConfig({ file, env, directory: process.cwd() });
  const named = loaded.ok ? loaded.config.recording.folder : undefined;
  return { folder: named ?? recordingsFolder(env), isDefault: named === undefined };
}
