import type { Source } from "../../stream/flow.ts";
import { until, type Clock } from "../../turn/clock.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import { retrying } from "../retry.ts";
import type { OpenOptions, Upstream } from "../upstream.ts";
import { attemptOf } from "./attempt.ts";
import { bundledModels } from "./bundled.ts";
import { findCommand } from "./command.ts";
import type { CodexFailing } from "./faults.ts";
import { ParkedThreads } from "./parked-threads.ts";
import { bufferedSink } from "./buffered-sink.ts";
import { continuationOf, keyOf } from "./parked.ts";
import { Pool, type Seat } from "./pool.ts";
import { writeCodexRequest, type CodexRequest } from "./request.ts";
import { signIn, startServer, type AppServer, type Notice } from "./server.ts";
import { childEnvironment, needsLogin, type Provider } from "./settings.ts";
import { Thread } from "./thread.ts";
import { Worker } from "./worker.ts";

type Event = TurnEvent<UpstreamName>;

export type CodexOptions = {
  readonly name: string;
  readonly profile: Profile;
  /** The binary: a path, or a name on PATH. */
  readonly command: string;
  /** The child's CODEX_HOME. */
  readonly home: string;
  readonly processes: number;
  /** So many turns a process carries at once, and so many may wait for that. */
  readonly seats: number;
  readonly queue: number;
  readonly provider: Provider;
  readonly models: readonly string[];
  /** Milliseconds: of one request to the child, and of silence in mid-answer. */
  readonly timeouts: { readonly connect: number; readonly idle: number };
  /** How long a thread may wait for the results of its calls; 0: not at all. */
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
/** How often a turn is tried again that failed before its first word. */
const RETRIES = 2;
/** So much of an answer waits for a client that reads slower than the model speaks; in bytes or so. */
const MOST_HELD = 4 * 1024 * 1024;
const weightOf = (event: Event): number => 64 + ("text" in event ? event.text.length : 0);

/** What the turns of one upstream share. */
type Shared = {
  readonly pool: Pool;
  /** Threads that wait for results. */
  readonly lot: ParkedThreads<Thread>;
  /** All threads there are, and where. */
  readonly threads: Map<Thread, Worker>;
  readonly newThread: (server: AppServer, request: CodexRequest, tenant: string) => Thread;
};

/** The models that Codex can reach, by way of its app-server. */
export function codexUpstream(options: CodexOptions): Upstream {
  const { profile, clock, provider, home } = options;
  const workers = openWorkers(options);
  const pool = new Pool(workers, options);
  const shared = share(pool, options);
  return {
    name: options.name,
    profile,
    prepare(turn, { model, profile: modelProfile }) {
      const request = writeCodexRequest(turn, model, modelProfile);
      return {
        decisions: request.decisions,
        open: ({ retry, tenant }) =>
          retrying(attemptOf(answer(request, { retry, tenant }, shared)), {
            retries: retry ? RETRIES : 0,
            clock,
            random: options.random,
            failed: (fault) => ({ type: "turn-fail", fault }),
          }),
      };
    },
    async models() {
      // Only OpenAI's own address is known to have the models that Codex is built for.
      if (options.models.length > 0 || provider.baseUrl !== undefined) return options.models;
      const file = findCommand(options.command, options.environment["PATH"] ?? "");
      if (file === undefined) return [];
      return bundledModels(file, childEnvironment(options.environment, home, {}));
    },
    async trouble() {
      const troubles = await Promise.all(workers.map((worker) => worker.trouble()));
      // One process is enough to serve.
      return troubles.includes(undefined) ? undefined : troubles[0];
    },
    async close() {
      const { lot, threads } = shared;
      lot.clear();
      // Running turns may end, but not for ever.
      await until(clock, () => threads.size === 0, clock.now() + CLOSE_MS);
      await Promise.all(workers.map((worker) => worker.close()));
    },
  };
}

function openWorkers(options: CodexOptions): readonly Worker[] {
  const notice = options.notice ?? (() => {});
  const timeout = options.timeouts.connect;
  // One after the other: two that find a new home at once both want to furnish it.
  let before: Promise<unknown> = Promise.resolve();
  const start = (gone: () => void): Promise<AppServer> => {
    const started = before.then(() => startServer({ ...options, timeout, notice }, gone));
    before = started.catch(() => {}); // Told to whoever asked for it.
    return started;
  };
  return Array.from({ length: options.processes }, () => new Worker(start, options.clock));
}

function share(pool: Pool, options: CodexOptions): Shared {
  const { name, clock, provider, home, parkMs, parked: most } = options;
  const { apiKey } = provider;
  const failing: CodexFailing = {
    name,
    origin: provider.baseUrl ?? "",
    secrets: apiKey === undefined || apiKey.length < 4 ? [] : [apiKey],
    signIn: needsLogin(provider) ? signIn(options) : undefined,
  };
  const threads = new Map<Thread, Worker>();
  const lot = new ParkedThreads<Thread>({ clock, ttl: parkMs, most });
  const newThread: Shared["newThread"] = (server, request, tenant) =>
    new Thread({
      server,
      request,
      failing,
      clock,
      directory: home,
      idle: options.timeouts.idle,
      park(parked, said) {
        if (parkMs === 0 || most === 0) return false;
        lot.park(keyOf(tenant, parked.request, said), parked);
        return true;
      },
      over(ended) {
        lot.forget(ended);
        threads.delete(ended);
      },
    });
  return { pool, lot, threads, newThread };
}

/** One answer: in the thread that waits for this request, else in a fresh one. */
function answer(
  request: CodexRequest,
  { retry, tenant }: Pick<OpenOptions, "retry" | "tenant">,
  { pool, lot, threads, newThread }: Shared,
): Source<Event> {
  return (sink) => {
    let thread: Thread | undefined;
    let seat: Seat | undefined;
    let leaveLine = (): void => {};
    const out = bufferedSink(sink, {
      most: MOST_HELD,
      weigh: weightOf,
      stopped() {
        leaveLine();
        thread?.release();
      },
    });
    const fail = (error: unknown): void => {
      seat?.leave();
      out.emit({ type: "turn-fail", fault: error instanceof Fault ? error : internal(error) });
      out.end();
    };

    /** A fresh thread, told the whole conversation. */
    const replay = async ({ worker, leave }: Seat, again?: () => void): Promise<void> => {
      const server = await worker.server();
      if (out.left()) return leave();
      thread = newThread(server, request, tenant);
      threads.set(thread, worker);
      await thread.answer(out, { done: leave, again });
    };
    const enter = (sit: (taken: Seat) => Promise<void>, wanted?: Worker): void => {
      const take = (taken: Seat): void => {
        seat = taken;
        sit(taken).catch(fail);
      };
      try {
        leaveLine = pool.enter(take, wanted);
      } catch (error) {
        fail(error);
      }
    };
    const afresh = (): void => enter((taken) => replay(taken));

    queueMicrotask(() => {
      const further = lot.size === 0 ? undefined : continuationOf(tenant, request);
      const parked = further && lot.take(further.key);
      if (parked === undefined || further === undefined)
        return enter((taken) => replay(taken, retry ? afresh : undefined));
      thread = parked;
      enter(async (taken) => {
        const answering = { done: taken.leave, again: afresh };
        if (!(await parked.proceed(further, request, out, answering))) await replay(taken);
      }, threads.get(parked));
    });
    return out;
  };
}

const internal = (error: unknown): Fault =>
  new Fault(
    "gateway.internal",
    "The gateway failed on the way to Codex; its log has the reason.",
    {},
    error,
  );
