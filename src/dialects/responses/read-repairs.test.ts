import { describe, expect, it } from "vitest";
import {
  added,
  answerOf,
  argument,
  argumentsDone,
  repairedAt,
  call,
  called,
  completed,
  created,
  delta,
  done,
  failOf,
  framesOf,
  itemsOf,
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
import { readEvents } from "./read-events.ts";

describe("a Responses stream of somebody else", () => {
  it.each<[string, Sent[], object[]]>([
    [
      "has no numbers",
      [
        created,
        added(openMessage),
        part,
        delta("Hi"),
        done(message("Hi")),
        completed(message("Hi")),
      ].map((frame) => JSON.stringify(frame)),
      said("Hi"),
    ],
    [
      "says the text only when it is done",
      [created, added(openMessage), part, textDone("Hi"), completed()],
      said("Hi"),
    ],
    ["says the text only with its item", [created, done(message("Hi")), completed()], said("Hi")],
    [
      "says all only at the end",
      [created, completed(message("Hi"), call())],
      [...said("Hi"), ...called('{"a":1}')],
    ],
    [
      "says the rest only when it is done",
      [created, added(openMessage), part, delta("H"), textDone("Hi"), completed()],
      said("Hi"),
    ],
    ["announces nothing", [delta("H"), delta("i"), completed()], said("Hi")],
    [
      "announces no part",
      [created, added(openMessage), delta("Hi"), done(message("Hi")), completed()],
      said("Hi"),
    ],
    [
      "closes nothing",
      [created, added(openMessage), part, delta("Hi"), completed(message("Hi"))],
      said("Hi"),
    ],
    [
      "has an empty output in the end",
      [created, added(openMessage), part, delta("Hi"), done(message("Hi")), completed()],
      said("Hi"),
    ],
    [
      "changes the ids of items",
      [
        created,
        added(openMessage),
        { ...part, item_id: "x1" },
        { ...delta("Hi"), item_id: "x2" },
        { ...textDone("Hi"), item_id: "x3" },
        done(message("Hi", { id: "x4" })),
        completed(message("Hi", { id: "x5" })),
      ],
      said("Hi"),
    ],
    [
      "numbers items from 1",
      [
        created,
        added(openMessage, 1),
        { ...delta("Hi"), output_index: 1 },
        done(message("Hi"), 1),
        completed(),
      ],
      said("Hi"),
    ],
    [
      "leaves out the numbers of items",
      [
        created,
        { type: "response.output_item.added", item: openMessage },
        { type: "response.output_text.delta", item_id: "msg_1", delta: "H" },
        { type: "response.output_text.delta", delta: "i" },
        { type: "response.output_item.done", item: message("Hi") },
        completed(),
      ],
      said("Hi"),
    ],
    [
      "says arguments only when they are done",
      [created, added(openCall), argumentsDone('{"a":1}'), completed()],
      called('{"a":1}'),
    ],
    [
      "says the rest of arguments with the item",
      [created, added(openCall), argument('{"a"'), done(call()), completed()],
      called('{"a":1}'),
    ],
    [
      "says arguments at once and again",
      [created, added(call()), argument('{"a":1}'), done(call()), completed()],
      called('{"a":1}'),
    ],
    [
      "says arguments as a value",
      [created, done(call("", { arguments: { a: 1 } })), completed()],
      called('{"a":1}'),
    ],
    [
      "says other arguments in the end",
      [created, added(openCall), argument('{"a":2}'), done(call()), completed()],
      called('{"a":2}'),
    ],
    [
      "names a call late",
      [created, added(call("", { name: "" })), argument('{"a":1}'), done(call()), completed()],
      called('{"a":1}'),
    ],
    [
      "names a call with its arguments",
      [
        created,
        argument('{"a":1}'),
        { ...argumentsDone('{"a":1}'), name: "look" },
        done(call()),
        completed(),
      ],
      [{ type: "call", name: "look", input: '{"a":1}' }],
    ],
    [
      "lets two messages speak at once",
      [
        created,
        added(openMessage),
        added({ ...openMessage, id: "msg_2" }, 1),
        delta("a"),
        of("output_text.delta", { content_index: 0, delta: "b" }, "msg_2", 1),
        delta("A"),
        of("output_text.delta", { content_index: 0, delta: "B" }, "msg_2", 1),
        completed(),
      ],
      [...said("aA"), ...said("bB")],
    ],
    [
      "begins the next item before it ends the last",
      [
        created,
        added(openMessage),
        part,
        delta("Hi"),
        textDone("Hi"),
        added(openCall, 1),
        { ...argument('{"a":1}'), output_index: 1 },
        completed(),
      ],
      [...said("Hi"), ...called('{"a":1}')],
    ],
    [
      "repeats an announcement",
      [created, added(openMessage), added(openMessage), part, delta("Hi"), completed()],
      said("Hi"),
    ],
    [
      "sends a whole response as one frame",
      [response({ status: "completed", output: [message("Hi")] })],
      said("Hi"),
    ],
  ])("that %s loses nothing and is known to need repair", (_, sent, items) => {
    const events = read(...sent);
    const answer = answerOf(events);
    expect(answer.fault).toBeUndefined();
    expect(answer.choices[0]?.items).toMatchObject(items);
    expect(framesOf(events).some((frame) => !frame.forwardable)).toBe(true);
  });

  it("whose calls share an id has them told apart", () => {
    const twin = call("{}", { id: "fc_2" });
    const items = itemsOf(created, done(call("{}")), done(twin, 1), completed());
    expect(items).toMatchObject([{ id: "call_1" }, { id: "call_new1" }]);
  });

  it("whose numbers have gaps is repaired from there on", () => {
    const late = { ...delta("b"), sequence_number: 9 };
    expect(repairedAt(created, added(openMessage), part, delta("a"), late)).toEqual([4]);
  });

  it("whose response changes its id is repaired", () => {
    const other = { type: "response.in_progress", response: response({ id: "resp_2" }) };
    expect(repairedAt(created, other)).toEqual([1]);
  });

  it("may hold events that nobody knows", () => {
    const sent = [
      created,
      { type: "keepalive" },
      { type: "response.novelty", output_index: 0 },
      added(openMessage),
      { type: "response.message.novelty", output_index: 0, item_id: "msg_1" },
      part,
      delta("Hi"),
      done(message("Hi")),
      completed(message("Hi")),
    ];
    expect(itemsOf(...sent)).toMatchObject(said("Hi"));
  });

  it("that breaks off is not taken for whole", () => {
    expect(failOf(created, added(openCall), argument('{"a":'))?.code).toBe("upstream.cut");
    expect(failOf(created, added(openMessage), "[DONE]")?.code).toBe("upstream.cut");
    expect(failOf()?.code).toBe("upstream.empty");
  });

  it("may have its last frame cut short by the end of the connection", () => {
    const reader = readEvents({ newId: () => "", frames: false });
    const events: Event[] = [];
    for (const frame of [created, delta("Hi")])
      reader.frame(JSON.stringify(frame), undefined, false, (event) => events.push(event));
    reader.frame('{"type":"response.comp', undefined, true, (event) => events.push(event));
    expect(answerOf(events).fault?.code).toBe("upstream.cut");
  });

  it("fails on a frame that cannot be read, unless it only repeats the request", () => {
    expect(failOf(created, "{nonsense")?.code).toBe("upstream.malformed");
    expect(
      itemsOf('{"type":"response.created","response":{', done(message("Hi")), completed()),
    ).toMatchObject(said("Hi"));
  });

  it("takes the name of a frame for its type", () => {
    const reader = readEvents({ newId: () => "", frames: false });
    const events: Event[] = [];
    const { type, ...rest } = completed(message("Hi"));
    reader.frame(JSON.stringify(rest), String(type), false, (event) => events.push(event));
    expect(answerOf(events).choices[0]?.items).toMatchObject(said("Hi"));
  });
});

describe("items that are hard to tell apart", () => {
  const other = { id: "fc_2", call_id: "call_2" };
  const bare = { id: undefined };
  const inputs = (...sent: Sent[]): unknown[] | undefined =>
    itemsOf(...sent)?.map((item) => (item.type === "call" ? [item.id, item.input] : item));
  const both = [
    ["call_1", "{}"],
    ["call_2", "{}"],
  ];

  it.each<[string, Sent[]]>([
    ["are done in one place", [done(call("{}")), done(call("{}", other)), completed()]],
    [
      "are done in one place without ids",
      [done(call("{}", bare)), done(call("{}", { ...other, ...bare })), completed()],
    ],
    [
      "are announced in one place without ids",
      [
        added(call("", bare)),
        { type: "response.function_call_arguments.delta", output_index: 0, delta: "{}" },
        added(call("", { ...other, ...bare })),
        { type: "response.function_call_arguments.delta", output_index: 0, delta: "{}" },
        completed(call("{}", bare), call("{}", { ...other, ...bare })),
      ],
    ],
    [
      "are told of under ids that change, and never announced",
      [
        of("function_call_arguments.delta", { delta: "{" }, "x_1"),
        of("function_call_arguments.delta", { delta: "}" }, "x_2"),
        of("function_call_arguments.delta", { delta: "{" }, "x_3", 1),
        of("function_call_arguments.delta", { delta: "}" }, "x_4", 1),
        completed(call("{}"), call("{}", other)),
      ],
    ],
    [
      "are told of without ids, and never announced",
      [
        { type: "response.function_call_arguments.delta", output_index: 0, delta: "{}" },
        { type: "response.function_call_arguments.delta", output_index: 1, delta: "{}" },
        completed(call("{}"), call("{}", other)),
      ],
    ],
    [
      "are told of with nothing to tell them apart",
      [
        { type: "response.function_call_arguments.delta", delta: "{}" },
        { type: "response.function_call_arguments.delta", delta: "{}" },
        completed(call("{}"), call("{}", other)),
      ],
    ],
  ])("are both there where they %s", (_, sent) => {
    expect(inputs(created, ...sent)).toEqual(both);
  });

  it("are of the type that their parts are of where nothing else tells", () => {
    const [thought, text] = [
      { type: "summary_text", text: "Hm." },
      { type: "output_text", text: "Hi", annotations: [] },
    ];
    const sent = [
      { type: "response.reasoning_summary_part.done", summary_index: 0, part: thought },
      { type: "response.content_part.done", content_index: 0, part: text },
      completed(),
    ];
    expect(itemsOf(created, ...sent)).toMatchObject([
      { type: "reasoning", summary: ["Hm."], content: [] },
      ...said("Hi"),
    ]);
  });

  it("are one where it is only said twice", () => {
    expect(inputs(created, done(call("{}")), done(call("{}")), completed())).toEqual([both[0]]);
  });
});

it("forwards no end that says other annotations than its items did", () => {
  const odd = { type: "output_text", text: "Hi", annotations: [""] };
  const sent = [
    created,
    added(openMessage),
    part,
    delta("Hi"),
    textDone("Hi"),
    done(message("Hi")),
  ];
  expect(repairedAt(...sent, completed(message("Hi")))).toEqual([]);
  expect(repairedAt(...sent, completed(message("Hi", { content: [odd] })))).toEqual([sent.length]);
});

it.each([{}, null, "failed?"])("forwards no end that has the status %j", (status) => {
  const last = { type: "response.completed", response: response({ status }) };
  expect(repairedAt(created, last)).toEqual([1]);
});

it("forwards nothing that stands in a list", () => {
  const listed = JSON.stringify([{ ...created, sequence_number: 0 }]);
  expect(repairedAt(listed, completed())).toContain(0);
});
