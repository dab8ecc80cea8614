/** Agents of `patchbay launch`, and the ways to point one process of them at a gateway. */

import type { Environment } from "../../src/terminal.ts";
import type { SettingEntry, SettingsFormatName } from "./keep/settings.ts";

/** The gateway for an agent, and its models. */
export type AgentTarget = {
  /** The gateway's address, without `/v1`. */
  readonly url: string;
  /** Never on a command line, where every user of the machine can read it. */
  readonly key: string;
  readonly model: string;
  /** The model for small work, for agents that use a separate one. */
  readonly small: string;
  /** All models that the gateway lists. */
  readonly models: readonly string[];
  /** The limit of a conversation in tokens. */
  readonly context: number;
  /** A private folder of the launch; it exists as long as the agent runs. */
  readonly folder: string;
  /** A private folder of the agent that outlasts its launches; undefined for a user without a home. */
  readonly lasting?: string | undefined;
  /** The user's environment, and the folder that the agent starts in. */
  readonly env: Environment;
  readonly directory: string;
  /** The user's arguments for the agent. */
  readonly args: readonly string[];
};

/** Flags, variables and files that point one process at a gateway. The user's files stay unchanged. */
export type Pointing = {
  /** Precede the arguments of the user. */
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Text by path in the destination's folder. */
  readonly files?: Readonly<Record<string, string>> | undefined;
  /** Links in the destination's folder to files and folders elsewhere, by their paths. */
  readonly links?: Readonly<Record<string, string>> | undefined;
  /** Folders to make before, for links to them. */
  readonly folders?: readonly string[] | undefined;
  /** A warning about settings of the user. */
  readonly note?: string | undefined;
};

/** The gateway for kept settings: without the folder of a launch, and with a key only if the gateway has keys. */
export type Lasting = Omit<
  AgentTarget,
  "key" | "folder" | "lasting" | "env" | "directory" | "args"
> & {
  readonly key?: string | undefined;
};

/** The place of a user's settings. */
export type AgentHome = { readonly home: string; readonly env: Environment };

/** The settings file of an agent, for `--keep`. */
export type Keeping = {
  readonly format: SettingsFormatName;
  file(place: AgentHome): string;
  /** The texts of additional files beside the settings, by their names. */
  beside?(to: Lasting, output: Output): Promise<Readonly<Record<string, string>>>;
  /** `beside`: the paths of these files by their names. */
  entries(to: Lasting, beside: Readonly<Record<string, string>>): readonly SettingEntry[];
  /** A further step for the user. */
  note?(to: Lasting): string | undefined;
  /** A second file that must change with the first. */
  readonly also?: Keeping | undefined;
};

/** Runs the agent with some arguments for a limited time, and gives its output. */
export type Output = (args: readonly string[], limitMs?: number) => Promise<string>;

export type LaunchAgent = {
  /** The word after `patchbay launch`. */
  readonly name: string;
  readonly title: string;
  /** Its program, under the names that it may have on PATH. */
  readonly commands: readonly [string, ...string[]];
  /** The command that installs it. */
  readonly install: string;
  /** The version with which its flags and settings were tried. */
  readonly tried: string;
  /** Names of the models that it was made for, which are preferred; `gpt-*` matches all names with this start. */
  readonly families?: readonly string[] | undefined;
  /**
   * Names of models that it asks for by itself, whatever model is chosen, and which of the chosen
   * ones answers. They hold for the gateway of a launch unless its configuration has such names.
   */
  readonly helpers?: Readonly<Record<string, "model" | "small">> | undefined;
  point(to: AgentTarget, output: Output): Pointing | Promise<Pointing>;
  /** Left out if no settings file was tried. */
  readonly keeping?: Keeping | undefined;
  /** The command that continues a conversation, if the agent itself would use another address. */
  readonly resume?: string | undefined;
};
