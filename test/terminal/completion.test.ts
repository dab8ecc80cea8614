import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openTerminal, type Terminal } from "./terminal.ts";

const has = (shell: string): boolean => spawnSync(shell, ["--version"]).error === undefined;

/** What a shell prints for a script of its own. */
function printed(shell: string, args: readonly string[], script: string): string {
  const { stdout, stderr } = spawnSync(shell, [...args, script], { encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout;
}

/** Writes the completion script of a shell, and gives its path. */
async function scriptOf(terminal: Terminal, shell: string): Promise<string> {
  const { code, out } = await terminal.patchbay("completion", shell);
  expect(code).toBe(0);
  return terminal.write(`completion.${shell}`, out);
}

const MODELS = String.raw`printf 'qwen3:8b\nqwen3:32b\ngpt/x\n'`;

/** What is typed, and all that it may become. */
const typed: readonly (readonly [string, readonly string[]])[] = [
  ["patchbay ser", ["serve"]],
  ["patchbay launch con", ["continue"]],
  ["patchbay doctor --probe q", ["qwen3:8b", "qwen3:32b"]],
  ["patchbay doctor --fi", ["--fix"]],
  ["patchbay launch codex --model g", ["gpt/x"]],
  ["patchbay serve --log-level s", ["silent"]],
  ["patchbay completion p", ["powershell"]],
];

describe("completion", { timeout: 60_000 }, () => {
  it.skipIf(!has("bash"))("completes commands, options and names in bash", async () => {
    await using terminal = openTerminal();
    const file = await scriptOf(terminal, "bash");
    const replies = (line: string): string =>
      `COMP_LINE='${line}' COMP_POINT=${line.length} COMPREPLY=(); _patchbay; echo "\${COMPREPLY[@]}"`;
    const lines: (readonly [string, readonly string[]])[] = [
      ...typed,
      // Bash replaces only what follows the last colon or sign of equality.
      ["patchbay launch codex --model qwen3:", ["8b", "32b"]],
      ["patchbay launch codex --model=g", ["gpt/x"]],
      ["patchbay launch codex -- /etc/host", ["/etc/hosts"]],
      ["patchbay serve --port ", []],
    ];
    const script = [
      `source '${file}'; patchbay() { ${MODELS}; }`,
      ...lines.map(([line]) => replies(line)),
    ];
    const out = printed("bash", ["--norc", "-c"], script.join("\n")).split("\n").slice(0, -1);
    // Files of the machine are whatever they are.
    const offered = out.map((words) =>
      words.split(" ").filter((word) => word !== "" && !/^\/etc\/host(?!s$)/.test(word)),
    );
    expect(offered).toEqual(lines.map(([, expected]) => expected));
  });

  it.skipIf(!has("fish"))("completes the same in fish", async () => {
    await using terminal = openTerminal();
    const file = await scriptOf(terminal, "fish");
    for (const [line, expected] of typed) {
      const script = `source '${file}'; function patchbay; ${MODELS}; end; complete -C '${line}'`;
      const out = printed("fish", ["--no-config", "-c"], script);
      const words = out.split("\n").map((one) => one.split("\t")[0]);
      expect(words).toEqual(expect.arrayContaining([...expected]));
    }
  });

  it.skipIf(!has("zsh"))("completes the same in zsh", async () => {
    await using terminal = openTerminal();
    const file = await scriptOf(terminal, "zsh");
    // At a terminal of its own: a completion that is the only one is written out behind the words.
    const single = typed.filter(([, expected]) => expected.length === 1);
    const script = String.raw`
zmodload zsh/zpty
zpty z "TERM=dumb HOME=${terminal.home} zsh -f -i"
zpty -w z 'unsetopt prompt_sp; PROMPT="P"B"> "; autoload -U compinit; compinit -u -D; source "${file}"; patchbay() { print -l qwen3:8b qwen3:32b gpt/x }'
zpty -r z out '*PB> *'
try() { zpty -w -n z "$1"$'\t@@'; zpty -r z out '*@@*'; print -r -- "\${(V)out}"; zpty -w -n z $'\C-u' }
${single.map(([line]) => `try '${line}'`).join("\n")}
zpty -d z`.replaceAll("\\${", "${");
    const out = printed("zsh", ["-f", "-c"], script).trimEnd().split("\n");
    for (const [at, [line, [word = ""]]] of single.entries())
      expect(out[at]).toContain(`${line.slice(0, line.lastIndexOf(" "))} ${word} `);
  });

  it("is written for PowerShell with the same commands", async () => {
    await using terminal = openTerminal();
    const { out } = await terminal.patchbay("completion", "powershell");
    for (const [line] of typed) expect(out).toContain(`'${line.split(" ")[1] ?? ""}`);
    expect(out).not.toContain("complete-models' =");
  });

  it("names the models of gateways that run, and else those of the file here", async () => {
    await using terminal = openTerminal();
    terminal.configure('models: { mine: demo/demo, "*": demo/demo }\n');
    expect((await terminal.patchbay("complete-models")).out).toBe("mine\n");
    const config = join(terminal.home, "other.yaml");
    terminal.write("../other.yaml", "models: { theirs: demo/demo }\n");
    await terminal.serve(["--config", config]);
    expect((await terminal.patchbay("complete-models")).out).toBe("theirs\n");
  });
});
