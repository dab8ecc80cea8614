/** All checks that go by the environment of the process that runs the gateway. */

import type { Gateway } from "../../src/gateway/gateway.ts";
import type { Clock } from "../../src/turn/clock.ts";
import type { Origin } from "../../src/host/config/sources.ts";
import type { Examination } from "../../src/observe/console/wire-checks.ts";
import { examineConfig } from "./config-checks.ts";
import { machineChecks } from "./machine-checks.ts";
import { modelChecks } from "./model-checks.ts";
import { examineUpstream } from "./upstream-checks.ts";
import { digestVariables } from "./variables.ts";

/** What a gateway shows of itself to whoever examines it. */
export type Examined = ReturnType<Gateway["examined"]>;

export type ExamineOptions = {
  readonly origin: Origin;
  /** None where the configuration is too wrong for a gateway. */
  readonly examined?: Examined | undefined;
  /** Whether it runs by itself, so that its file may have changed since. */
  readonly isRunning: boolean;
  readonly clock: Clock;
};

export async function examine(options: ExamineOptions): Promise<Examination> {
  const { origin, examined, isRunning, clock } = options;
  const configuration = examineConfig(origin, isRunning ? examined?.config : undefined);
  const states =
    examined === undefined
      ? []
      : await Promise.all(
          Array.from(examined.upstreams, async ([name, upstream]) => ({
            name,
            state: await examineUpstream(upstream, examined.dialects.upstreams),
          })),
        );
  const usable = new Set(states.flatMap(({ name, state }) => (state.isUsable ? [name] : [])));
  const dates = new Map(states.map(({ name, state }) => [name, state.date ?? ""]));
  const config = examined?.config ?? configuration.config;
  return {
    file: configuration.file,
    variables: digestVariables(origin.env, configuration.variables),
    checks: [
      ...configuration.checks,
      ...states.flatMap(({ state }) => state.checks),
      ...(examined === undefined ? [] : await modelChecks({ ...examined, usable })),
      ...machineChecks({ env: origin.env, config, dates, now: clock.date() }),
    ],
  };
}
