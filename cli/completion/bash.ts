import type { CommandEntry, OptionEntry, Values } from "./tree.ts";

/**
 * Completion for bash 3.2 and later, without the bash-completion package. Bash
 * splits words at `:` and `=` too and replaces only what follows, so words are
 * read from the line, and what stands before is taken off the candidates.
 */
export function bashScript(
  commands: readonly CommandEntry[],
  root: readonly OptionEntry[],
): string {
  const names = commands.map(({ name }) => name).join(" ");
  return `# bash completion for patchbay; load it with: source <(patchbay completion bash)
_patchbay_reply() {
  local before="\${2%"\${2##*[:=]}"}" one
  COMPREPLY=()
  while IFS= read -r one; do
    [[ -n "$one" ]] && COMPREPLY+=("\${one#"$before"}")
  done < <(compgen -W "$1" -- "$2")
}
_patchbay_files() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$1"))
}
_patchbay() {
  local line="\${COMP_LINE:0:COMP_POINT}" command="" place=0 value="" cur prev word
  local -a words
  read -ra words <<< "$line"
  case "$line" in *[[:space:]]) words+=("") ;; esac
  local last=$((\${#words[@]} - 1)) i
  cur="\${words[last]}" prev="\${words[last - 1]}"
  case "$cur" in --*=*) prev="\${cur%%=*}" cur="\${cur#*=}" ;; esac
  for ((i = 1; i < last; i++)); do
    word="\${words[i]}"
    if [[ -z "$command" ]]; then
      case " ${names} " in *" $word "*) command="$word" ;; esac
      continue
    fi
    if [[ "$word" == "--" ]]; then _patchbay_files "$cur"; return; fi
    if [[ -n "$value" ]]; then value=""; continue; fi
    case "$command $word" in
${valueTaking(commands)}
      *" -"*) ;;
      *) place=$((place + 1)) ;;
    esac
  done
  case "$command $prev" in
${commands.flatMap(valueCases).join("\n")}
  esac
  case "$command" in
    "")
      _patchbay_reply "${[names, ...root.flatMap(({ flags }) => flags)].join(" ")}" "$cur" ;;
${commands.map(commandCase).join("\n")}
  esac
}
complete -F _patchbay patchbay
`;
}

/** Options whose value is the next word in any case. */
function valueTaking(commands: readonly CommandEntry[]): string {
  const patterns = commands.flatMap(({ name, options }) =>
    options
      .filter(({ values, isOptional }) => values !== undefined && !isOptional)
      .flatMap(({ flags }) => flags.map((flag) => `"${name} ${flag}"`)),
  );
  return `      ${patterns.join(" | ")}) value=1 ;;`;
}

const valueCases = ({ name, options }: CommandEntry): string[] =>
  options.flatMap(({ flags, values, isOptional }) => {
    if (values === undefined) return [];
    const pattern = flags.map((flag) => `"${name} ${flag}"`).join(" | ");
    // What may be left out may be followed by another option.
    const test = isOptional ? `[[ "$cur" == -* ]] || { ${reply(values)}; return; }` : "";
    return [`    ${pattern}) ${isOptional ? test : `${reply(values)}; return`} ;;`];
  });

function commandCase({ name, options, arguments: places }: CommandEntry): string {
  const flags = options.flatMap((option) => option.flags).join(" ");
  const last = places.length - 1;
  const cases = places.map(
    (values, at) => `        ${at}${at === last ? " | *" : ""}) ${reply(values)} ;;`,
  );
  const words =
    places.length === 0 ? "" : `\n      else case "$place" in\n${cases.join("\n")}\n      esac`;
  return `    ${name})
      if [[ "$cur" == -* ]]; then _patchbay_reply "${flags}" "$cur"${words}
      fi ;;`;
}

function reply(values: Values): string {
  switch (values.type) {
    case "words":
      return `_patchbay_reply "${values.words.join(" ")}" "$cur"`;
    case "models":
      return '_patchbay_reply "$(patchbay complete-models 2>/dev/null)" "$cur"';
    case "files":
      return '_patchbay_files "$cur"';
    case "anything":
      return ":";
    default:
      return values satisfies never;
  }
}
