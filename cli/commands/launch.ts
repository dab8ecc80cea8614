import { randomBytes } from "node:crypto";
import {
  askGateway,
  batchSince,
  environment,
  type Environment,
  Fault,
  findGateways,
  onPath,
  print,
  printError,
  printJson,
  Problems,
} from "../../src/terminal.ts";
import { findingLine, loadConfig, notesOf, sourceNote } from "../../src/configuration.ts";
import {
  nodePlatform,
  openRecorded,
  openServer,
  operate,
  type RecordedGateway,
} from "../../src/serving.ts";
import { type Batch, statusSchema } from "../../src/observe/console/wire.ts";
import { exitCode, recordedLine } from "../output.ts";
import type { Agent, Destination, Lasting } from "../launch/agent.ts";
import { findAgent } from "../launch/agents.ts";
import { keepAgent, restoreAgent, restoredLines } from "../launch/keep/keep.ts";
import { checkModel, modelFor, modelsAt } from "../launch/models-at.ts";
import { outputOf, privateFolder, runAgent, versionNote } from "../launch/program.ts";

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

export type OwnGateway = AsyncDisposable & {
  readonly url: string;
  readonly key: string;
  /** What a user should know of the configuration. */
  readonly notes: readonly string[];
  /** What was recorded of its turns. */
  readonly recorder: Pick<RecordedGateway["recorder"], "order" | "state" | "settled">;
};

type Wanted = {
  /** Who it is for. */
  readonly agent: string;
  /** Refuse what would not arrive whole, whatever the configuration says. */
  readonly strict: boolean;
  /** `--config` */
  readonly file?: string | undefined;
  readonly env: Environment;
  readonly directory: string;
};

/**
 * A gateway of the launch's own, on a port that nobody knows and with a key that
 * nobody else has: other users of the machine can reach loopback too. What it
 * stores is the local tenant's, as with a gateway without keys.
 */
export async function openOwnGateway({ strict, ...origin }: Wanted): Promise<OwnGateway> {
  const loaded = loadConfig({ ...origin, host: "127.0.0.1", port: 0 });
  if (!loaded.ok) throw new Problems([...loaded.findings, ...loaded.doubts].map(findingLine));
  const key = randomBytes(24).toString("base64url");
  const { server, tools } = loaded.config;
  const config = {
    ...loaded.config,
    server: { ...server, keys: [{ name: "local", key }] },
    tools: { ...tools, strict: strict || tools.strict },
  };
  const gateway = openRecorded(config, nodePlatform());
  const listening = await openServer(gateway, config.server);
  gateway.start();
  const { url } = listening;
  const { files, keys } = loaded;
  const control = await operate(gateway, {
    url,
    files,
    keys,
    group: process.pid,
    report: () => {},
    ...origin,
  });
  const notes = control.problem === undefined ? [] : [control.problem];
  return {
    url,
    key,
    recorder: gateway.recorder,
    notes: [...notesOf(loaded), ...sourceNote(loaded), ...notes],
    async [Symbol.asyncDispose]() {
      control.close();
      // Whoever would read the rest of an answer is gone.
      await listening.close(0);
    },
  };
}

/** What has arrived at a gateway since it was first looked at; undefined where that cannot be known. */
export type Arrivals = () => Promise<Pick<Batch, "turns" | "lost"> | undefined>;

/** Looks at a gateway by its private socket; one elsewhere has none that could be reached. */
export async function watchArrivals(url: string, env: Environment): Promise<Arrivals> {
  const gateway = (await findGateways(env)).find((one) => one.url === url);
  if (gateway === undefined) return () => Promise.resolve(undefined);
  const before = await Promise.all(
    gateway.sockets.map(async (socket) => {
      const { turns } = await askGateway(socket, statusSchema, { path: "/status" });
      return { socket, turns };
    }),
  );
  return async () => {
    const batches = await Promise.all(before.map(({ socket, turns }) => batchSince(socket, turns)));
    if (batches.includes(undefined)) return undefined;
    return {
      turns: batches.flatMap((batch) => batch?.turns ?? []),
      lost: batches.reduce((sum, batch) => sum + (batch?.lost ?? 0), 0),
    };
  };
}

export type TurnCount = {
  readonly turns: number;
  readonly calls: number;
  /** Tokens as upstreams counted; none where none did. */
  readonly usage: { readonly input: number; readonly output: number } | undefined;
  /** What the turns cost whose prices are known; none where no price is. */
  readonly cost: number | undefined;
  /** How often each fault was, refusals and failed turns alike. */
  readonly faults: Readonly<Record<string, number>>;
};

/** Adds up what an agent did at a gateway. */
export function countTurns({ turns: rows, lost }: Pick<Batch, "turns" | "lost">): TurnCount {
  let turns = lost;
  let calls = 0;
  let usage: { input: number; output: number } | undefined;
  let cost: number | undefined;
  const faults: Record<string, number> = {};
  for (const row of rows) {
    if (row.fault !== undefined) faults[row.fault] = (faults[row.fault] ?? 0) + 1;
    if (row.type === "refusal") continue;
    turns++;
    calls += row.calls.given;
    if (row.cost !== undefined) cost = (cost ?? 0) + row.cost;
    if (row.usage === undefined) continue;
    usage ??= { input: 0, output: 0 };
    usage.input += row.usage.input;
    usage.output += row.usage.output;
  }
  return { turns, calls, usage, cost, faults };
}

const plural = (count: number, word: string): string =>
  `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

/** What was done, in one line. */
export function countLine({ turns, calls, usage, cost, faults }: TurnCount): string {
  const words = [plural(turns, "turn"), plural(calls, "tool call")];
  if (usage !== undefined)
    words.push(`${plural(usage.input, "token")} in, ${usage.output.toLocaleString("en")} out`);
  if (cost !== undefined) words.push(`$${cost.toFixed(4)}`);
  for (const [fault, count] of Object.entries(faults)) words.push(`${count}x ${fault}`);
  return words.join(", ");
}
