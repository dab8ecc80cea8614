/** Examiners: the running gateway makes the checks, or this process without one. */
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
  findGateways,
  foreignFolders,
  type LocalGateway,
  refusal,
  runtimeFolders,
  version,
} from "../../src/terminal.ts";
import { loadConfig, type ConfigOrigin } from "../../src/configuration.ts";
import { firstModel, readinessOf, type RemoteGateway } from "../remote.ts";
import { check, wordsOfFault } from "./check.ts";
import { environmentChecks, type Examined, examine } from "./examine.ts";
import { planProbe, runProbe } from "./probe.ts";

export type Examiner = AsyncDisposable & {
  readonly by: "gateway" | "self" | "remote";
  /** Undefined for this process. */
  readonly url?: string | undefined;
  examine(): Promise<Pick<Examination, "checks" | "file">>;
  plan(model: string | undefined): Promise<ProbePlan>;
  probe(model: string | undefined): Promise<Probe>;
};

const nothing = (): Promise<void> => Promise.resolve();

/** Asks a gateway of this user by its socket, so that the checks depend on its environment and not on this shell's. */
export function runningExaminer(
  { url, pid, version: its, sockets: [socket = ""] }: LocalGateway,
  others: number,
  env: ConfigOrigin["env"],
): Examiner {
  return {
    by: "gateway",
    url,
    async examine() {
      const found = await askGateway(socket, examinationSchema, { path: "/checks" });
      const checks = [check("gateway.running", url, "ok", `process ${pid} made the checks`)];
      if (its !== version) {
        const evidence = `it is version ${its}, and this command is ${version}`;
        const remedy = "Restart the gateway to run the same version.";
        checks.push(check("gateway.version", url, "note", evidence, remedy));
      }
      if (others > 0) {
        const evidence = `${others} more gateways run, and were not checked`;
        const remedy = "Name one with --url; patchbay status lists them.";
        checks.push(check("gateway.others", url, "note", evidence, remedy));
      }
      return {
        ...found,
        checks: [...checks, ...environmentChecks(found.variables, env), ...found.checks],
      };
    },
    plan: (model) =>
      askGateway(socket, probePlanSchema, {
        method: "POST",
        path: "/probe/plan",
        body: { model },
      }),
    probe: (model) =>
      askGateway(socket, probeSchema, { method: "POST", path: "/probe", body: { model } }),
    [Symbol.asyncDispose]: nothing,
  };
}

/** Makes the checks with this shell's environment, on a gateway that lives as long as the command. */
export function ownExaminer(origin: ConfigOrigin, isChosen: boolean): Examiner {
  const loaded = loadConfig(origin);
  const opened = loaded.ok ? openOrFault(loaded.config) : undefined;
  const fault = opened instanceof Fault ? opened : undefined;
  const gateway = opened instanceof Fault ? undefined : opened;
  const examined = (): Examined => {
    if (gateway !== undefined) return gateway.examined();
    throw (
      fault ??
      new Fault("config.invalid", "The configuration has problems, so no model can be called.")
    );
  };
  const absent = check(
    "gateway.running",
    "gateway",
    "note",
    "not running on this machine; this command made the checks, in the environment of this shell",
    "To start one: patchbay serve",
  );
  return {
    by: "self",
    async examine() {
      const options = { origin, examined: gateway?.examined(), isRunning: false };
      const found = await examine({ ...options, clock: systemClock });
      const checks = isChosen ? [] : [absent];
      if (fault !== undefined)
        checks.push(check("gateway.opened", "gateway", "wrong", ...wordsOfFault(fault)));
      return { ...found, checks: [...checks, ...found.checks] };
    },
    plan: async (model) => planProbe(examined(), model, systemClock),
    probe: (model) => runProbe(examined(), model, { clock: systemClock, newId }),
    async [Symbol.asyncDispose]() {
      await gateway?.close(0);
    },
  };
}

function openOrFault(config: Parameters<typeof openGateway>[0]) {
  try {
    return openGateway(config, nodePlatform());
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

/** Looks at a gateway elsewhere as its clients see it; undefined if no gateway answers there. */
export async function remoteExaminer(remote: RemoteGateway): Promise<Examiner | undefined> {
  const { url } = remote;
  const ready = await readyChecks(remote);
  if (ready === undefined) return undefined;
  const noProbe = (): Promise<never> =>
    Promise.reject(
      refusal(
        `\`--probe\` needs a gateway of yours on this machine. To send real requests through this one: patchbay smoke --url ${url}`,
      ),
    );
  return {
    by: "remote",
    url,
    async examine() {
      // If the gateway has keys, models are listed only with one of them.
      const why = await firstModel(remote).then(
        () => undefined,
        (error: unknown) => {
          if (error instanceof Fault) return error.message.split("; ");
          throw error;
        },
      );
      const keyCheck =
        why === undefined
          ? check("gateway.key", url, "ok", "accepts this client")
          : check("gateway.key", url, "wrong", why[0] ?? "", why[1] ?? "Pass its key with --key.");
      return { checks: [...ready, keyCheck] };
    },
    plan: noProbe,
    probe: noProbe,
    [Symbol.asyncDispose]: nothing,
  };
}

async function readyChecks(remote: RemoteGateway): Promise<readonly Check[] | undefined> {
  const { url } = remote;
  const remedy = "Run patchbay doctor on its machine";
  const found = await readinessOf(remote);
  if (found === undefined) return undefined;
  const own = found.isReady
    ? check("gateway.ready", url, "ok", "is ready")
    : check("gateway.ready", url, "wrong", "is not ready", `${remedy}.`);
  const states = Object.entries(found.upstreams).map(([name, state]) => {
    const isReady = state === "ready";
    const evidence = isReady
      ? "only the gateway itself can test its key"
      : `cannot serve (${String(state)})`;
    const proof = `${remedy}, or send real requests through it: patchbay smoke --url ${url}`;
    return check("upstream.reached", name, isReady ? "unknown" : "wrong", evidence, proof);
  });
  return [own, ...states];
}

/** Finds the gateways of this user, and reports the sockets that killed gateways have left behind. */
export async function findWithLeftovers(env: Environment): Promise<{
  readonly gateways: readonly LocalGateway[];
  readonly checks: readonly Check[];
}> {
  const folders = runtimeFolders(env);
  const before = folders.map(socketsIn);
  // The search removes the sockets that do not answer.
  const gateways = await findGateways(env);
  const checks = folders.flatMap((folder, at) => {
    const after = new Set(socketsIn(folder));
    const gone = (before[at] ?? []).filter((name) => !after.has(name));
    if (gone.length === 0) return [];
    const left = gone.length === 1 ? "a gateway that was killed" : "gateways that were killed";
    const evidence = `${left} left sockets, which are now removed: ${gone.join(", ")}`;
    const remedy = "Look in the log of the gateway, or of the system, for the cause.";
    return [check("machine.sockets", folder, "note", evidence, remedy)];
  });
  const foreign = foreignFolders(env).map((note) => {
    const [evidence = note, remedy] = note.split("; ");
    return check("machine.foreign_folder", "sockets", "note", evidence, remedy);
  });
  return { gateways, checks: [...checks, ...foreign] };
}

function socketsIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(".sock"));
  } catch {
    return []; // No gateway has been here.
  }
}
