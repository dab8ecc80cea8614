import { environment, Fault, print, printFault, printJson, refusal } from "../../src/terminal.ts";
import { aligned, exitCode } from "../output.ts";
import { chooseGateway, keyFor } from "../gateways.ts";
import { useToolBlocks, cityIn } from "../smoke/judge.ts";
import { type SmokeAnswer, look, type SmokeReport } from "../smoke/look.ts";
import { Unreachable } from "../remote.ts";
import type { SeenCall } from "../smoke/clients.ts";
import { configurationText, localStatuses } from "./status.ts";
import type { With } from "../options.ts";

/** `patchbay smoke`: asks a running gateway for bursts of calls in all dialects and output modes. */
export async function smoke({
  json = false,
  ...options
}: With<"url" | "expect" | "timeout">): Promise<void> {
  const key = keyFor(options, environment());
  let report: SmokeReport;
  const known = await configurationAt(options.url);
  try {
    refuseAllowSingle(options);
    refuseContradiction(options);
    report = await look({ ...options, key });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    process.exitCode = error instanceof Unreachable ? exitCode.nobody : exitCode.wrong;
    if (json) printJson({ ok: false, problems: [error.message], answers: [] });
    else printFault(error);
    return;
  }
  if (!report.ok) process.exitCode = 1;
  if (json) printJson(jsonOf(report));
  else print([...(known === undefined ? [] : [`Configuration: ${known}`]), ...lines(report)]);
}

/** The configuration of a gateway of this user, asked by its private socket; undefined for another one. */
async function configurationAt(url: string): Promise<string | undefined> {
  const chosen = await chooseGateway({ url });
  if (!("local" in chosen)) return undefined;
  const [asked] = await localStatuses(chosen.local);
  return asked && configurationText(asked.status);
}

function refuseAllowSingle({ allowSingle = false }: With<"url" | "expect" | "timeout">): void {
  if (!allowSingle) return;
  throw refusal("The option `--allow-single` does not exist; use `--expect 1` instead.");
}

function refuseContradiction({ expect, atMost }: With<"url" | "expect" | "timeout">): void {
  if (atMost === undefined || atMost >= expect) return;
  throw refusal(
    `\`--at-most ${atMost}\` is less than \`--expect ${expect}\`; give \`--expect ${atMost}\` too.`,
  );
}

function* lines({ ok, url, model, least, answers, problems }: SmokeReport): Generator<string> {
  yield `${url}, model ${model}: bursts of ${least} or more calls`;
  yield "";
  const rows = aligned([
    ["", "door", "answer", "output", "calls", "finish", "statistics", "blocks"],
    ...answers.map(rowOf),
  ]);
  yield* rows.slice(0, 1);
  for (const [at, answer] of answers.entries()) {
    yield rows[at + 1] ?? "";
    for (const problem of answer.problems) yield `        ${problem}`;
  }
  yield "";
  yield* problems;
  const good = answers.filter((answer) => answer.problems.length === 0).length;
  const sum = `${good} of ${answers.length} answers are correct`;
  yield ok
    ? `${sum}.`
    : `${sum}${problems.length > 0 ? ", and streams differ from whole answers" : ""}. The test failed.`;
}

function rowOf({ scene, seen, problems }: SmokeAnswer): readonly string[] {
  const { calls, figures } = seen;
  return [
    problems.length === 0 ? "ok" : "FAIL",
    scene.door,
    scene.stream ? "stream" : "whole",
    scene.output,
    calls.length === 0 ? "0" : `${calls.length}: ${inOrder(calls)}`,
    seen.finish || "-",
    figures === undefined
      ? "-"
      : `count=${figures.count} truncated=${figures.truncated} mode=${figures.mode}`,
    String(useToolBlocks(seen.text).length),
  ];
}

/** The calls in their order; a name is written once for consecutive calls. */
const inOrder = (calls: readonly SeenCall[]): string =>
  calls
    .map(({ name, arguments: input }, at) =>
      calls[at - 1]?.name === name ? cityIn(input) : `${name} ${cityIn(input)}`,
    )
    .join(", ");

const jsonOf = ({ answers, least, ...report }: SmokeReport): object => ({
  ...report,
  expect: least,
  answers: answers.map(({ scene, seen, problems }) => ({
    ...scene,
    ok: problems.length === 0,
    calls: seen.calls,
    finish: seen.finish,
    figures: seen.figures ?? null,
    blocks: useToolBlocks(seen.text).length,
    flaws: problems,
  })),
});
