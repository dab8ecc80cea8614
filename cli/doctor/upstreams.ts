/** Whether upstreams answer, in the dialect that they are configured for, and take their keys. */
import type { RouteReply, Upstream, UpstreamEntry } from "../../src/inspection.ts";
import { Fault, nearest } from "../../src/terminal.ts";
import type { Check } from "../../src/observe/console/wire-checks.ts";
import type { Config } from "../../src/configuration.ts";
import { wordsOfFault } from "./check.ts";

type UpstreamState = {
  readonly checks: readonly Check[];
  /** Whether anything else may be asked of it. */
  readonly isUsable: boolean;
  /** When it was by its own clock, where it said so. */
  readonly date?: string | undefined;
};

type Trying = Upstream & Required<Pick<Upstream, "tryRoute">>;

/**
 * An empty request cannot be answered by anybody. Whoever checks keys first
 * refuses it with 401 where the key is wrong and with 400 where it is right; a
 * list of models proves nothing, for some show it to everybody.
 */
export async function examineUpstream(
  upstream: Upstream,
  dialects: readonly UpstreamEntry[],
): Promise<UpstreamState> {
  if (canTry(upstream)) return await examineRoute(upstream, dialects);
  if (upstream.trouble === undefined) {
    // Scripts and the demo answer from this process; what else there may be is the embedder's.
    const isOwn = upstream.profile.dialect === "scripted";
    const check = isOwn
      ? finding(upstream, "ok", "answers from within the gateway")
      : finding(upstream, "unknown", "cannot be tried without asking a model", PROBE);
    return { checks: [check], isUsable: isOwn };
  }
  const fault = await upstream.trouble();
  if (fault !== undefined) return { checks: [faulty(upstream, fault)], isUsable: false };
  return { checks: [finding(upstream, "ok", "its process runs")], isUsable: true };
}

const canTry = (upstream: Upstream): upstream is Trying => upstream.tryRoute !== undefined;

async function examineRoute(
  upstream: Trying,
  dialects: readonly UpstreamEntry[],
): Promise<UpstreamState> {
  let reply: RouteReply;
  try {
    reply = await upstream.tryRoute({ isSignedIn: true });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { checks: [faulty(upstream, error)], isUsable: false };
  }
  const reached = await routeCheck(upstream, reply, dialects);
  const key = await keyCheck(upstream, reply);
  const isUsable = reached.outcome === "ok" && key.outcome !== "wrong";
  return { checks: [reached, key], isUsable, date: reply.date };
}

const PROBE = "Prove it by real calls: patchbay doctor --probe";

const finding = (
  { name }: Upstream,
  outcome: Check["outcome"],
  evidence: string,
  remedy?: string,
): Check => ({
  group: "upstreams",
  id: "upstream.reached",
  subject: name,
  outcome,
  evidence,
  remedy,
});

/** Remedies for what the messages of faults name only in general, by the cause of the fault. */
const remedies: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:ENOTFOUND|EAI_\w+)$/,
    "Check the host name in its `base_url`, and DNS where the gateway runs.",
  ],
  [
    /CERT|SIGNATURE|ALTNAME/,
    "Check its `base_url`; for an authority of your own, start the gateway with NODE_EXTRA_CA_CERTS=FILE.",
  ],
  [/SSL|TLS|EPROTO/, "Write `http://` in its `base_url` if it has no TLS, or correct the port."],
];

function faulty(upstream: Upstream, fault: Fault): Check {
  const { evidence, remedy } = wordsOfFault(fault);
  const cause = fault.detail.log?.cause;
  const better = remedies.find(([pattern]) => typeof cause === "string" && pattern.test(cause));
  return finding(upstream, "wrong", evidence, better?.[1] ?? remedy);
}

const isAuth = (status: number): boolean => status === 401 || status === 403;
const isAbsent = (status: number): boolean => status === 404 || status === 405;
const isDown = (status: number): boolean => [502, 503, 504, 520, 529, 530].includes(status);

/** The status, and what was said with it. */
const said = ({ status, message }: RouteReply): string =>
  message === undefined ? `HTTP ${status}` : `HTTP ${status}: ${message}`;

async function routeCheck(
  upstream: Trying,
  reply: RouteReply,
  dialects: readonly UpstreamEntry[],
): Promise<Check> {
  const { status } = reply;
  if (status >= 300 && status < 400)
    return finding(
      upstream,
      "wrong",
      `sends us elsewhere (HTTP ${status})`,
      "Correct its `base_url`: it must be the address that answers.",
    );
  if (isAbsent(status)) return await absentRoute(upstream, reply, dialects);
  if (isDown(status))
    return finding(
      upstream,
      "wrong",
      `answers that it cannot serve (${said(reply)})`,
      "Wait, or see what runs there.",
    );
  if (status < 300)
    return finding(
      upstream,
      "unknown",
      `answers an empty request with HTTP ${status} instead of refusing it`,
      PROBE,
    );
  return finding(
    upstream,
    "ok",
    `answers in its dialect's place (an empty request gets HTTP ${status})`,
  );
}

/** A route that is not there: another dialect's may be. */
async function absentRoute(
  upstream: Trying,
  reply: RouteReply,
  dialects: readonly UpstreamEntry[],
): Promise<Check> {
  const own = upstream.profile.dialect;
  for (const { name, upstream: wire } of dialects) {
    if (name === own) continue;
    const route = wire.path({ model: "", stream: false });
    const other = await upstream.tryRoute({ isSignedIn: true, route }).catch(() => undefined);
    if (other !== undefined && other.status >= 400 && !isAbsent(other.status))
      return finding(
        upstream,
        "wrong",
        `has no route of the ${own} dialect (HTTP ${reply.status}), and one of ${name} (${route} gets HTTP ${other.status})`,
        `Set \`dialect: ${name}\` for it, and the profile that goes with that.`,
      );
  }
  return finding(
    upstream,
    "wrong",
    `has no route of the ${own} dialect, nor of another (${said(reply)})`,
    "Check its `base_url`: most end in `/v1`.",
  );
}

async function keyCheck(upstream: Trying, reply: RouteReply): Promise<Check> {
  const { status, code } = reply;
  const check = (outcome: Check["outcome"], evidence: string, remedy?: string): Check => ({
    ...finding(upstream, outcome, evidence, remedy),
    id: "upstream.key",
  });
  const hasKey = upstream.hasKey === true;
  if (isAuth(status))
    return hasKey
      ? check("wrong", `refuses the key (${said(reply)})`, "Replace its `api_key`.")
      : check("wrong", `asks for a key, and none is configured (${said(reply)})`, "Set `api_key`.");
  if (status === 402 || code === "insufficient_quota")
    return check("wrong", `takes the key, and has no credit for it (${said(reply)})`, "Top it up.");
  if (status < 400 || isAbsent(status) || isDown(status))
    return check(
      "unknown",
      `its key could not be tried (HTTP ${status})`,
      "See what else is said of it.",
    );
  if (!hasKey) return check("note", `has no key configured, and asked for none (HTTP ${status})`);
  return await comparedWithNone(upstream, reply, check);
}

/** The key counts for something only where the same request is refused otherwise without it. */
async function comparedWithNone(
  upstream: Trying,
  { status }: RouteReply,
  check: (outcome: Check["outcome"], evidence: string, remedy?: string) => Check,
): Promise<Check> {
  const bare = await upstream.tryRoute({ isSignedIn: false }).catch(() => undefined);
  if (bare !== undefined && isAuth(bare.status))
    return check(
      "ok",
      `takes its key: an empty request gets HTTP ${status} with it, and ${bare.status} without`,
    );
  const without = bare === undefined ? "no answer" : `HTTP ${bare.status}`;
  return check(
    "unknown",
    `may take its key: an empty request gets HTTP ${status} with it, and ${without} without`,
    PROBE,
  );
}

/** Whether the models that clients may ask for are there. */
type ModelSources = {
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
