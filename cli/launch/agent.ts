/** What `patchbay launch` knows of an agent: how one process of it is pointed at a gateway. */

import type { Environment } from "../../src/terminal.ts";
import type { Entry, SettingsFormatName } from "./keep/settings.ts";

/** Where an agent is sent, and what it is told of the models there. */
export type Destination = {
  /** The gateway's address, without `/v1`. */
  readonly url: string;
  /** Never on a command line, where every user of the machine can read it. */
  readonly key: string;
  readonly model: string;
  /** For the small work of agents that have a model of its own for it. */
  readonly small: string;
  /** All models that the gateway lists. */
  readonly models: readonly string[];
  /** How many tokens a conversation may take. */
  readonly context: number;
  /** A folder of ours that only this user can read; it is there as long as the agent runs. */
  readonly folder: string;
};

/** Flags, variables and files of ours that point one process at a gateway. No file of the user's is touched. */
export type Pointing = {
  /** Come before what the user passes on. */
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Text by path in the destination's folder. */
  readonly files?: Readonly<Record<string, string>> | undefined;
};

/** What settings that last say: there is no folder of a launch, and a key only where the gateway has any. */
export type Lasting = Omit<Destination, "key" | "folder"> & {
  readonly key?: string | undefined;
};

/** Where a user's settings are. */
export type Place = { readonly home: string; readonly env: Environment };

/** The settings file of an agent, for `--keep`. */
export type Keeping = {
  readonly format: SettingsFormatName;
  file(place: Place): string;
  /** Files of ours that the settings name, for the folder that the settings are in: text by name. */
  beside?(to: Lasting, output: Output): Promise<Readonly<Record<string, string>>>;
  /** `beside`: the paths of these files by their names. */
  entries(to: Lasting, beside: Readonly<Record<string, string>>): readonly Entry[];
  /** What else the user must do. */
  note?(to: Lasting): string | undefined;
};

/** Runs the agent with some arguments to its end, for a while at most, and gives what it printed. */
export type Output = (args: readonly string[], limitMs?: number) => Promise<string>;

export type Agent = {
  /** As it is typed behind `patchbay launch`. */
  readonly name: string;
  readonly title: string;
  /** Its program, under the names that it may have on PATH. */
  readonly commands: readonly [string, ...string[]];
  /** How to get it. */
  readonly install: string;
  /** The version whose flags and settings were tried, or read of where it says so. */
  readonly tried: string;
  /** Names of the models that it was made for, which are chosen before others; `gpt-*` stands for all that begin so. */
  readonly families?: readonly string[] | undefined;
  point(to: Destination, output: Output): Pointing | Promise<Pointing>;
  /** None where it has no settings file that was tried. */
  readonly keeping?: Keeping | undefined;
  /** How a conversation goes on later, where the agent would go elsewhere by itself. */
  readonly resume?: string | undefined;
};
