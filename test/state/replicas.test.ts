import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { answerInChat } from "../support/fake-model.ts";
import {
  fakeUpstream,
  type Body,
  type FakeUpstream,
  type Model,
  type ReceivedRequest,
} from "../support/fake-upstream.ts";
import { missing, newDatabase } from "../support/postgres-server.ts";
import { replica, type Replica } from "../support/replica.ts";

const TURNS = 50;
/** At these turns the replica that is asked dies: before it is asked, or while the model answers. */
const KILLS: ReadonlyMap<number, "before" | "within"> = new Map([
  [7, "within"],
  [18, "before"],
  [30, "within"],
  [41, "before"],
]);

const tool = {
  type: "function",
  name: "next",
  parameters: { type: "object", properties: { turn: { type: "integer" } } },
};

/** The turn that a request of the upstream is for, and all calls and results in it. */
const heardIn = (body: Body): { readonly calls: string[]; readonly results: string[] } => {
  const messages = body["messages"] as Body[];
  return {
    calls: messages.flatMap(({ tool_calls }) => (tool_calls ?? []).map(({ id }: Body) => id)),
    results: messages.flatMap(({ role, content }) => (role === "tool" ? [content] : [])),
  };
};

const ask = async (to: Replica, path: string, body: unknown): Promise<[number, Body]> => {
  const response = await fetch(`${to.url}/v1${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return [response.status, (await response.json()) as Body];
};

/** Replicas on one upstream and one database. */
const configOf = (upstream: string, url: string) =>
  ({
    upstreams: { fake: { dialect: "chat", base_url: upstream, retries: 0 } },
    models: { "*": "fake/m" },
    store: { kind: "postgres", url },
  }) as const;

describe.skipIf(missing !== undefined)(`two replicas on one PostgreSQL${missing ?? ""}`, () => {
  let upstream: FakeUpstream;
  /** What the upstream of the running test answers. */
  let model: Model;
  let first: Replica;
  let second: Replica;
  let begun = 0;
  /** The requests of the running test. */
  const requests = (): readonly ReceivedRequest[] => upstream.requests.slice(begun);

  beforeAll(async () => {
    upstream = await fakeUpstream((request, at) => model(request, at - begun));
    const config = configOf(upstream.url, await newDatabase());
    [first, second] = await Promise.all([replica(config), replica(config)]);
  });
  beforeEach(() => void (begun = upstream.requests.length));
  afterAll(async () => {
    for (const one of [first, second, upstream]) await one[Symbol.asyncDispose]();
  });

  it("lose, repeat and confuse no turn of a conversation, whichever of them dies", async () => {
    let dying: (() => Promise<void>) | undefined;
    model = ({ body }) => {
      const { results } = heardIn(body);
      const answer = answerInChat(body, {
        calls: [{ id: `call_${results.length}`, name: "next", arguments: "{}" }],
      });
      const kill = dying;
      dying = undefined;
      return kill === undefined
        ? answer
        : { ...answer, steps: [kill(), ...(answer.steps as string[])] };
    };
    const replicas: readonly [Replica, Replica] = [first, second];

    const post = async (to: Replica, body: unknown): Promise<Body> => {
      const response = await fetch(`${to.url}/v1/responses`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const got = (await response.json()) as Body;
      if (response.status !== 200) throw new Error(JSON.stringify(got));
      return got;
    };
    let previous: string | undefined;
    const restarting = new Map<Replica, Promise<void>>();
    for (let turn = 0; turn < TURNS; turn++) {
      const asked = replicas[turn % 2] ?? first;
      const other = replicas[(turn + 1) % 2] ?? second;
      const input =
        turn === 0
          ? "Begin."
          : [
              {
                type: "function_call_output",
                call_id: `call_${turn - 1}`,
                output: `result ${turn - 1}`,
              },
            ];
      const body = { model: "m", tools: [tool], input, previous_response_id: previous };
      await restarting.get(asked);
      const kill = KILLS.get(turn);
      if (kill === "before") await asked.kill();
      if (kill === "within") dying = () => asked.kill();
      // A client whose request dies sends it to the other one.
      const answer = await post(asked, body).catch(() => post(other, body));
      if (kill !== undefined) restarting.set(asked, asked.restart());
      expect(answer["output"]).toMatchObject([{ call_id: `call_${turn}` }]);
      previous = answer["id"] as string;
      const heard = heardIn(requests().at(-1)?.body ?? {});
      expect(heard.calls).toEqual(Array.from({ length: turn }, (_, at) => `call_${at}`));
      expect(heard.results).toEqual(Array.from({ length: turn }, (_, at) => `result ${at}`));
    }
    await Promise.all(restarting.values());
    const listed = await fetch(`${first.url}/v1/responses/${previous}/input_items?limit=100`);
    const { data } = (await listed.json()) as { data: Body[] };
    const outputs = data.filter(({ type }) => type === "function_call_output").length;
    expect(outputs).toBe(TURNS - 1);
    // One request for each turn, and one more for each that died with its replica.
    const died = [...KILLS.values()].filter((kind) => kind === "within").length;
    expect(requests()).toHaveLength(TURNS + died);
  }, 120_000);

  it("share conversations, their leases, and what was compacted", async () => {
    const { promise: go, resolve } = Promise.withResolvers<void>();
    model = ({ body }, at) => {
      const answer = answerInChat(body, { text: `Answer ${at}.` });
      return at === 0 ? { ...answer, steps: [go, ...(answer.steps as string[])] } : answer;
    };
    const [, { id }] = await ask(first, "/conversations", {});
    const request = { model: "m", conversation: id, input: "Hi" };
    const held = ask(first, "/responses", request);
    while (requests().length === 0) await new Promise((done) => setTimeout(done, 5));
    expect((await ask(second, "/responses", request))[0]).toBe(409);
    resolve();
    expect((await held)[0]).toBe(200);
    expect((await ask(second, "/responses", request))[0]).toBe(200);
    expect(requests()[1]?.text).toContain("Answer 0.");
    const [, compacted] = await ask(first, "/responses/compact", { model: "m", input: "Hello" });
    const next = { model: "m", input: [...compacted["output"], { role: "user", content: "On" }] };
    expect((await ask(second, "/responses", next))[0]).toBe(200);
  });

  it("follow and cancel what the other makes in the background", async () => {
    const { promise: never, resolve } = Promise.withResolvers<void>();
    model = ({ body }) => {
      const answer = answerInChat(body, { text: "Hello there, and good day." });
      const steps = [...(answer.steps as string[])];
      return { ...answer, steps: [...steps.slice(0, 2), never, ...steps.slice(2)] };
    };
    const [status, { id }] = await ask(first, "/responses", {
      model: "m",
      input: "Hi",
      background: true,
    });
    expect(status).toBe(200);
    const following = fetch(`${second.url}/v1/responses/${id}?stream=true&starting_after=0`);
    const followed = following.then((response) => response.text());
    while (requests().length === 0) await new Promise((done) => setTimeout(done, 5));
    const [, cancelled] = await ask(second, `/responses/${id}/cancel`, {});
    expect(cancelled["status"]).toBe("cancelled");
    const events = (await followed).match(/(?<=^event: ).*/gm) ?? [];
    expect([events[0], events.at(-1)]).toEqual(["response.in_progress", "response.failed"]);
    const kept = await fetch(`${first.url}/v1/responses/${id}`);
    expect(((await kept.json()) as Body)["status"]).toBe("cancelled");
    resolve();
  }, 60_000);

  it("continue each other's threads of Messages", async () => {
    model = ({ body }, at) => answerInChat(body, { text: `Answer ${at}.` });
    const say = (text: string, thread: Body) => ({
      model: "m",
      max_tokens: 100,
      messages: [{ role: "user", content: text }],
      thread,
    });
    const [, begun] = await ask(first, "/messages", say("One", { type: "create" }));
    const thread = { type: "continue", previous_message_id: begun["id"] };
    expect((await ask(second, "/messages", say("Two", thread)))[0]).toBe(200);
    const heard = ["One", "Answer 0.", "Two"].map((content) => ({ content }));
    expect(requests()[1]?.body["messages"]).toMatchObject(heard);
  });
});
