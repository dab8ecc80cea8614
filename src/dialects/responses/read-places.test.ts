import { describe, expect, it } from "vitest";
import {
  added,
  answerOf,
  call,
  called,
  completed,
  created,
  delta,
  done,
  failOf,
  framesOf,
  message,
  of,
  openCall,
  openMessage,
  part,
  read,
  response,
  said,
  textDone,
  type Event,
  type Sent,
} from "../../../test/support/responses-sending.ts";
import type { Fields } from "../../turn/turn.ts";
import { readEvents } from "./read-events.ts";
import { cpuTime } from "../../../test/support/cpu-time.ts";

const thought = (more: Fields = {}): Fields => ({
  type: "reasoning",
  id: "rs_1",
  summary: [],
  content: [{ type: "reasoning_text", text: "hm hm" }],
  ...more,
});
const openThought = thought({ content: undefined, status: "in_progress" });
const think = (text: string, content_index: number, item = "rs_1", index = 0): Fields =>
  of("reasoning_text.delta", { content_index, delta: text }, item, index);
const thinkDone = (content_index: number, item = "rs_1", index = 0): Fields =>
  of("reasoning_text.done", { content_index, text: "hm hm" }, item, index);
const argument = (item: string, index: number, text: string): Fields =>
  of("function_call_arguments.delta", { delta: text }, item, index);
const thoughts = { type: "reasoning", content: ["hm hm"] };
const other = (more: Fields = {}): Fields =>
  call('{"a":2}', { id: "fc_2", call_id: "call_2", ...more });
const two = [...called('{"a":1}'), { type: "call", id: "call_2", input: '{"a":2}' }];
const placed = (item: Fields, fields: Fields): Fields => ({ ...item, ...fields });

describe("a Responses stream that misplaces what it says", () => {
  it.each<[string, Sent[], object[]]>([
    [
      "counts its deltas as parts",
      [
        created,
        added(openMessage),
        part,
        placed(delta("Hi"), { content_index: 1 }),
        placed(delta(" there"), { content_index: 2 }),
        placed(textDone("Hi there"), { content_index: 3 }),
        of("content_part.done", {
          content_index: 4,
          part: { type: "output_text", text: "Hi there", annotations: [] },
        }),
        done(message("Hi there")),
        completed(message("Hi there", { id: "msg_9" })),
      ],
      said("Hi there"),
    ],
    [
      "counts its deltas as paragraphs",
      [
        created,
        added(openThought),
        placed(part, { item_id: "rs_1" }),
        think("hm", 1),
        think(" hm", 2),
        thinkDone(3),
        done(thought()),
        completed(thought({ id: "rs_9" })),
      ],
      [thoughts],
    ],
    [
      "counts parts over all items",
      [
        created,
        added(openThought),
        think("hm hm", 3),
        thinkDone(3),
        done(thought()),
        added(openMessage, 1),
        placed(part, { output_index: 1, content_index: 4 }),
        placed(delta("Hi"), { output_index: 1, content_index: 4 }),
        placed(textDone("Hi"), { output_index: 1, content_index: 4 }),
        done(message("Hi"), 1),
        completed(thought(), message("Hi")),
      ],
      [thoughts, ...said("Hi")],
    ],
    [
      "announces a message under the id and number of what came before it",
      [
        created,
        added(openThought),
        think("hm hm", 0),
        thinkDone(0),
        done(thought()),
        added(placed(openMessage, { id: "rs_1" })),
        placed(part, { output_index: 1 }),
        placed(delta("Hi"), { output_index: 1 }),
        placed(textDone("Hi"), { output_index: 1 }),
        done(message("Hi"), 1),
        completed(thought({ id: "x" }), message("Hi", { id: "y" })),
      ],
      [thoughts, ...said("Hi")],
    ],
    [
      "counts on before an item is done, and names it otherwise each time",
      [
        created,
        added(openThought, 1),
        think("hm hm", 0, "rs_1", 1),
        thinkDone(0, "rs_1", 2),
        done(thought(), 2),
        added(placed(openCall, { id: "rs_1" }), 2),
        argument("fc_8", 2, '{"a"'),
        argument("fc_8", 2, ":1}"),
        of("function_call_arguments.done", { name: "look", arguments: '{"a":1}' }, "fc_8", 3),
        done(call('{"a":1}', { id: null, call_id: "call_8" }), 3),
        completed(thought({ id: "rs_9" }), call('{"a":1}', { id: "fc_9", call_id: "call_9" })),
      ],
      [thoughts, ...called('{"a":1}')],
    ],
    [
      "counts on before an item is done, and has no ids",
      [
        created,
        added(placed(openMessage, { id: "" })),
        placed(delta("Hi"), { item_id: "" }),
        placed(textDone("Hi"), { item_id: "", output_index: 1 }),
        done(message("Hi", { id: "" }), 1),
        completed(message("Hi")),
      ],
      said("Hi"),
    ],
    [
      "has one number for all",
      [
        created,
        added(openCall),
        added(other({ arguments: "" })),
        argument("fc_1", 0, '{"a"'),
        argument("fc_2", 0, '{"a"'),
        argument("fc_1", 0, ":1}"),
        argument("fc_2", 0, ":2}"),
        done(call()),
        done(other()),
        completed(),
      ],
      two,
    ],
    [
      "knows its calls by nothing but their own ids",
      [
        created,
        ...[openCall, other({ arguments: "" })].map((item) => ({
          type: "response.output_item.added",
          item: { ...item, id: undefined },
        })),
        ...[call(), other()].map((item) => ({
          type: "response.output_item.done",
          item: { ...item, id: undefined },
        })),
        completed(),
      ],
      two,
    ],
    [
      "names equal calls otherwise in the end",
      [
        created,
        done(call()),
        done(call('{"a":1}', { id: "fc_2", call_id: "call_2" }), 1),
        completed(
          call('{"a":1}', { id: "fc_8", call_id: "call_8" }),
          call('{"a":1}', { id: "fc_9", call_id: "call_9" }),
        ),
      ],
      [...called('{"a":1}'), { type: "call", id: "call_2", input: '{"a":1}' }],
    ],
    [
      "tells in the end of one more call, equal to the first",
      [
        created,
        done(call()),
        completed(call('{"a":1}', { id: "fc_2", call_id: "call_2" }), call()),
      ],
      [...called('{"a":1}'), { type: "call", id: "call_2", input: '{"a":1}' }],
    ],
  ])("because it %s is told once, and known to need repair", (_, sent, items) => {
    const events = read(...sent);
    const answer = answerOf(events);
    expect(answer.fault).toBeUndefined();
    expect(answer.choices[0]?.items).toMatchObject(items);
    expect(answer.choices[0]?.items).toHaveLength(items.length);
    expect(framesOf(events).some((frame) => !frame.forwardable)).toBe(true);
  });
});

describe("calls that take turns in a Responses stream", () => {
  const openOther = other({ arguments: "", status: "in_progress" });
  const begun = [
    created,
    added(openCall),
    added(openOther, 1),
    argument("fc_1", 0, '{"a"'),
    argument("fc_2", 1, '{"a"'),
    argument("fc_1", 0, ":1}"),
    argument("fc_2", 1, ":2}"),
  ];

  it.each<[string, Sent[]]>([
    ["end", [done(call()), done(other(), 1), completed(call(), other())]],
    ["end the other way round", [done(other(), 1), done(call()), completed(call(), other())]],
    ["end with the answer", [completed(call(), other())]],
    ["never end", [completed()]],
  ])("are told one after another where they %s: readers follow one at a time", (_, ends) => {
    const events = read(...begun, ...ends);
    expect(answerOf(events).choices[0]?.items).toMatchObject(two);
    const told = events.flatMap((event) =>
      event.type === "call-start" || event.type === "call-delta" ? [event.call] : [],
    );
    expect(told).toEqual(told.toSorted((first, second) => first - second));
    expect(framesOf(events).every((frame) => frame.forwardable)).toBe(false);
  });
});

describe("a Responses stream in other forms", () => {
  it.each<[string, Fields, object[]]>([
    ["content that is a text", message("", { content: "Hi" }), said("Hi")],
    ["reasoning that is a text", thought({ content: "hm hm" }), [thoughts]],
    [
      "a summary that is a text",
      thought({ content: [], summary: "hm" }),
      [{ type: "reasoning", summary: ["hm"] }],
    ],
    [
      "a summary of bare texts",
      thought({ content: [], summary: ["hm"] }),
      [{ type: "reasoning", summary: ["hm"] }],
    ],
  ])("has %s", (_, item, items) => {
    for (const sent of [
      [created, done(item), completed(item)],
      [created, completed(item)],
    ])
      expect(answerOf(read(...sent)).choices[0]?.items).toMatchObject(items);
  });

  it("may count in chat's words, or not at all", () => {
    const counting = (usage: Fields): unknown =>
      answerOf(read(created, { type: "response.completed", response: response({ usage }) })).usage;
    expect(counting({ prompt_tokens: 3, completion_tokens: 2 })).toMatchObject({ total: 5 });
    expect(counting({})).toBeUndefined();
  });

  it("may call its end done", () => {
    const { response: whole } = completed(message("Hi"));
    const sent = [created, { type: "response.done", response: whole }];
    expect(answerOf(read(...sent)).choices[0]).toMatchObject({ stop: "end", items: said("Hi") });
  });

  const named = (data: string, name: string): Event[] => {
    const reader = readEvents({ newId: () => "", frames: true });
    const events: Event[] = [];
    reader.frame(JSON.stringify({ ...created, sequence_number: 0 }), undefined, false, (event) =>
      events.push(event),
    );
    reader.frame(data, name, false, (event) => events.push(event));
    return events;
  };

  it("has its say in types, not in names, if it is to be forwarded", () => {
    const { type, ...rest } = added(openMessage);
    const [, frame] = framesOf(
      named(JSON.stringify({ ...rest, sequence_number: 1 }), String(type)),
    );
    expect(frame?.forwardable).toBe(false);
  });

  it("is forwarded with the API's own events only, since readers fail on others", () => {
    const frames = (type: string): boolean[] =>
      framesOf(read(created, { type }, added(openMessage))).map(({ forwardable }) => forwardable);
    expect(frames("keepalive")).toEqual([true, true, true]);
    expect(frames("response.novelty")).toEqual([true, false, true]);
  });

  it("is forwarded with the places of its items only", () => {
    const finish = of("function_call_arguments.done", { arguments: '{"a":1}' }, "fc_1");
    const forwardable = (place: unknown): boolean | undefined =>
      framesOf(
        read(created, added(openCall), finish, placed(done(call()), { output_index: place })),
      ).at(-1)?.forwardable;
    expect(forwardable(0)).toBe(true);
    for (const place of [null, undefined, "0", 1]) expect(forwardable(place)).toBe(false);
  });

  it("is forwarded with the API's own annotations only", () => {
    const forwardable = (annotation: Fields): boolean | undefined =>
      framesOf(
        read(
          created,
          added(openMessage),
          part,
          of("output_text.annotation.added", { content_index: 0, annotation_index: 0, annotation }),
        ),
      ).at(-1)?.forwardable;
    const place = { start_index: 0, end_index: 1 };
    expect(forwardable({ type: "url_citation", url: "u", title: "t", ...place })).toBe(true);
    expect(forwardable({ type: "file_citation", file_id: "f", filename: "n", index: 0 })).toBe(
      true,
    );
    expect(forwardable({ type: "url_citation", url: "u" })).toBe(false);
    expect(forwardable({ type: "novelty" })).toBe(false);
  });

  it("may beat time", () => {
    expect(named("1700", "ping").map(({ type }) => type)).toEqual(["turn-start", "frame"]);
    expect(failOf(created, "1700")?.code).toBe("upstream.malformed");
  });

  it.each(['{"type":"server_error","message":"no"}', "no"])(
    "fails by an event named error: %s",
    (data) => {
      expect(answerOf(named(data, "error")).fault?.message).toContain("no");
    },
  );
});

it("takes any number of items in linear time, one after another or all at once", () => {
  const calls = Array.from({ length: 40_000 }, (_, at) =>
    call("{}", { id: `fc_${at}`, call_id: `call_${at}` }),
  );
  const opened = calls.map((item, at) => added({ ...item, arguments: "" }, at));
  const closed = calls.map((item, at) => done(item, at));
  const started = cpuTime();
  for (const order of [
    opened.flatMap((one, at) => [one, closed[at] ?? {}]),
    [...opened, ...closed],
  ])
    expect(answerOf(read(created, ...order, completed(...calls))).choices[0]?.items.length).toBe(
      calls.length,
    );
  expect(cpuTime() - started).toBeLessThan(6_000);
});
