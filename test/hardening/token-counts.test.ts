import { describe, expect, it } from "vitest";
import { answerInMessages } from "../support/fake-messages.ts";
import { fakeUpstream, hang, type FakeUpstream } from "../support/fake-upstream.ts";
import { until } from "../support/loopback.ts";
import { onto, serve, type Served } from "../support/serve.ts";

const CONNECTIONS = 8;

const slowCounts = (): Promise<FakeUpstream> =>
  fakeUpstream((request) =>
    request.path.includes("count_tokens")
      ? { steps: [" ", hang] }
      : answerInMessages(request.body, { text: "Hello." }),
  );

const open = ({ url }: FakeUpstream): Promise<Served> =>
  serve({
    ...onto("messages", url, { profile: "anthropic", connections: CONNECTIONS }),
    server: { keys: ["ann", "bob"].map((name) => ({ name, key: name })) },
  });

const ask = ({ url }: Served, path: string, key: string, signal?: AbortSignal): Promise<Response> =>
  fetch(`${url}/v1${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key },
    body: JSON.stringify({
      model: "m",
      max_tokens: 9,
      messages: [{ role: "user", content: "Hi" }],
    }),
    ...(signal !== undefined && { signal }),
  });

describe("counts that an upstream does not answer", () => {
  it("leave connections for other tenants", async () => {
    await using upstream = await slowCounts();
    await using served = await open(upstream);
    const leaving = new AbortController();
    const count = (): Promise<unknown> =>
      ask(served, "/messages/count_tokens", "ann", leaving.signal).catch(() => {});
    const counts = Array.from({ length: 2 * CONNECTIONS }, count);
    await until(() => upstream.requests.length >= CONNECTIONS - 1);
    expect((await ask(served, "/messages", "bob")).status).toBe(200);
    expect(upstream.requests).toHaveLength(CONNECTIONS);
    leaving.abort();
    await Promise.all(counts);
  });

  it("end when their clients leave, also those that wait", async () => {
    await using upstream = await slowCounts();
    await using served = await open(upstream);
    const leaving = new AbortController();
    const counts = Array.from({ length: 2 * CONNECTIONS }, () =>
      ask(served, "/messages/count_tokens", "ann", leaving.signal).catch(() => {}),
    );
    await until(() => upstream.requests.length >= CONNECTIONS - 1);
    leaving.abort();
    await Promise.all(counts);
    await until(() => upstream.requests.every((request) => request.abandoned()));
    expect((await ask(served, "/messages", "ann")).status).toBe(200);
  });
});
