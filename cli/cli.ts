#!/usr/bin/env node
/** The `patchbay` command and its sub-commands. */

import { readFileSync } from "node:fs";
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { Fault, logLevels, print, printError, printFault } from "../src/terminal.ts";
import type { Shell } from "./commands/completion.ts";
import type { Options, With } from "./options.ts";
import { exitCode, nodeProblem } from "./output.ts";
import { mostAsked } from "./smoke/scene.ts";

const { version, engines } = ownManifest();
// Checked before any module is loaded that an older Node cannot read.
const problem = nodeProblem(process.versions.node, engines.node);
if (problem !== undefined) {
  printError(problem);
  process.exit(1);
}

const configOption = new Option(
  "-c, --config <file>",
  "configuration file (YAML or JSON); default: ./patchbay.yaml if you trust it, then patchbay/patchbay.yaml in your configuration directory, then keys in the environment",
);

/** Reads the number of an option, from `least` to `most`; `refusal` is printed for any other text. */
const numberFrom =
  (least: number, most: number, refusal: string, form = /^\d+$/) =>
  (text: string): number => {
    const number = Number(text.replaceAll("_", ""));
    if (form.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(refusal);
  };

const readPort = numberFrom(0, 65_535, "Give a port from 0 (any free one) to 65535.");
const readWorkers = numberFrom(1, 64, "Give a number from 1 to 64, such as that of cores.");
const readCount = numberFrom(0, 20_000, "Give a number from 0 to 20000.");
const readCalls = numberFrom(1, mostAsked, `Give a number of calls from 1 to ${mostAsked}.`);
const readSeconds = numberFrom(
  Number.MIN_VALUE,
  86_400,
  "Give a number of seconds, such as 60.",
  /^\d+(?:\.\d+)?$/,
);
const readTokens = numberFrom(
  1000,
  Number.MAX_SAFE_INTEGER,
  "Give a number of tokens, such as 128000.",
  /^\d[\d_]*$/,
);

const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };

function readDuration(text: string): number {
  const [, number = "", unit = "s"] = /^(\d+(?:\.\d+)?)([smh])?$/.exec(text) ?? [];
  const ms = Number(number) * (units[unit] ?? 0);
  if (number !== "" && ms > 0 && ms <= 24 * 3_600_000) return ms;
  throw new InvalidArgumentError("Give a time of up to a day, such as 30s, 10m or 2h.");
}

function readAddress(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? "")) return text;
  throw new InvalidArgumentError("Write a full address, such as http://127.0.0.1:11435.");
}

export const program = new Command("patchbay")
  .description("Every client's tools, on every model: a gateway in front of any model.")
  .version(version)
  .showHelpAfterError("(add --help for a list of commands and options)")
  .configureOutput({
    writeOut: (text) => print(text.trimEnd().split("\n")),
    writeErr: (text) => printError(text.trimEnd().split("\n")),
  })
  // Misuse is 2, because 1 is the result of a check that finds a problem.
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .addHelpText(
    "after",
    `
Examples:
  patchbay serve                               run the demo, or the providers with a key in the environment
  patchbay serve --config patchbay.yaml --port 8080
  patchbay check patchbay.yaml                 list all problems, each with its line and remedy
  patchbay plan request.json --model gpt-5.5   show how its tools and parameters would be sent
  patchbay smoke --url http://127.0.0.1:11435  test bursts of tool calls on a running gateway
  patchbay launch codex --model gpt-5.5        run an agent on any model; its files stay unchanged
  curl http://127.0.0.1:11435/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model":"demo","messages":[{"role":"user","content":"Hello"}]}'`,
  );

// Each command is loaded when it runs, so that help and mistakes do not wait for a gateway.
program
  .command("init")
  .description("find keys, local model servers and agents, and write a patchbay.yaml for them")
  .option("-y, --yes", "write the file without asking; needed if there is no terminal")
  .option("--force", "replace an existing patchbay.yaml, and keep a copy as patchbay.yaml.1.bak")
  .option("--json", "print the findings and the configuration as JSON")
  .action(async (options: Options) => (await import("./commands/init.ts")).init(options));

program
  .command("health")
  .description("check that a gateway is ready; exit code 0: ready, 1: not ready, 3: no gateway")
  .option("--url <address>", "address of the gateway", readAddress, "http://127.0.0.1:11435")
  .option("--timeout <seconds>", "time limit of the answer in seconds", readSeconds, 5)
  .option("--json", "print the answer as JSON")
  .action(async (options: With<"url" | "timeout">) =>
    (await import("./commands/health.ts")).health(options),
  );

program
  .command("status")
  .description(
    "show your gateways and their problems; exit code 0: no problem, 1: a problem, 3: no gateway is running",
  )
  .option("--json", "print the status as JSON")
  .option("--url <address>", "address of one gateway, local or remote", readAddress)
  .option("--key <key>", "key of a remote gateway; default: PATCHBAY_API_KEY or PROXY_API_KEY")
  .action(async (options: Options) => (await import("./commands/status.ts")).status(options));

program
  .command("top")
  .description(
    "show the turns of a running gateway live: as a table in a terminal (keys: s sort, f filter, Enter one turn, q quit), else as lines; exit code 3: no gateway is running",
  )
  .option("--json", "print batches as JSON lines")
  .option("--url <address>", "address of the gateway, if several run or it is remote", readAddress)
  .option("--key <key>", "key of a remote gateway; only the turns of this key are shown")
  .action(async (options: Options) => (await import("./commands/top.ts")).top(options));

program
  .command("logs")
  .description(
    "show the latest turns and events of a running gateway; exit code 1: the turn of --turn failed, 3: no gateway is running",
  )
  .option("-f, --follow", "keep printing new turns and events")
  .option("--turn <id>", "one turn in full, by its request id (`x-request-id`)")
  .option("--last <count>", "number of past turns", readCount, 100)
  .option("--json", "print each turn and event as a JSON line")
  .option("--url <address>", "address of the gateway, if several run or it is remote", readAddress)
  .option("--key <key>", "key of a remote gateway; only the turns of this key are shown")
  .action(async (options: With<"last">) => (await import("./commands/logs.ts")).logs(options));

program
  .command("serve")
  .description("run the gateway")
  .addOption(configOption)
  .option("--host <address>", "address to listen on; default: 127.0.0.1")
  .option("--port <number>", "port to listen on; default: 11435; 0 chooses a free port", readPort)
  .option("--with-parent", "stop when the parent process ends, as under npx and npm start")
  .option("--workers <count>", "number of processes that share the port and the store", readWorkers)
  .addOption(
    new Option("--log-level <level>", "lowest level to log").choices(logLevels).default("info"),
  )
  .action(async (options: With<"logLevel">) =>
    (await import("./commands/serve.ts")).serve(options),
  );

program
  .command("check")
  .description("check a configuration without calling an upstream; exit code 1: it has a problem")
  .argument("[file]", "configuration file, as with --config")
  .addOption(configOption)
  .option("--json", "print the result as JSON")
  .action(async (file: string | undefined, options: Options, command: Command) => {
    if (file !== undefined && options.config !== undefined)
      command.error("error: Give one file: FILE and --config have the same meaning.");
    await (
      await import("./commands/check.ts")
    ).checkCommand(file === undefined ? options : { ...options, config: file });
  });

program
  .command("trust")
  .description(
    "trust the patchbay.yaml of a folder, so that commands use it without --config; after each change it must be trusted again",
  )
  .argument("[file]", "configuration file; default: the one in the current folder")
  .option("--remove", "withdraw the trust")
  .option("--json", "print the result as JSON")
  .action(async (file: string | undefined, options: Options) =>
    (await import("./commands/trust.ts")).trust(file, options),
  );

program
  .command("doctor")
  .description(
    "find problems of the gateway, configuration, upstreams, models, agents and machine; exit code 0: no problem, 1: a problem, 3: no gateway at --url",
  )
  .addOption(configOption)
  .option("--url <address>", "address of a gateway; default: your running gateway", readAddress)
  .option("--key <key>", "key of the gateway; default: PATCHBAY_API_KEY or PROXY_API_KEY")
  .option("--probe [model]", "send real requests to a model, and report its abilities")
  .addOption(
    new Option("--fix", "write the results of --probe to the file").implies({
      probe: true,
    }),
  )
  .option("--json", "print the checks as JSON")
  .addHelpText(
    "after",
    `
The outcomes are ok, note, wrong and unknown. A check that cannot be made is unknown.
A running gateway makes the checks itself, in its own environment.

Examples:
  patchbay doctor                              test keys by requests that no model answers
  patchbay doctor --probe qwen3:8b             send nine requests: calls, forced calls, results, schemas
  patchbay doctor --probe qwen3:8b --fix       change the file, which keeps its comments, and keep a copy`,
  )
  .action(async (options: Options) => (await import("./commands/doctor.ts")).doctor(options));

program
  .command("plan")
  .description("show how the tools and parameters of a request are sent, without sending it")
  .argument("<request>", "request of any client as a JSON file, or - for stdin")
  .option(
    "-m, --model <name>",
    "model to use instead of the one in the request; Gemini clients name it in the path",
  )
  .addOption(configOption)
  .option("--strict", "refuse requests that would lose something, as `tools.strict` does")
  .option("--json", "print the plan as JSON")
  .action(async (request: string, options: Options) =>
    (await import("./commands/plan.ts")).plan(request, options),
  );

program
  .command("smoke")
  .description(
    "test bursts of tool calls on a running gateway: sixteen requests, in four dialects (Chat Completions, Responses, Messages, Gemini), streamed and whole, in both output modes; exit code 1: calls are missing or inconsistent, 3: no gateway answers",
  )
  .option("--url <address>", "address of the gateway", readAddress, "http://127.0.0.1:11435")
  .option("--key <key>", "key of the gateway; default: PATCHBAY_API_KEY or PROXY_API_KEY")
  .option("-m, --model <name>", "model to use; default: the first one in GET /v1/models")
  .option("--expect <number>", "minimum number of calls in each answer", readCalls, 2)
  .option("--at-most <number>", "maximum number of calls in each answer", readCalls)
  .option("--timeout <seconds>", "time limit of each answer in seconds", readSeconds, 60)
  .option("--json", "print the results as JSON")
  .addOption(new Option("--allow-single").hideHelp())
  .addHelpText(
    "after",
    `
Examples:
  patchbay smoke --url http://127.0.0.1:11435 --model gpt-5.5
  patchbay smoke --expect 4                    test a larger burst
  patchbay smoke --expect 1 --at-most 1        test a limit of one call`,
  )
  .action(async (options: With<"url" | "expect" | "timeout">) =>
    (await import("./commands/smoke.ts")).smoke(options),
  );

program
  .command("launch")
  .showHelpAfterError("(write the agent's own arguments after --, or add --help for the options)")
  .description(
    "run an agent on a model through a gateway, after a short test request to the model: codex, claude, gemini, opencode, qwen, cline, continue, aider, goose, crush or copilot; without --keep, the files of the agent stay unchanged",
  )
  .argument("<agent>", "agent to run, which must be on PATH")
  .argument("[args...]", "arguments for the agent, after --")
  .addOption(configOption)
  .option("--url <address>", "address of a gateway; default: start a separate one", readAddress)
  .option("--key <key>", "key of the gateway; default: PATCHBAY_API_KEY or PROXY_API_KEY")
  .option(
    "-m, --model <name>",
    "model to use; default: the first one that the agent was made for, else the first one listed",
  )
  .option("--small <name>", "model for small tasks; default: the same model")
  .option("--context <tokens>", "limit of a conversation in tokens", readTokens, 200_000)
  .option("--strict", "refuse requests that would lose something, as `tools.strict` does")
  .option("--keep", "change the agent's settings, for desktop apps and editors, and run nothing")
  .option("--restore", "undo --keep; this needs no gateway")
  .option("--record", "record the turns, as `patchbay record` does")
  .option("--json", "print a summary as JSON on standard error at the end")
  .addHelpText(
    "after",
    `
Examples:
  patchbay launch codex
  patchbay launch claude --model glm-5 -- -p "List the files here"
  patchbay launch codex --url https://patchbay.example.com -- exec "Run the tests"
  patchbay launch codex --keep --model gpt-5.5    change the settings of its desktop app and editors
  patchbay launch codex --restore                 restore the settings`,
  )
  .action(async (agent: string, args: string[], options: With<"context">) =>
    (await import("./commands/launch.ts")).launch(agent, args, options),
  );

program
  .command("record")
  .description(
    "record the turns of the running gateway, or run an agent and record its turns; see docs/guides/recording.md",
  )
  .argument("[command...]", "agent of `launch`, or any program, after --")
  .option("--for <time>", "duration, such as 10m; default: until Ctrl-C", readDuration)
  .option("--failures", "record only failed turns")
  .option("-m, --model <name>", "model of the agent")
  .addOption(configOption)
  .option("--json", "print the recorded turns as JSON")
  .addHelpText(
    "after",
    `
Examples:
  patchbay record --for 10m --failures
  patchbay record -- codex exec "Run the tests"`,
  )
  .action(async (command: string[], options: Options) =>
    (await import("./commands/record.ts")).record(command, options),
  );

type BundleCommand = "explainBundle" | "replay" | "bundle";

/** A command for a bundle. Exits with the code of misuse for one that cannot be read: 1 is a result of reading. */
const bundleCommand = (name: string, run: BundleCommand): Command =>
  program
    .command(name)
    .argument("<bundle>", ".bundle.jsonl file, or id of a recorded turn")
    .addOption(configOption)
    .action(async (named: string, options: Options) => {
      try {
        await (await import("./commands/bundles.ts"))[run](named, options);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        printFault(error);
        process.exitCode = exitCode.misuse;
      }
    });

bundleCommand("explain", "explainBundle")
  .description("explain a recorded turn in sentences; exit code 1: the gateway is at fault")
  .option("--json", "print the explanation as JSON");

bundleCommand("replay", "replay")
  .description(
    "send a recorded request through this gateway, with the recorded answers of its upstream; exit code 1: the result differs, 3: the upstream of --against does not answer",
  )
  .addOption(new Option("--paced", "keep the recorded pauses of the answer").conflicts("against"))
  .option("--against <upstream>", "send the request to a live upstream, or upstream/model, instead")
  .option("--anyway", "with --against: send a masked bundle too")
  .option("--json", "print the result as JSON");

bundleCommand("bundle", "bundle")
  .description("inspect a bundle before sharing it; exit code 1: it seems to contain a key")
  .option("--preview", "print the whole content")
  .option("--check", "search for keys (always done)")
  .option("--json", "print the result as JSON");

program
  .command("completion")
  .description("print a script that completes commands, options and model names in a shell")
  .addArgument(new Argument("<shell>", "your shell").choices(["bash", "zsh", "fish", "powershell"]))
  .addHelpText(
    "after",
    `
Examples:
  source <(patchbay completion bash)           in ~/.bashrc
  source <(patchbay completion zsh)            in ~/.zshrc, after compinit
  patchbay completion fish > ~/.config/fish/completions/patchbay.fish
  patchbay completion powershell | Out-String | Invoke-Expression`,
  )
  .action(async (shell: Shell) => (await import("./commands/completion.ts")).completion(shell));

/** Runs one command line: the words after `patchbay`. */
export async function runPatchbay(words: readonly string[]): Promise<void> {
  try {
    // Hidden, and not parsed: its words are those of a command line that is not finished.
    if (words[0] === "complete")
      await (await import("./commands/completion.ts")).complete(program, words.slice(1));
    else if (words.length > 0) await program.parseAsync(words, { from: "user" });
    else await (await import("./commands/status.ts")).overview();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    printFault(error);
    process.exitCode = 1;
  }
}

// Node before 24.2 does not set `main`; only tests import this module, on a newer Node.
const { main = true } = import.meta as { readonly main?: boolean };
if (main) await runPatchbay(process.argv.slice(2));

/** `cli` and, built, `dist/cli`. */
function ownManifest(): { readonly version: string; readonly engines: { readonly node: string } } {
  const file = new URL(
    import.meta.url.endsWith(".ts") ? "../package.json" : "../../package.json",
    import.meta.url,
  );
  return JSON.parse(readFileSync(file, "utf8")) as ReturnType<typeof ownManifest>;
}
