/**
 * Launches real agents in homes whose settings say otherwise: `npm run agents -- qwen aider`.
 * Without names all of them. For each: a turn arrives through `launch` and the settings stay
 * the same bytes; `--keep` points the agent here by itself, and `--restore` puts its settings
 * back. Agents that cannot be installed are skipped.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { parse } from "yaml";
import { serve } from "../test/support/serve.ts";
import { catalog, type Tried } from "./catalog.ts";
import { install } from "./install.ts";

const root = join(import.meta.dirname, "..");
const cache = join(root, ".cache", "agents");
const cli = join(root, "cli/cli.ts");
const LIMIT_MS = 240_000;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

type Ended = { readonly code: number | null; readonly out: string };

/** Runs a program in the home, in a group of its own, so that whatever it leaves behind ends too. */
async function run(home: string, programs: string, command: readonly string[]): Promise<Ended> {
  const [program = "", ...args] = command;
  const child = spawn(program, args, {
    cwd: join(home, "work"),
    env: {
      PATH: [programs, dirname(process.execPath), process.env["PATH"]].join(delimiter),
      HOME: home,
      XDG_STATE_HOME: join(home, "state"),
      TMPDIR: join(home, "tmp"),
    },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const group = -(child.pid ?? 0);
  const late = setTimeout(() => process.kill(group, "SIGKILL"), LIMIT_MS);
  const outputs = Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await once(child, "exit")) as [number | null];
  clearTimeout(late);
  try {
    process.kill(group, "SIGKILL");
  } catch {
    // Nobody is left of it.
  }
  return { code, out: (await outputs).join("\n") };
}

async function tryAgent(agent: Tried, programs: string): Promise<string[]> {
  const home = mkdtempSync(join(tmpdir(), "patchbay-agents-"));
  const problems: string[] = [];
  const must = (holds: boolean, what: string, told = ""): void => {
    if (!holds) problems.push(`${what}${told === "" ? "" : `:\n${told.trim().slice(-600)}`}`);
  };
  const settings = join(home, agent.file);
  for (const folder of ["work", "tmp", dirname(agent.file)])
    mkdirSync(join(home, folder), { recursive: true });
  writeFileSync(settings, agent.settings, { mode: 0o600 });
  const patchbay = (...args: string[]): Promise<Ended> =>
    run(home, programs, [process.execPath, cli, "launch", agent.name, ...args]);
  await using served = await serve({});
  try {
    const launched = await patchbay("--url", served.url, "--", ...agent.args);
    must(served.turns().length > 0, "no turn arrived through launch", launched.out);
    must(launched.code === 0, `launch ended with ${launched.code}`, launched.out);
    must(readFileSync(settings, "utf8") === agent.settings, "launch changed the settings");

    const heard = served.turns().length;
    const kept = await patchbay("--keep", "--url", served.url);
    must(kept.code === 0, "--keep failed", kept.out);
    const own = await run(home, programs, [join(programs, agent.program), ...agent.args]);
    must(served.turns().length > heard, "no turn arrived by kept settings", own.out);
    const restored = await patchbay("--restore");
    must(restored.code === 0, "--restore failed", restored.out);
    const now = readFileSync(settings, "utf8");
    if (agent.rewrites === true) {
      must(!/patchbay|demo|127\.0\.0\.1:(?!9\b)/i.test(now), "something of ours is left", now);
      must(includes(parse(now), parse(agent.settings)), "something of the user's is lost", now);
    } else must(now === agent.settings, "the settings are not as they were", now);
  } finally {
    endThose(home);
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
  return problems;
}

/** Ends what works in a home and has left its group, such as Cline's hub, which stays by itself. */
function endThose(home: string): void {
  for (const file of globSync("/proc/[0-9]*/cmdline")) {
    try {
      if (readFileSync(file, "utf8").includes(home)) process.kill(Number(file.split("/")[2]));
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** Whether a value has all that another has. */
function includes(value: unknown, other: unknown): boolean {
  if (typeof other !== "object" || other === null) return value === other;
  if (typeof value !== "object" || value === null) return false;
  const there = value as Readonly<Record<string, unknown>>;
  return Object.entries(other).every(([name, inner]) => includes(there[name], inner));
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !catalog.some((agent) => agent.name === name));
if (unknown.length > 0) {
  say(
    `There is no ${unknown.join(", ")}; there are ${catalog.map(({ name }) => name).join(", ")}.`,
  );
  process.exit(2);
}
let failed = 0;
for (const agent of catalog.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
  const programs = install(agent, cache);
  if (programs === undefined) {
    say(`${agent.name} skipped: it cannot be installed here`);
    continue;
  }
  const began = Date.now();
  const problems = await tryAgent(agent, programs);
  const seconds = Math.round((Date.now() - began) / 1000);
  say(`${problems.length === 0 ? "ok    " : "FAILED"} ${agent.npm ?? agent.pypi} (${seconds} s)`);
  for (const problem of problems) say(`  ${problem.replaceAll("\n", "\n  ")}`);
  failed += problems.length;
}
process.exitCode = failed === 0 ? 0 : 1;
