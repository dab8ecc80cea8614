import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { received } from "../support/client-answer.ts";
import {
  ask,
  bodyFor,
  doors,
  readDoors,
  doorUrl,
  readStream,
  readAnswer,
  type DoorName,
} from "../support/client.ts";
import { chunk } from "../support/fake-model.ts";
import {
  done,
  fakeUpstream,
  hang,
  json,
  sse,
  type Body,
  type FakeUpstream,
} from "../support/fake-upstream.ts";
import { heapBytes } from "../support/heap.ts";
import { untilUnchanged, until } from "../support/loopback.ts";
import { onto, serve, type Served } from "../support/serve.ts";
import { stillClock } from "../support/still-clock.ts";

/** Much less than any answer or connection is waited for, and enough on a busy machine. */
const SOON = 5_000;
const MEGABYTE = 1_000_000;
const hello = [chunk(0, { role: "assistant", content: "Hel" }), chunk(0, { content: "lo" })];

/** How long the upstream was kept after the client had gone. */
async function timeToLeave(upstream: FakeUpstream, leave: () => void): Promise<number> {
  const left = performance.now();
  leave();
  await Promise.all(upstream.requests.map(({ closed }) => closed));
  return performance.now() - left;
}

/** What a request that is bound to fail fails with. */
const failure = (asked: Promise<Response>): Promise<unknown> =>
  asked.then(
    () => undefined,
    (error: unknown) => error,
  );

describe.each(readDoors)("a client of the %s door that leaves", (door) => {
  it.each([true, false])(
    "before the upstream has answered takes the upstream along (stream: %s)",
    async (stream) => {
      await using upstream = await fakeUpstream(() => sse(hang));
      await using served = await serve(onto("chat", upstream.url));
      const abort = new AbortController();
      const asked = failure(ask(served, door, { stream }, { signal: abort.signal }));
      await until(() => upstream.requests.length === 1);
      expect(await timeToLeave(upstream, () => abort.abort())).toBeLessThan(SOON);
      expect(await asked).toMatchObject({ name: "AbortError" });
      await until(() => upstream.connections() === 0);
      expect(served.turns()).toMatchObject([{ outcome: "left", status: 499, stream }]);
    },
  );

  it("in the middle of a stream takes the upstream along", async () => {
    await using upstream = await fakeUpstream(() => sse(...hello, hang));
    await using served = await serve(onto("chat", upstream.url));
    const abort = new AbortController();
    const response = await ask(served, door, { stream: true }, { signal: abort.signal });
    await response.body?.getReader().read();
    expect(await timeToLeave(upstream, () => abort.abort())).toBeLessThan(SOON);
    await until(() => upstream.connections() === 0 && served.turns().length === 1);
    expect(served.turns()).toMatchObject([{ outcome: "left" }]);
  });

  it("in the middle of an answer that is not streamed takes the upstream along", async () => {
    await using upstream = await fakeUpstream(() => sse(...hello, hang));
    await using served = await serve(onto("chat", upstream.url));
    const abort = new AbortController();
    const asked = failure(ask(served, door, {}, { signal: abort.signal }));
    await until(() => upstream.requests.length === 1);
    expect(await timeToLeave(upstream, () => abort.abort())).toBeLessThan(SOON);
    expect(await asked).toMatchObject({ name: "AbortError" });
    await until(() => upstream.connections() === 0);
  });

  it("while the gateway waits to try again is not asked for again", async () => {
    const busy = json({ error: { message: "Busy." } }, 503, { "retry-after-ms": "200" });
    await using upstream = await fakeUpstream(() => busy);
    const clock = stillClock(Date.now());
    await using served = await serve(onto("chat", upstream.url, { retries: 1 }), {}, clock);
    const { promise: waits, resolve } = Promise.withResolvers<void>();
    served.gateway.subscribe(({ type }) => type === "attempt" && resolve(), { steps: true });
    const abort = new AbortController();
    const asked = failure(ask(served, door, {}, { signal: abort.signal }));
    await waits;
    abort.abort();
    expect(await asked).toMatchObject({ name: "AbortError" });
    await until(() => served.turns().length === 1);
    clock.move(1_000);
    const later = ask(served, door);
    await until(() => {
      clock.move(200);
      return upstream.requests.length === 3;
    });
    expect((await later).status).toBe(503);
    expect(upstream.requests).toHaveLength(3);
  });
});

describe("many clients", () => {
  it("that leave in mid-stream leave nothing behind", async () => {
    await using upstream = await fakeUpstream(() => sse(...hello, hang));
    await using served = await serve(onto("chat", upstream.url));
    await abandon(200, served);
    await until(() => upstream.connections() === 0);
    const before = await heapBytes();
    await abandon(200, served);
    await abandon(200, served);
    await until(() => upstream.connections() === 0);
    // The test itself keeps about 14 kB of a turn; a turn that is not let go of holds far more.
    expect((await heapBytes()) - before).toBeLessThan(8 * MEGABYTE);
    expect(served.turns().filter(({ outcome }) => outcome === "left")).toHaveLength(600);
    const metrics = await (await fetch(`${served.url}/metrics`)).text();
    expect(metrics).toMatch(/^patchbay_turns_running 0$/m);
  });

  async function abandon(clients: number, served: Served): Promise<void> {
    const over = served.turns().length + clients;
    const abort = new AbortController();
    await Promise.all(
      Array.from({ length: clients }, async (_, index) => {
        const door = doors[index % 2] as DoorName;
        const response = await ask(served, door, { stream: true }, { signal: abort.signal });
        await response.body?.getReader().read();
      }),
    );
    abort.abort();
    await until(() => served.turns().length === over);
  }

  it("never see each other's words", async () => {
    const clients = Array.from({ length: 100 }, (_, index) => ({
      marker: `marker-${index}-`,
      door: doors[index % 2] as DoorName,
      stream: index % 4 < 2,
    }));
    const all = Promise.withResolvers<void>();
    const breath = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    await using upstream = await fakeUpstream(({ body }, index) => {
      if (index === clients.length - 1) all.resolve();
      const marker = (body["messages"] as Body[])[0]?.["content"] as string;
      const words = Array.from({ length: 20 }, () => [chunk(0, { content: marker }), breath()]);
      const begin = chunk(0, { role: "assistant", content: "" });
      return sse(begin, all.promise, ...words.flat(), chunk(0, {}, "stop"), done);
    });
    await using served = await serve(onto("chat", upstream.url));
    const texts = await Promise.all(
      clients.map(async ({ marker, door, stream }) => {
        const said =
          door === "chat" ? { messages: [{ role: "user", content: marker }] } : { input: marker };
        return (await readAnswer(door, await ask(served, door, { stream, ...said }))).text;
      }),
    );
    expect(texts).toEqual(clients.map(({ marker }) => marker.repeat(20)));
  });
});

describe.each(readDoors)("a slow client of the %s door", (door) => {
  const PIECE = "x".repeat(16_000);
  const PIECES = 3_200;

  it("slows the upstream down instead of filling the gateway", async () => {
    let sent = 0;
    function* steps(): Generator<string> {
      yield chunk(0, { role: "assistant", content: "" });
      for (; sent < PIECES; sent++) yield chunk(0, { content: PIECE });
      yield chunk(0, {}, "stop");
      yield done;
    }
    await using upstream = await fakeUpstream(() => ({ ...sse(), steps: steps() }));
    await using served = await serve(onto("chat", upstream.url));
    const before = await heapBytes();
    const response = await open(served);
    await untilUnchanged(() => sent);
    // Sockets hold a few megabytes each; what is beyond them would be held by us.
    const held = sent;
    expect(held * PIECE.length).toBeLessThan(25 * MEGABYTE);
    expect((await heapBytes()) - before).toBeLessThan(16 * MEGABYTE);
    for await (const _ of response) if (sent > held) break;
    await upstream.requests[0]?.closed;
    expect(sent).toBeLessThan(PIECES);
  });

  /** An answer that nobody reads yet. */
  async function open(served: Served): Promise<IncomingMessage> {
    const asking = request(doorUrl(served, door, { stream: true }), {
      method: "POST",
      headers: { "content-type": "application/json" },
    });
    asking.end(JSON.stringify(bodyFor(door, { stream: true })));
    const [response] = (await once(asking, "response")) as [IncomingMessage];
    return response;
  }
});

it("lets turns under way end when it closes, and takes no new ones", async () => {
  const more = Promise.withResolvers<void>();
  const end = [chunk(0, { content: "!" }), chunk(0, {}, "stop"), done];
  await using upstream = await fakeUpstream(() => sse(...hello, more.promise, ...end));
  const served = await serve(onto("chat", upstream.url));
  const response = await ask(served, "chat", { stream: true });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = (await reader?.read())?.value ?? "";
  const closing = served.gateway.close(10_000);
  expect((await ask(served, "chat")).status).toBe(503);
  const open = ["/readyz", "/livez", "/healthz", "/metrics"];
  const states = await Promise.all(open.map((path) => fetch(served.url + path)));
  expect(states.map(({ status }) => status)).toEqual([503, 200, 200, 200]);
  more.resolve();
  for (let step = await reader?.read(); step?.done === false; step = await reader?.read())
    text += step.value;
  expect(readStream("chat", text)).toMatchObject({ text: "Hello!", stop: "stop" });
  await closing;
  await served[Symbol.asyncDispose]();
});

it("ends those that outstay the grace honestly", async () => {
  await using upstream = await fakeUpstream(() => sse(...hello, hang));
  for (const door of readDoors) {
    const served = await serve(onto("chat", upstream.url));
    const response = await ask(served, door, { stream: true });
    const text = received(response);
    const asked = ask(served, door);
    await until(() => upstream.requests.length % 2 === 0);
    await served[Symbol.asyncDispose]();
    expect(readStream(door, (await text).text).error).toBeDefined();
    expect(await readAnswer(door, await asked)).toMatchObject({
      status: 503,
      error: { code: "gateway.stopping" },
    });
  }
});
