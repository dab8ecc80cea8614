import { describe, expect, it } from "vitest";
import { framesOf } from "../support/client-answer.ts";
import { cut, sse, type Body, type Model, type Step } from "../support/fake-upstream.ts";
import { named } from "../support/fake-model.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

const input = '{"path":"/tmp/a","mode":"rw"}';
const block = (index: number, content_block: Body, ...deltas: Body[]): Body[] => [
  { type: "content_block_start", index, content_block },
  ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
  { type: "content_block_stop", index },
];
const json = (partial_json: string): Body => ({ type: "input_json_delta", partial_json });
const usage = { input_tokens: 3, output_tokens: 9 };
const head: Body[] = [
  {
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage,
    },
  },
  ...block(0, { type: "text", text: "" }, { type: "text_delta", text: "So." }),
];
const call = block(
  1,
  { type: "tool_use", id: "toolu_1", name: "wipe", input: {} },
  json(input.slice(0, 9)),
  json(input.slice(9, 16)),
  json(input.slice(16)),
);
const ending = (stop_reason: string): Body[] => [
  { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
  { type: "message_stop" },
];
const bytesOf = (events: readonly Body[]): Buffer =>
  Buffer.from(events.map((event) => named(event as { type: string })).join(""));

const before = bytesOf(head).length;
const whole = bytesOf([...head, ...call, ...ending("tool_use")]);
/** The frame that ends the call: only behind its last byte but one is the call finished. */
const finished = bytesOf([...head, ...call]).length - 2;

/** How an answer breaks off behind the first events of the call. */
const breaks: Readonly<Record<string, readonly Body[]>> = {
  error: [{ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }],
  length: ending("max_tokens"),
  filter: ending("refusal"),
  end: ending("end_turn"),
  closed: [...call.slice(-1), ...ending("max_tokens")],
};

/** The name of the model says how its answer breaks: `cut-17`, `length-3`. */
const broken: Model = ({ body }) => {
  const [how = "", at = ""] = String(body["model"]).split("-");
  const events = breaks[how];
  const steps: Step[] =
    events === undefined
      ? [whole.subarray(0, Number(at)), cut]
      : [bytesOf([...head, ...call.slice(0, Number(at)), ...events])];
  return sse(...(steps as string[]));
};
const here = sharedGateway(broken);

const tool = { name: "wipe", parameters: { type: "object" } };
const doors: Readonly<
  Record<string, { path: string; body: Body; run: (text: string) => string[] }>
> = {
  chat: {
    path: "/v1/chat/completions",
    body: {
      messages: [{ role: "user", content: "Hi" }],
      tools: [{ type: "function", function: tool }],
    },
    /** A chat client runs what it has when it is told that the model waits for results. */
    run: (text) => {
      const choices = dataOf(text).flatMap(({ choices: all }) => (all ?? []) as Body[]);
      if (!choices.some(({ finish_reason }) => finish_reason === "tool_calls")) return [];
      if (text.includes('"error"')) return [];
      const pieces = choices.flatMap(({ delta }) => (delta.tool_calls ?? []) as Body[]);
      return [pieces.map((piece) => (piece["function"].arguments ?? "") as string).join("")];
    },
  },
  responses: {
    path: "/v1/responses",
    body: { input: "Hi", tools: [{ type: "function", ...tool }] },
    run: (text) =>
      dataOf(text)
        .filter(
          ({ type, item }) => type === "response.output_item.done" && item.type === "function_call",
        )
        .filter(({ item }) => item.status === "completed")
        .map(({ item }) => item.arguments as string),
  },
  messages: {
    path: "/v1/messages",
    body: {
      max_tokens: 99,
      messages: [{ role: "user", content: "Hi" }],
      tools: [{ name: "wipe", input_schema: { type: "object" } }],
    },
    /** Clients run a block once it is closed, whatever comes after it. */
    run: (text) => {
      const events = dataOf(text);
      const open = events.find(({ content_block }) => content_block?.type === "tool_use");
      const isClosed = events.some(
        ({ type, index }) => type === "content_block_stop" && index === open?.["index"],
      );
      if (open === undefined || !isClosed) return [];
      return [events.map(({ delta }) => (delta?.partial_json ?? "") as string).join("")];
    },
  },
};

const dataOf = (text: string): Body[] =>
  framesOf(text)
    .filter(({ data }) => data !== "[DONE]")
    .map(({ data }) => JSON.parse(data) as Body);

async function runBy(door: string, model: string, stream: boolean): Promise<string[]> {
  const { path, body, run } = doors[door] ?? { path: "", body: {}, run: () => [] };
  const response = await here.served.fetch(here.served.url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...body, model: `messages/${model}`, stream }),
  });
  const text = await response.text();
  if (stream) return run(text);
  return response.status === 200 && text.includes("toolu_1") && !isCutOff(text) ? [text] : [];
}

/** Whether a whole answer says that it is not all there. */
const isCutOff = (text: string): boolean =>
  /"(?:finish_reason|stop_reason|status)":"(?:length|content_filter|max_tokens|refusal|incomplete)"/.test(
    text,
  );

describe.each(Object.keys(doors))("a call at the %s door", (door) => {
  it("is run by nobody wherever the connection breaks off within it", async () => {
    const places = Array.from({ length: finished - before }, (_, at) => before + at);
    const run = await Promise.all(places.map((place) => runBy(door, `cut-${place}`, true)));
    expect(run.flat()).toEqual([]);
    expect(places.length).toBeGreaterThan(500);
  });

  it.each(["error", "length", "filter", "end"])(
    "is run by nobody where an %s follows its pieces",
    async (how) => {
      for (let pieces = 1; pieces < call.length; pieces++)
        for (const stream of [true, false])
          expect([pieces, stream, await runBy(door, `${how}-${pieces}`, stream)]).toEqual([
            pieces,
            stream,
            [],
          ]);
    },
  );

  // Towards a client of its own dialect the API's frames are forwarded as they are.
  it.skipIf(door === "messages")(
    "is run by nobody where its block is closed before it is whole, and the answer cut short",
    async () => {
      for (let pieces = 1; pieces < call.length - 1; pieces++)
        expect([pieces, await runBy(door, `closed-${pieces}`, true)]).toEqual([pieces, []]);
    },
  );

  it("is run with all that the model wrote where it was finished", async () => {
    expect(await runBy(door, "end-5", true)).toEqual([input]);
    expect(await runBy(door, `cut-${whole.length}`, true)).toEqual([input]);
  });
});
