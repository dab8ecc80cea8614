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

const configOption = (): Option =>
  new Option(
    "-c, --config <file>",
    "the configuration, YAML or JSON; default: ./patchbay.yaml if you have trusted it, then patchbay/patchbay.yaml in your configuration directory, then keys in the environment",
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
  throw new InvalidArgumentError("Write it whole, such as http://127.0.0.1:11435.");
}

export const program = new Command("patchbay")
  .description("Every client's tools, on every model: a gateway in front of any model.")
  .version(version)
  .showHelpAfterError("(add --help for what there is)")
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
  patchbay serve                               serve the embedded demo, or the providers whose keys are set
  patchbay serve --config patchbay.yaml --port 8080
  patchbay check patchbay.yaml                 every problem at once, each with its line and remedy
  patchbay plan request.json --model gpt-5.5   what would become of its tools and parameters
  patchbay smoke --url http://127.0.0.1:11435  whether a running gateway brings bursts of tool calls through
  patchbay launch codex --model gpt-5.5        an agent on any model, none of its files changed
  curl http://127.0.0.1:11435/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model":"demo","messages":[{"role":"user","content":"Hello"}]}'`,
  );

// Each command is loaded when it runs, so that help and mistakes do not wait for a gateway.
program
  .command("init")
  .description("find keys, local model servers and agents, and write patchbay.yaml from them")
  .option("-y, --yes", "write without asking; without a terminal nothing is asked or written")
  .option("--force", "replace a patchbay.yaml that is there; it is kept as patchbay.yaml.1.bak")
  .option("--json", "print what was found, and the configuration, as JSON")
  .action(async (options: Options) => (await import("./commands/init.ts")).init(options));

program
  .command("health")
  .description(
    "whether a gateway is ready; exit code 0: ready, 1: not ready, 3: no gateway is running",
  )
  .option("--url <address>", "where it listens", readAddress, "http://127.0.0.1:11435")
  .option("--timeout <seconds>", "how long an answer may take", readSeconds, 5)
  .option("--json", "print the answer as JSON")
  .action(async (options: With<"url" | "timeout">) =>
    (await import("./commands/health.ts")).health(options),
  );

program
  .command("status")
  .description(
    "the gateways of this user and what is wrong with them; exit code 0: all is well, 1: something is wrong, 3: no gateway is running",
  )
  .option("--json", "print what they tell as JSON")
  .option("--url <address>", "one of them, or one elsewhere", readAddress)
  .option("--key <key>", "the key of one elsewhere; default: PATCHBAY_API_KEY or PROXY_API_KEY")
  .action(async (options: Options) => (await import("./commands/status.ts")).status(options));

program
  .command("top")
  .description(
    "the turns of a running gateway as they come: a table at a terminal (keys: s sort, f filter, Enter one turn, q end), else lines; exit code 3: no gateway is running",
  )
  .option("--json", "print batches as JSON lines")
  .option("--url <address>", "which one, where several run; or one elsewhere", readAddress)
  .option("--key <key>", "the key of one elsewhere, whose own turns are shown")
  .action(async (options: Options) => (await import("./commands/top.ts")).top(options));

program
  .command("logs")
  .description(
    "the latest turns of a running gateway, and what else happened; exit code 1: the turn failed, 3: no gateway is running",
  )
  .option("-f, --follow", "go on with what comes")
  .option("--turn <id>", "one turn in full, by the id of its request (`x-request-id`)")
  .option("--last <count>", "how many past turns", readCount, 100)
  .option("--json", "print each as a JSON line")
  .option("--url <address>", "which one, where several run; or one elsewhere", readAddress)
  .option("--key <key>", "the key of one elsewhere, whose own turns are shown")
  .action(async (options: With<"last">) => (await import("./commands/logs.ts")).logs(options));

program
  .command("serve")
  .description("run the gateway")
  .addOption(configOption())
  .option("--host <address>", "where to listen; default: 127.0.0.1")
  .option("--port <number>", "default: 11435; 0 takes any free one", readPort)
  .option(
    "--with-parent",
    "stop when the process that started it is gone, as with npx and npm start",
  )
  .option("--workers <count>", "processes that share the port and the store", readWorkers)
  .addOption(
    new Option("--log-level <level>", "JSON lines on stderr").choices(logLevels).default("info"),
  )
  .action(async (options: With<"logLevel">) =>
    (await import("./commands/serve.ts")).serve(options),
  );

program
  .command("check")
  .description("check a configuration and call nobody; exit code 1 if anything is wrong")
  .argument("[file]", "the configuration, as with --config")
  .addOption(configOption())
  .option("--json", "print the outcome as JSON")
  .action(async (file: string | undefined, options: Options, command: Command) => {
    if (file !== undefined && options.config !== undefined)
      command.error("error: Name one file: FILE and --config mean the same.");
    await (
      await import("./commands/check.ts")
    ).check(file === undefined ? options : { ...options, config: file });
  });

program
  .command("trust")
  .description(
    "use the patchbay.yaml of a folder without being told to; one that has changed since must be trusted again",
  )
  .argument("[file]", "default: the one in the current folder")
  .option("--remove", "trust it no more")
  .option("--json", "print the outcome as JSON")
  .action(async (file: string | undefined, options: Options) =>
    (await import("./commands/trust.ts")).trust(file, options),
  );

program
  .command("doctor")
  .description(
    "look for what is wrong: gateway, configuration, upstreams, models, agents, machine; exit code 0: nothing, 1: something, 3: no gateway at --url",
  )
  .addOption(configOption())
  .option("--url <address>", "a gateway elsewhere; default: yours here, if one runs", readAddress)
  .option("--key <key>", "its key; default: PATCHBAY_API_KEY or PROXY_API_KEY, if set")
  .option("--probe [model]", "make real calls to a model, and say what it can do")
  .addOption(
    new Option("--fix", "write what --probe has shown to the configuration file").implies({
      probe: true,
    }),
  )
  .option("--json", "print what was found as JSON")
  .addHelpText(
    "after",
    `
Outcomes are ok, note, wrong and unknown: what could not be found out is never called ok.
A running gateway makes the checks itself, in its own environment.

Examples:
  patchbay doctor                              keys are tried by requests that no model answers
  patchbay doctor --probe qwen3:8b             nine requests: calls, forced calls, results, schemas
  patchbay doctor --probe qwen3:8b --fix       the file keeps its comments, and a copy is kept of it`,
  )
  .action(async (options: Options) => (await import("./commands/doctor.ts")).doctor(options));

program
  .command("plan")
  .description("what would become of a request: every tool and parameter; nobody is called")
  .argument("<request>", "a Chat or Responses request body as a JSON file; - reads standard input")
  .option("-m, --model <name>", "ask for this model instead of the request's own")
  .addOption(configOption())
  .option("--strict", "refuse what would not arrive whole, as `tools.strict` does")
  .option("--json", "print the plan as JSON")
  .action(async (request: string, options: Options) =>
    (await import("./commands/plan.ts")).plan(request, options),
  );

program
  .command("smoke")
  .description(
    "ask a running gateway for several tool calls at once: twelve requests, in three dialects (Chat Completions, Responses, Messages), streamed and whole, in both output modes; exit code 1 if fewer come or anything is inconsistent",
  )
  .option(
    "--url <address>",
    "where it listens, with or without /v1",
    readAddress,
    "http://127.0.0.1:11435",
  )
  .option("--key <key>", "its key; default: PATCHBAY_API_KEY or PROXY_API_KEY, if set")
  .option("-m, --model <name>", "the model to ask; default: the first that GET /v1/models lists")
  .option("--expect <number>", "how many calls every answer must have at least", readCalls, 2)
  .option("--at-most <number>", "how many it may have, to see that a cap holds", readCalls)
  .option("--timeout <seconds>", "how long one answer may take", readSeconds, 60)
  .option("--json", "print what was seen as JSON")
  .addOption(new Option("--allow-single").hideHelp())
  .addHelpText(
    "after",
    `
Examples:
  patchbay smoke --url http://127.0.0.1:11435 --model gpt-5.5
  patchbay smoke --expect 4                    a larger burst
  patchbay smoke --expect 1 --at-most 1        after a rollback to single calls`,
  )
  .action(async (options: With<"url" | "expect" | "timeout">) =>
    (await import("./commands/smoke.ts")).smoke(options),
  );

program
  .command("launch")
  .description(
    "run an agent on a model behind this gateway, once that model has answered a short request: codex, claude, opencode, qwen, cline, continue, aider, goose, crush or copilot; none of its files are changed without --keep",
  )
  .argument("<agent>", "the agent, which must be on PATH")
  .argument("[args...]", "passed on to it; write -- before them")
  .addOption(configOption())
  .option(
    "--url <address>",
    "a running gateway; default: one of its own, as `serve` would run it",
    readAddress,
  )
  .option("--key <key>", "its key; default: PATCHBAY_API_KEY or PROXY_API_KEY, if set")
  .option(
    "-m, --model <name>",
    "the model to ask; default: one that the agent was made for, else the first that is listed",
  )
  .option("--small <name>", "the model for small work; default: the same")
  .option("--context <tokens>", "how much a conversation may hold", readTokens, 200_000)
  .option("--strict", "refuse what would not arrive whole, as `tools.strict` does")
  .option(
    "--keep",
    "run nothing, and point the agent's own settings at a gateway, for desktop apps and editors",
  )
  .option("--restore", "undo --keep; no gateway need be there")
  .option("--record", "record its turns, as `patchbay record` does")
  .option("--json", "at the end, print what was done as JSON on standard error")
  .addHelpText(
    "after",
    `
Examples:
  patchbay launch codex
  patchbay launch claude --model glm-5 -- -p "List the files here"
  patchbay launch codex --url https://patchbay.example.com -- exec "Run the tests"
  patchbay launch codex --keep --model gpt-5.5    its desktop app and editors too, until
  patchbay launch codex --restore                 the settings are as they were`,
  )
  .action(async (agent: string, args: string[], options: With<"context">) =>
    (await import("./commands/launch.ts")).launch(agent, args, options),
  );

program
  .command("record")
  .description(
    "record the turns of the running gateway, or of an agent that is run for it; docs/recording.md",
  )
  .argument("[command...]", "an agent as `launch` knows it, or any program; write -- before it")
  .option("--for <time>", "how long, such as 10m; default: until it is interrupted", readDuration)
  .option("--failures", "only turns that fail")
  .option("-m, --model <name>", "the model of an agent that is run")
  .addOption(configOption())
  .option("--json", "print what was recorded as JSON")
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
    .argument("<bundle>", "a .bundle.jsonl file, or the id of a recorded turn")
    .addOption(configOption())
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
  .description("a recorded turn in sentences; exit code 1 if the gateway is at fault")
  .option("--json", "print it as JSON");

bundleCommand("replay", "replay")
  .description(
    "send a recorded request through this gateway against what its upstream said then; exit code 1 if anything differs, 3 if the upstream of --against does not answer",
  )
  .addOption(
    new Option("--paced", "keep the times between the pieces of the answer").conflicts("against"),
  )
  .option("--against <upstream>", "ask a live upstream, or upstream/model, instead")
  .option("--anyway", "with --against: also where the bundle is masked")
  .option("--json", "print the outcome as JSON");

bundleCommand("bundle", "bundle")
  .description(
    "look at a bundle before it is shared; exit code 1 if it holds what looks like a key",
  )
  .option("--preview", "print all that is in it")
  .option("--check", "look for keys again (always done)")
  .option("--json", "print the outcome as JSON");

program
  .command("completion")
  .description("print a script by which a shell completes commands, options and names of models")
  .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish", "powershell"]))
  .addHelpText(
    "after",
    `
Examples:
  source <(patchbay completion bash)           in ~/.bashrc
  source <(patchbay completion zsh)            in ~/.zshrc, behind compinit
  patchbay completion fish > ~/.config/fish/completions/patchbay.fish
  patchbay completion powershell | Out-String | Invoke-Expression`,
  )
  .action(async (shell: Shell) => (await import("./commands/completion.ts")).completion(shell));

/** Runs one command line: the words behind `patchbay`. */
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
