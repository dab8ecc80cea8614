import { existsSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import {
  askPerson,
  environment,
  type Environment,
  type Fields,
  fieldsIn,
  fieldsOf,
  filledText,
  isTerminal,
  print,
  printJson,
  refusal,
  writeProblem,
} from "../../src/terminal.ts";
import {
  isCodexSignedIn,
  type KeyedProvider,
  keyedProviders,
  localDialect,
  replaceFile,
  trustConfig,
} from "../../src/configuration.ts";
import { installedAgents } from "../launch/agents.ts";
import { plural } from "../output.ts";
import { modelsIn } from "../remote.ts";
import type { Options } from "../options.ts";

const FILE = "patchbay.yaml";

/** `patchbay init`: finds keys, local servers and agents, and writes a configuration of them. */
export async function init({ yes = false, force = false, json = false }: Options): Promise<void> {
  const found = await findAll(environment());
  const text = configText(found);
  const file = resolve(FILE);
  if (!json) print([...foundLines(found), ""]);
  const writes = yes || force || (!json && isTerminal() && (await isWanted()));
  if (writes) {
    write(file, text, force);
    trustConfig(file, environment(), text);
  }
  if (json) printJson({ ...found, file: writes ? file : null, config: text });
  else if (writes) print(`${file} was written. Next: patchbay check, then patchbay serve`);
  else
    print([
      ...text.split("\n"),
      `Nothing was written. To write it to ${file}: patchbay init --yes`,
    ]);
}

async function isWanted(): Promise<boolean> {
  const answer = await askPerson(`Write ${FILE} here? [Y/n] `);
  return /^(?:y|yes)?$/i.test(answer.trim());
}

function write(file: string, text: string, force: boolean): void {
  if (existsSync(file)) {
    if (force) return void replaceFile(file, text);
    throw refusal(`${file} already exists; \`--force\` replaces it and keeps a copy.`);
  }
  try {
    writeFileSync(file, text, { flag: "wx" });
  } catch (error) {
    throw refusal(`${file} ${writeProblem(error)}.`, error);
  }
}

export type FoundAgent = { readonly name: string; readonly title: string };

export type Found = {
  readonly keys: readonly KeyedProvider[];
  /** True if Codex is signed in, so that it can serve as a model. */
  readonly codex: boolean;
  readonly servers: readonly LocalServer[];
  readonly agents: readonly FoundAgent[];
};

export async function findAll(
  env: Environment,
  servers: () => Promise<readonly LocalServer[]> = findLocalServers,
): Promise<Found> {
  return {
    keys: keyedProviders(env),
    codex: isCodexSignedIn(env),
    servers: await servers(),
    agents: installedAgents(env).map(({ name, title }) => ({ name, title })),
  };
}

export function foundLines({ keys, servers, agents: there }: Found): string[] {
  const list = (all: readonly string[]): string => (all.length === 0 ? "none" : all.join(", "));
  return [
    `keys     ${list(keys.map(({ variable }) => variable))}`,
    `servers  ${list(servers.map(serverText))}`,
    `agents   ${list(there.map(({ name }) => name))}`,
  ];
}

const serverText = ({ title, address, version, models }: LocalServer): string =>
  `${title}${version === undefined ? "" : ` ${version}`} at ${address} (${plural(models.length, "model")})`;

type Entry = {
  readonly name: string;
  readonly why: string;
  readonly fields: Readonly<Record<string, string | undefined>>;
  /** The place of `"*"` if there is no other upstream. */
  readonly rest: string;
};

/**
 * A configuration of the findings, with the reason of each upstream. It holds no keys but the
 * names of their variables.
 */
export function configText(found: Found): string {
  const entries = entriesOf(found);
  const [first, ...others] = entries;
  const isDemo = first === undefined;
  const lines = [
    "# Written by `patchbay init`. `patchbay check` lists its problems, `patchbay serve` runs it.",
    "# After a change run `patchbay trust`; a running gateway then applies the change.",
    "upstreams:",
    ...entries.flatMap(entryLines),
    ...(isDemo
      ? ["  demo: { dialect: scripted }   # the embedded demo model, which needs no key"]
      : []),
    ...modelLines(found, first, others),
  ];
  return `${lines.join("\n")}\n`;
}

/** A text in quotes. Local servers choose the names of models: a `${` in them refers to no variable. */
const quoted = (text: string): string => JSON.stringify(text).replaceAll("${", () => "$${");

function modelLines(
  { servers }: Found,
  first: Entry | undefined,
  others: readonly Entry[],
): readonly string[] {
  // If two servers list the same model, the first serves it; both serve it as `server/model`.
  const places = new Map<string, string>();
  for (const { name, models } of servers)
    for (const model of models)
      if (model !== "*" && !places.has(model)) places.set(model, `${name}/${model}`);
  const listed = Array.from(places, ([model, place]) => `  ${quoted(model)}: ${quoted(place)}`);
  const head = "models:   # name for clients: upstream/model; a list is tried in order";
  const rest = "   # every other name";
  if (first === undefined) return [head, "  demo: demo/demo", `  "*": demo/demo${rest}`];
  const all = `  "*": ${quoted(first.rest)}`;
  if (others.length === 0) return [head, ...listed, all + rest];
  // An explicit `"*"` would send the models of every provider to one of them.
  return [
    ...(listed.length === 0 ? [] : [head, ...listed]),
    "# A model name that is not under `models` goes to the upstream whose provider has such models:",
    "# claude-* to Anthropic, gpt-* to OpenAI. To serve every other name too, add under `models`:",
    `# ${all}`,
  ];
}

const entriesOf = ({ keys, codex, servers }: Found): Entry[] => [
  ...keys.map(({ provider, variable, dialect, profile, base_url, rest }) => {
    const fields = { dialect, profile, base_url, api_key: `\${${variable}}` };
    return { name: provider, why: `${variable} is set`, fields, rest };
  }),
  ...(codex
    ? [{ name: "codex", why: "Codex is signed in", fields: { dialect: "codex" }, rest: "codex/*" }]
    : []),
  ...servers.map(({ name, title, address, profile, models }) => ({
    name,
    why: `${title} answered at ${address}`,
    fields: { dialect: localDialect, profile, base_url: `${address}/v1` },
    rest: `${name}/${models[0] ?? "*"}`,
  })),
];

const entryLines = ({ name, why, fields }: Entry): string[] => [
  `  ${name}:   # ${why}`,
  ...Object.entries(fields).flatMap(([field, value]) =>
    value === undefined ? [] : [`    ${field}: ${value}`],
  ),
];

/** Finds model servers on this machine, each by an answer that only it gives. */
export type LocalServer = {
  readonly name: string;
  readonly title: string;
  /** Its address without a path. */
  readonly address: string;
  readonly version?: string | undefined;
  /** Left out if the generic one applies. */
  readonly profile?: string | undefined;
  readonly models: readonly string[];
};

/** A request that only one kind of server answers in this form. */
type Sign = {
  readonly name: string;
  readonly title: string;
  readonly port: number;
  readonly path: string;
  readonly isOwn: (body: Fields) => boolean;
  readonly profile?: string | undefined;
};

const sign = (
  name: string,
  title: string,
  port: number,
  ...[path, isOwn, profile]: readonly [string, Sign["isOwn"], profile?: string]
): Sign => ({ name, title, port, path, isOwn, profile });

const hasText = (field: string) => (body: Fields) => filledText(body[field]) !== undefined;
const hasList = (field: string) => (body: Fields) => Array.isArray(body[field]);
const hasFields = (field: string) => (body: Fields) => fieldsOf(body[field]) !== undefined;

/** From the documents of each, read 2026-11. */
export const signs: readonly Sign[] = [
  sign("ollama", "Ollama", 11_434, "/api/version", hasText("version"), "ollama"),
  sign("lmstudio", "LM Studio", 1234, "/api/v1/models", hasList("models"), "lmstudio"),
  sign("vllm", "vLLM", 8000, "/version", hasText("version"), "vllm"),
  sign("llamacpp", "llama.cpp", 8080, "/props", hasFields("default_generation_settings")),
  sign("llamaswap", "llama-swap", 8080, "/running", hasList("running")),
  sign("sglang", "SGLang", 30_000, "/get_model_info", hasText("model_path")),
];

/** A local server answers at once. */
const PATIENCE_MS = 300;

/** Asks for all kinds of servers at once, on loopback. */
export async function findLocalServers(portOf = (sign: Sign) => sign.port): Promise<LocalServer[]> {
  const found = await Promise.all(
    signs.map((sign) => lookAt(sign, `http://127.0.0.1:${portOf(sign)}`)),
  );
  return found.flatMap((server) => server ?? []);
}

async function lookAt(sign: Sign, address: string): Promise<LocalServer | undefined> {
  const body = await askLocal(`${address}${sign.path}`);
  if (body === undefined || !sign.isOwn(body)) return undefined;
  const { name, title, profile } = sign;
  const models = modelsIn(await askLocal(`${address}/v1/models`));
  return { name, title, profile, address, version: filledText(body.version), models };
}

/** A JSON object from this machine; undefined without one in time. */
async function askLocal(url: string): Promise<Fields | undefined> {
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const response = await fetch(url, { signal, redirect: "error" });
    if (!response.ok) return undefined;
    return fieldsIn(await limitedText(response));
  } catch {
    return undefined; // Nothing listens there, or a server of another kind.
  }
}

const MOST_BYTES = 1_000_000;

/** Reads no more than a limit, since any server may answer on the port. */
async function limitedText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > MOST_BYTES) return "";
  }
  return text;
}
