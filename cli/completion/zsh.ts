import type { CommandEntry, OptionEntry, Values } from "./tree.ts";

/** Completion for zsh by `_arguments`, for a file `_patchbay` in `$fpath` or to be sourced. */
export function zshScript(commands: readonly CommandEntry[], root: readonly OptionEntry[]): string {
  const described = commands.map(
    ({ name, description }) => `    ${quoted(`${name}:${description.replaceAll(":", "\\:")}`)}`,
  );
  return `#compdef patchbay
# zsh completion for patchbay; load it with: source <(patchbay completion zsh)
_patchbay_models() {
  local -a models
  models=(\${(f)"$(patchbay complete-models 2>/dev/null)"})
  compadd -a models
}
_patchbay() {
  local curcontext="$curcontext" state line
  local -a commands
  commands=(
${described.join("\n")}
  )
  _arguments -C ${root.flatMap(specsOf).join(" ")} '1:command:->command' '*::argument:->argument'
  case $state in
    command) _describe command commands ;;
    argument)
      case $words[1] in
${commands.map(commandCase).join("\n")}
      esac ;;
  esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _patchbay "$@"; else compdef _patchbay patchbay; fi
`;
}

function commandCase({ name, options, arguments: places }: CommandEntry): string {
  const specs = [
    ...options.flatMap(specsOf),
    ...places.map((values, at) =>
      at === places.length - 1
        ? quoted(`*:argument:${action(values)}`)
        : quoted(`${at + 1}:argument:${action(values)}`),
    ),
  ];
  return `        ${name}) _arguments ${specs.join(" ")} ;;`;
}

/** The flags of an option exclude each other. */
function specsOf({ flags, description, values, isOptional }: OptionEntry): string[] {
  const text = description.replaceAll(/[\\[\]:]/g, "\\$&");
  const value = values === undefined ? "" : `${isOptional ? "::" : ":"}value:${action(values)}`;
  const others = flags.length > 1 ? `(${flags.join(" ")})` : "";
  return flags.map((flag) => quoted(`${others}${flag}[${text}]${value}`));
}

function action(values: Values): string {
  switch (values.type) {
    case "words":
      return `(${values.words.join(" ")})`;
    case "models":
      return "_patchbay_models";
    case "files":
      return "_files";
    case "anything":
      return " ";
    default:
      return values satisfies never;
  }
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
