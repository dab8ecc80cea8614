import { recordingStateSchema } from "../../src/observe/console/wire.ts";
import {
  askGateway,
  environment,
  type Environment,
  Fault,
  print,
  printError,
  printJson,
  printOver,
  refusal,
} from "../../src/terminal.ts";
import { exitCode, plural, recordedLine, recordedTurns } from "../output.ts";
import { noGateway, runningGateways } from "../gateways.ts";
import { agents, programOf } from "../launch/agents.ts";
import { runProgram } from "../launch/program.ts";
import { launch } from "./launch.ts";
import type { Options } from "../options.ts";

/** The gateway ends an order that is not renewed, so that it ends if this command is killed. */
const LEASE_MS = 60_000;
const RENEWED_MS = 1_000;

/** `patchbay record`: switches the recording of running gateways on and, when it ends, back. */
export async function record(command: readonly string[], options: Options): Promise<void> {
  const mode = options.failures === true ? "failures" : "all";
  const [name, ...args] = command;
  const isAgent = agents.some((one) => one.name === name || one.commands.includes(name ?? ""));
  // A launched agent has a separate gateway, so that only its turns are recorded.
  if (name !== undefined && isAgent)
    return launch(name, args, {
      ...options,
      context: DEFAULT_CONTEXT,
      record: mode === "all" ? true : mode,
    });
  const env = environment();
  const sockets = (await runningGateways(env)).flatMap((gateway) => gateway.sockets);
  if (sockets.length === 0) {
    printError(noGateway);
    process.exitCode = exitCode.nobody;
    return;
  }
  const started = performance.now();
  const isTimed = options.for !== undefined && name === undefined;
  const leftMs = (): number =>
    isTimed ? Math.max(0, (options.for ?? 0) - (performance.now() - started)) : Infinity;
  const renew = (): Promise<Found> => switchOn(sockets, mode, Math.min(LEASE_MS, leftMs()));
  // Signals are handled before the order is given, so that it never outlives the command.
  const ended = name === undefined ? interrupted(isTimed ? options.for : undefined) : undefined;
  const before = await renew();
  if (options.json !== true) printError(beginLine(summed(before), mode, options));
  const show = name === undefined ? turnCounter(before, leftMs) : () => {};
  let isAsking = false;
  let renewed = Promise.resolve();
  const renewing = setInterval(() => {
    if (isAsking || leftMs() === 0) return;
    isAsking = true;
    // The end of the command reports a gateway that has gone.
    renewed = renew()
      .then(show, () => {})
      .finally(() => (isAsking = false));
  }, RENEWED_MS);
  try {
    if (name !== undefined) process.exitCode = await runProgram(programAt(name, env), args, env);
    else await ended;
  } finally {
    clearInterval(renewing);
    // An order that arrives after the end would outlive the command.
    await renewed;
    if (name === undefined) printOver("");
    await finish(before, { ...options, isRun: name !== undefined });
  }
}

type Found = ReadonlyMap<string, State>;

const beginLine = (
  { content, folder }: State,
  mode: Mode,
  { for: forMs }: Pick<Options, "for">,
): string => {
  const until =
    forMs === undefined
      ? "until this command ends"
      : `for ${Math.round(forMs / 1000)} s; Ctrl-C ends it earlier`;
  return `Recording ${recordedTurns[mode]}, content ${content}, to ${folder} ${until}.`;
};

/** Prints the number of turns so far and, at a terminal, the seconds that are left. */
function turnCounter(before: Found, leftMs: () => number): (now: Found) => void {
  let printed = 0;
  return (now) => {
    const count = summed(now).written - summed(before).written;
    const left = leftMs();
    const rest = left === Infinity ? "" : `, ${Math.ceil(left / 1000)} s left`;
    const line = `${plural(count, "turn")} so far${rest}.`;
    if (!printOver(line) && count !== printed) printError(line);
    printed = count;
  };
}

async function finish(
  before: Found,
  { json = false, isRun }: Options & { readonly isRun: boolean },
): Promise<void> {
  const answers = await Promise.allSettled(
    Array.from(before.keys(), (socket) => ask([socket], { method: "DELETE" })),
  );
  const states = new Map(
    answers.flatMap((one) => (one.status === "fulfilled" ? [...one.value] : [])),
  );
  if (states.size > 0) {
    const end = summed(states);
    const counts = Array.from(states, ([socket, { written, latest }]) => {
      const count = written - (before.get(socket)?.written ?? 0);
      return { count, files: count > 0 ? latest.slice(-count) : [] };
    });
    const written = counts.reduce((sum, { count }) => sum + count, 0);
    const bundles = counts.flatMap(({ files }) => files);
    if (json) printJson({ ...end, bundles });
    else {
      printError(recordedLine({ ...end, written }));
      // Standard output belongs to the program that was run.
      for (const file of bundles) (isRun ? printError : print)(file);
    }
  }
  const gone = answers.find((one) => one.status === "rejected");
  if (gone === undefined) return;
  if (gone.reason instanceof Fault) throw gone.reason;
  printError(
    `The gateway has stopped, and the turns that were running are lost. The recorded turns are in ${summed(before).folder}.`,
  );
  process.exitCode ??= exitCode.nobody;
}

const DEFAULT_CONTEXT = 200_000;

type State = Awaited<ReturnType<typeof askGateway<typeof recordingStateSchema>>>;
type Mode = "all" | "failures";

async function ask(
  sockets: readonly string[],
  asking: { readonly method: "POST" | "DELETE"; readonly body?: unknown },
): Promise<Found> {
  const states = await Promise.all(
    sockets.map(async (socket) => {
      const state = await askGateway(socket, recordingStateSchema, {
        path: "/recording",
        ...asking,
      });
      return [socket, state] as const;
    }),
  );
  return new Map(states);
}

/** One state for several processes: their counts are added up. */
function summed(found: Found): State {
  const states = [...found.values()];
  const [first] = states;
  if (first === undefined) throw refusal("The gateway has stopped.");
  const sum = (of: (state: State) => number): number =>
    states.reduce((total, state) => total + of(state), 0);
  return { ...first, written: sum((one) => one.written), missed: sum((one) => one.missed) };
}

const switchOn = (sockets: readonly string[], mode: Mode, forMs: number): Promise<Found> =>
  ask(sockets, { method: "POST", body: { mode, for_ms: forMs } });

/** Waits for a signal, or for the time. */
const interrupted = (forMs?: number): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
      process.once(signal, () => resolve());
    if (forMs !== undefined) setTimeout(resolve, forMs).unref();
  });

function programAt(name: string, env: Environment): string {
  const file = programOf({ commands: [name] }, env);
  if (file !== undefined) return file;
  throw refusal(`\`${name}\` is not on PATH.`);
}
