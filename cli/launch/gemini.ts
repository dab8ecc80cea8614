/** Gemini CLI: each launch has a separate home, which mirrors the user's by links. */

import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { parse } from "jsonc-parser";
import {
  type Environment,
  type Fields,
  fieldsOf,
  filledText,
  isLoopback,
  isTerminal,
  refusal,
} from "../../src/terminal.ts";
import { gemini } from "../../src/inspection.ts";
import type { AgentHome, AgentTarget, Keeping, LaunchAgent, Lasting } from "./agent.ts";
import { jsonSettings } from "./keep/json-settings.ts";
import { changeText, homeOf, settingsBytes } from "./keep/keep.ts";
import { settingsIn, SettingsProblem } from "./keep/settings.ts";

const FOLDER = ".gemini";
const SETTINGS = "settings.json";
const API_KEY = "gemini-api-key";
const VERTEX = "vertex-ai";

/** Gemini CLI has a variable for its home. */
const geminiHome = ({ home, env }: AgentHome): string => env["GEMINI_CLI_HOME"] || home;

/** Folders that it writes in every run: conversations and checkpoints. They outlast the launch. */
const written = ["tmp", "history"];
/** The user's own additions. Those that are missing are kept with the conversations once they are written. */
const folders = ["agents", "commands", "extensions", "policies", "skills"];
const files = ["GEMINI.md", "keybindings.json", "state.json"];
/** The settings, the Google login, and what Gemini CLI makes anew. */
const unlinked = new Set([
  SETTINGS,
  ...written,
  "google_accounts.json",
  "installation_id",
  "oauth_creds.json",
  "projects.json",
  "state.json",
]);

/** The names in a folder; none if it cannot be read. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Links for a home that looks like the user's. Paths of settings that begin with `~` lead there too. */
function mirror(home: string, lasting: string | undefined): Readonly<Record<string, string>> {
  const own = join(home, FOLDER);
  const kept = lasting === undefined ? [] : [...written, ...folders, ...files];
  const links: [string, string][] = [
    ...kept.map((name): [string, string] => [join(FOLDER, name), join(lasting ?? "", name)]),
    ...namesIn(home).map((name): [string, string] => [name, join(home, name)]),
    ...namesIn(own).flatMap((name): [string, string][] =>
      unlinked.has(name) ? [] : [[join(FOLDER, name), join(own, name)]],
    ),
  ];
  return Object.fromEntries(links.filter(([path]) => path !== FOLDER));
}

/** The settings in a file. */
function settingsOf(text: string): Fields {
  try {
    return fieldsOf(parse(text) as unknown) ?? {};
  } catch {
    return {}; // It is nested too deep for a settings file.
  }
}

const signInOf = (text: string): Fields =>
  fieldsOf(fieldsOf(settingsOf(text).security)?.auth) ?? {};

function systemSettings(env: Environment): string {
  const folder =
    process.platform === "darwin"
      ? "/Library/Application Support/GeminiCli"
      : process.platform === "win32"
        ? "C:\\ProgramData\\gemini-cli"
        : "/etc/gemini-cli";
  return env["GEMINI_CLI_SYSTEM_SETTINGS_PATH"] || join(folder, SETTINGS);
}

/** True if Gemini CLI reads the system settings: it ignores those that another user than root can change. */
function isOfSystem(file: string): boolean {
  const found = statSync(file, { throwIfNoEntry: false });
  return process.platform === "win32" || (found?.uid === 0 && (found.mode & 0o022) === 0);
}

/**
 * The sign-in that the run's settings must select. Throws if a file that wins over them selects
 * one that does not ask the gateway: Gemini CLI would ask Google, or refuse to start.
 */
function signInFor({ env, directory }: Pick<AgentTarget, "env" | "directory">): string {
  const system = systemSettings(env);
  const winning = [isOfSystem(system) ? system : [], join(directory, FOLDER, SETTINGS)].flat();
  const found = (field: string) =>
    winning
      .map((file) => ({ file, field, type: filledText(signInOf(settingsIn(file))[field]) }))
      .find(({ type }) => type !== undefined);
  const enforced = found("enforcedType");
  const selected = found("selectedType");
  const type = selected?.type ?? enforced?.type ?? API_KEY;
  const isServed = type === API_KEY || type === VERTEX;
  if (isServed && (enforced?.type ?? type) === type) return type;
  const {
    file = "",
    field = "",
    type: other = "",
  } = (isServed ? enforced : selected) ?? enforced ?? {};
  throw refusal(
    `${file} sets \`security.auth.${field}\` to "${other}" and wins over this launch, so Gemini CLI would not ask the gateway. Remove the setting from this file, or start in another folder.`,
  );
}

/** The user's settings with another sign-in. */
function settingsText(file: string, type: string): string {
  try {
    const { text } = changeText(settingsBytes(file) ?? new Uint8Array(), (before) => {
      const isEnforced = signInOf(before)["enforcedType"] !== undefined;
      const names = isEnforced ? ["selectedType", "enforcedType"] : ["selectedType"];
      const entries = names.map((name) => ({ path: ["security", "auth", name], value: type }));
      return jsonSettings(false).write(before, entries, "");
    });
    // Gemini CLI reads no byte order mark.
    return text.replace(/^\uFEFF/, "");
  } catch (error) {
    if (!(error instanceof SettingsProblem)) throw error;
    throw refusal(`${file} ${error.message}. Mend the file, then launch again.`, error);
  }
}

/** The variables of the `.env` file that Gemini CLI reads: the first one from a folder upwards, then in the home. */
function dotenvFor(directory: string, home: string): Environment {
  const above: string[] = [];
  for (let folder = directory; above.at(-1) !== folder; folder = join(folder, ".."))
    above.push(folder);
  const texts = [...above, home].flatMap((folder) => [
    join(folder, FOLDER, ".env"),
    join(folder, ".env"),
  ]);
  const file = texts.find((one) => existsSync(one));
  return file === undefined ? {} : parseEnv(settingsIn(file));
}

/** Gemini CLI may send requests to this machine through a proxy too, so the gateway is made an exception. */
function proxyVariables(url: string, env: Environment): Readonly<Record<string, string>> {
  const { hostname } = new URL(url);
  const isSet = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"].some(
    (name) => (env[name] || env[name.toLowerCase()] || "") !== "",
  );
  if (!isSet || !isLoopback(hostname)) return {};
  const list = [env["NO_PROXY"] || env["no_proxy"] || [], hostname].flat().join(",");
  return { NO_PROXY: list, no_proxy: list };
}

/** The variables of both sign-ins that ask the gateway. */
const variables = (to: Lasting, type: string): Readonly<Record<string, string>> => {
  const key = to.key ?? "none";
  return type === VERTEX
    ? { GOOGLE_VERTEX_BASE_URL: to.url, GOOGLE_API_KEY: key }
    : { GOOGLE_GEMINI_BASE_URL: to.url, GEMINI_API_KEY: key };
};

/** Sandboxes that are containers. `true` is one too, except on macOS, which has its own sandbox. */
const containers = new Set(["docker", "podman", "runsc", "lxc"]);
if (process.platform !== "darwin") containers.add("true").add("1");

/** A warning if Gemini CLI will run in a container, which has its own loopback. */
function containerNote({ url, env, directory, args }: AgentTarget): string | undefined {
  const { hostname } = new URL(url);
  const [setting] = [directory, geminiHome(homeOf(env))].flatMap((folder) => {
    const settings = settingsOf(settingsIn(join(folder, FOLDER, SETTINGS)));
    return fieldsOf(settings.tools)?.sandbox ?? [];
  });
  const isFlagged = args.some((arg) => arg === "-s" || arg === "--sandbox");
  const asked = env["GEMINI_SANDBOX"] || isFlagged || setting;
  const { enabled, command = true } = fieldsOf(asked) ?? { enabled: true, command: asked ?? false };
  const isContainer = enabled === true && containers.has(String(command));
  const isShared = /--net/.test(env["SANDBOX_FLAGS"] ?? "");
  return isContainer && isLoopback(hostname) && !isShared
    ? `Gemini CLI is set to run in a container, where ${hostname} is the container itself and not this gateway. Set SANDBOX_FLAGS=--network=host, or GEMINI_SANDBOX=false.`
    : undefined;
}

/** The address and the key: Gemini CLI takes them from a `.env` file only. */
const keeping: Keeping = {
  format: "env",
  file: (place) => join(geminiHome(place), FOLDER, ".env"),
  entries: (to) =>
    Object.entries({ ...variables(to, API_KEY), GEMINI_MODEL: to.model }).map(([name, value]) => ({
      path: [name],
      value,
    })),
  note: () =>
    "Gemini CLI reads its `.env` in trusted folders, unless a project or a folder above it has another `.env`.",
  also: {
    format: "jsonc",
    file: (place) => join(geminiHome(place), FOLDER, SETTINGS),
    entries: () => [{ path: ["security", "auth", "selectedType"], value: API_KEY }],
  },
};

/**
 * With the address alone Gemini CLI refuses to start: the sign-in must be in its settings, and a
 * stored one wins over the environment. So each launch has a home with a copy of the settings,
 * and links to everything else.
 */
export const geminiAgent: LaunchAgent = {
  name: "gemini",
  title: "Gemini CLI",
  commands: ["gemini"],
  install: "npm install -g @google/gemini-cli",
  tried: "0.61.0",
  families: gemini.families,
  helpers: { "gemini-*": "model", "gemini-*-lite*": "small" },
  resume: "patchbay launch gemini -- --resume",
  keeping,
  point(to) {
    const { env, directory, folder, lasting, url } = to;
    const home = geminiHome(homeOf(env));
    const type = signInFor(to);
    // A `.env` file sets what the environment leaves open.
    const there = { ...dotenvFor(directory, home), ...env };
    return {
      args: ["-m", to.model],
      env: {
        ...variables(to, type),
        ...proxyVariables(url, there),
        // Empty, so that no `.env` file sets them.
        GOOGLE_GENAI_USE_VERTEXAI: "",
        GOOGLE_GENAI_USE_GCA: "",
        // It starts itself again to restart by command, and its first process ignores the signals
        // that a terminal sends to both.
        ...(isTerminal() ? {} : { GEMINI_CLI_NO_RELAUNCH: "true" }),
        GEMINI_CLI_HOME: folder,
        GEMINI_CLI_TRUSTED_FOLDERS_PATH:
          env["GEMINI_CLI_TRUSTED_FOLDERS_PATH"] || join(home, FOLDER, "trustedFolders.json"),
      },
      files: { [join(FOLDER, SETTINGS)]: settingsText(join(home, FOLDER, SETTINGS), type) },
      links: mirror(home, lasting),
      note: containerNote({ ...to, env: there }),
      folders:
        lasting === undefined ? [] : [...written, ...folders].map((one) => join(lasting, one)),
    };
  },
};
