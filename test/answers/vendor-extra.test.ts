import { describe, expect, it } from "vitest";
import { askWithin } from "../support/client.ts";
import { done, fakeUpstream, frame, json, sse, type Body } from "../support/fake-upstream.ts";
import { ontoEach, serve, type Served } from "../support/serve.ts";
import { framesOf } from "../support/client-answer.ts";

const HEAD = { id: "chatcmpl-1", created: 7, model: "m" };
const filtered = { hate: { filtered: true, severity: "high" } };
const idle = { hate: { filtered: false, severity: "safe" } };

/** An answer that has to be written anew, for its objects are not what they should be called. */
const saying = (first: Body, entry: Body, last: Body) =>
  fakeUpstream(({ body }) => {
    const finish = { index: 0, finish_reason: "stop" };
    if (body["stream"] !== true)
      return json({
        ...HEAD,
        object: "odd",
        ...first,
        ...last,
        choices: [{ ...finish, ...entry, message: { role: "assistant", content: "Hi" } }],
      });
    const chunk = (more: Body, ...choices: Body[]): string =>
      frame({ ...HEAD, object: "odd", ...more, choices });
    return sse(
      chunk(first),
      chunk({}, { index: 0, delta: { role: "assistant", content: "Hi" }, ...entry }),
      chunk({}, { index: 0, delta: { content: "." }, ...entry }),
      chunk(last, { ...finish, delta: {} }),
      done,
    );
  });

/** All that a chat answer says beside the choices, and of its choice beside the message. */
const besides = async (served: Served, stream: boolean): Promise<Body> => {
  const text = await (await askWithin(served, "chat", { model: "chat/m", stream })).text();
  const said = stream ? framesOf(text).map(({ data }) => data) : [text];
  const bodies = said.filter((data) => data !== "[DONE]").map((data) => JSON.parse(data) as Body);
  const entries = bodies.flatMap((body) => body["choices"] as Body[]);
  return Object.assign({}, ...bodies, { choices: Object.assign({}, ...entries) as Body }) as Body;
};

const lost = async (served: Served, stream: boolean): Promise<string[]> => {
  const text = await (await askWithin(served, "responses", { model: "chat/m", stream })).text();
  const id = /"id":"(resp_\w+)"/.exec(text)?.[1] ?? "";
  const plan = (await (await fetch(`${served.url}/v1/plans/${id}`)).json()) as Body;
  return (plan["decisions"] as Body[]).map((one) => `${one["action"]}: ${one["reason"]}`);
};

describe.each([true, false])("what stands beside an answer (stream: %s)", (stream) => {
  it("is passed on where it has a place, wherever it came", async () => {
    const first = { prompt_filter_results: [{ prompt_index: 0 }] };
    const last = { system_fingerprint: "fp", service_tier: "flex", x_groq: { id: "req" } };
    await using upstream = await saying(first, { content_filter_results: filtered }, last);
    await using served = await serve(ontoEach(upstream.url));
    expect(await besides(served, stream)).toMatchObject({
      ...first,
      ...last,
      choices: { content_filter_results: filtered, finish_reason: "stop" },
    });
  });

  it("is told once where it has none", async () => {
    const first = { prompt_filter_results: [{ content_filter_results: filtered }] };
    const entry = { content_filter_results: filtered, matter: "dark" };
    await using upstream = await saying(first, entry, { odd: 1 });
    await using served = await serve(ontoEach(upstream.url));
    const all = ["prompt_filter_results", "content_filter_results", "matter", "odd"];
    expect((await lost(served, stream)).toSorted()).toEqual(
      all.map((key) => `dropped: a responses answer has no form for \`${key}\``).toSorted(),
    );
  });

  it("is not told where it says nothing", async () => {
    const first = { prompt_filter_results: [{ content_filter_results: idle }], nothing: null };
    const last = {
      system_fingerprint: "fp",
      x_groq: { id: "req" },
      citations: ["https://a.example"],
    };
    await using upstream = await saying(first, { content_filter_results: idle }, last);
    await using served = await serve(ontoEach(upstream.url));
    expect(await lost(served, stream)).toEqual([]);
  });
});
