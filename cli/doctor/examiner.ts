/** Who runs the checks: the gateway that runs, or this process where there is none. */

import {
  examinationSchema,
  probePlanSchema,
  probeSchema,
  type Check,
  type Examination,
  type Probe,
  type ProbePlan,
} from "../../src/observe/console/wire-checks.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { Fault } from "../../src/turn/fault.ts";
import { version } from "../../src/upstreams/version.ts";
import { loadConfig } from "../../src/host/config/load.ts";
import type { Origin } from "../../src/host/config/sources.ts";
import { askGateway } from "../../src/host/control/client.ts";
import type { LocalGateway } from "../../src/host/control/gateways.ts";
import { systemClock } from "../../src/host/platform/clock.ts";
import { newId } from "../../src/host/platform/ids.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { examine } from "./examine.ts";
import { planProbe, runProbe } from "./probe/probe.ts";
import { environmentChecks } from "./variables.ts";

export type Examiner = AsyncDisposable & {
  readonly by: "gateway" | "self" | "remote";
  /** Where it is reached; none for this process. */
  readonly url?: string | undefined;
  examine(): Promise<Pick<Examination, "checks" | "file">>;
  plan(model: string | undefined): Promise<ProbePlan>;
  probe(model: string | undefined): Promise<Probe>;
};

/** Asks a gateway of this user by its socket, so that its environment counts and not this shell's. */
export function runningExaminer(
  gateway: LocalGateway,
  others: number,
  env: Origin["env"],
): Examiner {
  const { url, sockets } = gateway;
  const [socket = ""] = sockets;
  return {
    by: "gateway",
    url,
    async examine() {
      const found = await askGateway(socket, examinationSchema, { path: "/checks" });
      const checks = [
        ...runningChecks(gateway, others),
        ...environmentChecks(found.variables, env),
        ...found.checks,
      ];
      return { ...found, checks };
    },
    plan: (model) =>
      askGateway(socket, probePlanSchema, {
        method: "POST",
        path: "/probe/plan",
        body: { model },
      }),
    probe: (model) =>
      askGateway(socket, probeSchema, { method: "POST", path: "/probe", body: { model } }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function runningChecks({ url, pid, version: its }: LocalGateway, others: number): Check[] {
  const subject = url;
  const about = { group: "gateway", subject } as const;
  return [
    {
      ...about,
      id: "gateway.running",
      outcome: "ok",
      evidence: `process ${pid} answered for itself`,
    },
    ...(its === version
      ? []
      : [
          {
            ...about,
            id: "gateway.version",
            outcome: "note" as const,
            evidence: `it is version ${its}, and this command is ${version}`,
            remedy: "Restart the gateway to run the same version.",
          },
        ]),
    ...(others === 0
      ? []
      : [
          {
            ...about,
            id: "gateway.others",
            outcome: "note" as const,
            evidence: `${others} more gateways run, and were not asked`,
            remedy: "Name one with --url; patchbay status lists them.",
          },
        ]),
  ];
}

/** Checks with this shell's environment, and a gateway that lives as long as the command. */
export function ownExaminer(origin: Origin, isChosen: boolean): Examiner {
  const loaded = loadConfig(origin);
  const gateway = loaded.ok ? openQuietly(loaded.config) : undefined;
  const examined = (): ReturnType<NonNullable<typeof gateway>["examined"]> => {
    if (gateway !== undefined) return gateway.examined();
    throw new Fault("config.invalid", "The configuration is wrong, so no model can be asked.");
  };
  return {
    by: "self",
    async examine() {
      const options = { origin, examined: gateway?.examined(), isRunning: false };
      const found = await examine({ ...options, clock: systemClock });
      return { ...found, checks: [...(isChosen ? [] : [NOBODY]), ...found.checks] };
    },
    plan: async (model) => planProbe(examined(), model, systemClock),
    probe: (model) => runProbe(examined(), model, { clock: systemClock, newId }),
    async [Symbol.asyncDispose]() {
      await gateway?.close(0);
    },
  };
}

/** What keeps it from opening is a problem of the configuration, and told as such. */
function openQuietly(config: Parameters<typeof openGateway>[0]) {
  try {
    return openGateway(config, nodePlatform());
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

const NOBODY: Check = {
  group: "gateway",
  id: "gateway.running",
  subject: "gateway",
  outcome: "note",
  evidence: "none of yours runs here: this command made the checks, in this shell's environment",
  remedy: "To start one: patchbay serve",
};
