import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { bodyFor, doors, doorUrl, type DoorName } from "../support/client.ts";
import { chunk } from "../support/fake-model.ts";
import {
  done,
  fakeUpstream,
  hang,
  sse,
  type FakeUpstream,
  type Step,
} from "../support/fake-upstream.ts";
import { until } from "../support/loopback.ts";
import { onto, serve, type Served } from "../support/serve.ts";

/** Much less than any answer or connection is waited for, and enough on a busy machine. */
const SOON = 5_000;

type Wish = {
  readonly door: DoorName;
  readonly stream: boolean;
  readonly version: "1.0" | "1.1";
};
const wishes: readonly Wish[] = doors.flatMap((door) =>
  [true, false].map((stream) => ({ door, stream, version: "1.1" as const })),
);

/** A client on a bare connection that has sent its request, and may still change its mind. */
function asking(served: Served, wish: Wish): Socket {
  const { hostname, port } = new URL(served.url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  send(socket, served, wish);
  return socket;
}

function send(socket: Socket, served: Served, { door, stream, version }: Wish): void {
  const { pathname } = new URL(doorUrl(served, door));
  const body = JSON.stringify(bodyFor(door, { stream }));
  socket.write(
    `POST ${pathname} HTTP/${version}\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
}

const hello = chunk(0, { role: "assistant", content: "Hello." });
const rest = [chunk(0, {}, "stop"), done];

describe.each(wishes)("a client with nothing more to say ($door, $stream)", (wish) => {
  it.each([
    ["before", (wait: Promise<void>): Step[] => [wait, hello, ...rest]],
    ["in the middle of", (wait: Promise<void>): Step[] => [hello, wait, ...rest]],
  ])("that closes its side %s the answer gets all of it", async (_, steps) => {
    const { promise: heard, resolve } = Promise.withResolvers<void>();
    await using upstream = await fakeUpstream(() => sse(...steps(heard)));
    await using served = await serve(onto("chat", upstream.url));
    const socket = asking(served, wish);
    const said = text(socket);
    await until(() => upstream.requests.length === 1);
    if (wish.stream && steps(heard)[0] === hello) await once(socket, "readable");
    await new Promise<void>((sent) => socket.end(sent));
    // Longer than it takes to ask whether anybody is there still.
    setTimeout(resolve, 100);
    const answer = await said;
    expect(answer).toContain("Hello.");
    expect(answer).toMatch(/HTTP\/1\.1 200 OK\r\n/);
    expect(answer.includes("data: [DONE]")).toBe(wish.stream);
    expect(served.turns()).toMatchObject([{ outcome: "completed" }]);
  });
});

describe.each(doors)("a client of the %s door that is gone without a word", (door) => {
  const gone = async (upstream: FakeUpstream, socket: Socket): Promise<number> => {
    const left = performance.now();
    // What is unread would have the system say that it is gone.
    socket.destroy();
    await upstream.requests[0]?.closed;
    return performance.now() - left;
  };

  it.each([
    [true, "1.0"],
    [true, "1.1"],
    [false, "1.0"],
    [false, "1.1"],
  ] as const)("before an answer stops the upstream (stream: %s, %s)", async (stream, version) => {
    await using upstream = await fakeUpstream(() => sse(hang));
    await using served = await serve(onto("chat", upstream.url));
    const socket = asking(served, { door, stream, version });
    await until(() => upstream.requests.length === 1);
    expect(await gone(upstream, socket)).toBeLessThan(SOON);
    expect(served.turns()).toMatchObject([{ outcome: "left" }]);
  });

  it.each(["1.0", "1.1"] as const)("in mid-stream stops the upstream (%s)", async (version) => {
    await using upstream = await fakeUpstream(() => sse(hello, hang));
    await using served = await serve(onto("chat", upstream.url));
    const socket = asking(served, { door, stream: true, version });
    await once(socket, "data");
    expect(await gone(upstream, socket)).toBeLessThan(SOON);
    expect(served.turns()).toMatchObject([{ outcome: "left" }]);
  });

  it("after it had closed its side stops the upstream", async () => {
    await using upstream = await fakeUpstream(() => sse(hello, hang));
    await using served = await serve(onto("chat", upstream.url));
    const socket = asking(served, { door, stream: true, version: "1.1" });
    await once(socket, "data");
    await new Promise<void>((sent) => socket.end(sent));
    expect(await gone(upstream, socket)).toBeLessThan(SOON);
  });
});

describe.each(["streamGenerateContent?alt=sse", "streamGenerateContent"])(
  "a client of Gemini (%s)",
  (action) => {
    const body = JSON.stringify({ contents: [{ parts: [{ text: "Hi" }] }] });
    const request = `POST /v1beta/models/m:${action} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

    it.each([
      ["before", []],
      ["behind", [hello]],
    ])("that is gone %s the first text stops the upstream", async (_, said) => {
      const role = chunk(0, { role: "assistant" });
      await using upstream = await fakeUpstream(() => sse(role, ...said, hang));
      await using served = await serve(onto("chat", upstream.url));
      const { hostname, port } = new URL(served.url);
      const socket = connect({ host: hostname, port: Number(port) });
      socket.write(request);
      await once(socket, "data");
      socket.destroy();
      await upstream.requests[0]?.closed;
      await until(() => served.turns().length === 1);
      expect(served.turns()).toMatchObject([{ outcome: "left" }]);
    });

    it("that closes its side gets all of the answer, and only blanks in between", async () => {
      const { promise: heard, resolve } = Promise.withResolvers<void>();
      const role = chunk(0, { role: "assistant" });
      await using upstream = await fakeUpstream(() => sse(role, hello, heard, ...rest));
      await using served = await serve(onto("chat", upstream.url));
      const { hostname, port } = new URL(served.url);
      const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
      socket.write(request);
      const said = text(socket);
      await once(socket, "readable");
      await new Promise<void>((sent) => socket.end(sent));
      setTimeout(resolve, 100);
      const answer = await said;
      expect(answer).toContain('"finishReason":"STOP"');
      expect(answer).not.toMatch(/^:/m);
    });
  },
);

describe("a client that asked for several answers at once", () => {
  it.each([true, false])("is missed in all of them (stream: %s)", async (stream) => {
    await using upstream = await fakeUpstream(() => sse(hang));
    await using served = await serve(onto("chat", upstream.url));
    const wish = { door: "chat", stream, version: "1.1" } as const;
    const socket = asking(served, wish);
    for (let more = 0; more < 2; more++) send(socket, served, wish);
    await until(() => upstream.requests.length === 3);
    const left = performance.now();
    socket.destroy();
    await Promise.all(upstream.requests.map(({ closed }) => closed));
    expect(performance.now() - left).toBeLessThan(SOON);
    expect(served.turns()).toMatchObject([
      { outcome: "left" },
      { outcome: "left" },
      { outcome: "left" },
    ]);
  });
});
