import { describe, expect, it } from "vitest";
import { growth, LINEAR } from "../support/growth.ts";
import { answerOf, faultOf, hello, startUpstream, textOf } from "../support/http-upstream.ts";
import { until } from "../support/loopback.ts";
import { HttpAnswer } from "../../src/upstreams/http/answer.ts";
import { chat } from "../../src/dialects/chat/chat.ts";
import { StringDecoder } from "node:string_decoder";
import { stillClock } from "../support/still-clock.ts";
import { broken } from "../../src/upstreams/http/fault.ts";
import { counted } from "../../src/dialects/shared/loose.ts";
import { UsageReader } from "../../src/dialects/messages/answer-fields.ts";

describe("blanks before an answer", () => {
  /** Hears so many network reads of blanks, and then an answer. */
  function hear(pieces: number): void {
    const owner = {
      sink: { each() {}, flush() {}, end() {} },
      failed() {},
      connection: {
        failing: { name: "box", origin: "", secrets: [] },
        clock: stillClock(),
        shares: { leave() {} },
      },
      opening: { tenant: "" },
    };
    const reader = chat.upstream.readEvents({ newId: (prefix) => prefix, frames: false, asked: 1 });
    const answer = new HttpAnswer(owner, reader, new StringDecoder("utf8"));
    const controller = { pause() {}, resume() {}, abort() {} };
    answer.onRequestStart(controller);
    answer.onResponseStart(controller, 200, {});
    const blanks = Buffer.from(" ".repeat(16));
    for (let at = 0; at < pieces; at++) answer.onResponseData(controller, blanks);
    answer.onResponseData(controller, Buffer.from(hello));
    answer.onResponseEnd();
  }

  it("cost what they are long, however they are split", async () => {
    expect(await growth(hear, 30_000)).toBeLessThan(LINEAR);
  });

  it("are passed over, wherever the network splits them", async () => {
    const { upstream } = await startUpstream((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      for (let at = 0; at < 100; at++) response.write("\n");
      response.end(hello);
    });
    expect(textOf(await answerOf(upstream))).toBe("Hello, world");
  });

  it("are not read without end", async () => {
    const { upstream, server } = await startUpstream((_, response) => {
      response.writeHead(200);
      const more = (): void =>
        void (response.destroyed || (response.write(" ".repeat(65_536)), setImmediate(more)));
      more();
    });
    const fault = await faultOf(upstream);
    expect(fault.code).toBe("upstream.malformed");
    expect(fault.message).toContain("blank characters");
    await until(() => server.sockets[0]?.destroyed === true);
  });
});

describe("a list of models", () => {
  it("is not read without end, and its connection is closed", async () => {
    const { upstream, server } = await startUpstream((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const more = (): void =>
        void (response.destroyed || (response.write("[".repeat(1_048_576)), setImmediate(more)));
      more();
    });
    const fault = await upstream.models?.().catch((error: unknown) => error);
    expect(fault).toMatchObject({ code: "upstream.malformed" });
    await until(() => server.sockets[0]?.destroyed === true);
  });

  it("is not waited for without end while it trickles", async () => {
    const { upstream, server, clock } = await startUpstream((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write("[");
    });
    const listing = upstream.models?.().catch((error: unknown) => error);
    await until(() => clock.waiting() > 0 && server.sockets.length > 0);
    clock.move(60_000);
    expect(await listing).toMatchObject({ code: "upstream.idle_timeout" });
    await until(() => server.sockets[0]?.destroyed === true);
  });
});

it.each(["EMFILE", "ENFILE"])("%s is a limit of ours and not the upstream's", (code) => {
  const error = Object.assign(new Error(code), { code });
  const { fault } = broken({ name: "box", origin: "http://box", secrets: [] }, error, false);
  expect(fault).toMatchObject({ code: "gateway.exhausted", status: 503, mayRetry: true });
  expect(fault.message).not.toContain("box");
});

describe("absurd token counts", () => {
  it.each([1e308, Infinity, 1e15])("of %d are no counts", (absurd) => {
    expect(counted({ prompt_tokens: absurd, completion_tokens: 3 })).toMatchObject({
      input: 0,
      output: 3,
      total: 3,
    });
    expect(new UsageReader().each({ input_tokens: absurd, output_tokens: 3 })).toMatchObject({
      input: 0,
      total: 3,
    });
  });
});
