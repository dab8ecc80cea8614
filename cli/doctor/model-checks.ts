/** Whether the models that clients may ask for are there. */

import { nearest } from "../../src/diagnostics/nearest.ts";
import type { Config } from "../../src/gateway/config.ts";
import type { Upstream } from "../../src/upstreams/upstream.ts";
import type { Check } from "../../src/observe/console/wire-checks.ts";

export type ModelSources = {
  readonly config: Config;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  /** Those that answered and did not refuse their keys. */
  readonly usable: ReadonlySet<string>;
};

/** One check for each `upstream/model` that `models` leads to. */
export async function modelChecks({
  config,
  upstreams,
  usable,
}: ModelSources): Promise<readonly Check[]> {
  const places = new Map<string, string[]>();
  for (const [name, targets] of Object.entries(config.models))
    for (const place of targets) places.set(place, [...(places.get(place) ?? []), name]);
  if (places.size === 0) return [unnamed(upstreams)];
  const lists = new Map<string, Promise<readonly string[]>>();
  const listOf = (upstream: Upstream): Promise<readonly string[]> => {
    const known = lists.get(upstream.name) ?? (upstream.models?.() ?? none()).catch(() => []);
    lists.set(upstream.name, known);
    return known;
  };
  const checks = await Promise.all(
    [...places].map(async ([place, names]): Promise<Check[]> => {
      const slash = place.indexOf("/");
      const upstream = upstreams.get(place.slice(0, slash));
      const model = place.slice(slash + 1);
      // A missing upstream is a problem of the configuration, and told there.
      if (upstream === undefined || model === "*") return [];
      const asked = names.map((name) => (name === "*" ? "any other name" : name)).join(", ");
      const found = usable.has(upstream.name)
        ? await examineModel(upstream, model, await listOf(upstream))
        : unreached(upstream);
      return [{ group: "models", id: "model.known", subject: `${asked} -> ${place}`, ...found }];
    }),
  );
  return [...checks.flat(), ...onlyDemo(config)];
}

const none = (): Promise<readonly string[]> => Promise.resolve([]);

type Found = Pick<Check, "outcome" | "evidence" | "remedy">;

const unreached = ({ name }: Upstream): Found => ({
  outcome: "unknown",
  evidence: `upstream \`${name}\` cannot be asked`,
  remedy: `See what is said of \`${name}\`.`,
});

async function examineModel(
  upstream: Upstream,
  model: string,
  list: readonly string[],
): Promise<Found> {
  if (list.some((one) => isSame(one, model)))
    return { outcome: "ok", evidence: `\`${upstream.name}\` lists it` };
  if (upstream.profile.dialect === "scripted")
    return { outcome: "ok", evidence: "a script answers to any name" };
  const near = nearest(model, list);
  const remedy =
    near === undefined
      ? "Correct the name in `models`, or prove it by real calls: patchbay doctor --probe"
      : `Did you mean \`${near}\`? Correct it in \`models\`.`;
  // Without messages it cannot be answered, so that asking costs nothing.
  const reply = await upstream.tryRoute?.({ isSignedIn: true, model }).catch(() => undefined);
  const text = `${reply?.code ?? ""} ${reply?.message ?? ""}`;
  if (reply !== undefined && (reply.status === 404 || isAboutModel(text)))
    return {
      outcome: "wrong",
      evidence: `\`${upstream.name}\` does not know it (HTTP ${reply.status}: ${text.trim()})`,
      remedy,
    };
  const listed =
    list.length === 0
      ? "its upstream lists no models"
      : `its upstream lists ${list.length} models, and not this one`;
  return { outcome: "unknown", evidence: listed, remedy };
}

/** Local servers add `:latest` by themselves, and some lists have a folder before the name. */
const isSame = (listed: string, model: string): boolean =>
  listed === model || listed === `${model}:latest` || listed === `models/${model}`;

const isAboutModel = (text: string): boolean =>
  /model_?not_?found|unknown[_ ]model|invalid[_ ]model\b|model\b[^.]*\b(?:not (?:found|exist)|does ?n[o']t exist|no longer|is not available)|no such model/i.test(
    text,
  );

const unnamed = (upstreams: ReadonlyMap<string, Upstream>): Check => ({
  group: "models",
  id: "model.named",
  subject: "models",
  outcome: "note",
  evidence: "no model has a name of its own here",
  remedy: `Clients ask for ${[...upstreams.keys()].map((name) => `\`${name}/MODEL\``).join(", ")}; add names under \`models\`.`,
});

/** Somebody may take the demo's words for a model's. */
function onlyDemo({ upstreams }: Config): Check[] {
  const isDemo = Object.values(upstreams).every(
    (one) => one.dialect === "scripted" && !("script" in one && one.script !== undefined),
  );
  if (!isDemo) return [];
  return [
    {
      group: "models",
      id: "model.demo",
      subject: "demo",
      outcome: "note",
      evidence: "only the embedded demo answers: no other upstream is configured",
      remedy:
        "Set the key of a provider or start a local model server, then write a file: patchbay init",
    },
  ];
}
