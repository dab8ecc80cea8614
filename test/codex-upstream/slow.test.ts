import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { answerInResponses } from "../support/fake-model.ts";
import { frame, type ReceivedRequest, type Model, type Step } from "../support/fake-upstream.ts";
import { until } from "../support/loopback.ts";
import { ask, childEvents, missing, openCodex, type CodexGateway } from "./gateway.ts";

const piece = "word ".repeat(800);
const begin = frame({
  type: "response.output_item.added",
  item: { type: "message", id: "msg_1", role: "assistant", content: [] },
});
const delta = frame({ type: "response.output_text.delta", item_id: "msg_1", delta: piece });
const breath = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Goes on until nobody listens: a talk with an end might be over before it is stopped. */
function* endless(): Generator<Step> {
  yield begin;
  for (;;) {
    yield delta;
    yield breath();
  }
}

/** Talks without end to whoever asks it to, and is brief to everybody else. */
const talker: Model = ({ body }) =>
  JSON.stringify(body["input"]).includes("Talk")
    ? { headers: { "content-type": "text/event-stream" }, steps: endless() }
    : answerInResponses(body, { text: "Fine." });

/** A client that asks and then does not read. */
async function askAndDoze({ served }: CodexGateway): Promise<IncomingMessage> {
  const asked = request(`${served.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
  });
  asked.end(
    JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "Talk." }] }),
  );
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  return answer;
}

describe.skipIf(missing)("a client that reads slower than the real codex app-server speaks", () => {
  it("holds up nobody, has its model stopped at a limit, and is told so in its stream", async () => {
    await using gateway = await openCodex(talker);
    const answer = await askAndDoze(gateway);
    // It is the same process that serves the others meanwhile.
    expect((await ask(gateway)).body["choices"]?.[0].message.content).toBe("Fine.");
    // Whichever of the two the model heard first.
    const talked = (): ReceivedRequest | undefined =>
      gateway.model.requests.find((heard) => heard.text.includes("Talk"));
    await until(() => talked() !== undefined);
    await talked()?.closed;
    expect(talked()?.abandoned()).toBe(true);
    const read = await text(answer);
    expect(read).toContain("client.slow");
    expect(read).not.toContain('"finish_reason":"stop"');
    // What it got is bounded by the limit and the buffers of the network.
    expect(read.length).toBeLessThan(40_000_000);
    expect((await ask(gateway)).body["choices"]?.[0].message.content).toBe("Fine.");
    expect(childEvents(gateway, "started")).toBe(1);
  });
});
