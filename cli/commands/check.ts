import { keyring, type Tenant } from "../../src/inspection.ts";
import {
  type Config,
  type Finding,
  findingLine,
  type KeySources,
  loadConfig,
  parseConfig,
} from "../../src/configuration.ts";
import { nodePlatform, nodeRuntime, openGateway } from "../../src/serving.ts";
import { environment, Fault, print, printError, printJson } from "../../src/terminal.ts";
import { aligned } from "../output.ts";
import type { Options } from "../options.ts";

/** `patchbay check`: every problem at once, or what the configuration comes to. */
export async function check({ config: file, json = false }: Options): Promise<void> {
  const loaded = loadConfig({ file, env: environment(), directory: process.cwd() });
  const rest = loaded.ok ? await openingFindings(loaded.config, loaded.file) : loaded.findings;
  // A check must not pass on another configuration than that of the folder.
  const findings = [...loaded.passedOver, ...rest, ...loaded.doubts];
  for (const note of loaded.notes) printError(note);
  if (findings.length > 0) {
    process.exitCode = 1;
    if (json) printJson({ ok: false, file: loaded.file, problems: findings });
    else printError(findings.map(findingLine));
    return;
  }
  if (!loaded.ok) return;
  const { upstreams, models, tools, tenants, store } = summary(loaded.config, loaded.keys);
  if (json) {
    const shown = { tenants, store, upstreams, models, tools };
    printJson({ ok: true, file: loaded.file, ...shown });
    return;
  }
  print(`${loaded.file ?? "No file: zero configuration"}: no problems.`);
  if (tenants.length > 0) print(["tenants:", ...aligned(tenants.map((one) => [one]))]);
  const rows = upstreams.map(({ name, dialect, base_url = "", key = "" }) => [
    name,
    dialect,
    base_url,
    key,
  ]);
  print(["upstreams:", ...aligned(rows)]);
  const places = Object.entries(models).map(([name, to]) => [name, "->", to.join(", then ")]);
  const [some] = upstreams;
  const address = some && ` by name; ask for upstream/model, such as ${some.name}/MODEL`;
  const none = [[`none${address ?? ""}`]];
  print(["models:", ...aligned(places.length > 0 ? places : none)]);
  const { kind, place = "" } = store;
  print(["store:", ...aligned([[kind, place]])]);
  const rules = unusual(tools);
  if (rules.length > 0) print(["tools:", ...aligned(rules)]);
}

/** The rules that are not as they are by themselves. */
function unusual(tools: Config["tools"]): string[][] {
  const usual = new Map<string, unknown>(Object.entries(parseConfig({}).tools));
  return Object.entries(tools)
    .filter(([key, value]) => value !== undefined && value !== usual.get(key))
    .map(([key, value]) => [key, shown(key, value)]);
}

const shown = (key: string, value: unknown): string =>
  typeof value === "string" && key !== "block_delimiter" ? value : JSON.stringify(value);

/** What only shows when the gateway is put together. Nobody is called. */
async function openingFindings(config: Config, file: string | undefined): Promise<Finding[]> {
  try {
    await openGateway(config, nodePlatform()).close(0);
    return [];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [{ file, path: "", message: error.message }];
  }
}

type Row = {
  readonly name: string;
  readonly dialect: string;
  readonly base_url?: string | undefined;
  /** Where its key is from: the name of a variable, or the file. */
  readonly key?: string | undefined;
};

type StoreRow = { readonly kind: string; readonly place?: string | undefined };

type Summary = { upstreams: Row[]; tenants: Tenant[]; store: StoreRow } & Pick<
  Config,
  "models" | "tools"
>;

function summary(config: Config, keys: KeySources): Summary {
  const upstreams = Object.entries(config.upstreams).map(([name, upstream]) => ({
    name,
    dialect: upstream.dialect,
    base_url: "base_url" in upstream ? withoutSecrets(upstream.base_url) : undefined,
    key: keys[name],
  }));
  const tenants = [
    ...new Set(keyring(config.server.keys, nodeRuntime.sha256).keys.map(({ tenant }) => tenant)),
  ];
  return {
    upstreams,
    tenants,
    store: storeRow(config.store),
    models: config.models,
    tools: config.tools,
  };
}

function storeRow(store: Config["store"]): StoreRow {
  const { kind } = store;
  if (kind === "sqlite") return { kind, place: store.path };
  if (kind !== "postgres") return { kind };
  const url = URL.parse(store.url);
  return { kind, place: url === null ? undefined : `${url.host}${url.pathname}` };
}

/** Some providers take the key in the address. */
function withoutSecrets(address: string | undefined): string | undefined {
  const url = URL.parse(address ?? "");
  return url === null ? undefined : `${url.origin}${url.pathname}`;
}
