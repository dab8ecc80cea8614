import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/host/platform/clock.ts";
import type { Clock } from "../../src/turn/clock.ts";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { missing, newDatabase } from "../support/postgres-server.ts";
import { onto, serve, type Served } from "../support/serve.ts";
import { agePostgres, ageSqlite } from "../support/stored-ages.ts";

const DAY_MS = 86_400_000;
const STEP_MS = 40 * DAY_MS;

/** The machine's clock with a date that is set, and whose work in the background can be done at once. */
function steppedClock(): Clock & { step(ms: number): void; hurry(): void } {
  let offset = 0;
  const later = new Set<() => void>();
  return {
    now: () => systemClock.now(),
    date: () => systemClock.date() + offset,
    at(moment, then, background) {
      if (background === undefined) return systemClock.at(moment, then);
      const run = (): void => {
        later.delete(run);
        cancel();
        then();
      };
      const cancel = systemClock.at(moment, run, background);
      later.add(run);
      return () => (later.delete(run), cancel());
    },
    step: (ms) => void (offset += ms),
    hurry() {
      const due = [...later];
      for (const run of due) run();
    },
  };
}

const ask = async (to: Served, path: string, body?: unknown): Promise<[number, Body]> => {
  const init =
    body === undefined
      ? {}
      : {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        };
  const response = await fetch(`${to.url}/v1${path}`, init);
  return [response.status, (await response.json()) as Body];
};

type StoreConfig =
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "postgres"; readonly url: string };
type StoreOf = () => Promise<StoreConfig>;

async function threeReplicas(store: StoreConfig) {
  const { promise: held, resolve: go } = Promise.withResolvers<void>();
  const upstream = await fakeUpstream(({ body, text }) => {
    const answer = answerInChat(body, { text: "Hello there, and good day." });
    if (!text.includes("Slowly")) return answer;
    const steps = [...(answer.steps as Iterable<string>)];
    return { ...answer, steps: [...steps.slice(0, 2), held, ...steps.slice(2)] };
  });
  const clocks = [steppedClock(), steppedClock(), steppedClock()] as const;
  const open = (clock: Clock) => serve({ store, ...onto("chat", upstream.url) }, {}, clock);
  const replicas = [await open(clocks[0]), await open(clocks[1]), await open(clocks[2])] as const;
  return {
    replicas,
    clocks,
    go,
    async [Symbol.asyncDispose]() {
      for (const one of replicas) await one[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

type Described = {
  readonly storeOf: StoreOf;
  /** As if the clock of the database had been set forward. */
  readonly set: (store: StoreConfig, ms: number) => Promise<void> | void;
};

function describeSteps(kind: string, { storeOf, set }: Described): void {
  it(`keeps all of it where the clock of ${kind} is set by 40 days, and says so`, async () => {
    const store = await storeOf();
    await using opened = await threeReplicas(store);
    const { replicas, clocks, go } = opened;
    const [first] = replicas;
    const asked = { model: "m", input: "Slowly", background: true };
    const [, begun] = await ask(first, "/responses", asked);
    const [, { id }] = await ask(first, "/responses", { model: "m", input: "Hi" });
    const [, conversation] = await ask(first, "/conversations", {});
    await set(store, STEP_MS);
    for (const at of [0, 1, 2] as const) {
      // New rows show to those that look later that gateways run.
      await ask(replicas[at], "/responses", { model: "m", input: "Hi" });
      clocks[at].hurry();
      const waits = () => replicas[at].happenings.filter(({ type }) => type === "store");
      await expect.poll(waits).toMatchObject([{ event: "waits" }]);
      for (const path of [`/responses/${id}`, `/conversations/${conversation["id"]}`])
        expect((await ask(replicas[at], path))[0]).toBe(200);
      const [, running] = await ask(replicas[at], `/responses/${begun["id"]}`);
      expect(running["status"]).toBe("in_progress");
    }
    go();
    const statusOf = async (): Promise<unknown> =>
      (await ask(replicas[2], `/responses/${begun["id"]}`))[1]["status"];
    await expect.poll(statusOf, { timeout: 20_000 }).toBe("completed");
  }, 60_000);

  it(`keeps what was stored while the clock of ${kind} was set back`, async () => {
    const store = await storeOf();
    await using opened = await threeReplicas(store);
    const [[first], [clock]] = [opened.replicas, opened.clocks];
    const save = async (): Promise<string> => {
      const [, { id }] = await ask(first, "/responses", { model: "m", input: "Hi" });
      return `/responses/${id}`;
    };
    const create = async (): Promise<string> =>
      `/conversations/${(await ask(first, "/conversations", {}))[1]["id"]}`;
    const paths = [await save(), await save(), await save(), await create(), await create()];
    await set(store, -STEP_MS);
    paths.push(await save(), await create());
    await set(store, STEP_MS);
    await save();
    clock.hurry();
    await save();
    clock.hurry();
    for (const path of paths) expect([path, (await ask(first, path))[0]]).toEqual([path, 200]);
    expect(first.happenings.filter(({ type }) => type === "store")).toEqual([]);
  }, 60_000);

  it(`loses nothing and calls nothing lost on ${kind}, whichever clocks are set by 40 days`, async () => {
    await using opened = await threeReplicas(await storeOf());
    const { replicas, clocks, go } = opened;
    const [first, second, third] = replicas;
    const [status, begun] = await ask(first, "/responses", {
      model: "m",
      input: "Slowly",
      background: true,
    });
    expect(status).toBe(200);
    const stored: string[] = [];
    const store = async (to: Served): Promise<void> => {
      stored.push((await ask(to, "/responses", { model: "m", input: "Hi" }))[1]["id"] as string);
    };
    const [, conversation] = await ask(second, "/conversations", {});
    for (const one of replicas) await store(one);
    const paths = (): string[] => [
      ...stored.map((id) => `/responses/${id}`),
      `/conversations/${conversation["id"]}`,
    ];
    const look = async (): Promise<void> => {
      for (const one of replicas) {
        for (const path of paths()) expect([path, (await ask(one, path))[0]]).toEqual([path, 200]);
        const [, running] = await ask(one, `/responses/${begun["id"]}`);
        expect(running["status"]).toBe("in_progress");
      }
    };
    const steps: readonly (readonly [number, number, number])[] = [
      [0, STEP_MS, -STEP_MS],
      [-STEP_MS, -STEP_MS, 2 * STEP_MS],
      [2 * STEP_MS, STEP_MS, 0],
      [-STEP_MS, -STEP_MS, -STEP_MS],
    ];
    for (const step of steps) {
      for (const [at, ms] of step.entries()) clocks[at]?.step(ms);
      for (let times = 0; times < 2; times++) {
        for (const clock of clocks) clock.hurry();
        await look();
      }
      for (const one of replicas) await store(one);
      await look();
    }
    go();
    for (const one of [third, second, first]) {
      const statusOf = async (): Promise<unknown> =>
        (await ask(one, `/responses/${begun["id"]}`))[1]["status"];
      await expect.poll(statusOf, { timeout: 20_000 }).toBe("completed");
    }
  }, 60_000);
}

describe("replicas on one SQLite file", () => {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-clock-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  let files = 0;
  describeSteps("SQLite", {
    storeOf: async () => ({ kind: "sqlite", path: join(folder, `${++files}.db`) }),
    set: (store, ms) => (store.kind === "sqlite" ? ageSqlite(store.path, ms) : undefined),
  });
});

describe.skipIf(missing !== undefined)(`replicas on one PostgreSQL${missing ?? ""}`, () => {
  describeSteps("PostgreSQL", {
    storeOf: async () => ({ kind: "postgres", url: await newDatabase() }),
    set: (store, ms) => (store.kind === "postgres" ? agePostgres(store.url, ms) : undefined),
  });
});
