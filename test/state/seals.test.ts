import { describe, expect, it } from "vitest";
import { ask } from "../support/client.ts";
import { named, answerInResponses } from "../support/fake-model.ts";
import {
  fakeUpstream,
  json,
  sse,
  type Answer,
  type Body,
  type FakeUpstream,
} from "../support/fake-upstream.ts";
import { serve, type Served } from "../support/serve.ts";

/** An upstream that seals what it thinks, and refuses what others have sealed; `down`: from its second request on. */
const sealing = (own: string, down = false): Promise<FakeUpstream> =>
  fakeUpstream(({ body }, index) => {
    if (down && index > 0) return json({ error: { message: "Busy." } }, 503);
    const seals = reasoningIn(body).map((item) => String(item["encrypted_content"]));
    if (seals.some((seal) => !seal.startsWith(own)))
      return json({ error: { message: "Not mine.", code: "invalid_encrypted_content" } }, 400);
    const { steps } = answerInResponses({}, { text: "Hello." });
    const [text = ""] = steps as Iterable<string>;
    const answer = JSON.parse(text) as Body;
    const response = { ...answer, output: [thought(`${own}-${index}`), ...answer["output"]] };
    return body["stream"] === true ? streamed(response) : json(response);
  });

const streamed = (response: Body): Answer => {
  const output = response["output"] as Body[];
  const items = output.flatMap((item, output_index) => [
    { type: "response.output_item.added", output_index, item },
    { type: "response.output_item.done", output_index, item },
  ]);
  const created = { ...response, status: "in_progress", output: [] };
  return sse(
    ...[
      { type: "response.created", response: created },
      ...items,
      { type: "response.completed", response },
    ].map((event, sequence_number) => named(Object.assign(event, { sequence_number }))),
  );
};

const thought = (seal: string): Body => ({
  type: "reasoning",
  id: "rs_1",
  summary: [],
  encrypted_content: seal,
});
const reasoningIn = (body: Body): Body[] =>
  [body["input"]].flat().filter((item: Body | string) => (item as Body)["type"] === "reasoning");
const user = { role: "user", content: "Hi" };

const two = (one: FakeUpstream, other: FakeUpstream): Promise<Served> => {
  const to = { dialect: "responses", retries: 0 } as const;
  return serve({
    upstreams: { one: { ...to, base_url: one.url }, other: { ...to, base_url: other.url } },
    models: { chain: ["one/m", "other/m"] },
  });
};

const post = async (served: Served, model: string, input: readonly Body[]): Promise<Body> => {
  const response = await fetch(`${served.url}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model, input, store: false }),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Body;
};

const decisionsOf = async (served: Served, { id }: Body): Promise<Body[]> => {
  const response = await fetch(`${served.url}/v1/plans/${String(id)}`);
  return ((await response.json()) as Body)["decisions"] as Body[];
};

describe("reasoning that a provider sealed", () => {
  it("goes back to the upstream that made it, in the straight lane and with another model too", async () => {
    await using one = await sealing("one");
    await using other = await sealing("other");
    await using served = await two(one, other);
    const { output } = await post(served, "one/m", [user]);
    await post(served, "one/m", [user, ...output, user]);
    await post(served, "one/n", [user, ...output, user]);
    expect(reasoningIn(one.requests[1]?.body ?? {})).toEqual([thought("one-0")]);
    expect(reasoningIn(one.requests[2]?.body ?? {})).toEqual([thought("one-0")]);
    expect(served.turns().every(({ straight }) => straight)).toBe(true);
  });

  it("is left out for another upstream, and that is told", async () => {
    await using one = await sealing("one");
    await using other = await sealing("other");
    await using served = await two(one, other);
    const { output } = await post(served, "one/m", [user]);
    const answer = await post(served, "other/m", [user, ...output, user]);
    expect(reasoningIn(other.requests[0]?.body ?? {})).toEqual([]);
    expect(await decisionsOf(served, answer)).toContainEqual({
      path: "input[1]",
      action: "dropped",
      reason: "another upstream encrypted the reasoning, and this one cannot read it",
    });
  });

  it("is known again from a stream too", async () => {
    await using one = await sealing("one");
    await using other = await sealing("other");
    await using served = await two(one, other);
    const response = await ask(served, "responses", { model: "one/m", stream: true });
    const [, seal = ""] = /"encrypted_content":"([^"]*)"/.exec(await response.text()) ?? [];
    await post(served, "other/m", [user, thought(seal), user]);
    expect(seal).toBe("one-0");
    expect(reasoningIn(other.requests[0]?.body ?? {})).toEqual([]);
  });

  it("does not follow a turn to the next link of a chain, but for whom it is it stays", async () => {
    await using one = await sealing("one", true);
    await using other = await sealing("other");
    await using served = await two(one, other);
    const first = await post(served, "chain", [user]);
    const second = await post(served, "chain", [user, ...first["output"], user]);
    const said = [user, ...first["output"], user, ...second["output"], user];
    await post(served, "chain", said);
    expect(other.requests.map(({ body }) => reasoningIn(body))).toEqual([[], [thought("other-0")]]);
  });

  it("that nobody remembers goes to the first link of a chain and no further", async () => {
    await using one = await sealing("one", true);
    await using other = await sealing("other");
    await using served = await two(one, other);
    await post(served, "chain", [user, thought("one-before"), user]);
    await post(served, "chain", [user, thought("one-before"), user]);
    expect(reasoningIn(one.requests[0]?.body ?? {})).toEqual([thought("one-before")]);
    expect(reasoningIn(one.requests[1]?.body ?? {})).toEqual([thought("one-before")]);
    expect(other.requests.map(({ body }) => reasoningIn(body))).toEqual([[]]);
  });
});
