import { expect, it } from "vitest";
import { askStill } from "../support/still-gateway.ts";

const script = { turns: [[{ text: "So" }, { delay: 65_000 }, { text: " long." }]] };
const config = {
  upstreams: { slow: { dialect: "scripted" as const, script } },
  models: { "*": "slow/*" },
  store: "off" as const,
};
const messages = [{ role: "user", content: "Hi" }];

it("pings a Messages client while its model is silent", async () => {
  const body = { model: "m", max_tokens: 9, stream: true, messages };
  const { text } = await askStill(config, { path: "/v1/messages", body });
  const events = [...text.matchAll(/^event: (.+)$/gm)].map(([, type]) => type);
  const pings = events.filter((type) => type === "ping");
  expect(pings.length).toBeGreaterThanOrEqual(5);
  expect(pings.length).toBeLessThanOrEqual(6);
  expect(events.at(-1)).toBe("message_stop");
});

it("writes nothing into the silence of a chat stream", async () => {
  const body = { model: "m", stream: true, messages };
  const { text } = await askStill(config, { path: "/v1/chat/completions", body });
  expect(text).not.toContain("ping");
});
