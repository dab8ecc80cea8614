/** `patchbay completion` prints a script for a shell; the script calls `patchbay complete` for each completion. */

import type { Argument, Command, Option } from "commander";
import { statusSchema } from "../../src/observe/console/wire.ts";
import { askGateway, environment, findGateways, print } from "../../src/terminal.ts";

/** A script passes the words of the line, up to the cursor and without `patchbay`, and gets one candidate per line. */
const scripts = {
  // Bash also splits words at `:` and `=` and replaces only the part after them. The script
  // therefore splits the line itself, and takes the part before them off each candidate.
  bash: `# bash completion for patchbay; load it with: source <(patchbay completion bash)
_patchbay() {
  local line="\${COMP_LINE:0:COMP_POINT}" cur before one
  local -a words
  read -ra words <<< "$line"
  case "$line" in *[[:space:]]) words+=("") ;; esac
  cur="\${words[\${#words[@]} - 1]}" before="\${cur%"\${cur##*[:=]}"}"
  COMPREPLY=()
  while IFS=$'\\t' read -r one _; do
    if [[ "$one" == ":files" ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r one; do COMPREPLY+=("$one"); done < <(compgen -f -- "\${cur#--*=}")
    else COMPREPLY+=("\${one#"$before"}"); fi
  done < <(patchbay complete "\${words[@]:1}" 2>/dev/null)
}
complete -F _patchbay patchbay`,
  zsh: `#compdef patchbay
# zsh completion for patchbay; load it with: source <(patchbay completion zsh)
_patchbay() {
  local -a found values
  found=("\${(@f)$(patchbay complete "\${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
  if [[ "$found[1]" == ":files" ]]; then _files; return; fi
  values=("\${(@)found%%$'\\t'*}") found=("\${(@)found/$'\\t'/  -- }")
  [[ -n "$values[1]" ]] && compadd -l -d found -a values
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _patchbay "$@"; else compdef _patchbay patchbay; fi`,
  fish: `# fish completion for patchbay; load it with: patchbay completion fish | source
function __patchbay_complete
  set -l before (commandline -opc)
  set -l cur (commandline -ct)
  set -l found (patchbay complete $before[2..-1] "$cur" 2>/dev/null)
  if test "$found[1]" = ":files"
    __fish_complete_path "$cur"
  else
    printf '%s\\n' $found
  end
end
complete -c patchbay -f -a '(__patchbay_complete)'`,
  // Older versions drop an empty argument, so the script passes two quotes instead.
  powershell: `# PowerShell completion for patchbay; load it with:
#   patchbay completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName patchbay -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($wordToComplete -eq '') { $words += '""' }
  patchbay complete @words 2>$null | ForEach-Object {
    $word, $about = $_ -split "\`t", 2
    if ($word -eq ':files') {
      [System.Management.Automation.CompletionCompleters]::CompleteFilename($wordToComplete)
    } else {
      if (-not $about) { $about = $word }
      [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $about)
    }
  }
}`,
} as const;

export type Shell = keyof typeof scripts;

export const completion = (shell: Shell): void => print(scripts[shell].split("\n"));

/** A word, and its description behind a tab. */
type Candidate = string;

/** Tells a script to offer files by the means of its shell. */
const FILES: readonly Candidate[] = [":files"];

/** The candidates for arguments and for values of options, by the name that the help gives to the value. */
const values: Readonly<Record<string, () => Promise<readonly Candidate[]>>> = {
  name: modelNames,
  model: modelNames,
  agent: async () => (await import("../launch/agents.ts")).agents.map(({ name }) => name),
  file: async () => FILES,
  request: async () => FILES,
  bundle: async () => FILES,
  args: async () => FILES,
};

/** `patchbay complete WORDS`: prints the candidates for the last word. */
export async function complete(program: Command, line: readonly string[]): Promise<void> {
  const words = line.map((word) => (word === '""' ? "" : word));
  const current = words.pop() ?? "";
  const found = await candidates(program, words, current);
  const fitting = found === FILES ? found : found.filter((one) => one.startsWith(current));
  if (fitting.length > 0) print(fitting);
}

async function candidates(
  program: Command,
  words: readonly string[],
  current: string,
): Promise<readonly Candidate[]> {
  const commands = program.createHelp().visibleCommands(program);
  const at = words.findIndex((word) => commands.some((one) => one.name() === word));
  const command = commands.find((one) => one.name() === words[at]);
  if (command === undefined)
    return current.startsWith("-")
      ? flagsOf(program)
      : commands.map((one) => described(one.name(), one));
  const given = words.slice(at + 1);
  if (given.includes("--")) return FILES;
  const optionOf = (flag: string | undefined): Option | undefined =>
    command.options.find(({ short, long }) => flag !== undefined && [short, long].includes(flag));
  const [, flag, start] = /^(--[\w-]+)=(.*)$/.exec(current) ?? [];
  const assigned = optionOf(flag);
  if (assigned !== undefined && start !== undefined) {
    const found = await valuesOf(assigned);
    return found === FILES ? FILES : found.map((value) => `${flag}=${value}`);
  }
  const option = optionOf(given.at(-1));
  // An option whose value may be left out may be followed by another option.
  if (option !== undefined && (option.required || (option.optional && !current.startsWith("-"))))
    return valuesOf(option);
  if (current.startsWith("-")) return flagsOf(command);
  const places = given.filter(
    (word, index) => !word.startsWith("-") && optionOf(given[index - 1])?.required !== true,
  );
  const { registeredArguments } = command;
  const argument = registeredArguments[places.length] ?? registeredArguments.at(-1);
  return argument === undefined ? [] : valuesOf(argument);
}

/** Shells show one line, so only the first clause is printed. */
const described = (word: string, about: { description: string | (() => string) }): Candidate => {
  const text = typeof about.description === "string" ? about.description : about.description();
  return `${word}\t${text.split(/[;\n]/)[0] ?? ""}`;
};

const flagsOf = (command: Command): readonly Candidate[] =>
  command
    .createHelp()
    .visibleOptions(command)
    .flatMap((option) =>
      [option.short, option.long].flatMap((flag) => (flag ? described(flag, option) : [])),
    );

async function valuesOf(place: Argument | Option): Promise<readonly Candidate[]> {
  const name = "flags" in place ? (/[<[](.+)[>\]]/.exec(place.flags)?.[1] ?? "") : place.name();
  return place.argChoices ?? (await values[name]?.()) ?? [];
}

/** Shells expand some of the words that they complete from, so a name with other characters is left out. */
const PLAIN = /^[\w.:@+~/-]+$/;

/** The models of running gateways or, without one, of the configuration here. */
async function modelNames(): Promise<readonly Candidate[]> {
  const env = environment();
  const gateways = await findGateways(env);
  const named = await Promise.all(
    gateways.map(async ({ sockets: [socket = ""] }) => {
      const { models } = await askGateway(socket, statusSchema, { path: "/status" });
      return Object.keys(models);
    }),
  );
  if (gateways.length > 0) return [...new Set(named.flat())].filter((name) => PLAIN.test(name));
  const { loadConfig } = await import("../../src/configuration.ts");
  const loaded = loadConfig({ env, directory: process.cwd() });
  return loaded.ok ? Object.keys(loaded.config.models).filter((name) => PLAIN.test(name)) : [];
}
