import { expect, it } from "vitest";
import type { Happening } from "../../observe/happening.ts";
import { Metrics } from "../../observe/metrics.ts";
import { fakeUpstream, json } from "../../../test/support/fake-upstream.ts";
import { ask } from "../../../test/support/client.ts";
import { until } from "../../../test/support/loopback.ts";
import { onto, serve } from "../../../test/support/serve.ts";
import { workWatch } from "./steps.ts";

it("work that holds the event loop longer than its budget is reported with its request", () => {
  const happenings: Happening[] = [];
  const metrics = new Metrics();
  const watch = workWatch(100, (happening) => {
    happenings.push(happening);
    metrics.count(happening);
  });
  watch("request", "short", 100);
  watch("answer", "long", 250);
  expect(happenings).toEqual([{ type: "blocked", work: "answer", requestId: "long", ms: 250 }]);
  expect(metrics.text()).toContain('patchbay_event_loop_blocked_total{work="answer"} 1');
  expect(metrics.text()).toContain('patchbay_event_loop_blocked_seconds_total{work="answer"} 0.25');
});

it("finds the request whose body or answer takes long", async () => {
  const words = Array.from({ length: 40_000 }, (_, at) => ({
    index: at,
    message: { content: "w" },
  }));
  await using upstream = await fakeUpstream(() => json({ choices: words }));
  await using served = await serve({
    ...onto("chat", upstream.url),
    server: { block_budget_ms: 1 },
  });
  const messages = Array.from({ length: 40_000 }, () => ({ role: "user", content: "Hi" }));
  const headers = { "x-request-id": "mine" };
  await (await ask(served, "chat", { messages }, { headers })).text();
  const isBlocked = (work: string): boolean =>
    served.happenings.some(
      (one) => one.type === "blocked" && one.work === work && one.requestId === "mine",
    );
  await until(() => isBlocked("request") && isBlocked("answer"));
  expect(await (await fetch(`${served.url}/metrics`)).text()).toMatch(
    /patchbay_event_loop_blocked_total\{work="answer"\} \d/,
  );
});
