import { expect, it } from "vitest";
import { stillClock } from "../../test/still-clock.ts";
import type { Happening } from "../telemetry/happening.ts";
import { parseConfig } from "./config.ts";
import { openGateway } from "./gateway.ts";

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
    report: (happening) => void happenings.push(happening),
  });
  let isBroken = false;
  gateway.handle({
    method: "POST",
    path: "/v1/chat/completions",
    query: "",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "m",
      stream: true,
      messages: [{ role: "user", content: "Hi" }],
      tools: [{ type: "function", function: { name: "look" } }],
    }),
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
