import type { ConsoleRoute } from "../../observe/console/route.ts";
import { openConsole, type ConsoleOptions } from "../../observe/console/console.ts";
import { recordingRoutes } from "../../observe/console/recording-routes.ts";
import { systemClock } from "../platform/clock.ts";
import type { RecordedGateway } from "../server/turn-files.ts";
import type { KeySources } from "../config/providers.ts";
import { openControl, type Control, type ControlOptions } from "./listener.ts";

type Operated = Pick<ControlOptions, "env" | "report"> & {
  /** Where clients reach it. */
  readonly url: string;
  /** What its configuration was read from. */
  readonly files: readonly string[];
  readonly keys: KeySources;
  /** The process to signal: that of the workers' parent where there are several. */
  readonly group: number;
  /** How many processes share the port. */
  readonly workers?: number | undefined;
  /** The agent that it was started for. */
  readonly agent?: string | undefined;
  readonly rejected?: ConsoleOptions["rejected"];
  /** What else can be asked of it. */
  readonly routes?: readonly ConsoleRoute[] | undefined;
};

/** Opens the console of a gateway on a private socket. */
export async function operate(
  gateway: RecordedGateway,
  { url, files, keys, group, workers, agent, env, report, rejected, routes: more = [] }: Operated,
): Promise<Control> {
  const startedAt = Date.now();
  const details = { pid: process.pid, url, startedAt, files: [...files], keys: { ...keys } };
  const recording = () => ({ ...gateway.recorder.state() });
  const opened = openConsole(gateway, { details, clock: systemClock, recording, rejected });
  const routes = [...opened.routes, ...recordingRoutes(gateway.recorder), ...more];
  const entry = { url, startedAt, group, workers, agent };
  const control = await openControl({ routes, env, report, details: entry });
  return {
    problem: control.problem,
    close() {
      control.close();
      opened.close();
    },
  };
}
