import { type Batch, turnSchema } from "../../src/observe/console/wire.ts";
import {
  askGateway,
  currentSockets,
  environment,
  Fault,
  type LocalGateway,
  print,
  printError,
  printJson,
  watchGateway,
} from "../../src/terminal.ts";
import { exitCode } from "../output.ts";
import {
  askRemote,
  chooseGateway,
  type GatewayOptions,
  type RemoteGateway,
  watchRemote,
} from "../gateways.ts";
import { noticeLine, reasonLines, rowLine, turnLines } from "../turn-lines.ts";

export type LogsOptions = GatewayOptions & {
  readonly follow?: boolean | undefined;
  readonly turn?: string | undefined;
  readonly last: number;
  readonly json?: boolean | undefined;
};

/** `patchbay logs`: turns and notices of a running gateway, the latest last. */
export async function logs(options: LogsOptions): Promise<void> {
  const chosen = await chooseGateway(options);
  if ("problem" in chosen) {
    printError(chosen.problem);
    process.exitCode = chosen.code;
  } else if (options.turn !== undefined) await showTurn(chosen, options.turn, options);
  else if ("remote" in chosen) await remoteLogs(chosen.remote, options);
  else await localLogs(chosen.local, options);
}

async function showTurn(
  chosen: { readonly local: LocalGateway } | { readonly remote: RemoteGateway },
  id: string,
  { json = false }: LogsOptions,
): Promise<void> {
  const path = `/turns/${encodeURIComponent(id)}`;
  const view =
    "local" in chosen
      ? await firstKnown(chosen.local.sockets, path)
      : turnSchema.parse(await askRemote(chosen.remote, `/v1${path}`));
  if (json) printJson(view);
  else print(turnLines(view));
  if (view.turn?.type === "refusal" || view.turn?.outcome === "failed")
    process.exitCode = exitCode.wrong;
}

/** Each process of a gateway knows its own turns. */
async function firstKnown(sockets: readonly string[], path: string) {
  let last: unknown;
  for (const socket of sockets)
    try {
      return await askGateway(socket, turnSchema, { path });
    } catch (error) {
      last = error;
    }
  throw last ?? new Fault("request.invalid", "The gateway has gone.");
}

async function localLogs(gateway: LocalGateway, options: LogsOptions): Promise<void> {
  const ending = new AbortController();
  const { last, follow = false } = options;
  let open = gateway.sockets.length;
  process.once("SIGINT", () => ending.abort());
  const current = follow ? () => currentSockets(gateway, environment()) : undefined;
  for await (const batch of watchGateway(gateway, { last, signal: ending.signal, current })) {
    printBatch(batch, options);
    // The first batch of each process is all that there was.
    if (!follow && --open === 0) ending.abort();
  }
  if (follow && !ending.signal.aborted) printError("The gateway has gone.");
}

async function remoteLogs(remote: RemoteGateway, options: LogsOptions): Promise<void> {
  const ending = new AbortController();
  process.once("SIGINT", () => ending.abort());
  for await (const batch of watchRemote(remote).watch(ending.signal, options.last)) {
    printBatch(batch, options);
    if (options.follow !== true) break;
  }
}

function printBatch(
  { turns, notices, lost, unsent }: Batch,
  { json = false, follow }: LogsOptions,
): void {
  const entries = [
    ...turns.map((turn) => ({
      at: turn.at,
      value: turn,
      lines: () => [rowLine(turn), ...reasonLines(turn)],
    })),
    ...notices.map((notice) => ({
      at: notice.at,
      value: notice,
      lines: () => [noticeLine(notice)],
    })),
  ].toSorted((a, b) => a.at - b.at);
  const skipped = (follow === true ? lost : 0) + unsent;
  if (skipped > 0 && !json) print(`… ${skipped} more turns`);
  for (const { value, lines } of entries)
    if (json) printJson(value);
    else print(lines());
}
