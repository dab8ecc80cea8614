/** `patchbay doctor`: what is wrong, with evidence and one remedy each, the worst first. */

import { stringify } from "yaml";
import type { Check, Probe } from "../../src/observe/console/wire-checks.ts";
import {
  environment,
  Fault,
  homeFolder,
  type LocalGateway,
  print,
  printError,
  printJson,
  refusal,
} from "../../src/terminal.ts";
import { findingLine, loadConfig, trustConfig } from "../../src/configuration.ts";
import { agentChecks } from "../doctor/agents.ts";
import { check, countOutcomes, problemsFirst, wordsOfFault } from "../doctor/check.ts";
import {
  type Examiner,
  findWithLeftovers,
  ownExaminer,
  remoteExaminer,
  runningExaminer,
} from "../doctor/examiner.ts";
import { writeFix } from "../doctor/fix.ts";
import { keyFor } from "../gateways.ts";
import { exitCode, noGatewayAt, plural } from "../output.ts";
import { rootOf } from "../remote.ts";
import type { Options } from "../options.ts";

type Probed = {
  readonly checks: readonly Check[];
  /** Undefined if no probe was made, or it failed. */
  readonly probe?: Probe;
  /** The file that `--fix` has written, and the copy of the former file. */
  readonly written?: { readonly file: string; readonly backup: string } | undefined;
};

export async function doctor(options: Options): Promise<void> {
  const { json = false } = options;
  const { gateways, checks: leftovers } = await findWithLeftovers(environment());
  await using examiner = await examinerFor(options, gateways);
  if (examiner === undefined) {
    process.exitCode = exitCode.nobody;
    if (json) printJson({ ok: false, by: null, checks: [] });
    else print(noGatewayAt(options.url ?? ""));
    return;
  }
  const place = { env: environment(), home: homeFolder() ?? "/", directory: process.cwd() };
  const [found, agents] = await Promise.all([examiner.examine(), agentChecks(place)]);
  const probed = await probing(examiner, options, found.file);
  const checks = problemsFirst([...found.checks, ...agents, ...leftovers, ...probed.checks]);
  const counts = countOutcomes(checks);
  process.exitCode = counts.wrong > 0 ? exitCode.wrong : exitCode.well;
  if (json) {
    const { by, url = null } = examiner;
    const probe = probeJson(probed);
    const rest = { file: found.file ?? null, counts, checks, probe };
    printJson({ ok: counts.wrong === 0, by, url, ...rest });
  } else print([...lines(checks), ...probeLines(probed)]);
}

/** Examines a named file in this process; else asks the running gateway, if there is one. */
async function examinerFor(
  { config, url, key }: Options,
  gateways: readonly LocalGateway[],
): Promise<Examiner | undefined> {
  const env = environment();
  const directory = process.cwd();
  if (config !== undefined) return ownExaminer({ file: config, env, directory }, true);
  const address = url === undefined ? undefined : rootOf(url);
  // A gateway of `launch` lives as long as its agent, with another configuration.
  const local = gateways.filter(({ agent }) => agent === undefined);
  const wanted = local.filter((one) => address === undefined || one.url === address);
  const [first, ...others] = wanted;
  if (first !== undefined) return runningExaminer(first, others.length, env);
  if (address === undefined) return ownExaminer({ env, directory }, false);
  return await remoteExaminer({ url: address, key: keyFor({ key }, env) });
}

async function probing(
  examiner: Examiner,
  { probe: wanted, fix = false, json = false, config }: Options,
  file: string | undefined,
): Promise<Probed> {
  if (wanted === undefined) return { checks: [] };
  const model = wanted === true ? undefined : wanted;
  try {
    const { upstream, model: name, requests } = await examiner.plan(model);
    if (!json)
      printError(`Up to ${requests} requests go to ${name} at ${upstream}, and may be billed.`);
    const probe = await examiner.probe(model);
    const isNew = fix && Object.keys(probe.capabilities).length > 0;
    const written = isNew ? fixed(probe, { file: config, reported: file }) : undefined;
    return { checks: probe.checks, probe, written };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return {
      checks: [check("probe.model", model ?? "models", "wrong", ...wordsOfFault(error))],
    };
  }
}

/**
 * Changes the file that this process resolves. The path that a gateway reports is only compared
 * with it, so that a process at a socket cannot choose which file is changed.
 */
function fixed(
  probe: Probe,
  {
    file: named,
    reported,
  }: { readonly file: string | undefined; readonly reported: string | undefined },
): Probed["written"] {
  const env = environment();
  const { file, again, passedOver } = loadConfig({ file: named, env, directory: process.cwd() });
  if (reported === undefined)
    throw refusal("There is no configuration file to change. To write one: patchbay init");
  if (file !== reported)
    throw refusal(
      [
        `The gateway reports the file ${reported}, but this command uses ${file ?? "no file"}, so nothing was written.`,
        ...passedOver.map(findingLine),
        "Name the file to change: patchbay doctor --config FILE --probe MODEL --fix",
      ].join(" "),
    );
  const { backup, text } = writeFix(file, probe);
  if (again.needsTrust === true) trustConfig(file, env, text);
  return { file, backup };
}

/** Agents without a problem are only counted. */
const isQuiet = ({ group, outcome }: Check): boolean =>
  group === "agents" && (outcome === "ok" || outcome === "note");

function* lines(checks: readonly Check[]): Generator<string> {
  const quiet = new Set(checks.filter(isQuiet));
  for (const { outcome, group, subject, evidence, remedy } of checks.filter(
    (one) => !quiet.has(one),
  )) {
    const label = { wrong: "WRONG", unknown: "unknown", note: "note", ok: "ok" }[outcome];
    yield `${label.padEnd(7)}  ${group.padEnd(13)}  ${subject}: ${evidence}`;
    if (remedy !== undefined) yield `${" ".repeat(26)}-> ${remedy}`;
  }
  const agents = new Set([...quiet].map(({ subject }) => subject)).size;
  if (agents > 0)
    yield `ok       agents         ${agents} ${agents === 1 ? "agent needs" : "agents need"} no attention (--json lists all)`;
  const { wrong, unknown, note, ok } = countOutcomes(checks);
  yield "";
  yield `${wrong} wrong, ${unknown} unknown, ${plural(note, "note")}, ${ok} ok`;
}

const capabilitiesText = ({ upstream, model, capabilities }: Probe): string =>
  stringify({
    upstreams: { [upstream]: { capabilities: { models: [{ match: model, ...capabilities }] } } },
  });

function* probeLines({ probe, written }: Probed): Generator<string> {
  if (probe === undefined) return;
  yield "";
  if (Object.keys(probe.capabilities).length === 0) {
    const isAnswered = probe.checks.some(({ outcome }) => outcome === "ok");
    yield isAnswered
      ? "The results agree with the profile."
      : "Nothing was found out about the capabilities of the model.";
    return;
  }
  yield "These capabilities would correct the profile:";
  yield "";
  yield* capabilitiesText(probe).trimEnd().split("\n");
  yield "";
  yield written === undefined
    ? "To write them: patchbay doctor --probe --fix"
    : `They were written to ${written.file}; the former file was kept as ${written.backup}.`;
}

function probeJson({ probe, written }: Probed): object | null {
  if (probe === undefined) return null;
  const { upstream, model, requests, capabilities } = probe;
  return { upstream, model, requests, capabilities, written: written ?? null };
}
