/** Finds the addresses on this machine that the settings of agents name. Files are read and never written. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isLoopback } from "../../upstreams/loopback.ts";
import type { Environment } from "../config/env.ts";

/** One place where an agent is told an address of this machine. */
export type NamedAddress = {
  /** `file:line`, or the name of a variable. */
  readonly place: string;
  /** Without a path. */
  readonly origin: string;
  /** The command that undoes it, where `patchbay launch --keep` wrote it. */
  readonly undo?: string | undefined;
};

type Place = { readonly env: Environment; readonly home: string; readonly directory: string };

/** Where an agent reads settings from, in its user's home and in a project, and by which variables. */
type Sources = {
  readonly files: (place: Place) => readonly string[];
  readonly variables: readonly string[];
};

const config = ({ env, home }: Place, ...path: readonly string[]): string =>
  join(env["XDG_CONFIG_HOME"] || join(home, ".config"), ...path);

/** By the names that `launch` has for them. From their documentation and sources, read 2026-11. */
const sources: Readonly<Record<string, Sources>> = {
  codex: {
    files: ({ env, home }) => [join(env["CODEX_HOME"] || join(home, ".codex"), "config.toml")],
    variables: ["OPENAI_BASE_URL"],
  },
  claude: {
    files: ({ env, home, directory }) => [
      join(env["CLAUDE_CONFIG_DIR"] || join(home, ".claude"), "settings.json"),
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
export function addressesOf(agent: string, place: Place): readonly NamedAddress[] {
  const { files, variables } = sources[agent] ?? { files: () => [], variables: [] };
  const named = variables.flatMap((name) => {
    const origin = localOrigin(place.env[name] ?? "");
    return origin === undefined ? [] : [{ place: name, origin }];
  });
  return [...files(place).flatMap(addressesIn), ...named];
}

const LONGEST = 1_000_000;

/** What a setting with the address of a model service is called; others may name other servers. */
const setting =
  /(?:base[_-]?ur[li]|api[_-]?base|base[_-]?path|endpoint|OPENAI_HOST)["']?\s*[:=]\s*["']?(https?:\/\/[^\s"',}]+)/gi;

/** Line by line: whether such a file is JSON, TOML or YAML, an address stands in one line with its name. */
function addressesIn(file: string): readonly NamedAddress[] {
  const text = textOf(file);
  const undo = /patchbay launch \S+ --restore/.exec(text)?.[0];
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
    const text = readFileSync(file, "utf8");
    return text.length > LONGEST ? "" : text;
  } catch {
    return ""; // Most agents have few of these files, or none.
  }
}

function localOrigin(address: string): string | undefined {
  const url = URL.parse(address);
  return url !== null && /^https?:$/.test(url.protocol) && isLoopback(url.hostname)
    ? url.origin
    : undefined;
}
