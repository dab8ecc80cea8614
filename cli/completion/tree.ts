/** The commands of a program as data, for the scripts by which shells complete them. */

import type { Argument, Command, Option } from "commander";
import { agents } from "../launch/agents.ts";

/** What may stand somewhere: words, the names of models, files, or anything at all. */
export type Values =
  | { readonly type: "words"; readonly words: readonly string[] }
  | { readonly type: "models" | "files" | "anything" };

export type OptionEntry = {
  /** As they are typed, the short one first. */
  readonly flags: readonly string[];
  readonly description: string;
  /** Undefined: it takes none. */
  readonly values?: Values | undefined;
  /** Whether its value may be left out. */
  readonly isOptional: boolean;
};

export type CommandEntry = {
  readonly name: string;
  readonly description: string;
  readonly options: readonly OptionEntry[];
  readonly arguments: readonly Values[];
};

/** By what an option or argument calls its value. */
const named: Readonly<Record<string, () => Values>> = {
  name: () => ({ type: "models" }),
  model: () => ({ type: "models" }),
  agent: () => ({ type: "words", words: agents.map(({ name }) => name) }),
  file: () => ({ type: "files" }),
  request: () => ({ type: "files" }),
  bundle: () => ({ type: "files" }),
  "args...": () => ({ type: "files" }),
};

/** All commands that are shown to users. */
export const commandTree = (program: Command): readonly CommandEntry[] =>
  program
    .createHelp()
    .visibleCommands(program)
    .map((command) => ({
      name: command.name(),
      description: firstClause(command.description()),
      options: optionsOf(command),
      arguments: command.registeredArguments.map(argumentValues),
    }));

export const optionsOf = (command: Command): readonly OptionEntry[] =>
  command
    .createHelp()
    .visibleOptions(command)
    .map((option) => ({
      flags: [option.short, option.long].filter((flag) => typeof flag === "string"),
      description: firstClause(option.description),
      values: optionValues(option),
      isOptional: option.optional,
    }));

/** Shells show one line. */
const firstClause = (text: string): string => text.split(/[;\n]/)[0] ?? "";

function optionValues({ required, optional, argChoices, flags }: Option): Values | undefined {
  if (!required && !optional) return undefined;
  return valuesFor(/[<[](.+)[>\]]/.exec(flags)?.[1] ?? "", argChoices);
}

const argumentValues = (argument: Argument): Values =>
  valuesFor(`${argument.name()}${argument.variadic ? "..." : ""}`, argument.argChoices);

const valuesFor = (name: string, choices: readonly string[] | undefined): Values =>
  choices === undefined
    ? (named[name]?.() ?? { type: "anything" })
    : { type: "words", words: choices };
