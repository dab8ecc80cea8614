import { expect, it } from "vitest";
import { parseConfig } from "../../src/gateway/config.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { MemoryLog } from "../../src/history/memory-log.ts";
import type { StoredTurn } from "../../src/history/log.ts";
import { newId } from "../../src/host/platform/ids.ts";
import { nodeRuntime } from "../../src/host/platform/node.ts";
import type { Body } from "../support/fake-upstream.ts";
import { stillClock } from "../support/still-clock.ts";

/** A log in memory that writes ended turns only after `commit` is called. */
class SlowLog extends MemoryLog {
  readonly #committed = Promise.withResolvers<void>();
  readonly #begun = Promise.withResolvers<void>();

  readonly commit = this.#committed.resolve;
  /** Resolves when a turn is given to the log. */
  readonly begun = this.#begun.promise;

  override append(turn: StoredTurn): Promise<void> | undefined {
    if (turn.usage === undefined) return super.append(turn);
    this.#begun.resolve();
    return this.#committed.promise.then(() => super.append(turn));
  }
}

function gatewayOnSlowStore() {
  const clock = stillClock(1_700_000_000_000);
  const store = new SlowLog(clock);
  const script = { turns: [[{ text: "Hello." }]] };
  const config = parseConfig({
    upstreams: { fake: { dialect: "scripted", script } },
    models: { "*": "fake/*" },
    store: { kind: "sqlite", path: "unused" },
  });
  const gateway = openGateway(config, {
    clock,
    newId,
    random: () => 0.5,
    runtime: { ...nodeRuntime, openStore: () => store },
    report: () => {},
  });
  const ask = (path: string, body: Body): Promise<Response> =>
    gateway.fetch(
      new Request(`http://localhost/v1${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: "m", ...body }),
      }),
    );
  return {
    ask,
    commit: store.commit,
    /** Resolves when the ended turn is given to the store, and all that was sent before has come. */
    async begun(): Promise<void> {
      await store.begun;
      for (let looks = 0; looks < 20; looks++) await new Promise(setImmediate);
    },
    [Symbol.asyncDispose]: () => gateway.close(0),
  };
}

/** The text of an answer so far. */
function reading({ body }: Response) {
  const read = { text: "", ended: Promise.resolve() };
  read.ended = (async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const bytes of body ?? []) read.text += decoder.decode(bytes as Uint8Array);
  })();
  return read;
}

const messages = [{ role: "user", content: "Hi" }];
const stored = [
  ["response", "/responses", { input: "Hi" }, /response\.completed/],
  ["conversation", "/responses", { input: "Hi", store: false }, /response\.completed/],
  [
    "thread",
    "/messages",
    { messages, max_tokens: 9, thread: { type: "create" } },
    /stop_reason":"/,
  ],
  ["completion", "/chat/completions", { messages, store: true }, /finish_reason":"|\[DONE\]/],
] as const;
const inBackground = [
  "background response",
  "/responses",
  { input: "Hi", background: true },
  /response\.completed/,
] as const;

it.each([...stored, inBackground])(
  "the end of a streamed answer waits until its %s is stored",
  async (kind, path, body, end) => {
    await using slow = gatewayOnSlowStore();
    const { id } = (await (await slow.ask("/conversations", {})).json()) as Body;
    const more = kind === "conversation" ? { conversation: id } : {};
    const response = await slow.ask(path, { ...body, ...more, stream: true });
    const read = reading(response);
    await slow.begun();
    expect(read.text).toContain("Hello.");
    expect(read.text).not.toMatch(end);
    slow.commit();
    await read.ended;
    expect(read.text).toMatch(end);
    expect(read.text).not.toContain("unconfirmed");
  },
);

it("of several choices each end is streamed, and the end of the stream waits", async () => {
  await using slow = gatewayOnSlowStore();
  const asked = { messages, store: true, stream: true, n: 2 };
  const read = reading(await slow.ask("/chat/completions", asked));
  await slow.begun();
  expect(read.text.match(/Hello\./g)).toHaveLength(2);
  expect(read.text.match(/finish_reason":"stop/g)).toHaveLength(2);
  expect(read.text).not.toContain("[DONE]");
  slow.commit();
  await read.ended;
  expect(read.text).toContain("[DONE]");
});

it.each(stored)("a whole answer waits until its %s is stored", async (kind, path, body) => {
  await using slow = gatewayOnSlowStore();
  const { id } = (await (await slow.ask("/conversations", {})).json()) as Body;
  const more = kind === "conversation" ? { conversation: id } : {};
  let isAnswered = false;
  const asking = slow.ask(path, { ...body, ...more }).then((response) => {
    isAnswered = true;
    return response;
  });
  await slow.begun();
  expect(isAnswered).toBe(false);
  slow.commit();
  const response = await asking;
  expect(response.headers.get("x-patchbay-store")).toBeNull();
  expect(await response.text()).toContain("Hello.");
});
