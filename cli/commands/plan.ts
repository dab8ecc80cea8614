import { readFileSync } from "node:fs";
import {
  BodyReader,
  builtinDialects,
  callRules,
  type Decision,
  disclosureFor,
  isLossy,
  openPlatform,
  openUpstreams,
  type PlanPreview,
  type PlanReport,
  planTurn,
  type ToolSize,
} from "../../src/inspection.ts";
import {
  type Config,
  findingLine,
  loadConfig,
  notesOf,
  sourceNote,
} from "../../src/configuration.ts";
import {
  environment,
  type Fields,
  print,
  printError,
  printJson,
  refusal,
} from "../../src/terminal.ts";
import { nodePlatform } from "../../src/serving.ts";
import { aligned } from "../output.ts";
import type { Options } from "../options.ts";

/** `patchbay plan`: shows the plan of a request without sending it. */
export async function plan(file: string, options: Options): Promise<void> {
  const { model, json = false } = options;
  const env = environment();
  const loaded = loadConfig({ file: options.config, env, directory: process.cwd() });
  for (const note of [...notesOf(loaded), ...sourceNote(loaded)]) printError(note);
  if (!loaded.ok) {
    printError(loaded.findings.map(findingLine));
    process.exitCode = 1;
    return;
  }
  const request = readRequest(file);
  const body = model === undefined ? request : { ...request, model };
  if (body.model == null) throw refusal(`${file} names no model; name one with \`--model\`.`);
  const report = await planWith(loaded.config, body, options.strict ?? false);
  if (json) printJson(report, 2);
  else print([...lines(report, body.model)]);
}

function readRequest(file: string): Fields {
  let text: string;
  try {
    text = readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    throw refusal(`${file} cannot be read (${code}); check its name.`, error);
  }
  return new BodyReader().read(text);
}

async function planWith(config: Config, body: Fields, strict: boolean): Promise<PlanPreview> {
  const upstreams = openUpstreams(config, openPlatform(nodePlatform()));
  try {
    const turn = builtinDialects.doorFor(body).readRequest(body);
    const disclosure = disclosureFor(config.tools.disclosure, turn.model);
    const asked = { strict: strict || config.tools.strict, rules: callRules(config), disclosure };
    return planTurn(turn, { config, upstreams }, asked);
  } finally {
    await Promise.all([...upstreams.values()].map((upstream) => upstream.close()));
  }
}

/** True if the tables show the decision: a change of a tool without loss shows in its verdict and name. */
function isTold(decision: Decision, { tools, parameters }: PlanReport): boolean {
  const { path, reason } = decision;
  if (!path.startsWith("tools[")) return parameters.some((one) => one.path === path);
  return (
    !isLossy(decision) || tools.some((one) => one.path === path && one.reason.includes(reason))
  );
}

function* lines(report: PlanPreview, asked: unknown): Generator<string> {
  const { upstream, profile, straight, verdicts } = report;
  yield `${String(asked)} -> ${upstream} (profile ${profile})${straight ? ", forwarded as it is" : ""}`;
  for (const [head, ...rows] of tables(report))
    if (rows.length > 0) yield* ["", ...aligned([head, ...rows])];
  if (report.tool_size !== null) yield* ["", sizeLine(report.tool_size)];
  const counts = Object.entries(verdicts).map(([verdict, count]) => `${verdict}=${count}`);
  yield* ["", `${counts.join(" ")}${report.lossy ? "; strictness would refuse this" : ""}`];
}

function sizeLine({ strategy, sections, bytes, tokens }: ToolSize): string {
  const eager = `tools: ${bytes.eager} bytes (about ${tokens.eager} tokens) as declared`;
  if (sections === 0) return eager;
  const folded = `${bytes.folded} bytes (about ${tokens.folded} tokens) in ${sections} sections`;
  return `${eager}, ${folded}${strategy === null ? "; sent as declared" : `; sent by \`${strategy}\``}`;
}

type Table = readonly [head: readonly string[], ...rows: (readonly string[])[]];

function tables(report: PlanReport): readonly Table[] {
  const { tools, parameters, rules, decisions } = report;
  const others = decisions.filter((decision) => !isTold(decision, report));
  return [
    [
      ["tool", "kind", "verdict", "upstream name", "reason"],
      ...tools.map((tool) => [
        [tool.namespace, tool.name].filter((part) => part !== null).join("."),
        tool.kind,
        tool.verdict,
        tool.upstream_name ?? "-",
        tool.reason,
      ]),
    ],
    [
      ["parameter", "verdict", "upstream name", "reason"],
      ...parameters.map((one) => [one.path, one.verdict, one.upstream_name ?? "-", one.reason]),
    ],
    [["rule", "value", "reason"], ...rules.map((one) => [one.path, String(one.value), one.reason])],
    [["also", "action", "reason"], ...others.map((one) => [one.path, one.action, one.reason])],
  ];
}
