import { randomBytes } from "node:crypto";
import {
  askGateway,
  environment,
  type Environment,
  Fault,
  findGateways,
  print,
  printError,
  printJson,
  Problems,
  refusal,
} from "../../src/terminal.ts";
import {
  findingLine,
  loadConfig,
  notesOf,
  type ConfigOrigin,
  sourceNote,
} from "../../src/configuration.ts";
import {
  nodePlatform,
  openRecorded,
  openServer,
  operate,
  type RecordedGateway,
} from "../../src/serving.ts";
import { batchSchema, type FeedBatch, statusSchema } from "../../src/observe/console/wire.ts";
import { keyFor } from "../gateways.ts";
import { exitCode, plural, recordedLine } from "../output.ts";
import { modelsAt, rootOf } from "../remote.ts";
import type { LaunchAgent } from "../launch/agent.ts";
import { findAgent, programOf } from "../launch/agents.ts";
import { keepAgent, restoreAgent, restoredLines } from "../launch/keep/keep.ts";
import { checkModel, modelFor } from "../launch/model.ts";
import {
  lastingFolder,
  outputOf,
  privateFolder,
  runProgram,
  versionNote,
} from "../launch/program.ts";
import { selectChain } from "../../src/inspection.ts";
import type { With } from "../options.ts";

/**
 * `patchbay launch`: runs an agent against a gateway. Only this process of the agent is pointed
 * there, so nothing has to be undone, whatever ends it.
 */
export async function launch(
  name: string,
  args: readonly string[],
  options: With<"context">,
): Promise<void> {
  const { json = false, record } = options;
  const env = environment();
  const agent = findAgent(name);
  if (options.restore === true) return restore(agent, env, json);
  const file = programOf(agent, env);
  if (options.keep === true) return keep(agent, file, args, options);
  if (file === undefined)
    throw refusal(
      `${agent.title} is not on PATH: there is no \`${agent.commands.join("` or `")}\`. To install it: ${agent.install}`,
    );
  const output = outputOf(file, env);
  const version = versionNote(agent, file, output);
  await using gateway = await gatewayFor(agent, options, env);
  const { url, key, notes, recorder } = gateway;
  for (const one of notes) printError(one);
  using folder = privateFolder();
  const models = await modelsAt({ url, key });
  const to = {
    ...chosenModels(agent, url, models, options),
    url,
    key,
    folder: folder.path,
    lasting: lastingFolder(agent, env),
    env,
    directory: process.cwd(),
    args,
  };
  const pointing = await agent.point(to, output);
  const slow = await checkModel(to);
  gateway.serveHelpers?.(to);
  folder.write(pointing);
  const note = await version;
  if (!json)
    printError(
      [
        note ?? [],
        pointing.note ?? [],
        slow ?? [],
        `${agent.title} on ${to.model} through ${url}`,
      ].flat(),
    );
  const arrivals = await watchArrivals(url, env);
  // Recording starts here, because the check of the model is no turn of the agent.
  if (record !== undefined) recorder?.order({ mode: record === true ? "all" : record });
  process.exitCode = await runProgram(file, [...(pointing.args ?? []), ...args], {
    ...env,
    ...pointing.env,
  });
  report(agent, await arrivals(), { isOwn: recorder !== undefined, json });
  if (record === undefined || recorder === undefined) return;
  await recorder.settled();
  printError(recordedLine(recorder.state()));
}

function chosenModels(
  agent: LaunchAgent,
  url: string,
  models: readonly string[],
  { model = modelFor(agent, models), small = model, context }: With<"context">,
) {
  if (model === undefined || small === undefined)
    throw refusal(
      `No upstream of ${url} lists a model; name one with \`--model\`, or find out why: patchbay doctor`,
    );
  return { model, small, models, context };
}

/** `--keep`: changes the agent's settings and runs nothing. */
async function keep(
  agent: LaunchAgent,
  file: string | undefined,
  args: readonly string[],
  options: With<"context">,
): Promise<void> {
  if (args.length > 0)
    throw refusal("`--keep` does not run the agent; remove the arguments after its name.");
  const env = environment();
  const key = keyFor(options, env);
  const url = rootOf(options.url ?? "http://127.0.0.1:11435");
  const missing: string[] = [];
  const listed = await modelsAt({ url, key }).catch((error: unknown): readonly string[] => {
    // With `--model` the gateway need not run yet.
    if (options.model === undefined || !(error instanceof Fault)) throw error;
    missing.push(error.message);
    return [];
  });
  const chosen = chosenModels(agent, url, listed, options);
  const { model } = chosen;
  const models = listed.includes(model) ? listed : [model, ...listed];
  const output = file === undefined ? () => Promise.resolve("") : outputOf(file, env);
  const kept = await keepAgent(agent, { ...chosen, url, key, models }, { env, output });
  const notes = [...missing, ...kept.notes];
  if (options.json === true) printJson({ agent: agent.name, ...kept, notes, url });
  else print([`${kept.file} now selects ${model} through ${url}.`, ...notes]);
}

function restore(agent: LaunchAgent, env: Environment, json: boolean): void {
  const restored = restoreAgent(agent, env);
  const [first, ...also] = restored;
  if (restored.some(({ outcome }) => outcome === "by hand")) process.exitCode = exitCode.wrong;
  if (json) printJson({ agent: agent.name, ...first, ...(also.length > 0 && { also }) });
  else print(restoredLines(agent, restored));
}

type Reached = AsyncDisposable & {
  readonly url: string;
  readonly key: string;
  /** Hints on the configuration of the launch's gateway. */
  readonly notes: readonly string[];
  /** Undefined for the gateway at `--url`, which other clients may use too. */
  readonly recorder?: RecordedGateway["recorder"] | undefined;
  /** Answers for the models that the agent asks for by itself. Undefined for the gateway at `--url`. */
  readonly serveHelpers?: ((chosen: ChosenModels) => void) | undefined;
};

type ChosenModels = { readonly model: string; readonly small: string };

async function gatewayFor(
  { name: agent, helpers }: LaunchAgent,
  { url, key, config: file, strict = false }: With<"context">,
  env: Environment,
): Promise<Reached> {
  if (url === undefined)
    return openOwnGateway({ agent, file, env, directory: process.cwd(), helpers }, strict);
  if (strict)
    throw refusal(
      "`--strict` applies to the separate gateway of a launch; for the gateway at `--url`, set `tools.strict` in its configuration.",
    );
  const close = (): Promise<void> => Promise.resolve();
  const sent = keyFor({ key }, env) ?? "unused";
  return { url: rootOf(url), key: sent, notes: [], [Symbol.asyncDispose]: close };
}

/**
 * Opens a gateway for the launch, on any free port and with a random key, because other users of
 * the machine can reach loopback too. Its tenant is the local one, as without keys. `strict`:
 * requests that would lose something are refused, whatever the configuration says.
 */
async function openOwnGateway(
  {
    helpers = {},
    ...origin
  }: ConfigOrigin & { readonly agent: string } & Pick<LaunchAgent, "helpers">,
  strict: boolean,
): Promise<Reached> {
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
  const own = { ...origin, url, files, keys, group: process.pid, report: () => {} };
  const control = await operate(gateway, own);
  return {
    url,
    key,
    recorder: gateway.recorder,
    serveHelpers(chosen) {
      const placesOf = (name: string): string[] =>
        selectChain(name, config, gateway.examined().upstreams).map((link) => link.name);
      const own = Object.entries(helpers).map(
        ([name, by]) => [name, placesOf(chosen[by])] as const,
      );
      if (own.length > 0)
        gateway.reconfigure({
          ...config,
          models: { ...Object.fromEntries(own), ...config.models },
        });
    },
    notes: [notesOf(loaded), sourceNote(loaded), control.problem ?? []].flat(),
    async [Symbol.asyncDispose]() {
      control.close();
      // The agent has ended, so nothing reads the rest of an answer.
      await listening.close(0);
    },
  };
}

/** Reports on standard error, since standard output is the agent's. */
function report(
  agent: LaunchAgent,
  arrived: Awaited<ReturnType<Arrivals>>,
  { isOwn, json }: { readonly isOwn: boolean; readonly json: boolean },
): void {
  const all = arrived === undefined ? undefined : countTurns(arrived);
  const isIdle = all?.turns === 0 && Object.keys(all.faults).length === 0;
  // The turns of a shared gateway may be another client's.
  const count = isOwn || isIdle ? all : undefined;
  if (json) printError(JSON.stringify({ agent: agent.name, ...count }));
  else if (isIdle)
    printError(
      `${agent.title} sent no request to this gateway. ${
        process.exitCode === 0
          ? "If it answered, it used another server; look for another address in its settings and arguments."
          : `It ended with exit code ${process.exitCode}; its own message gives the reason.`
      }`,
    );
  else if (count !== undefined) {
    const resume = agent.resume === undefined ? "" : `. To continue: ${agent.resume}`;
    printError(`${countLine(count)}${resume}`);
  }
}

type Arrived = Pick<FeedBatch, "turns" | "lost" | "running">;

/** The turns that have arrived at a gateway since the start of the watch; undefined if they are unknown. */
export type Arrivals = () => Promise<Arrived | undefined>;

/** Watches a gateway by its private socket; turns of a gateway elsewhere are unknown. */
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
    const asked = before.map(({ socket, turns }) =>
      askGateway(socket, batchSchema, { path: `/feed?since=${turns}` }),
    );
    const batches = await Promise.all(asked).catch(() => undefined); // A process has ended.
    return (
      batches && {
        turns: batches.flatMap(({ turns }) => turns),
        lost: batches.reduce((sum, { lost }) => sum + lost, 0),
        running: batches.flatMap(({ running }) => running),
      }
    );
  };
}

export type TurnCount = {
  readonly turns: number;
  readonly calls: number;
  /** Tokens as upstreams counted them; undefined without a count. */
  readonly usage: { readonly input: number; readonly output: number } | undefined;
  /** The cost of the turns with a price; undefined without one. */
  readonly cost: number | undefined;
  /** The number of refusals and failed turns by fault. */
  readonly faults: Readonly<Record<string, number>>;
};

/** Counts turns. One is still running if its agent was ended in the middle of it. */
export function countTurns({ turns: rows, lost, running }: Arrived): TurnCount {
  let turns = lost + running.length;
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

export function countLine({ turns, calls, usage, cost, faults }: TurnCount): string {
  const words = [plural(turns, "turn"), plural(calls, "tool call")];
  if (usage !== undefined) words.push(`${plural(usage.input, "token")} in, ${usage.output} out`);
  if (cost !== undefined) words.push(`$${cost.toFixed(4)}`);
  for (const [fault, count] of Object.entries(faults)) words.push(`${count}x ${fault}`);
  return words.join(", ");
}
