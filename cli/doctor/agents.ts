/** Finds the addresses on this machine that the settings of agents name. Files are read and never written. */
import { join } from "node:path";
import { connect } from "node:net";
import { type Environment, isLoopback, stateFolder } from "../../src/terminal.ts";
import type { Check } from "../../src/observe/console/wire-checks.ts";
import type { LaunchAgent } from "../launch/agent.ts";
import { type Journal, journalFolder, readJournal } from "../launch/keep/keep.ts";
import { settingsIn } from "../launch/keep/settings.ts";
import { installedAgents } from "../launch/agents.ts";
import { check } from "./check.ts";

/** A setting of an agent with an address of this machine. */
type NamedAddress = {
  /** `file:line`, or the name of a variable. */
  readonly place: string;
  /** Without a path. */
  readonly origin: string;
  /** The command that undoes it, if `patchbay launch --keep` wrote it. */
  readonly undo?: string | undefined;
};

type AgentPlace = {
  readonly env: Environment;
  readonly home: string;
  readonly directory: string;
};

const words = (text: string): readonly string[] => text.split(" ");

/**
 * Sources of an agent's settings beside the file that `launch --keep` changes: files below the
 * home (`~/`), the configuration (`config/`), the data (`data/`) and the current folder (`./`), and
 * variables. From their documentation and sources, read 2026-11.
 */
const sources: Readonly<Record<string, readonly string[]>> = {
  codex: ["$OPENAI_BASE_URL"],
  claude: ["./.claude/settings.json", "./.claude/settings.local.json", "$ANTHROPIC_BASE_URL"],
  gemini: words("~/.env ./.gemini/.env ./.env $GOOGLE_GEMINI_BASE_URL $GOOGLE_VERTEX_BASE_URL"),
  opencode: words("config/opencode/opencode.json ./opencode.json ./opencode.jsonc"),
  qwen: words("~/.qwen/.env ./.qwen/settings.json ./.qwen/.env $OPENAI_BASE_URL"),
  continue: ["~/.continue/config.json"],
  aider: words("~/.env ./.aider.conf.yml ./.env $OPENAI_API_BASE $AIDER_OPENAI_API_BASE"),
  goose: ["config/goose/config.yaml", "$OPENAI_HOST", "$OPENAI_BASE_URL"],
  crush: words("config/crush/crush.json data/crush/crush.json ./crush.json ./.crush.json"),
};

const foldersOf = ({ env, home, directory }: AgentPlace) => ({
  "~": home,
  config: env["XDG_CONFIG_HOME"] || join(home, ".config"),
  data: env["XDG_DATA_HOME"] || join(home, ".local", "share"),
  ".": directory,
});

function addressesOf(agent: LaunchAgent, place: AgentPlace): readonly NamedAddress[] {
  const named = sources[agent.name] ?? [];
  const folders = foldersOf(place);
  const kept = agent.keeping?.file(place);
  const files = named.flatMap((one) => {
    const [folder = "", ...path] = one.split("/");
    return folder in folders ? [join(folders[folder as keyof typeof folders], ...path)] : [];
  });
  const keptBy = stateFolder(place.env) === undefined ? undefined : journalOf(agent, place);
  return [
    ...[...new Set([kept ?? [], files].flat())].flatMap((file) =>
      addressesIn(
        file,
        keptBy?.file === file ? `patchbay launch ${agent.name} --restore` : undefined,
      ),
    ),
    ...named.flatMap((one) => {
      const variable = one.slice(1);
      const origin = one.startsWith("$") ? localOrigin(place.env[variable] ?? "") : undefined;
      return origin === undefined ? [] : [{ place: variable, origin }];
    }),
  ];
}

const journalOf = ({ name }: LaunchAgent, { env }: AgentPlace): Journal | undefined =>
  readJournal(journalFolder(name, env));

/** Names of settings with the address of a model service; other settings may name other servers. */
const setting =
  /(?:base[_-]?ur[li]|api[_-]?base|base[_-]?path|endpoint|OPENAI_HOST)["']?\s*[:=]\s*["']?(https?:\/\/[^\s"',}]+)/gi;

/** Reads line by line: in JSON, TOML and YAML an address is in one line with its name. */
function addressesIn(file: string, undo: string | undefined): readonly NamedAddress[] {
  return settingsIn(file)
    .split("\n")
    .flatMap((line, at) => {
      if (/^\s*(?:#|\/\/)/.test(line)) return [];
      return [...line.matchAll(setting)].flatMap(([, address = ""]) => {
        const origin = localOrigin(address);
        return origin === undefined ? [] : [{ place: `${file}:${at + 1}`, origin, undo }];
      });
    });
}

function localOrigin(address: string): string | undefined {
  const url = URL.parse(address);
  return url !== null && /^https?:$/.test(url.protocol) && isLoopback(url.hostname)
    ? url.origin
    : undefined;
}

/** One check for each address in an agent's settings, or one for an agent without any. */
export async function agentChecks(place: AgentPlace): Promise<readonly Check[]> {
  const checks = installedAgents(place.env).map(async (agent) => {
    const { name, title } = agent;
    const addresses = addressesOf(agent, place);
    if (addresses.length > 0)
      return Promise.all(addresses.map((address) => addressCheck(title, address)));
    const evidence = "is on PATH; its settings name no address of this machine";
    const remedy = `To use it with this gateway: patchbay launch ${name}`;
    return [check("agent.address", title, "note", evidence, remedy)];
  });
  return (await Promise.all(checks)).flat();
}

const found = {
  connected: ["ok", "where a server listens"],
  refused: ["wrong", "where nothing listens"],
  silent: ["unknown", "which does not answer"],
} as const;

async function addressCheck(title: string, address: NamedAddress): Promise<Check> {
  const { place, origin, undo } = address;
  const [outcome, state] = found[await connectTo(new URL(origin))];
  const undoing = undo === undefined ? `remove the address from ${place}.` : `undo it: ${undo}`;
  const remedy = outcome === "ok" ? undefined : `Start the gateway there, or ${undoing}`;
  return check("agent.address", title, outcome, `${place} sends it to ${origin}, ${state}`, remedy);
}

/** Loopback answers at once. */
const PATIENCE_MS = 500;

function connectTo({ hostname, port, protocol }: URL): Promise<keyof typeof found> {
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[|\]$/g, "");
    const socket = connect({ host, port: Number(port) || (protocol === "https:" ? 443 : 80) });
    const settle = (state: keyof typeof found): void => {
      socket.destroy();
      resolve(state);
    };
    socket.setTimeout(PATIENCE_MS, () => settle("silent"));
    socket.once("connect", () => settle("connected"));
    socket.once("error", () => settle("refused"));
  });
}
