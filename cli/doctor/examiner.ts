/** Who runs the checks: the gateway that runs, or this process where there is none. */
import { readdirSync } from "node:fs";
import {
  type Check,
  type Examination,
  examinationSchema,
  type Probe,
  type ProbePlan,
  probePlanSchema,
  probeSchema,
} from "../../src/observe/console/wire-checks.ts";
import { newId, nodePlatform, openGateway, systemClock } from "../../src/serving.ts";
import {
  askGateway,
  type Environment,
  Fault,
  fieldsIn,
  fieldsOf,
  findGateways,
  foreignFolders,
  type LocalGateway,
  runtimeFolders,
  version,
} from "../../src/terminal.ts";
import { loadConfig, type Origin } from "../../src/configuration.ts";
import { firstModel, look } from "../smoke/look.ts";
import { sceneName, scenes } from "../smoke/scene.ts";
import { environmentChecks, examine } from "./examine.ts";
import { planProbe, runProbe } from "./probe.ts";

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

/** A gateway elsewhere: only what it shows to its clients can be looked at. */
type RemoteOptions = { readonly url: string; readonly key: string | undefined };

const PATIENCE_MS = 10_000;

/** Undefined where no gateway answers there. */
export async function remoteExaminer({ url, key }: RemoteOptions): Promise<Examiner | undefined> {
  const ready = await readiness(url);
  if (ready === undefined) return undefined;
  const target = { url, key, timeoutMs: PATIENCE_MS };
  const named = async (model: string | undefined): Promise<string> =>
    model ?? (await firstModel(target));
  return {
    by: "remote",
    url,
    async examine() {
      return { checks: [...readyChecks(url, ready), await keyCheck(target)] };
    },
    plan: async (model) => ({ upstream: url, model: await named(model), requests: scenes.length }),
    probe: async (model) => remoteProbe(url, await named(model), key),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

type Ready = { readonly isReady: boolean; readonly upstreams: Readonly<Record<string, unknown>> };

async function readiness(url: string): Promise<Ready | undefined> {
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const response = await fetch(`${url}/readyz`, { signal });
    const upstreams = fieldsOf(fieldsIn(await response.text())?.upstreams);
    return upstreams === undefined ? undefined : { isReady: response.ok, upstreams };
  } catch {
    return undefined; // Nobody is there.
  }
}

function readyChecks(url: string, { isReady, upstreams }: Ready): Check[] {
  const own: Check = isReady
    ? { group: "gateway", id: "gateway.ready", subject: url, outcome: "ok", evidence: "is ready" }
    : {
        group: "gateway",
        id: "gateway.ready",
        subject: url,
        outcome: "wrong",
        evidence: "is not ready",
        remedy: "Run patchbay doctor where it runs.",
      };
  const states = Object.entries(upstreams).map(([subject, state]): Check => ({
    group: "upstreams",
    id: "upstream.reached",
    subject,
    outcome: state === "ready" ? "unknown" : "wrong",
    evidence:
      state === "ready"
        ? "only the gateway itself can try its key"
        : `cannot serve (${String(state)})`,
    remedy: "Run patchbay doctor where it runs, or make calls through it: --probe",
  }));
  return [own, ...states];
}

/** Listing models needs a key where the gateway asks for one at all. */
async function keyCheck(target: Parameters<typeof firstModel>[0]): Promise<Check> {
  const about = { group: "gateway", id: "gateway.key", subject: target.url } as const;
  try {
    await firstModel(target);
    return { ...about, outcome: "ok", evidence: "lets this client in" };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const [evidence = "", remedy = "Give its key with --key."] = error.message.split("; ");
    return { ...about, outcome: "wrong", evidence, remedy };
  }
}

/** The calls of `patchbay smoke`: through every door, streamed and whole. */
async function remoteProbe(url: string, model: string, key: string | undefined): Promise<Probe> {
  const { answers, problems } = await look({ url, key, model, expect: 2, timeout: 60 });
  const checks = answers.map(({ scene, seen, problems: [flaw] }): Check => ({
    group: "models",
    id: "probe.burst",
    subject: model,
    outcome: flaw === undefined ? "ok" : "wrong",
    evidence: `${sceneName(scene)}: ${flaw ?? `${seen.calls.length} calls came`}`,
    remedy: flaw === undefined ? undefined : "Run patchbay doctor --probe where it runs.",
  }));
  const between = problems.map((evidence): Check => ({
    group: "models",
    id: "probe.agree",
    subject: model,
    outcome: "wrong",
    evidence,
    remedy: "Run patchbay smoke for all that was seen.",
  }));
  const all = [...checks, ...between];
  return { upstream: url, model, requests: scenes.length, checks: all, capabilities: {} };
}

/** Finds the gateways of this user, and says what those that were killed have left behind. */
type FoundGateways = {
  readonly gateways: readonly LocalGateway[];
  readonly checks: readonly Check[];
};

/** Looking for gateways removes the sockets at which nobody answers any more. */
export async function findWithLeftovers(env: Environment): Promise<FoundGateways> {
  const folders = runtimeFolders(env);
  const before = folders.map(socketsIn);
  const gateways = await findGateways(env);
  const checks = folders.flatMap((folder, at): Check[] => {
    const after = new Set(socketsIn(folder));
    const gone = (before[at] ?? []).filter((name) => !after.has(name));
    if (gone.length === 0) return [];
    const left = gone.length === 1 ? "a gateway that was killed" : "gateways that were killed";
    return [
      {
        group: "machine",
        id: "machine.sockets",
        subject: folder,
        outcome: "note",
        evidence: `${left} had left ${gone.join(", ")}, now removed`,
        remedy: "See in the log of the gateway, or of the system, what ended it.",
      },
    ];
  });
  return { gateways, checks: [...checks, ...foreignFolders(env).map(foreignCheck)] };
}

function foreignCheck(note: string): Check {
  const [evidence = note, remedy] = note.split("; ");
  const about = { group: "machine", id: "machine.foreign_folder", subject: "sockets" } as const;
  return { ...about, outcome: "note", evidence, remedy };
}

function socketsIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(".sock"));
  } catch {
    return []; // No gateway has been here.
  }
}
