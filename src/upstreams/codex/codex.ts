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
import { type Resumption, continuationOf, ParkedThreads, threadKey } from "./continuation.ts";
import { type CodexContext, failureOf } from "./faults.ts";
import { Pool, type TurnSlot, Worker } from "./worker.ts";
import { type CodexRequest, writeCodexRequest } from "./request.ts";
import { type AppServer, type ServerNotice, startServer } from "./server.ts";
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
  /** Most turns that wait for a process. */
  readonly queue: number;
  readonly provider: Provider;
  readonly models: readonly string[];
  /** Milliseconds: the longest request to a process, and the longest silence in mid-answer. */
  readonly timeouts: { readonly connect: number; readonly idle: number };
  /** Longest wait of a thread for the results of its calls, in milliseconds; 0: threads do not wait. */
  readonly parkMs: number;
  /** Most threads that wait for results. */
  readonly parked: number;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** From 0 up to 1, to spread retries. */
  readonly random: () => number;
  readonly notice?: ((notice: ServerNotice) => void) | undefined;
};

const CLOSE_MS = 10_000;
const RETRIES = 2;
/** Shorter keys would be found in ordinary words. */
const MIN_SECRET = 4;

/** Shared by all turns of one upstream. */
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

/** The models that Codex can reach, by its app-server. */
export function codexUpstream(options: CodexOptions): Upstream {
  const { profile, provider, home, environment, clock } = options;
  const shared = share(options);
  const { pool, parked, threads } = shared;
  const close = async (): Promise<void> => {
    parked.clear();
    await until(clock, () => threads.size === 0, clock.now() + CLOSE_MS);
    await Promise.all(pool.workers.map((worker) => worker.close()));
  };
  let closing: Promise<void> | undefined;
  return {
    name: options.name,
    profile,
    // Codex takes and gives the items of this dialect, and its errors name the dialect's fields.
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
    close: () => (closing ??= close()),
  };
}

function share(options: CodexOptions): Shared {
  const { name, home, provider, clock, timeouts, notice = () => {} } = options;
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
  // One after the other: two processes that find a new home at once both initialize it, and one fails.
  let previous: Promise<unknown> = Promise.resolve();
  const start = (onExit: () => void): Promise<AppServer> => {
    const settings = { ...options, timeout: timeouts.connect, notice };
    const started = previous.then(() => startServer(settings, onExit));
    previous = started.catch(() => {}); // The worker that started it reports the error.
    return started;
  };
  const workers = Array.from({ length: options.processes }, () => new Worker(start, clock, codex));
  const parked = new ParkedThreads<Thread>({ clock, ttl: options.parkMs, limit: options.parked });
  return { options, codex, pool: new Pool(workers, options), parked, threads: new Map() };
}

/** A parked thread and the request that continues it. */
type Parked = { readonly thread: Thread; readonly continuation: Resumption };

/** One turn. Its first attempt may continue a parked thread; any other starts a new one. */
class CodexTurn extends Retries {
  readonly #shared: Shared;
  readonly #asked: Asked;
  #parked: Parked | undefined;

  constructor(shared: Shared, asked: Asked, sink: Sink<Event>) {
    const { options, parked } = shared;
    const { clock, random } = options;
    const continuation =
      parked.size === 0 ? undefined : continuationOf(asked.tenant, asked.request);
    const thread = continuation && parked.take(continuation.key);
    // The new thread after a parked one is not counted as a retry.
    const retries = (asked.retry ? RETRIES : 0) + (thread === undefined ? 0 : 1);
    super(sink, { retries, clock, random, watch: asked.watch });
    this.#shared = shared;
    this.#asked = asked;
    this.#parked = thread && continuation && { thread, continuation };
  }

  protected attempt(): Flow {
    const { codex, pool, threads } = this.#shared;
    const { request } = this.#asked;
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
        if (await parked?.thread.proceed(parked.continuation, request, out, leave)) return;
        const server = out.stopped ? undefined : await worker.server();
        if (server === undefined || out.stopped) return leave();
        thread = this.#newThread(server);
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

  #newThread({ rpc }: AppServer): Thread {
    const { options, codex, parked, threads } = this.#shared;
    const { request, tenant, onMessage } = this.#asked;
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
}
