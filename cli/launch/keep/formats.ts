import { jsonSettings } from "./json-settings.ts";
import { inline, lineSettings, type LineGrammar } from "./line-settings.ts";
import { listSettings } from "./list-settings.ts";
import type { Entry, SettingsFormat } from "./settings-text.ts";
import { tomlSegments, tomlValue } from "./toml-lines.ts";
import { yamlSegments, yamlValue } from "./yaml-lines.ts";

const isTable = ({ value }: Entry): boolean => typeof value === "object";

const toml: LineGrammar = {
  segments: tomlSegments,
  value: tomlValue,
  isLast: isTable,
  lines({ path, value }, mark) {
    if (typeof value !== "object") return [`${path.join(".")} = ${inline(value)} # ${mark}`];
    const fields = Object.entries(value).map(([field, inner]) => `${field} = ${inline(inner)}`);
    return [`[${path.join(".")}] # ${mark}`, ...fields];
  },
};

const yaml: LineGrammar = {
  segments: yamlSegments,
  value: yamlValue,
  isLast: () => false,
  lines: ({ path, value }, mark) => [`${path.join(".")}: ${inline(value)} # ${mark}`],
};

/** The formats of settings files; those with comments have each entry of ours marked. */
export const settingsFormats = {
  json: jsonSettings(false),
  jsonc: jsonSettings(true),
  toml: lineSettings(toml),
  yaml: lineSettings(yaml),
  /** Members at the head of a list in YAML. */
  "yaml-list": listSettings,
} as const satisfies Record<string, SettingsFormat>;

export type SettingsFormatName = keyof typeof settingsFormats;
