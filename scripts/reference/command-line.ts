import type { Command, Option } from "commander";
import { program } from "../../cli/cli.ts";
import { code, table } from "./table.ts";

const sentence = (text: string): string => {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.:]$/.test(whole) ? whole : `${whole}.`;
};

function optionRow({ flags, description, defaultValue, argChoices }: Option): readonly string[] {
  if (description === "") throw new Error(`The option ${flags} has no description.`);
  const choices = argChoices === undefined ? "" : ` One of ${argChoices.map(code).join(", ")}.`;
  const preset = defaultValue === undefined ? "" : code(String(defaultValue));
  return [code(flags), preset, sentence(description) + choices];
}

function commandSection(command: Command): string {
  if (command.description() === "")
    throw new Error(`The command ${command.name()} has no description.`);
  const words = command.registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  const usage = ["patchbay", command.name(), ...words, "[options]"].join(" ");
  const named = command.registeredArguments
    .filter(({ description }) => description !== "")
    .map((argument) => [code(argument.name()), "", sentence(argument.description)]);
  const options = command.options.filter(({ hidden }) => !hidden).map(optionRow);
  const examples = examplesOf(command);
  return [
    `## patchbay ${command.name()}`,
    `\`${usage}\``,
    sentence(command.description()),
    ...(named.length + options.length > 0
      ? [table(["option", "default", "meaning"], [...named, ...options])]
      : []),
    ...(examples === "" ? [] : [`\`\`\`sh\n${examples}\n\`\`\``]),
  ].join("\n\n");
}

/** The examples at the end of a command's help. */
function examplesOf(command: Command): string {
  let help = "";
  const output = command.configureOutput();
  command.configureOutput({ ...output, writeOut: (text) => void (help += text) });
  command.outputHelp();
  command.configureOutput(output);
  const [, examples = ""] = /\nExamples:\n([\s\S]*)$/.exec(help) ?? [];
  return examples
    .split("\n")
    .map((line) => line.replace(/^ {2}/, "").replace(/ {2,}(?=\S)/, (gap) => `${gap}# `))
    .join("\n")
    .trimEnd();
}

/** `docs/reference/command-line.md`, from the commands themselves. */
export function commandLinePage(): string {
  const sections = program.commands.map(commandSection);
  return `# Command line

After this page you know every command and option of \`patchbay\`. \`npm run docs\` makes this page from the commands themselves.

\`patchbay\` alone lists the keys, local model servers and agents of this machine, and the next step. In a clone, write \`npm run patchbay -- COMMAND\`. Every command that prints a result takes \`--json\`. Exit codes: 0 success, 1 a problem was found, 2 wrong usage, 3 no gateway answers.

${sections.join("\n\n")}
`;
}
