/** A gateway elsewhere: only what it shows to its clients can be looked at. */

import type { Check, Probe } from "../../src/observe/console/wire-checks.ts";
import { fieldsIn, fieldsOf } from "../../src/dialects/shared/loose.ts";
import { Fault } from "../../src/turn/fault.ts";
import { firstModel } from "../smoke/ask.ts";
import { look } from "../smoke/look.ts";
import { scenes, sceneName } from "../smoke/scene.ts";
import type { Examiner } from "./examiner.ts";

export type RemoteOptions = { readonly url: string; readonly key: string | undefined };

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
