/**
 * A profile of your own: what a provider can do, as data. Run it with
 * `npm run example -- own-profile`; it checks what it shows.
 */
import assert from "node:assert/strict";
// In a project of your own: from "patchbay".
import { createGateway, type ProfileExtension } from "../src/index.ts";

/** It could stand in a JSON file: what Acme does otherwise than other servers of chat completions. */
const acme: ProfileExtension = {
  name: "acme",
  extends: "generic-chat",
  tools: { names: { max: 12 } },
  params: { seed: null },
  // What holds for some models only.
  models: [{ match: "acme-mini*", tools: { choice: ["auto"] } }],
};

await using gateway = createGateway(
  {
    upstreams: {
      // Nobody listens there: `/v1/plan` tells what would be sent, and asks nobody.
      acme: { dialect: "chat", profile: "acme", base_url: "http://127.0.0.1:9/v1" },
    },
    models: { "*": "acme/*" },
  },
  { profiles: [acme] },
);

type Decision = { readonly path: string; readonly action: string; readonly reason: string };

async function decisionsFor(model: string): Promise<string[]> {
  const body = {
    model,
    messages: [{ role: "user", content: "Hi" }],
    seed: 7,
    tools: ["search_the_archive", "cite"].map((name) => ({ type: "function", function: { name } })),
    tool_choice: { type: "function", function: { name: "cite" } },
  };
  const headers = { "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify(body) };
  const response = await gateway.fetch(new Request("http://gateway/v1/plan", init));
  const { decisions } = (await response.json()) as { decisions: Decision[] };
  return decisions.map(({ path, action, reason }) => `${path} ${action}: ${reason}`);
}

// Nothing is changed in silence, and a call comes back under the name that the client gave.
assert.deepEqual(await decisionsFor("acme-large"), [
  "tools[0] renamed: sent as `sear_10fxneo`",
  "seed dropped: the acme profile has no such parameter",
]);
assert.deepEqual(await decisionsFor("acme-mini-2"), [
  "tools[0] renamed: sent as `sear_10fxneo`",
  "tool_choice changed: the upstream cannot force a call of one tool, so only that tool is sent",
  "seed dropped: the acme profile has no such parameter",
]);
console.log("own profile: the plan goes by it, and by the model");
