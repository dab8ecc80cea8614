import { expect, it } from "vitest";
import { stillClock } from "../../../test/support/still-clock.ts";
import { nodeRuntime } from "../../host/platform/node.ts";
import { createGateway } from "../../index.ts";
import type { Happening } from "../../observe/happening.ts";
import { parseConfig } from "../config.ts";
import { openGateway } from "../gateway.ts";

const asking = (stream: boolean): string =>
  JSON.stringify({
    model: "m",
    stream,
    messages: [{ role: "user", content: "Hi" }],
    tools: [{ type: "function", function: { name: "look" } }],
  });

/** Asks for a call behind which the upstream falls silent, and then breaks the reply. */
async function breakReply() {
  const clock = stillClock();
  const happenings: Happening[] = [];
  const config = parseConfig({
    upstreams: {
      s: { dialect: "scripted", script: [[{ call: { name: "look" } }, { hang: true }]] },
    },
    models: { "*": "s/s" },
    tools: { stop_after: true },
  });
  const gateway = openGateway(config, {
    clock,
    newId: (prefix) => `${prefix}_1`,
    random: () => 0.5,
    runtime: nodeRuntime,
    report: (happening) => void happenings.push(happening),
  });
  let isBroken = false;
  gateway.handle({
    method: "POST",
    path: "/v1/chat/completions",
    query: "",
    headers: { "content-type": "application/json" },
    body: asking(true),
    reply: {
      head() {},
      write() {
        if (isBroken) throw new TypeError("nobody expected this");
        return true;
      },
      end() {},
      onDrain() {},
      onLeave() {},
    },
  });
  await new Promise(setImmediate);
  isBroken = true;
  return { clock, gateway, happenings };
}

it("ends a turn, and not the process, when something fails at a moment that a rule waits for", async () => {
  const { clock, gateway, happenings } = await breakReply();
  expect(() => clock.move(1000)).not.toThrow();
  expect(happenings).toMatchObject([
    { type: "begun" },
    { type: "round" },
    { type: "trouble", error: "TypeError" },
    { type: "turn", outcome: "failed", fault: "gateway.internal" },
  ]);
  await gateway.close(0);
});

it("stops all the same when a turn cannot be told that it is stopped", async () => {
  const { gateway, happenings } = await breakReply();
  await gateway.close(0);
  expect(happenings.at(-1)).toMatchObject({ outcome: "failed", fault: "gateway.stopping" });
});

it("tells of an answer only so much that a model without end fills no memory", async () => {
  const steps = Array.from({ length: 3000 }, () => ({ call: { name: "look" } }));
  const gateway = createGateway({
    upstreams: { s: { dialect: "scripted", script: [steps] } },
    models: { "*": "s/s" },
    tools: { block_max: 1 },
  });
  const post = new Request("http://gateway/v1/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: asking(false),
  });
  const { id } = (await (await gateway.fetch(post)).json()) as { id: string };
  const plan = await gateway.fetch(new Request(`http://gateway/v1/plans/${id}`));
  const { decisions } = (await plan.json()) as { decisions: { reason: string }[] };
  expect(decisions).toHaveLength(1001);
  expect(decisions.at(-1)?.reason).toBe("1999 more decisions like these are not listed");
});
