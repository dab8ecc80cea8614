import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { compileCache } from "../support/compile-cache.ts";
import { openTerminal, type Terminal } from "./terminal.ts";

const has = (shell: string): boolean => spawnSync(shell, ["--version"]).error === undefined;

const cli = fileURLToPath(new URL("../../cli/cli.ts", import.meta.url));

const MODELS =
  'models: { "qwen3:8b": demo/demo, "qwen3:32b": demo/demo, gpt/x: demo/demo, "$(id)": demo/demo }\n';

type Shell = {
  /** The path of the completion script. */
  readonly file: string;
  /** Gives what the shell prints for a script of its own. */
  readonly printed: (args: readonly string[], script: string) => string;
};

/** A shell with the completion script of its name, below which `patchbay` is this version and knows three models. */
async function openShell(terminal: Terminal, shell: string): Promise<Shell> {
  const { code, out } = await terminal.patchbay("completion", shell);
  expect(code).toBe(0);
  const file = terminal.write(`completion.${shell}`, out);
  terminal.configure(MODELS);
  const env = {
    ...compileCache,
    PATH: process.env["PATH"],
    HOME: terminal.home,
    PATCHBAY_RUNTIME_DIR: terminal.run,
  };
  return {
    file,
    printed(args, script) {
      const options = { encoding: "utf8", cwd: dirname(file), env } as const;
      const { stdout, stderr } = spawnSync(shell, [...args, script], options);
      expect(stderr).toBe("");
      return stdout;
    },
  };
}

const PATCHBAY = `'${process.execPath}' '${cli}'`;

/**
 * A command of a script in place of `patchbay`: prints what this process was told for the same
 * words, and nothing that was not asked here. It saves a process for each line.
 */
async function answered(terminal: Terminal, lines: readonly string[]): Promise<string> {
  const nameOf = (words: string): string => words.replaceAll("/", "%");
  for (const line of lines) {
    const words = line.split(" ").slice(1);
    const { code, out } = await terminal.patchbay("complete", ...words);
    expect(code).toBe(0);
    terminal.write(nameOf(`complete ${words.join(" ")}`), out);
  }
  return `patchbay() { local words="$*"; cat "\${words//\\//%}"; }`;
}

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
    const { file, printed } = await openShell(terminal, "bash");
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
    const [[first], ...others] = lines as [(typeof lines)[number], ...typeof lines];
    const script = [
      `source '${file}'; patchbay() { ${PATCHBAY} "$@"; }`,
      replies(first),
      await answered(
        terminal,
        others.map(([line]) => line),
      ),
      ...others.map(([line]) => replies(line)),
    ];
    const out = printed(["--norc", "-c"], script.join("\n")).split("\n").slice(0, -1);
    // Files of the machine are whatever they are.
    const offered = out.map((words) =>
      words.split(" ").filter((word) => word !== "" && !/^\/etc\/host(?!s$)/.test(word)),
    );
    expect(offered).toEqual(lines.map(([, expected]) => expected));
  });

  it.skipIf(!has("fish"))("completes the same in fish", async () => {
    await using terminal = openTerminal();
    const { file, printed } = await openShell(terminal, "fish");
    for (const [line, expected] of typed) {
      const script = `source '${file}'; function patchbay; ${PATCHBAY} $argv; end; complete -C '${line}'`;
      const out = printed(["--no-config", "-c"], script);
      const words = out.split("\n").map((one) => one.split("\t")[0]);
      expect(words).toEqual(expect.arrayContaining([...expected]));
    }
  });

  it.skipIf(!has("zsh"))("completes the same in zsh", async () => {
    await using terminal = openTerminal();
    const { file, printed } = await openShell(terminal, "zsh");
    // At a terminal of its own: a completion that is the only one is written out behind the words.
    const single = typed.filter(([, expected]) => expected.length === 1);
    const script = String.raw`
zmodload zsh/zpty
zpty z "TERM=dumb HOME=${terminal.home} zsh -f -i"
zpty -w z 'unsetopt prompt_sp; PROMPT="P"B"> "; autoload -U compinit; compinit -u -D; source "${file}"; patchbay() { ${PATCHBAY} "$@" }'
zpty -r z out '*PB> *'
try() { zpty -w -n z "$1"$'\t@@'; zpty -r z out '*@@*'; print -r -- "\${(V)out}"; zpty -w -n z $'\C-u' }
${single.map(([line]) => `try '${line}'`).join("\n")}
zpty -d z`.replaceAll("\\${", "${");
    const out = printed(["-f", "-c"], script).trimEnd().split("\n");
    for (const [at, [line, [word = ""]]] of single.entries())
      expect(out[at]).toContain(`${line.slice(0, line.lastIndexOf(" "))} ${word} `);
  });

  it("completes the same for PowerShell, which passes two quotes for an empty word", async () => {
    await using terminal = openTerminal();
    const { out } = await terminal.patchbay("completion", "powershell");
    expect(out).toContain("patchbay complete @words");
    terminal.configure(MODELS);
    const words = async (...line: string[]): Promise<string[]> =>
      (await terminal.patchbay("complete", ...line)).out.split("\n").slice(0, -1);
    for (const [line, expected] of typed) {
      const found = await words(...line.split(" ").slice(1));
      expect(found.map((one) => one.split("\t")[0])).toEqual(expected);
    }
    expect(await words("launch", "codex", "-m", '""')).toHaveLength(3);
    expect(await words("serve", "--config", "")).toEqual([":files"]);
  });

  it("names the models of gateways that run, and else those of the file here", async () => {
    await using terminal = openTerminal();
    terminal.configure('models: { mine: demo/demo, "*": demo/demo }\n');
    expect((await terminal.patchbay("complete", "plan", "--model", "")).out).toBe("mine\n");
    const config = join(terminal.home, "other.yaml");
    terminal.write("../other.yaml", "models: { theirs: demo/demo }\n");
    await terminal.serve(["--config", config]);
    expect((await terminal.patchbay("complete", "plan", "--model", "")).out).toBe("theirs\n");
  });
});
