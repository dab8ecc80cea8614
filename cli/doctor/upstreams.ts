/** Checks that upstreams answer in their configured dialect and accept their keys. */
import type { RouteReply, Upstream, UpstreamEntry } from "../../src/inspection.ts";
import { Fault, nearest } from "../../src/terminal.ts";
import type { Check } from "../../src/observe/console/wire-checks.ts";
import type { Config } from "../../src/configuration.ts";
import { check, type Words, wordsOfFault } from "./check.ts";

type UpstreamState = {
  readonly checks: readonly Check[];
  /** True if other requests make sense. */
  readonly isUsable: boolean;
  readonly date?: string | undefined;
};

type Trying = Upstream & Required<Pick<Upstream, "tryRoute">>;

/**
 * Tries an upstream by an empty request, which no model can answer. A server that checks keys first
 * refuses it with 401 if the key is wrong and with 400 if it is right. A list of models proves
 * nothing, since some servers show it without a key.
 */
export async function examineUpstream(
  upstream: Upstream,
  dialects: readonly UpstreamEntry[],
): Promise<UpstreamState> {
  const reached = (...words: Words): Check => check("upstream.reached", upstream.name, ...words);
  if (canTry(upstream)) {
    let reply: RouteReply;
    try {
      reply = await upstream.tryRoute({ isSignedIn: true });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return { checks: [reached("wrong", ...wordsOf(error))], isUsable: false };
    }
    const route = reached(...(await examineRoute(upstream, reply, dialects)));
    const key = check("upstream.key", upstream.name, ...(await examineKey(upstream, reply)));
    const isUsable = route.outcome === "ok" && key.outcome !== "wrong";
    return { checks: [route, key], isUsable, date: reply.date };
  }
  if (upstream.trouble !== undefined) {
    const fault = await upstream.trouble();
    if (fault !== undefined)
      return { checks: [reached("wrong", ...wordsOf(fault))], isUsable: false };
    return { checks: [reached("ok", "its process is running")], isUsable: true };
  }
  // Scripts and the demo answer from this process; any other upstream is the embedder's.
  if (upstream.profile.dialect === "scripted")
    return { checks: [reached("ok", "answers within the gateway")], isUsable: true };
  const words = ["unknown", "cannot be tested without calling a model", PROBE] as const;
  return { checks: [reached(...words)], isUsable: false };
}

const canTry = (upstream: Upstream): upstream is Trying => upstream.tryRoute !== undefined;

const PROBE = "Test it by real requests: patchbay doctor --probe";

/** Remedies for faults whose messages name only a general one, by the cause of the fault. */
const remedies: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:ENOTFOUND|EAI_\w+)$/,
    "Check the host name in its `base_url`, and DNS where the gateway runs.",
  ],
  [
    /CERT|SIGNATURE|ALTNAME/,
    "Check its `base_url`; for a private certificate authority, start the gateway with NODE_EXTRA_CA_CERTS=FILE.",
  ],
  [/SSL|TLS|EPROTO/, "Write `http://` in its `base_url` if it has no TLS, or correct the port."],
];

function wordsOf(fault: Fault): readonly [string, string] {
  const [evidence, remedy] = wordsOfFault(fault);
  const { cause = "" } = fault.detail;
  const better = remedies.find(([pattern]) => pattern.test(cause));
  return [evidence, better?.[1] ?? remedy];
}

const isAuth = ({ fault }: RouteReply): boolean =>
  fault === "upstream.auth" || fault === "upstream.forbidden";
/** Some dialects have the model in the path, so that an unknown model is a 404 too. */
const isRouteAbsent = (reply: RouteReply): boolean =>
  (reply.status === 404 || reply.status === 405) && !isAboutModel(reply);
const isDown = (status: number): boolean => [502, 503, 504, 520, 529, 530].includes(status);

const said = ({ status, message }: RouteReply): string =>
  message === undefined ? `HTTP ${status}` : `HTTP ${status}: ${message}`;

async function examineRoute(
  upstream: Trying,
  reply: RouteReply,
  dialects: readonly UpstreamEntry[],
): Promise<Words> {
  const { status } = reply;
  if (status >= 300 && status < 400) {
    const remedy = "Correct its `base_url`: it must be the final address.";
    return ["wrong", `redirects to another address (HTTP ${status})`, remedy];
  }
  if (isRouteAbsent(reply)) return await examineOtherRoutes(upstream, reply, dialects);
  if (isDown(status)) {
    const remedy = "Wait, or check the server.";
    return ["wrong", `reports that it cannot serve requests (${said(reply)})`, remedy];
  }
  if (status < 300)
    return [
      "unknown",
      `answers an empty request with HTTP ${status} instead of refusing it`,
      PROBE,
    ];
  return ["ok", `serves the route of its dialect (an empty request gets HTTP ${status})`];
}

/** Looks for the route of another dialect, because that of the configured one does not exist. */
async function examineOtherRoutes(
  upstream: Trying,
  reply: RouteReply,
  dialects: readonly UpstreamEntry[],
): Promise<Words> {
  const own = upstream.profile.dialect;
  for (const { name, upstream: wire } of dialects) {
    if (name === own) continue;
    const route = wire.path({ model: "none", stream: false });
    const other = await upstream.tryRoute({ isSignedIn: true, route }).catch(() => undefined);
    if (other === undefined || other.status < 400 || isRouteAbsent(other)) continue;
    return [
      "wrong",
      `has no route of the ${own} dialect (HTTP ${reply.status}), but one of the ${name} dialect (${route} gets HTTP ${other.status})`,
      `Set \`dialect: ${name}\` and a matching profile for it.`,
    ];
  }
  return [
    "wrong",
    `has no route of the ${own} dialect or of another one (${said(reply)})`,
    "Check its `base_url`: most end in `/v1`.",
  ];
}

async function examineKey(upstream: Trying, reply: RouteReply): Promise<Words> {
  const { status } = reply;
  const hasKey = upstream.hasKey === true;
  const remedy =
    upstream.profile.credentials === undefined
      ? "Replace its `api_key`."
      : "Check the account of its credentials and the roles it has, or replace its `api_key`.";
  if (isAuth(reply))
    return hasKey
      ? ["wrong", `refuses the key (${said(reply)})`, remedy]
      : ["wrong", `needs a key, but none is configured (${said(reply)})`, "Set `api_key`."];
  if (reply.fault === "upstream.quota")
    return [
      "wrong",
      `accepts the key, but its account has no credit (${said(reply)})`,
      "Add credit to the account.",
    ];
  if (status < 400 || isRouteAbsent(reply) || isDown(status)) {
    const remedy = "See the other checks of this upstream.";
    return ["unknown", `its key could not be tested (HTTP ${status})`, remedy];
  }
  if (!hasKey) return ["note", `needs no key, and none is configured (HTTP ${status})`];
  // The key is checked only if the same request is refused in another way without it.
  const bare = await upstream.tryRoute({ isSignedIn: false }).catch(() => undefined);
  const without = bare === undefined ? "no answer" : `HTTP ${bare.status}`;
  const tried = `an empty request gets HTTP ${status} with the key and`;
  return bare !== undefined && isAuth(bare)
    ? ["ok", `accepts its key: ${tried} ${bare.status} without`]
    : ["unknown", `may accept its key: ${tried} ${without} without`, PROBE];
}

type ModelSources = {
  readonly config: Config;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  /** The upstreams that answered and did not refuse their keys. */
  readonly usable: ReadonlySet<string>;
};

export async function modelChecks({
  config,
  upstreams,
  usable,
}: ModelSources): Promise<readonly Check[]> {
  const named = Object.entries(config.models).flatMap(([name, targets]) =>
    targets.map((place) => ({ place, name: name === "*" ? "any other name" : name })),
  );
  const places = Map.groupBy(named, ({ place }) => place);
  if (places.size === 0) {
    const all = [...upstreams.keys()].map((name) => `\`${name}/MODEL\``).join(", ");
    const remedy = `Clients ask for ${all}; add names under \`models\`.`;
    return [check("model.named", "models", "note", "no model name is configured", remedy)];
  }
  const lists = new Map<string, Promise<readonly string[]>>();
  const listOf = (upstream: Upstream): Promise<readonly string[]> => {
    const known =
      lists.get(upstream.name) ?? (upstream.models?.() ?? Promise.resolve([])).catch(() => []);
    lists.set(upstream.name, known);
    return known;
  };
  const checks = await Promise.all(
    Array.from(places, async ([place, group]): Promise<Check[]> => {
      const slash = place.indexOf("/");
      const upstream = upstreams.get(place.slice(0, slash));
      const model = place.slice(slash + 1);
      // A missing upstream is a problem of the configuration, and reported there.
      if (upstream === undefined || model === "*") return [];
      const subject = `${group.map(({ name }) => name).join(", ")} -> ${place}`;
      const { name } = upstream;
      const words: Words = usable.has(name)
        ? await examineModel(upstream, model, await listOf(upstream))
        : ["unknown", `upstream \`${name}\` cannot be used`, `See the checks of \`${name}\`.`];
      return [check("model.known", subject, ...words)];
    }),
  );
  return [...checks.flat(), ...demoCheck(config)];
}

async function examineModel(
  upstream: Upstream,
  model: string,
  list: readonly string[],
): Promise<Words> {
  if (list.some((one) => isSame(one, model))) return ["ok", `\`${upstream.name}\` lists it`];
  if (upstream.profile.dialect === "scripted") return ["ok", "a script accepts any name"];
  const near = nearest(model, list);
  const remedy =
    near === undefined
      ? "Correct the name in `models`, or test it by real requests: patchbay doctor --probe"
      : `Did you mean \`${near}\`? Correct it in \`models\`.`;
  // A request without messages cannot be answered, so it costs nothing.
  const reply = await upstream.tryRoute?.({ isSignedIn: true, model }).catch(() => undefined);
  if (reply !== undefined && (reply.status === 404 || isAboutModel(reply))) {
    const evidence = `\`${upstream.name}\` does not know it (HTTP ${reply.status}: ${textOf(reply)})`;
    return ["wrong", evidence, remedy];
  }
  const listed =
    list.length === 0
      ? "its upstream lists no models"
      : `its upstream lists ${list.length} models, but not this one`;
  return ["unknown", listed, remedy];
}

/** Local servers add `:latest` by themselves, and some lists have a folder before the name. */
const isSame = (listed: string, model: string): boolean =>
  listed === model || listed === `${model}:latest` || listed === `models/${model}`;

const textOf = ({ code = "", message = "" }: RouteReply): string => `${code} ${message}`.trim();

const isAboutModel = (reply: RouteReply): boolean =>
  /model_?not_?found|unknown[_ ]model|invalid[_ ]model\b|models?\b(?:[^.]|\.(?=\S))*\b(?:not (?:found|exist)|does ?n[o']t exist|no longer|is not available)|no such model/i.test(
    textOf(reply),
  );

/** Warns that the demo's words come from no model. */
function demoCheck({ upstreams }: Config): Check[] {
  const isDemo = Object.values(upstreams).every(
    (one) => one.dialect === "scripted" && !("script" in one && one.script !== undefined),
  );
  if (!isDemo) return [];
  const evidence = "only the embedded demo answers, because no other upstream is configured";
  const remedy =
    "Set the key of a provider or start a local model server, then write a file: patchbay init";
  return [check("model.demo", "demo", "note", evidence, remedy)];
}
