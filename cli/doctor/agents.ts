/** Finds the addresses on this machine that the settings of agents name. Files are read and never written. */
import { join } from "node:path";
import { connect } from "node:net";
import { type Environment, isLoopback, onPath, readText, stateFolder } from "../../src/terminal.ts";
import type { Check } from "../../src/observe/console/wire-checks.ts";
import type { Agent } from "../launch/agent.ts";
import { type Journal, journalFolder, readJournal } from "../launch/keep/journal.ts";
import { agents } from "../launch/agents.ts";

/** One place where an agent is told an address of this machine. */
type NamedAddress = {
  /** `file:line`, or the name of a variable. */
  readonly place: string;
  /** Without a path. */
  readonly origin: string;
  /** The command that undoes it, where `patchbay launch --keep` wrote it. */
  readonly undo?: string | undefined;
};

type AgentPlace = {
  readonly env: Environment;
  readonly home: string;
  readonly directory: string;
};

/** Where an agent reads settings from beside the file that `launch --keep` knows of, and by which variables. */
type Sources = {
  readonly files: (place: AgentPlace) => readonly string[];
  readonly variables: readonly string[];
};

const config = ({ env, home }: AgentPlace, ...path: readonly string[]): string =>
  join(env["XDG_CONFIG_HOME"] || join(home, ".config"), ...path);

/** By the names that `launch` has for them. From their documentation and sources, read 2026-11. */
const sources: Readonly<Record<string, Sources>> = {
  codex: {
    files: () => [],
    variables: ["OPENAI_BASE_URL"],
  },
  claude: {
    files: ({ directory }) => [
      join(directory, ".claude", "settings.json"),
      join(directory, ".claude", "settings.local.json"),
    ],
    variables: ["ANTHROPIC_BASE_URL"],
  },
  opencode: {
    files: (place) =>
      ["opencode.json", "opencode.jsonc"].flatMap((name) => [
        config(place, "opencode", name),
        join(place.directory, name),
      ]),
    variables: [],
  },
  qwen: {
    files: ({ home, directory }) =>
      [home, directory].flatMap((folder) => [
        join(folder, ".qwen", "settings.json"),
        join(folder, ".qwen", ".env"),
      ]),
    variables: ["OPENAI_BASE_URL"],
  },
  cline: {
    files: ({ home }) => [join(home, ".cline", "data", "settings", "providers.json")],
    variables: [],
  },
  continue: {
    files: ({ home }) =>
      ["config.yaml", "config.json"].map((name) => join(home, ".continue", name)),
    variables: [],
  },
  aider: {
    files: ({ home, directory }) =>
      [home, directory].flatMap((folder) => [
        join(folder, ".aider.conf.yml"),
        join(folder, ".env"),
      ]),
    variables: ["OPENAI_API_BASE", "AIDER_OPENAI_API_BASE"],
  },
  goose: {
    files: (place) => [config(place, "goose", "config.yaml")],
    variables: ["OPENAI_HOST", "OPENAI_BASE_URL"],
  },
  crush: {
    files: (place) => [
      config(place, "crush", "crush.json"),
      join(
        place.env["XDG_DATA_HOME"] || join(place.home, ".local", "share"),
        "crush",
        "crush.json",
      ),
      join(place.directory, "crush.json"),
      join(place.directory, ".crush.json"),
    ],
    variables: [],
  },
};

/** Every address of this machine that an agent is told to ask models at. */
function addressesOf(agent: Agent, place: AgentPlace): readonly NamedAddress[] {
  const { files, variables } = sources[agent.name] ?? { files: () => [], variables: [] };
  const kept = agent.keeping?.file(place);
  const all = new Set([...(kept === undefined ? [] : [kept]), ...files(place)]);
  const keptBy = stateFolder(place.env) === undefined ? undefined : journalOf(agent, place);
  const undoIn = (file: string): string | undefined =>
    keptBy?.file === file ? `patchbay launch ${agent.name} --restore` : undefined;
  const named = variables.flatMap((name) => {
    const origin = localOrigin(place.env[name] ?? "");
    return origin === undefined ? [] : [{ place: name, origin }];
  });
  return [...[...all].flatMap((file) => addressesIn(file, undoIn(file))), ...named];
}

const journalOf = ({ name }: Agent, { env }: AgentPlace): Journal | undefined =>
  readJournal(journalFolder(name, env));

const LONGEST = 1_000_000;

/** What a setting with the address of a model service is called; others may name other servers. */
const setting =
  /(?:base[_-]?ur[li]|api[_-]?base|base[_-]?path|endpoint|OPENAI_HOST)["']?\s*[:=]\s*["']?(https?:\/\/[^\s"',}]+)/gi;

/** Line by line: whether such a file is JSON, TOML or YAML, an address stands in one line with its name. */
function addressesIn(file: string, undo: string | undefined): readonly NamedAddress[] {
  const text = textOf(file);
  return text.split("\n").flatMap((line, at) => {
    if (/^\s*(?:#|\/\/)/.test(line)) return [];
    return [...line.matchAll(setting)].flatMap(([, address = ""]) => {
      const origin = localOrigin(address);
      return origin === undefined ? [] : [{ place: `${file}:${at + 1}`, origin, undo }];
    });
  });
}

function textOf(file: string): string {
  try {
    return readText(file, { limit: LONGEST });
  } catch {
    return ""; // Most agents have few of these files, or none. A clone may bring something else.
  }
}

function localOrigin(address: string): string | undefined {
  const url = URL.parse(address);
  return url !== null && /^https?:$/.test(url.protocol) && isLoopback(url.hostname)
    ? url.origin
    : undefined;
}

/** One check for each address that an agent is sent to, or one that says that there is none. */
export async function agentChecks(place: AgentPlace): Promise<readonly Check[]> {
  const path = place.env["PATH"] ?? place.env["Path"] ?? "";
  const there = agents.filter(({ commands }) =>
    commands.some((command) => onPath(command, path) !== undefined),
  );
  const checks = await Promise.all(
    there.map(async (agent): Promise<Check[]> => {
      const { name, title } = agent;
      const addresses = addressesOf(agent, place);
      const subject = title;
      if (addresses.length === 0) {
        const evidence = "is on PATH, and its settings name no address of this machine";
        const remedy = `To have it ask this gateway: patchbay launch ${name}`;
        const outcome = "note";
        return [{ group: "agents", id: "agent.address", subject, outcome, evidence, remedy }];
      }
      return Promise.all(addresses.map((address) => addressCheck(subject, address)));
    }),
  );
  return checks.flat();
}

type Who = "somebody" | "nobody" | "silence";

const found: Readonly<Record<Who, Pick<Check, "outcome" | "evidence">>> = {
  somebody: { outcome: "ok", evidence: "where somebody listens" },
  nobody: { outcome: "wrong", evidence: "where nothing listens" },
  silence: { outcome: "unknown", evidence: "which neither answers nor refuses" },
};

async function addressCheck(subject: string, address: NamedAddress): Promise<Check> {
  const { place, origin, undo } = address;
  const { outcome, evidence } = found[await whoAnswers(new URL(origin))];
  const undoing = undo === undefined ? `take the address out of ${place}.` : `undo it: ${undo}`;
  return {
    group: "agents",
    id: "agent.address",
    subject,
    outcome,
    evidence: `${place} sends it to ${origin}, ${evidence}`,
    remedy: outcome === "ok" ? undefined : `Start the gateway there, or ${undoing}`,
  };
}

/** On loopback an answer is there at once. */
const PATIENCE_MS = 500;

function whoAnswers({ hostname, port, protocol }: URL): Promise<Who> {
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[|\]$/g, "");
    const socket = connect({ host, port: Number(port) || (protocol === "https:" ? 443 : 80) });
    const settle = (who: Who): void => {
      socket.destroy();
      resolve(who);
    };
    socket.setTimeout(PATIENCE_MS, () => settle("silence"));
    socket.once("connect", () => settle("somebody"));
    socket.once("error", () => settle("nobody"));
  });
}
