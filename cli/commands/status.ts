import { type GatewayStatus, statusSchema } from "../../src/observe/console/wire.ts";
import {
  askGateway,
  environment,
  fieldsOf,
  listOf,
  type LocalGateway,
  print,
  printError,
  printJson,
} from "../../src/terminal.ts";
import { sourceText } from "../../src/configuration.ts";
import { aligned, exitCode } from "../output.ts";
import {
  askRemote,
  chooseGateway,
  noGateway,
  type RemoteGateway,
  runningGateways,
} from "../gateways.ts";
import { findAll, foundLines } from "./init.ts";
import type { Options } from "../options.ts";

/** A problem of a gateway. */
type StatusProblem = { readonly about: string; readonly problem: string };

export type AskedStatus = {
  readonly gateway: LocalGateway;
  /** The number of its processes that have answered. */
  readonly answering: number;
  readonly status: GatewayStatus;
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
  const told = (await Promise.allSettled(asked)).flatMap((one) =>
    one.status === "fulfilled" ? one.value : [],
  );
  const [first, ...others] = told;
  if (first === undefined) return [];
  const found = others.reduce(together, first);
  const answering = told.length;
  const problems = [...workerProblems(gateway.workers, answering), ...problemsOf(found)];
  return [{ gateway, answering, status: found, problems }];
}

const workerProblems = (count: number, answering: number): StatusProblem[] =>
  answering >= count
    ? []
    : [
        {
          about: "workers",
          problem: `${answering} of ${count} answer; one that has ended is started again every second, and the log says why it ends`,
        },
      ];

/** The status of two workers of one gateway: their counts are added up. */
const together = (a: GatewayStatus, b: GatewayStatus): GatewayStatus => ({
  ...a,
  running: a.running + b.running,
  kept: a.kept + b.kept,
  turns: a.turns + b.turns,
  watchers: a.watchers + b.watchers,
  wrong: [...a.wrong, ...b.wrong],
  rejected: a.rejected ?? b.rejected,
  store: a.store.problem === undefined && b.store.problem !== undefined ? b.store : a.store,
});

const problemsOf = ({ upstreams, store, wrong, rejected }: GatewayStatus): StatusProblem[] => [
  ...rejectedProblem(rejected),
  ...upstreams.flatMap(({ name, fault, problem = fault }) =>
    problem === undefined ? [] : { about: `upstream ${name}`, problem },
  ),
  ...(store.problem === undefined ? [] : [{ about: "store", problem: store.problem }]),
  ...wrong.map(({ about, problem }) => ({ about, problem })),
];

function rejectedProblem(rejected: GatewayStatus["rejected"]): StatusProblem[] {
  if (rejected === undefined) return [];
  const { file, since, problems } = rejected;
  const [first = "it cannot be used", ...others] = problems;
  const more =
    others.length === 0 ? "" : ` (${others.length} more; \`patchbay check\` lists them all)`;
  const problem = `rejected since ${dateText(since)}, and the running configuration stays in force: ${first}${more}`;
  return [{ about: `configuration${file === undefined ? "" : ` ${file}`}`, problem }];
}

const dateText = (at: number): string => new Date(at).toLocaleString();

/** Its kind and, after an absence, the times of its end and start. */
function storeText({ kind, awayAt, backAt }: GatewayStatus["store"]): string {
  if (awayAt === undefined || backAt === undefined) return kind;
  return `${kind}, back since ${dateText(backAt)}; it was away since ${dateText(awayAt)}`;
}

/** The status of one gateway, problems first. */
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
      ["key", found.keyed ? "needed" : "none needed"],
      ...recordingLine(found),
      [
        "turns",
        `${found.running} running, ${found.turns} since the start, the latest ${found.kept} kept`,
      ],
    ]),
  ];
}

/** The files of a gateway's configuration and where its keys come from. */
export const configurationText = ({ files, keys }: GatewayStatus): string =>
  sourceText({ file: files.length === 0 ? undefined : files.join(", "), keys });

const recordedTurns = { failures: "turns that fail", all: "every turn" };

/** Empty unless turns are recorded. */
function recordingLine({ recording }: GatewayStatus): string[][] {
  if (recording === undefined || recording.mode === "off") return [];
  const { mode, content, folder } = recording;
  return [["recording", `${recordedTurns[mode]}, ${content}, to ${folder}`]];
}

/** The status of a gateway elsewhere, as its clients see it. */
async function remoteStatus(remote: RemoteGateway, { json = false }: Options): Promise<void> {
  let ready: unknown;
  try {
    ready = await askRemote(remote, "/readyz");
  } catch (error) {
    printError((error as Error).message);
    process.exitCode = / answers \d/.test((error as Error).message)
      ? exitCode.wrong
      : exitCode.nobody;
    return;
  }
  const models = listOf(fieldsOf(await askRemote(remote, "/v1/models"))?.data) ?? [];
  const names = models.map((one) => String(fieldsOf(one)?.id));
  const upstreams = fieldsOf(fieldsOf(ready)?.upstreams) ?? {};
  const problems = Object.entries(upstreams).filter(([, state]) => state !== "ready");
  process.exitCode = problems.length === 0 ? exitCode.well : exitCode.wrong;
  if (json) return printJson([{ url: remote.url, upstreams, models: names }]);
  const lines = [
    `Patchbay on ${remote.url}`,
    ...problems.map(([name, state]) => `  WRONG  upstream ${name}: ${String(state)}`),
    ...aligned([
      ["upstreams", Object.keys(upstreams).join(", ")],
      ["models", names.join(", ")],
    ]),
  ];
  print(lines);
}

/** `patchbay` alone: shows the findings and the next commands. It starts nothing. */
export async function overview(): Promise<void> {
  const [found, running] = await Promise.all([findAll(environment()), localStatuses()]);
  const isRunning = running.length > 0;
  const agent = found.agents[0]?.name ?? "codex";
  print([
    ...(isRunning ? running.flatMap(statusLines) : ["No gateway of yours runs here."]),
    "",
    ...foundLines(found),
    "",
    ...(isRunning
      ? [
          "  patchbay top                its turns as they come",
          "  patchbay doctor             whether its keys, upstreams and models are well",
          `  patchbay launch ${agent.padEnd(12)}an agent on one of its models`,
        ]
      : [
          "  patchbay init               write patchbay.yaml from what was found",
          "  patchbay serve              run the gateway; without a file, what was found or the demo",
          `  patchbay launch ${agent.padEnd(12)}an agent with a gateway of its own`,
        ]),
    "",
    "patchbay --help lists every command.",
  ]);
}
