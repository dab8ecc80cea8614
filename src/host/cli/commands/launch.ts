import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fieldsIn, fieldsOf, filledText, listOf } from "../../../dialects/shared/loose.ts";
import { Fault } from "../../../turn/fault.ts";
import { onPath } from "../../../upstreams/codex/command.ts";
import { environment, type Environment } from "../../config/env.ts";
import type { Agent, Destination, Pointing } from "../launch/agent.ts";
import { findAgent } from "../launch/agents.ts";
import { openOwnGateway } from "../launch/own-gateway.ts";
import { outputOf, runAgent } from "../launch/run-agent.ts";
import { countLine, countTurns, type TurnCount } from "../launch/turn-count.ts";

export type LaunchOptions = {
  readonly config?: string | undefined;
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly model?: string | undefined;
  readonly small?: string | undefined;
  readonly context: number;
  readonly json?: boolean | undefined;
};

/**
 * `patchbay launch`: runs an agent against a gateway. Only this process of it is
 * pointed there, so there is nothing to undo, whatever ends it.
 */
export async function launch(
  name: string,
  args: readonly string[],
  options: LaunchOptions,
): Promise<void> {
  const env = environment();
  const agent = findAgent(name);
  const path = env["PATH"] ?? env["Path"] ?? "";
  const [file] = agent.commands.flatMap((command) => onPath(command, path) ?? []);
  if (file === undefined)
    throw new Fault(
      "request.invalid",
      `${agent.title} is not on PATH: there is no \`${agent.commands.join("` or `")}\`. To get it: ${agent.install}`,
    );
  await using gateway = await gatewayFor(agent, options, env);
  using folder = privateFolder();
  const to = await destination(gateway, options, folder.path);
  const pointing = await agent.point(to, outputOf(file, env));
  writeFiles(folder.path, pointing);
  if (options.json !== true)
    process.stderr.write(`${agent.title} on ${to.model} through ${gateway.url}\n`);
  const all = [...(pointing.args ?? []), ...args];
  process.exitCode = await runAgent(file, all, { ...env, ...pointing.env });
  tell(agent, gateway.count(), options);
}

type Reached = AsyncDisposable & {
  readonly url: string;
  readonly key: string;
  /** Undefined where others count. */
  readonly count: () => TurnCount | undefined;
};

async function gatewayFor(
  { name: agent }: Agent,
  { url, key, config }: LaunchOptions,
  env: Environment,
): Promise<Reached> {
  if (url !== undefined) {
    const { PATCHBAY_API_KEY = "", PROXY_API_KEY = "" } = env;
    return {
      url: url.replace(/\/+(?:v1\/*)?$/, ""),
      key: key ?? (PATCHBAY_API_KEY || PROXY_API_KEY || "unused"),
      count: () => undefined,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }
  const counted = countTurns();
  const directory = process.cwd();
  const { report } = counted;
  const own = await openOwnGateway({ agent, file: config, env, directory, report });
  for (const note of own.notes) process.stderr.write(`${note}\n`);
  return { ...own, count: counted.count, [Symbol.asyncDispose]: () => own[Symbol.asyncDispose]() };
}

async function destination(
  { url, key }: Reached,
  { model, small, context }: LaunchOptions,
  folder: string,
): Promise<Destination> {
  const models = await modelsAt(url, key);
  const chosen = model ?? models[0];
  if (chosen === undefined)
    throw new Fault("request.invalid", `${url} lists no model; name one with \`--model\`.`);
  return { url, key, model: chosen, small: small ?? chosen, models, context, folder };
}

async function modelsAt(url: string, key: string): Promise<readonly string[]> {
  let response: Response;
  try {
    const headers = { authorization: `Bearer ${key}` };
    const signal = AbortSignal.timeout(10_000);
    response = await fetch(`${url}/v1/models`, { headers, signal });
  } catch (error) {
    throw new Fault(
      "request.invalid",
      `Nobody answers at ${url}; start it with \`patchbay serve\`, or leave \`--url\` out.`,
      {},
      error,
    );
  }
  const body = fieldsIn(await response.text());
  if (response.ok)
    return (listOf(body?.data) ?? []).flatMap((one) => filledText(fieldsOf(one)?.id) ?? []);
  const why = filledText(fieldsOf(body?.error)?.message) ?? `it answers ${response.status}`;
  throw new Fault("request.invalid", `${url} does not list its models: ${why}`);
}

/** Readable by this user alone, and gone with the launch. */
function privateFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "patchbay-launch-"));
  return {
    path,
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

function writeFiles(folder: string, { files = {} }: Pointing): void {
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, text, { mode: 0o600 });
  }
}

/** On standard error: the other is the agent's. */
function tell(agent: Agent, count: TurnCount | undefined, { json = false }: LaunchOptions): void {
  if (json) process.stderr.write(`${JSON.stringify({ agent: agent.name, ...count })}\n`);
  else if (count?.turns === 0 && Object.keys(count.faults).length === 0)
    process.stderr.write(
      `${agent.title} asked this gateway nothing. If it answered, its answers came from elsewhere: see whether its own settings or arguments name another address.\n`,
    );
  else if (count !== undefined) {
    const resume = agent.resume === undefined ? "" : `. To go on: ${agent.resume}`;
    process.stderr.write(`${countLine(count)}${resume}\n`);
  }
}
