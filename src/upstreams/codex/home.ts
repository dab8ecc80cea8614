import {
  existsSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { execFile } from "node:child_process";
import { fieldsIn, fieldsOf, filledText, listOf, numberOf } from "../../dialects/shared/loose.ts";
import { foreignProblem, makeFolder } from "../folder.ts";
import { CodexError } from "./faults.ts";

/** The models in this Codex's own catalog that it shows to users; none if it cannot list them. */
export function bundledModels(
  file: string,
  environment: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const options = { env: environment, timeout: 10_000, maxBuffer: 32 * 1024 * 1024 };
  return new Promise((resolve) => {
    execFile(file, ["debug", "models", "--bundled"], options, (error, stdout) => {
      resolve(error === null ? readModels(stdout) : []);
    });
  });
}

/** In the order in which Codex offers them. */
const readModels = (text: string): readonly string[] =>
  (listOf(fieldsIn(text)?.models) ?? [])
    .flatMap((one) => {
      const model = fieldsOf(one);
      const slug = filledText(model?.slug);
      if (slug === undefined || model?.visibility === "hide") return [];
      return { slug, priority: numberOf(model?.priority) ?? Infinity };
    })
    .toSorted((a, b) => (a.priority < b.priority ? -1 : Number(a.priority > b.priority)))
    .map(({ slug }) => slug);

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Writes our configuration and model catalog into the process's CODEX_HOME, and
 * links the user's sign-in if Codex needs one.
 */
export function prepareHome(home: string, provider: Provider, env: Environment): void {
  const config = join(home, "config.toml");
  try {
    makeFolder(home, 0o700);
    const foreign = foreignProblem(home);
    if (foreign !== undefined) throw new CodexError({ type: "unwritable-home", code: foreign });
    if (existsSync(config) && !isOurs(config)) throw new CodexError({ type: "foreign-home" });
    const catalog = join(home, "patchbay-models.json");
    writeWhole(catalog, catalogText());
    writeWhole(config, configText(catalog));
    if (needsLogin(provider)) linkLogin(home, env);
  } catch (error) {
    if (error instanceof CodexError) throw error;
    const { code } = error as { readonly code?: unknown };
    const reason = typeof code === "string" ? code : "error";
    throw new CodexError({ type: "unwritable-home", code: reason }, error);
  }
}

/** Opening a pipe would wait for its writer. */
const isOurs = (config: string): boolean =>
  statSync(config).isFile() && readFileSync(config, "utf8").startsWith(WRITTEN);

/** Codex reads its files whenever a thread starts, so they are replaced as a whole. */
function writeWhole(file: string, text: string): void {
  if (existsSync(file) && readFileSync(file, "utf8") === text) return;
  const draft = `${file}.${process.pid}.new`;
  writeFileSync(draft, text);
  renameSync(draft, file);
}

/** The sign-in of the user's own Codex. */
export const loginFile = (env: Environment): string =>
  join(env["CODEX_HOME"] || join(env["HOME"] || homedir(), ".codex"), "auth.json");

function linkLogin(home: string, env: Environment): void {
  const link = join(home, "auth.json");
  const login = loginFile(env);
  if (link === login || !existsSync(login)) return;
  try {
    // Not a copy: Codex renews the sign-in, which makes the other one invalid.
    symlinkSync(login, link);
  } catch (error) {
    // The link exists; another process may have made it.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** The endpoint that Codex itself asks. */
export type Provider = {
  /** Any Responses endpoint; without it, OpenAI's. */
  readonly baseUrl?: string | undefined;
  /** Without it, and without an address, Codex uses its sign-in. */
  readonly apiKey?: string | undefined;
};

/** The oldest Codex that asks for the results of several calls at once. */
export const OLDEST_VERSION = [0, 164] as const;

/** The environment variable with the key, which no file contains. */
const KEY_VARIABLE = "PATCHBAY_CODEX_KEY";
const OPENAI = "https://api.openai.com/v1";
const HUGE = 1_000_000_000;

/** Without an address and a key, Codex uses its sign-in. */
export const needsLogin = ({ baseUrl, apiKey }: Provider): boolean =>
  baseUrl === undefined && apiKey === undefined;

/** The first words of our configuration file. */
const WRITTEN = "# Written by Patchbay";

/** Turns off everything that Codex adds to a request: tools, prompts, web search, compaction. */
const configText = (catalog: string): string => `${WRITTEN} at every start.
model_catalog_json = ${JSON.stringify(catalog)}
check_for_update_on_startup = false
web_search = "disabled"
include_environment_context = false
include_permissions_instructions = false
include_collaboration_mode_instructions = false
include_apps_instructions = false
project_doc_max_bytes = 0
thread_unload_delay_secs = 0
[agents]
enabled = false
[skills]
include_instructions = false
[skills.bundled]
enabled = false
[tools.experimental_request_user_input]
enabled = false
[tools.update_plan]
enabled = false
[features]
${features.map((name) => `${name} = false`).join("\n")}
[analytics]
enabled = false
[feedback]
enabled = false
`;

const features = (
  "shell_tool unified_exec view_image goals multi_agent apps plugins hooks tool_suggest " +
  "image_generation sleep_tool skill_search memories shell_snapshot"
).split(" ");

/**
 * One entry for every model: Codex takes the entry whose slug is a prefix of the
 * model's name, and the empty slug is one of all. `direct` sends tools as plain
 * functions; the limits are too high for anything to be compacted or cut.
 */
const catalogText = (): string =>
  JSON.stringify({
    models: [
      {
        slug: "",
        display_name: "any model",
        supported_reasoning_levels: [],
        shell_type: "disabled",
        visibility: "list",
        supported_in_api: true,
        priority: 1,
        support_verbosity: true,
        truncation_policy: { mode: "tokens", limit: HUGE },
        context_window: HUGE,
        max_context_window: HUGE,
        experimental_supported_tools: [],
        base_instructions: "unused",
        tool_mode: "direct",
        multi_agent_version: "disabled",
        use_responses_lite: false,
        supports_search_tool: false,
        apply_patch_tool_type: null,
        input_modalities: ["text", "image"],
        supports_parallel_tool_calls: true,
      },
    ],
  });

/**
 * The process's arguments. The provider is here and not in the file, so that
 * upstreams may share a home. Codex retries nothing: the start of a broken
 * stream has been passed on already, and before a request is sent again Codex
 * waits for as long as its model asks it to.
 */
export function startArguments({ baseUrl, apiKey }: Provider): string[] {
  const provider: Record<string, string | number | boolean> = {
    name: "Patchbay",
    wire_api: "responses",
    request_max_retries: 0,
    stream_max_retries: 0,
    supports_websockets: false,
  };
  const address = baseUrl ?? (apiKey === undefined ? undefined : OPENAI);
  if (address === undefined) provider["requires_openai_auth"] = true;
  else provider["base_url"] = address;
  if (apiKey !== undefined) provider["env_key"] = KEY_VARIABLE;
  const settings = Object.entries(provider).map(
    ([key, value]) => `model_providers.patchbay.${key}=${JSON.stringify(value)}`,
  );
  return [
    "app-server",
    ...['model_provider="patchbay"', ...settings].flatMap((one) => ["-c", one]),
  ];
}

const passedOn = new Set(
  (
    "PATH HOME USER LANG TMPDIR SYSTEMROOT SSL_CERT_FILE SSL_CERT_DIR CODEX_CA_CERTIFICATE " +
    "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY"
  ).split(" "),
);

/** The process's environment: no keys of other upstreams. */
export function childEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  home: string,
  { apiKey }: Provider,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(own))
    if (value !== undefined && (passedOn.has(name.toUpperCase()) || name.startsWith("LC_")))
      env[name] = value;
  env["CODEX_HOME"] = home;
  if (apiKey !== undefined) env[KEY_VARIABLE] = apiKey;
  return env;
}
