import { type ConsoleStatus, statusSchema } from "../../src/observe/console/wire.ts";
import {
  askGateway,
  environment,
  type LocalGateway,
  print,
  printError,
  printJson,
} from "../../src/terminal.ts";
import { sourceText } from "../../src/configuration.ts";
import { aligned, dateText, exitCode, noGatewayAt, recordedTurns } from "../output.ts";
import { chooseGateway, noGateway, runningGateways } from "../gateways.ts";
import { modelsAt, readinessOf, type RemoteGateway } from "../remote.ts";
import { findAll, foundLines } from "./init.ts";
import type { Options } from "../options.ts";

type StatusProblem = { readonly about: string; readonly problem: string };

export type AskedStatus = {
  readonly gateway: LocalGateway;
  /** The number of its processes that have answered. */
  readonly answering: number;
  readonly status: ConsoleStatus;
  readonly problems: readonly StatusProblem[];
};

/** `patchbay status`: every gateway of this user, problems first. */
export async function status(options: Options): Promise<void> {
  const chosen = options.url === undefined ? undefined : await chooseGateway(options);
  if (chosen !== undefined && "remote" in chosen) return remoteStatus(chosen.remote, options);
  const asked = await localStatuses(
    chosen !== undefined && "local" in chosen ? chosen.local : undefined,
  );
  const isWell = asked.every(({ problems }) => problems.length === 0);
  process.exitCode = asked.length === 0 ? exitCode.nobody : isWell ? exitCode.well : exitCode.wrong;
  if (options.json === true) printJson(asked.map(statusFields));
  else if (asked.length === 0) print(noGateway);
  else
    for (const [at, one] of asked.entries()) {
      if (at > 0) print("");
      print(statusLines(one));
    }
}

/** The status of each gateway of this user; gateways that end in the meantime are left out. */
export async function localStatuses(only?: LocalGateway): Promise<readonly AskedStatus[]> {
  const gateways = only === undefined ? await runningGateways(environment()) : [only];
  return (await Promise.all(gateways.map(ask))).flat();
}

/** The fields for scripts: the status of the gateway, and the sums over its processes. */
const statusFields = ({
  gateway: { workers },
  answering,
  problems,
  status: found,
}: AskedStatus) => ({
  problems,
  workers: { count: workers, answering },
  ...found,
});

/** The time for an answer: a process that hangs must not hide the status of the others. */
const ANSWER_MS = 10_000;

async function ask(gateway: LocalGateway): Promise<AskedStatus[]> {
  const signal = AbortSignal.timeout(ANSWER_MS);
  const asked = gateway.sockets.map((socket) =>
    askGateway(socket, statusSchema, { path: "/status", signal }),
  );
  const statuses = (await Promise.allSettled(asked)).flatMap((one) =>
    one.status === "fulfilled" ? one.value : [],
  );
  const [first, ...others] = statuses;
  if (first === undefined) return [];
  const found = others.reduce(together, first);
  const answering = statuses.length;
  const problems = [...workerProblems(gateway.workers, answering), ...problemsOf(found)];
  return [{ gateway, answering, status: found, problems }];
}

const workerProblems = (count: number, answering: number): StatusProblem[] =>
  answering >= count
    ? []
    : [
        {
          about: "workers",
          problem: `${answering} of ${count} workers answer; a worker that ends is restarted after a second, and the log gives the reason`,
        },
      ];

/** The status of two workers of one gateway: their counts are added up. */
const together = (a: ConsoleStatus, b: ConsoleStatus): ConsoleStatus => ({
  ...a,
  running: a.running + b.running,
  kept: a.kept + b.kept,
  turns: a.turns + b.turns,
  wrong: [...a.wrong, ...b.wrong],
  rejected: a.rejected ?? b.rejected,
  store: a.store.problem === undefined && b.store.problem !== undefined ? b.store : a.store,
});

const problemsOf = ({ upstreams, store, wrong, rejected }: ConsoleStatus): StatusProblem[] => [
  ...rejectedProblem(rejected),
  ...upstreams.flatMap(({ name, fault, problem = fault }) =>
    problem === undefined ? [] : { about: `upstream ${name}`, problem },
  ),
  ...(store.problem === undefined ? [] : [{ about: "store", problem: store.problem }]),
  ...wrong.map(({ about, problem }) => ({ about, problem })),
];

function rejectedProblem(rejected: ConsoleStatus["rejected"]): StatusProblem[] {
  if (rejected === undefined) return [];
  const { file, since, problems } = rejected;
  const [first = "it cannot be used", ...others] = problems;
  const more =
    others.length === 0 ? "" : ` (${others.length} more; \`patchbay check\` lists them all)`;
  const problem = `rejected since ${dateText(since)}; the gateway keeps its former configuration: ${first}${more}`;
  return [{ about: `configuration${file === undefined ? "" : ` ${file}`}`, problem }];
}

/** Its kind and, after an absence, the times of its end and start. */
function storeText({ kind, awayAt, backAt }: ConsoleStatus["store"]): string {
  if (awayAt === undefined || backAt === undefined) return kind;
  return `${kind}; unreachable from ${dateText(awayAt)} to ${dateText(backAt)}`;
}

export function statusLines({
  gateway,
  answering,
  status: found,
  problems,
}: AskedStatus): string[] {
  const { version, url, startedAt, upstreams } = found;
  const { workers } = gateway;
  const present = answering < workers ? `${answering} of ${workers}` : workers;
  const shared = workers > 1 ? ` with ${present} workers` : "";
  const own = gateway.agent === undefined ? "" : ` for ${gateway.agent}`;
  return [
    `Patchbay ${version} on ${url}${own}, process ${gateway.pid}${shared}, since ${dateText(startedAt)}`,
    ...problems.map(({ about, problem }) => `  WRONG  ${about}: ${problem}`),
    ...aligned([
      ["configuration", configurationText(found)],
      [
        "upstreams",
        upstreams
          .map(({ name, fault }) => (fault === undefined ? name : `${name} (${fault})`))
          .join(", "),
      ],
      ["models", Object.keys(found.models).join(", ") || "upstream/model"],
      ["store", storeText(found.store)],
      ["key", found.keyed ? "required" : "not required"],
      ...recordingLine(found),
      [
        "turns",
        `${found.running} running, ${found.turns} since the start, the latest ${found.kept} kept`,
      ],
    ]),
  ];
}

export const configurationText = ({ files, keys }: ConsoleStatus): string =>
  sourceText({ file: files.length === 0 ? undefined : files.join(", "), keys });

function recordingLine({ recording }: ConsoleStatus): string[][] {
  if (recording === undefined || recording.mode === "off") return [];
  const { mode, content, folder } = recording;
  return [["recording", `${recordedTurns[mode]}, ${content}, to ${folder}`]];
}

/** The status of a remote gateway, as its clients see it. */
async function remoteStatus(remote: RemoteGateway, { json = false }: Options): Promise<void> {
  const ready = await readinessOf(remote);
  if (ready === undefined) {
    printError(noGatewayAt(remote.url));
    process.exitCode = exitCode.nobody;
    return;
  }
  const models = await modelsAt(remote);
  const { upstreams } = ready;
  const problems = Object.entries(upstreams).filter(([, state]) => state !== "ready");
  process.exitCode = ready.isReady && problems.length === 0 ? exitCode.well : exitCode.wrong;
  if (json) return printJson([{ url: remote.url, upstreams, models }]);
  print([
    `Patchbay on ${remote.url}`,
    ...problems.map(([name, state]) => `  WRONG  upstream ${name}: ${String(state)}`),
    ...aligned([
      ["upstreams", Object.keys(upstreams).join(", ")],
      ["models", models.join(", ")],
    ]),
  ]);
}

/** `patchbay` alone: shows the findings and the next commands. It starts nothing. */
export async function overview(): Promise<void> {
  const [found, running] = await Promise.all([findAll(environment()), localStatuses()]);
  const isRunning = running.length > 0;
  const agent = found.agents[0]?.name ?? "codex";
  print([
    ...(isRunning ? running.flatMap(statusLines) : ["No gateway is running on this machine."]),
    "",
    ...foundLines(found),
    "",
    ...(isRunning
      ? [
          "  patchbay top                show its turns live",
          "  patchbay doctor             check its keys, upstreams and models",
          `  patchbay launch ${agent.padEnd(12)}run an agent on one of its models`,
        ]
      : [
          "  patchbay init               write a patchbay.yaml for these findings",
          "  patchbay serve              run the gateway: with a file, else with these findings or the demo",
          `  patchbay launch ${agent.padEnd(12)}run an agent with a separate gateway`,
        ]),
    "",
    "patchbay --help lists every command.",
  ]);
}
