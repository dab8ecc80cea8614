import { recordingStateSchema } from "../../../console/wire.ts";
import { Fault } from "../../../turn/fault.ts";
import { environment, type Environment } from "../../config/env.ts";
import { askGateway } from "../../control/client.ts";
import { findGateways } from "../../control/gateways.ts";
import { onPath } from "../../../upstreams/codex/command.ts";
import { exitCode } from "../exit-code.ts";
import { recordedLine } from "../recorded-line.ts";
import { agents } from "../launch/agents.ts";
import { runAgent } from "../launch/run-agent.ts";
import { launch } from "./launch.ts";
import { printError, printJson } from "../../platform/print.ts";

export type RecordOptions = {
  readonly config?: string | undefined;
  readonly model?: string | undefined;
  /** Milliseconds. */
  readonly for?: number | undefined;
  readonly failures?: boolean | undefined;
  readonly json?: boolean | undefined;
};

/** An order that nobody renews ends by itself, also where whoever gave it was killed. */
const LEASE_MS = 60_000;
const RENEWED_MS = 20_000;

/** `patchbay record`: switches the recording of running gateways on and, when it ends, back. */
export async function record(command: readonly string[], options: RecordOptions): Promise<void> {
  const mode = options.failures === true ? "failures" : "all";
  const [name, ...args] = command;
  const isAgent = agents.some((one) => one.name === name || one.commands.includes(name ?? ""));
  // An agent that is launched has a gateway of its own, and nobody else's turns are recorded.
  if (name !== undefined && isAgent)
    return launch(name, args, {
      ...options,
      context: DEFAULT_CONTEXT,
      record: mode === "all" ? true : mode,
    });
  const env = environment();
  const sockets = (await findGateways(env)).flatMap((gateway) => gateway.sockets);
  if (sockets.length === 0) {
    printError("No gateway runs here. To start one: patchbay serve");
    process.exitCode = exitCode.nobody;
    return;
  }
  const order = { sockets, mode } as const;
  if (options.for !== undefined && name === undefined) {
    const state = await switchOn(order, options.for);
    return tell(options, state, ` for ${Math.round(options.for / 1000)} s; it ends by itself`);
  }
  const before = await switchOn(order, LEASE_MS);
  if (options.json !== true) tell(options, before, " until this command ends");
  const renewing = setInterval(() => void switchOn(order, LEASE_MS).catch(() => {}), RENEWED_MS);
  try {
    if (name === undefined) await interrupted();
    else process.exitCode = await runAgent(programAt(name, env), args, env);
  } finally {
    clearInterval(renewing);
    await finish(sockets, before, options);
  }
}

/** Tells what was recorded by the gateways that are still there, and that others are not. */
async function finish(
  sockets: readonly string[],
  before: State,
  options: RecordOptions,
): Promise<void> {
  const answers = await Promise.allSettled(
    sockets.map((socket) => askAll([socket], { method: "DELETE" })),
  );
  const states = answers.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  if (states.length > 0) tell(options, summed(states), "", before.written);
  const gone = answers.find((one) => one.status === "rejected");
  if (gone === undefined) return;
  if (gone.reason instanceof Fault) throw gone.reason;
  printError(
    `The gateway has gone, and with it the turns that were under way. What was over by then is in ${before.folder}.`,
  );
  process.exitCode ??= exitCode.nobody;
}

const DEFAULT_CONTEXT = 200_000;

type State = Awaited<ReturnType<typeof askGateway<typeof recordingStateSchema>>>;
type Order = { readonly sockets: readonly string[]; readonly mode: "all" | "failures" };

const askAll = async (
  sockets: readonly string[],
  asking: { readonly method: "POST" | "DELETE"; readonly body?: unknown },
): Promise<State> => {
  const path = "/recording";
  const states = await Promise.all(
    sockets.map((socket) => askGateway(socket, recordingStateSchema, { path, ...asking })),
  );
  return summed(states);
};

/** One state for several processes: their counts are added up. */
function summed(states: readonly State[]): State {
  const [first] = states;
  if (first === undefined) throw new Fault("request.invalid", "The gateway has gone.");
  const sum = (of: (state: State) => number): number =>
    states.reduce((total, state) => total + of(state), 0);
  return { ...first, written: sum((one) => one.written), missed: sum((one) => one.missed) };
}

const switchOn = ({ sockets, mode }: Order, forMs: number): Promise<State> =>
  askAll(sockets, { method: "POST", body: { mode, for_ms: forMs } });

function tell({ json = false }: RecordOptions, state: State, until: string, before?: number): void {
  if (json) return printJson(state);
  const { mode, content, folder, written } = state;
  if (until !== "")
    return printError(
      `Recording ${mode === "all" ? "every turn" : "turns that fail"}, content ${content}, to ${folder}${until}.`,
    );
  printError(recordedLine({ ...state, written: written - (before ?? 0) }));
}

const interrupted = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
      process.once(signal, () => resolve());
  });

function programAt(name: string, env: Environment): string {
  const file = onPath(name, env["PATH"] ?? env["Path"] ?? "");
  if (file !== undefined) return file;
  throw new Fault("request.invalid", `There is no \`${name}\` on PATH.`);
}
