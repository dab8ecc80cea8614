import type { CommandEntry, OptionEntry, Values } from "./tree.ts";

/** Completion for PowerShell 5 and later, for a profile. */
export function powershellScript(
  commands: readonly CommandEntry[],
  root: readonly OptionEntry[],
): string {
  return `# PowerShell completion for patchbay; load it with:
#   patchbay completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName patchbay -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $models = { patchbay complete-models 2>$null }
  $files = { Get-ChildItem -Name -Path "$wordToComplete*" }
  $commands = [ordered]@{
    '' = @{ about = ''; flags = @{ ${root.map(flagEntry).join(" ")} }; places = @() }
${commands.map(commandEntry).join("\n")}
  }
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($wordToComplete -ne '' -and $words.Count -gt 0) { $words = @($words | Select-Object -SkipLast 1) }
  $name = @($words | Where-Object { $_ -ne '' -and $commands.Contains($_) })[0]
  if ($null -eq $name) { $name = '' }
  $own = $commands[$name]
  $last = if ($words.Count -gt 0) { $words[-1] } else { '' }
  $offers = if ($own.flags.ContainsKey($last) -and $null -ne $own.flags[$last]) { & $own.flags[$last] }
    elseif ($wordToComplete -like '-*') { $own.flags.Keys }
    elseif ($name -eq '') { $commands.Keys | Where-Object { $_ -ne '' } }
    else { $own.places | ForEach-Object { & $_ } }
  $offers | Where-Object { $_ -like "$wordToComplete*" } | Sort-Object | ForEach-Object {
    $about = if ($name -eq '' -and $commands.Contains($_)) { $commands[$_].about } else { $_ }
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $about)
  }
}
`;
}

const commandEntry = ({ name, description, options, arguments: places }: CommandEntry): string =>
  `    ${quoted(name)} = @{ about = ${quoted(description)}; flags = @{ ${options.map(flagEntry).join(" ")} }; places = @(${places.map(block).join(", ")}) }`;

const flagEntry = ({ flags, values }: OptionEntry): string =>
  flags
    .map((flag) => `${quoted(flag)} = ${values === undefined ? "$null" : block(values)};`)
    .join(" ");

function block(values: Values): string {
  switch (values.type) {
    case "words":
      return `{ ${values.words.map(quoted).join(", ")} }`;
    case "models":
      return "$models";
    case "files":
      return "$files";
    case "anything":
      return "{ }";
    default:
      return values satisfies never;
  }
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
