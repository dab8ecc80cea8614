import { keyring } from "../../src/inspection.ts";
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

/** `patchbay check`: all problems at once, or a summary of the configuration. */
export async function checkCommand({ config: file, json = false }: Options): Promise<void> {
  const loaded = loadConfig({ file, env: environment(), directory: process.cwd() });
  const rest = loaded.ok ? await openingFindings(loaded.config, loaded.file) : loaded.findings;
  // The check fails if the folder's own configuration was passed over.
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
  print(`${loaded.file ?? "Configuration from the environment"}: no problems.`);
  if (tenants.length > 0) print(["tenants:", ...aligned(tenants.map((one) => [one]))]);
  const rows = upstreams.map((one) => [one.name, one.dialect, one.base_url ?? "", one.key ?? ""]);
  print(["upstreams:", ...aligned(rows)]);
  const places = Object.entries(models).map(([name, to]) => [name, "->", to.join(", then ")]);
  const [some] = upstreams;
  const address = some && ` by name; clients ask for upstream/model, such as ${some.name}/MODEL`;
  const none = [[`none${address ?? ""}`]];
  print(["models:", ...aligned(places.length > 0 ? places : none)]);
  const { kind, place = "" } = store;
  print(["store:", ...aligned([[kind, place]])]);
  const rules = unusual(tools);
  if (rules.length > 0) print(["tools:", ...aligned(rules)]);
}

function unusual(tools: Config["tools"]): string[][] {
  const usual = new Map<string, unknown>(Object.entries(parseConfig({}).tools));
  return Object.entries(tools)
    .filter(([key, value]) => value !== undefined && value !== usual.get(key))
    .map(([key, value]) => [key, shown(key, value)]);
}

const shown = (key: string, value: unknown): string =>
  typeof value === "string" && key !== "block_delimiter" ? value : JSON.stringify(value);

/** Problems that only opening a gateway finds. It makes no request. */
async function openingFindings(config: Config, file: string | undefined): Promise<Finding[]> {
  try {
    await openGateway(config, nodePlatform()).close(0);
    return [];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [{ file, path: "", message: error.message }];
  }
}

/** The parts of the configuration that are shown. `key`: the variable or the file with the key of an upstream. */
const summary = ({ upstreams, models, tools, server, store }: Config, keys: KeySources) => ({
  upstreams: Object.entries(upstreams).map(([name, upstream]) => ({
    name,
    dialect: upstream.dialect,
    base_url: "base_url" in upstream ? withoutSecrets(upstream.base_url) : undefined,
    key: keys[name],
  })),
  tenants: [...new Set(keyring(server.keys, nodeRuntime.sha256).keys.map(({ tenant }) => tenant))],
  store: { kind: store.kind, place: storePlace(store) },
  models,
  tools,
});

function storePlace(store: Config["store"]): string | undefined {
  if (store.kind === "sqlite") return store.path;
  const url = store.kind === "postgres" ? URL.parse(store.url) : null;
  return url === null ? undefined : `${url.host}${url.pathname}`;
}

/** Some providers take the key in the address. */
function withoutSecrets(address: string | undefined): string | undefined {
  const url = URL.parse(address ?? "");
  return url === null ? undefined : `${url.origin}${url.pathname}`;
}
