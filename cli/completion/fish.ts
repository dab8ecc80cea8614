import type { CommandEntry, OptionEntry, Values } from "./tree.ts";

/** Completion for fish, for a file in `~/.config/fish/completions` or to be sourced. */
export function fishScript(
  commands: readonly CommandEntry[],
  root: readonly OptionEntry[],
): string {
  return `# fish completion for patchbay; load it with: patchbay completion fish | source
complete -c patchbay -f
${[
  ...root.map((option) => optionLine("__fish_use_subcommand", option)),
  ...commands.flatMap(commandLines),
].join("\n")}
`;
}

function commandLines({ name, description, options, arguments: places }: CommandEntry): string[] {
  const within = `__fish_seen_subcommand_from ${name}`;
  return [
    `complete -c patchbay -n __fish_use_subcommand -a ${name} -d ${quoted(description)}`,
    ...options.map((option) => optionLine(quoted(within), option)),
    ...options.flatMap((option) => afterOptional(name, option)),
    ...places.flatMap((values) => {
      const offer = offerOf(values);
      return offer === "" ? [] : [`complete -c patchbay -n ${quoted(within)} ${offer}`];
    }),
  ];
}

function optionLine(
  condition: string,
  { flags, description, values, isOptional }: OptionEntry,
): string {
  const names = flags.map((flag) =>
    flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
  );
  const needs = values === undefined ? [] : [...needOf(values, isOptional), offerOf(values)];
  return ["complete -c patchbay -n", condition, ...names, ...needs, "-d", quoted(description)]
    .filter((part) => part !== "")
    .join(" ");
}

/** `-x` keeps files from being offered beside. */
function needOf({ type }: Values, isOptional: boolean): string[] {
  if (isOptional) return [];
  return [type === "files" ? "-r" : "-x"];
}

/** To fish a value that may be left out is never a word of its own, and to the command it may be. */
function afterOptional(name: string, { flags, values, isOptional }: OptionEntry): string[] {
  if (values === undefined || !isOptional) return [];
  const condition = `__fish_seen_subcommand_from ${name}; and __fish_prev_arg_in ${flags.join(" ")}`;
  return [`complete -c patchbay -n ${quoted(condition)} ${offerOf(values)}`];
}

/** What is offered where such a value may stand. */
function offerOf(values: Values): string {
  switch (values.type) {
    case "words":
      return `-a ${quoted(values.words.join(" "))}`;
    case "models":
      return "-a '(patchbay complete-models 2>/dev/null)'";
    case "files":
      return "-F";
    case "anything":
      return "";
    default:
      return values satisfies never;
  }
}

const quoted = (text: string): string =>
  `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
