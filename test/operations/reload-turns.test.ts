import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ConfigInput } from "../../src/gateway/config.ts";
import { pidOf, standIn } from "../codex-upstream/gateway.ts";
import { backs } from "../disclosure/backs.ts";
import { doors as talks } from "../disclosure/doors.ts";
import { someTools } from "../disclosure/tools.ts";
import { ask, readAnswer } from "../support/client.ts";
import { answerInChat, chunk } from "../support/fake-model.ts";
import { done, fakeUpstream, json, sse, type FakeUpstream } from "../support/fake-upstream.ts";
import { serve } from "../support/serve.ts";
import { stillClock } from "../support/still-clock.ts";

/** A promise, and what fulfils it. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => void (open = resolve));
  return { opened, open: () => open() };
}

/** Longer than any grace of a gateway that goes on running. */
const HOUR = 3_600_000;
/** Longer than an upstream that is closed lets its turns run, and shorter than a count may take. */
const CLOSE_GRACE = 12_000;

const keyed = (upstream: FakeUpstream, key: string, more = {}): ConfigInput => ({
  upstreams: {
    a: { dialect: "chat", base_url: upstream.url, api_key: key, retries: 0, ...more },
  },
  models: { "*": "a/*" },
});

const keysAt = ({ requests }: FakeUpstream): unknown[] =>
  requests.map(({ headers }) => headers.authorization);

const begun = chunk(0, { role: "assistant", content: "Hello, " });
const rest = [chunk(0, { content: "world!" }), chunk(0, {}, "stop"), done];

/** What may change of an upstream while a turn asks it. */
const changes: Readonly<Record<string, (upstream: FakeUpstream) => ConfigInput>> = {
  "its key": (upstream) => keyed(upstream, "new"),
  "its profile": (upstream) => keyed(upstream, "old", { profile: "deepseek" }),
  "its name": ({ url }) => ({
    upstreams: { b: { dialect: "chat", base_url: url } },
    models: { "*": "b/*" },
  }),
  everything: () => ({ upstreams: { demo: { dialect: "scripted" } } }),
};

describe("a turn under way while the configuration changes", () => {
  it.each(Object.entries(changes))("has its answer to the end: %s", async (_, change) => {
    const clock = stillClock();
    const [asked, goOn] = [gate(), gate()];
    await using upstream = await fakeUpstream(() => {
      asked.open();
      return sse(begun, goOn.opened, ...rest);
    });
    await using served = await serve(keyed(upstream, "old"), {}, clock);
    const pending = ask(served, "chat", { stream: true });
    await asked.opened;
    served.reconfigure(change(upstream));
    clock.move(HOUR);
    await new Promise(setImmediate);
    goOn.open();
    const answer = await readAnswer("chat", await pending);
    expect([answer.text, answer.error]).toEqual(["Hello, world!", undefined]);
    // Nobody needs its connections any more.
    await vi.waitFor(() => expect(upstream.connections()).toBe(0));
  });

  it("leaves the upstream as it is for a turn that began under the configuration before", async () => {
    const [asked, goOn] = [gate(), gate()];
    await using upstream = await fakeUpstream((_, index) => {
      if (index > 0) return sse(begun, ...rest);
      asked.open();
      return sse(begun, goOn.opened, ...rest);
    });
    await using served = await serve(keyed(upstream, "old"));
    const pending = ask(served, "chat", { stream: true });
    await asked.opened;
    // What the turn has asked is the same in the second configuration, and gone in the third.
    served.reconfigure({ ...keyed(upstream, "old"), tools: { block_max: 1 } });
    served.reconfigure(keyed(upstream, "new"));
    await readAnswer("chat", await ask(served, "chat"));
    goOn.open();
    expect((await readAnswer("chat", await pending)).text).toBe("Hello, world!");
    expect(keysAt(upstream)).toEqual(["Bearer old", "Bearer new"]);
  });

  it("has its further rounds from the same upstream, where tools are folded", async () => {
    const back = backs.find(({ strategy }) => strategy === "wrap");
    if (back === undefined) throw new Error("there is no such back");
    const clock = stillClock();
    const [asked, goOn] = [gate(), gate()];
    await using upstream = await fakeUpstream(({ body }, index) => {
      if (index > 0) return back.answer(body, { text: "All read." }, index);
      asked.open();
      const { steps, ...head } = back.answer(body, { reads: ["ticket_1"] }, index);
      return { ...head, steps: [goOn.opened, ...(steps as Iterable<string>)] };
    });
    await using served = await serve(keyed(upstream, "old", back.more), {}, clock);
    const talk = talks.chat(served);
    const pending = talk.ask("Look.", { tools: someTools(60), stream: true, mode: "wrap" });
    await asked.opened;
    served.reconfigure(keyed(upstream, "new"));
    clock.move(HOUR);
    goOn.open();
    expect((await pending).text).toBe("All read.");
    expect(keysAt(upstream)).toEqual(["Bearer old", "Bearer old"]);
    await vi.waitFor(() => expect(upstream.connections()).toBe(0));
  });

  it("has the next of its chain in place of one that fails", async () => {
    const clock = stillClock();
    const [asked, goOn] = [gate(), gate()];
    await using first = await fakeUpstream(() => {
      asked.open();
      return { ...json({ error: { message: "Overloaded." } }, 503), steps: [goOn.opened, "{}"] };
    });
    await using second = await fakeUpstream(({ body }) => answerInChat(body, { text: "Here." }));
    const chained = (key: string): ConfigInput => ({
      upstreams: {
        a: { dialect: "chat", base_url: first.url, api_key: key, retries: 0 },
        b: { dialect: "chat", base_url: second.url, api_key: key, retries: 0 },
      },
      models: { m: ["a/one", "b/two"] },
    });
    await using served = await serve(chained("old"), {}, clock);
    const pending = ask(served, "chat");
    await asked.opened;
    served.reconfigure(chained("new"));
    clock.move(HOUR);
    goOn.open();
    expect((await readAnswer("chat", await pending)).text).toBe("Here.");
    expect(keysAt(second)).toEqual(["Bearer old"]);
    await vi.waitFor(() => expect(second.connections()).toBe(0));
  });

  it("goes on where its answer is made in the background", async () => {
    const clock = stillClock();
    const [asked, goOn] = [gate(), gate()];
    await using upstream = await fakeUpstream(() => {
      asked.open();
      return sse(begun, goOn.opened, ...rest);
    });
    await using served = await serve(keyed(upstream, "old"), {}, clock);
    const response = await ask(served, "responses", { background: true });
    const { id } = (await response.json()) as { id: string };
    await asked.opened;
    served.reconfigure(keyed(upstream, "new"));
    clock.move(HOUR / 60);
    goOn.open();
    await vi.waitFor(async () => {
      const stored = await fetch(`${served.url}/v1/responses/${id}`);
      expect(await stored.text()).toContain("Hello, world!");
    });
  });

  it("is counted by the upstream that was asked for the count", async () => {
    const clock = stillClock();
    const [asked, goOn] = [gate(), gate()];
    await using upstream = await fakeUpstream(() => {
      asked.open();
      return { ...json({}), steps: [goOn.opened, '{"input_tokens":42}'] };
    });
    const config = (key: string): ConfigInput => ({
      upstreams: {
        a: { dialect: "messages", profile: "anthropic", base_url: upstream.url, api_key: key },
      },
      models: { "*": "a/*" },
    });
    await using served = await serve(config("old"), {}, clock);
    const messages = [{ role: "user", content: "Hi" }];
    const pending = fetch(`${served.url}/v1/messages/count_tokens`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "m", messages }),
    });
    await asked.opened;
    served.reconfigure(config("new"));
    clock.move(CLOSE_GRACE);
    goOn.open();
    const response = await pending;
    expect(response.headers.get("x-patchbay-token-count")).toBe("upstream");
    expect(await response.json()).toEqual({ input_tokens: 42 });
  });

  it("is asked of a Codex that stays until then", async () => {
    const clock = stillClock();
    const home = await mkdtemp(join(tmpdir(), "patchbay-codex-home-"));
    onTestFinished(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));
    const command = await standIn();
    const config = (key: string): ConfigInput => ({
      upstreams: {
        codex: { dialect: "codex", command, home, base_url: "http://127.0.0.1:9", api_key: key },
      },
      models: { "*": "codex/*" },
    });
    await using served = await serve(config("sk-old"), { HOME: home }, clock);
    const pending = ask(served, "chat", { model: "held" });
    // Before that, the clock would end the start of the process instead of its grace.
    await vi.waitFor(() => expect(existsSync(join(home, "held"))).toBe(true), 60_000);
    const pid = pidOf({ served });
    served.reconfigure(config("sk-new"));
    for (let at = 0; at < 20; at++) {
      await new Promise(setImmediate);
      clock.move(1_000);
    }
    await writeFile(join(home, "go"), "");
    expect((await readAnswer("chat", await pending)).text).toBe("I am thread_1.");
    await vi.waitFor(() => {
      clock.move(20);
      expect(() => process.kill(pid, 0)).toThrow("ESRCH");
    }, 60_000);
    expect(served.happenings.filter(({ type }) => type === "child")).toHaveLength(1);
  });

  it("ends with the gateway, and so does the upstream that was kept for it", async () => {
    const asked = gate();
    await using upstream = await fakeUpstream(() => {
      asked.open();
      return sse(begun, new Promise(() => {}));
    });
    await using served = await serve(keyed(upstream, "old"));
    const pending = ask(served, "chat", { stream: true });
    await asked.opened;
    served.reconfigure(keyed(upstream, "new"));
    await served.close(50);
    expect((await readAnswer("chat", await pending)).error).toMatchObject({
      code: "gateway.stopping",
    });
    expect(upstream.connections()).toBe(0);
  });
});
