import { Fault } from "../../src/turn/fault.ts";
import { onPath } from "../../src/upstreams/codex/command.ts";
import { environment, type Environment } from "../../src/host/config/env.ts";
import { exitCode } from "../exit-code.ts";
import type { Agent, Destination, Lasting } from "../launch/agent.ts";
import { findAgent } from "../launch/agents.ts";
import { keepAgent, restoreAgent, restoredLines } from "../launch/keep/command.ts";
import { checkModel, modelFor, modelsAt } from "../launch/models-at.ts";
import { openOwnGateway, type OwnGateway } from "../launch/own-gateway.ts";
import { privateFolder } from "../launch/private-folder.ts";
import { outputOf, runAgent } from "../launch/run-agent.ts";
import { versionNote } from "../launch/version-note.ts";
import { countLine, countTurns } from "../launch/turn-count.ts";
import { watchArrivals, type Arrivals } from "../launch/arrivals.ts";
import { recordedLine } from "../recorded-line.ts";
import { print, printError, printJson } from "../../src/host/platform/print.ts";

export type LaunchOptions = {
  readonly config?: string | undefined;
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly model?: string | undefined;
  readonly small?: string | undefined;
  readonly context: number;
  readonly strict?: boolean | undefined;
  readonly keep?: boolean | undefined;
  readonly restore?: boolean | undefined;
  readonly json?: boolean | undefined;
  /** Records the turns of a gateway of the launch's own: all of them, or those that fail. */
  readonly record?: true | "failures" | undefined;
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
  if (options.restore === true) return restore(agent, env, options);
  const file = programOf(agent, env);
  if (options.keep === true) return keep(agent, file, args, options);
  if (file === undefined)
    throw new Fault(
      "request.invalid",
      `${agent.title} is not on PATH: there is no \`${agent.commands.join("` or `")}\`. To get it: ${agent.install}`,
    );
  const output = outputOf(file, env);
  const version = versionNote(agent, file, output);
  await using gateway = await gatewayFor(agent, options, env);
  using folder = privateFolder();
  const to = await destination(agent, gateway, options, folder.path);
  const slow = await checkModel(to);
  const pointing = await agent.point(to, output);
  folder.write(pointing.files ?? {});
  const note = await version;
  if (options.json !== true)
    printError(
      [note ?? [], slow ?? [], `${agent.title} on ${to.model} through ${gateway.url}`].flat(),
    );
  const all = [...(pointing.args ?? []), ...args];
  const arrivals = await watchArrivals(gateway.url, env);
  // Only now: the check of the model is no turn of the agent.
  gateway.startRecording();
  process.exitCode = await runAgent(file, all, { ...env, ...pointing.env });
  tell(agent, { arrived: await arrivals(), isOwn: gateway.isOwn }, options);
  await gateway.tellRecorded();
}

function programOf({ commands }: Agent, env: Environment): string | undefined {
  const path = env["PATH"] ?? env["Path"] ?? "";
  return commands.flatMap((command) => onPath(command, path) ?? [])[0];
}

/** `--keep`: nothing is run, since it is meant for what others start. */
async function keep(
  agent: Agent,
  file: string | undefined,
  args: readonly string[],
  options: LaunchOptions,
): Promise<void> {
  if (args.length > 0)
    throw new Fault("request.invalid", "`--keep` runs nothing; leave out what follows the agent.");
  const env = environment();
  const { PATCHBAY_API_KEY = "", PROXY_API_KEY = "" } = env;
  const key = options.key ?? (PATCHBAY_API_KEY || PROXY_API_KEY || undefined);
  const url = rootOf(options.url ?? DEFAULT_URL);
  const { models, notes: missing } = await modelsKept(url, key, options.model);
  const model = options.model ?? modelFor(agent, models);
  if (model === undefined)
    throw new Fault("request.invalid", `${url} lists no model; name one with \`--model\`.`);
  const { small = model, context } = options;
  const all = models.includes(model) ? models : [model, ...models];
  const to: Lasting = { url, key, model, small, models: all, context };
  const output = file === undefined ? () => Promise.resolve("") : outputOf(file, env);
  const kept = await keepAgent(agent, to, { env, output });
  const notes = [...missing, ...kept.notes];
  if (options.json === true) printJson({ agent: agent.name, ...kept, notes, url });
  else print([`${kept.file} points at ${model} through ${url}.`, ...notes]);
}

const DEFAULT_URL = "http://127.0.0.1:11435";

/** Without the path of the API, whichever way it was written. */
const rootOf = (url: string): string => url.replace(/\/+(?:v1\/*)?$/, "");

/** A gateway that is not running yet will do where the model is named. */
async function modelsKept(
  url: string,
  key: string | undefined,
  model: string | undefined,
): Promise<{ readonly models: readonly string[]; readonly notes: readonly string[] }> {
  try {
    return { models: await modelsAt(url, key ?? "unused"), notes: [] };
  } catch (error) {
    if (model === undefined || !(error instanceof Fault)) throw error;
    return { models: [model], notes: [error.message] };
  }
}

function restore(agent: Agent, env: Environment, { json = false }: LaunchOptions): void {
  const restored = restoreAgent(agent, env);
  if (restored.outcome === "by hand") process.exitCode = exitCode.wrong;
  if (json) printJson({ agent: agent.name, ...restored });
  else print(restoredLines(agent, restored));
}

type Reached = AsyncDisposable & {
  readonly url: string;
  readonly key: string;
  /** Whether nobody else asks it. */
  readonly isOwn: boolean;
  /** Records the turns from now on, where that was asked for. */
  readonly startRecording: () => void;
  /** Says what was recorded, where that was asked for. */
  readonly tellRecorded: () => Promise<void>;
};

async function gatewayFor(
  { name: agent }: Agent,
  { url, key, config, strict = false, record }: LaunchOptions,
  env: Environment,
): Promise<Reached> {
  if (url !== undefined) {
    if (strict)
      throw new Fault(
        "request.invalid",
        "`--strict` is for a gateway of the launch's own; that at `--url` has `tools.strict` in its configuration.",
      );
    const { PATCHBAY_API_KEY = "", PROXY_API_KEY = "" } = env;
    return {
      url: rootOf(url),
      key: key ?? (PATCHBAY_API_KEY || PROXY_API_KEY || "unused"),
      isOwn: false,
      startRecording() {},
      tellRecorded: () => Promise.resolve(),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }
  const directory = process.cwd();
  const own = await openOwnGateway({ agent, strict, file: config, env, directory });
  for (const note of own.notes) printError(note);
  return {
    ...own,
    isOwn: true,
    startRecording() {
      if (record !== undefined) own.recorder.order({ mode: record === true ? "all" : record });
    },
    tellRecorded: () => (record === undefined ? Promise.resolve() : tellRecorded(own)),
    [Symbol.asyncDispose]: () => own[Symbol.asyncDispose](),
  };
}

async function destination(
  agent: Agent,
  { url, key }: Reached,
  { model, small, context }: LaunchOptions,
  folder: string,
): Promise<Destination> {
  const models = await modelsAt(url, key);
  const chosen = model ?? modelFor(agent, models);
  if (chosen === undefined)
    throw new Fault("request.invalid", `${url} lists no model; name one with \`--model\`.`);
  return { url, key, model: chosen, small: small ?? chosen, models, context, folder };
}

/** On standard error: the other is the agent's. */
function tell(
  agent: Agent,
  { arrived, isOwn }: { readonly arrived: Awaited<ReturnType<Arrivals>>; readonly isOwn: boolean },
  { json = false }: LaunchOptions,
): void {
  const all = arrived === undefined ? undefined : countTurns(arrived);
  const isIdle = all?.turns === 0 && Object.keys(all.faults).length === 0;
  // At a gateway that others ask too, only that nobody asked it is this agent's for certain.
  const count = isOwn || isIdle ? all : undefined;
  if (json) printError(JSON.stringify({ agent: agent.name, ...count }));
  else if (isIdle)
    printError(
      `${agent.title} asked this gateway nothing. If it answered, its answers came from elsewhere: see whether its own settings or arguments name another address.`,
    );
  else if (count !== undefined) {
    const resume = agent.resume === undefined ? "" : `. To go on: ${agent.resume}`;
    printError(`${countLine(count)}${resume}`);
  }
}

async function tellRecorded({ recorder }: OwnGateway): Promise<void> {
  await recorder.settled();
  printError(recordedLine(recorder.state()));
}
