import { standIns } from "../../dialects/registry.ts";
import type { Flow, Sink } from "../../stream/flow.ts";
import { type Clock, until } from "../../turn/clock.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import { Retries } from "../retry.ts";
import type { OpenOptions, Upstream } from "../upstream.ts";
import { BufferedSink } from "./buffered-sink.ts";
import { bundledModels, childEnvironment, needsLogin, type Provider } from "./home.ts";
import { findCommand } from "./command.ts";
import { type Continuation, continuationOf, ParkedThreads, threadKey } from "./continuation.ts";
import { type CodexContext, failureOf } from "./faults.ts";
import { Pool, type TurnSlot, Worker } from "./worker.ts";
import { type CodexRequest, writeCodexRequest } from "./request.ts";
import { type AppServer, type Notice, startServer } from "./server.ts";
import { Thread } from "./thread.ts";

type Event = TurnEvent<UpstreamName>;

export type CodexOptions = {
  readonly name: string;
  readonly profile: Profile;
  /** The binary: a path, or a name on PATH. */
  readonly command: string;
  /** The CODEX_HOME of the processes. */
  readonly home: string;
  readonly processes: number;
  readonly turnsPerProcess: number;
  /** How many turns may wait for a process. */
  readonly queue: number;
  readonly provider: Provider;
  readonly models: readonly string[];
  /** Milliseconds: of one request to a process, and of silence in mid-answer. */
  readonly timeouts: { readonly connect: number; readonly idle: number };
  /** How long a thread may wait for the results of its calls, in milliseconds; 0: not at all. */
  readonly parkMs: number;
  /** How many threads may wait so. */
  readonly parked: number;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** From 0 up to 1, to spread retries. */
  readonly random: () => number;
  readonly notice?: ((notice: Notice) => void) | undefined;
};

const CLOSE_MS = 10_000;
const RETRIES = 2;
/** Shorter keys would be found in ordinary words. */
const MIN_SECRET = 4;

/** What the turns of one upstream share. */
type Shared = {
  readonly options: CodexOptions;
  readonly codex: CodexContext;
  readonly pool: Pool;
  readonly parked: ParkedThreads<Thread>;
  /** Every thread that has not ended, and its process. */
  readonly threads: Map<Thread, Worker>;
};

type Asked = Pick<OpenOptions, "retry" | "tenant" | "watch" | "onMessage"> & {
  readonly request: CodexRequest;
};

/** The models that Codex can reach, by way of its app-server. */
export function codexUpstream(options: CodexOptions): Upstream {
  const { profile, provider, home, environment } = options;
  const shared = share(options);
  const { pool } = shared;
  let closing: Promise<void> | undefined;
  return {
    name: options.name,
    profile,
    // It takes and gives the items of that dialect, and blames its fields.
    traits: standIns.codex.traits,
    prepare(turn, { model, profile: modelProfile }) {
      const request = writeCodexRequest(turn, model, modelProfile);
      return {
        decisions: request.decisions,
        open: (opening) => (sink) => new CodexTurn(shared, { ...opening, request }, sink).begin(),
      };
    },
    async models() {
      // Only OpenAI's own address is known to have the models that Codex is built for.
      if (options.models.length > 0 || provider.baseUrl !== undefined) return options.models;
      const file = findCommand(options.command, environment["PATH"] ?? "");
      return file === undefined ? [] : bundledModels(file, childEnvironment(environment, home, {}));
    },
    async trouble() {
      const troubles = await Promise.all(pool.workers.map((worker) => worker.trouble()));
      // One process is enough to serve.
      return troubles.includes(undefined) ? undefined : troubles[0];
    },
    close: () => (closing ??= closed(shared)),
  };
}

async function closed({ options: { clock }, pool, parked, threads }: Shared): Promise<void> {
  parked.clear();
  await until(clock, () => threads.size === 0, clock.now() + CLOSE_MS);
  await Promise.all(pool.workers.map((worker) => worker.close()));
}

function share(options: CodexOptions): Shared {
  const { name, home, provider, clock } = options;
  const { apiKey = "", baseUrl: origin = "" } = provider;
  const codex: CodexContext = {
    name,
    home,
    origin,
    secrets: apiKey.length < MIN_SECRET ? [] : [apiKey],
    signIn: needsLogin(provider)
      ? `Run \`CODEX_HOME=${home} codex login\`, or set \`upstreams.${name}.api_key\`.`
      : undefined,
  };
  const parked = new ParkedThreads<Thread>({ clock, ttl: options.parkMs, limit: options.parked });
  const pool = new Pool(openWorkers(options, codex), options);
  return { options, codex, pool, parked, threads: new Map() };
}

function openWorkers(options: CodexOptions, codex: CodexContext): readonly Worker[] {
  const { clock, timeouts, notice = () => {} } = options;
  // One after the other: two processes that find a new home at once both initialize it, and one fails.
  let previous: Promise<unknown> = Promise.resolve();
  const start = (onExit: () => void): Promise<AppServer> => {
    const settings = { ...options, timeout: timeouts.connect, notice };
    const started = previous.then(() => startServer(settings, onExit));
    previous = started.catch(() => {}); // Reported to the worker that started it.
    return started;
  };
  return Array.from({ length: options.processes }, () => new Worker(start, clock, codex));
}

/** A thread that waits for the results in a request. */
type Parked = Continuation & { readonly thread: Thread };

function takeParked({ parked }: Shared, { tenant, request }: Asked): Parked | undefined {
  const continuation = parked.size === 0 ? undefined : continuationOf(tenant, request);
  const thread = continuation && parked.take(continuation.key);
  return thread && continuation && { ...continuation, thread };
}

/** One turn. Its first attempt may go on in a parked thread; any other has a fresh one. */
class CodexTurn extends Retries {
  readonly #shared: Shared;
  readonly #asked: Asked;
  #parked: Parked | undefined;

  constructor(shared: Shared, asked: Asked, sink: Sink<Event>) {
    const { clock, random } = shared.options;
    const parked = takeParked(shared, asked);
    // The fresh thread after a parked one is not counted as a retry.
    const retries = (asked.retry ? RETRIES : 0) + (parked === undefined ? 0 : 1);
    super(sink, { retries, clock, random, watch: asked.watch });
    this.#shared = shared;
    this.#asked = asked;
    this.#parked = parked;
  }

  protected attempt(): Flow {
    const { codex, pool, threads } = this.#shared;
    const parked = this.#parked;
    this.#parked = undefined;
    let thread = parked?.thread;
    let leaveQueue = (): void => {};
    const out = new BufferedSink(this.sink, {
      onFailure: (failure) => this.failed(failure),
      onStop() {
        leaveQueue();
        thread?.release();
      },
    });
    const start = async ({ worker, leave }: TurnSlot): Promise<void> => {
      try {
        if (parked && (await parked.thread.proceed(parked, this.#asked.request, out, leave)))
          return;
        const server = out.stopped ? undefined : await worker.server();
        if (server === undefined || out.stopped) return leave();
        thread = newThread(this.#shared, server, this.#asked);
        threads.set(thread, worker);
        await thread.answer(out, leave);
      } catch (error) {
        leave();
        out.fail(failureOf(error, codex));
      }
    };
    try {
      leaveQueue = pool.enter((slot) => void start(slot), thread && threads.get(thread));
    } catch (error) {
      out.fail(failureOf(error, codex));
    }
    return out;
  }
}

function newThread(
  { options, codex, parked, threads }: Shared,
  { rpc }: AppServer,
  { request, tenant, onMessage }: Asked,
): Thread {
  return new Thread({
    rpc,
    request,
    onMessage,
    codex,
    clock: options.clock,
    idle: options.timeouts.idle,
    park: (thread, output) => parked.park(threadKey(tenant, thread.request, output), thread),
    onEnd(thread) {
      parked.remove(thread);
      threads.delete(thread);
    },
  });
}
