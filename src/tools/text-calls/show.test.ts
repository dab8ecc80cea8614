import { responses } from "../../dialects/responses/responses.ts";
import { describe, expect, it } from "vitest";
import { runStage } from "../../stream/stage.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import { clientName, type ClientName } from "../../turn/names.ts";
import type { Turn } from "../../turn/turn.ts";
import { showUseTool } from "./show.ts";
import { writeUseTool } from "./use-tool.ts";

type Event = TurnEvent<ClientName>;

const schema = { type: "object", properties: { code: { type: "string" } } };
const turn: Turn = {
  dialect: "responses",
  traits: responses.traits,
  model: "m",
  items: [],
  tools: [
    { type: "function", name: clientName("look"), schema },
    {
      type: "namespace",
      name: "files",
      tools: [{ type: "function", name: clientName("look"), schema: {} }],
    },
    { type: "custom", name: clientName("patch") },
  ],
  params: {},
  stream: true,
  usageWanted: false,
  extra: { dialect: "responses", fields: {} },
  body: {},
};

type Called = {
  readonly name?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly complete?: boolean;
};
const call = (
  number: number,
  input: string,
  { name = "look", kind = "function", namespace, complete = true }: Called = {},
): Event[] => [
  {
    type: "call-start",
    choice: 0,
    call: number,
    id: `c${number}`,
    kind,
    name: clientName(name),
    namespace,
  },
  { type: "call-delta", choice: 0, call: number, text: input },
  { type: "call-end", choice: 0, call: number, complete },
];
const text = (said: string): Event[] => [
  { type: "text-start", choice: 0 },
  { type: "text-delta", choice: 0, text: said },
  { type: "text-end", choice: 0 },
];
const over: Event = { type: "turn-end", choice: 0, stop: "calls" };

const show = (events: readonly Event[], delimiter = "\n"): Event[] =>
  runStage(showUseTool(turn, delimiter), events);
const wordsOf = (events: readonly Event[]): string =>
  events.map((event) => (event.type === "text-delta" ? event.text : "")).join("");

describe("showing calls as text", () => {
  const input = '{"code":"5"}';
  const block = writeUseTool("look", input, schema);

  it("shows each call behind itself, all in one message", () => {
    const [opened, , closed] = text("") as [Event, Event, Event];
    const said = (words: string): Event => ({ type: "text-delta", choice: 0, text: words });
    expect(show([...call(0, input), ...call(1, input), over])).toEqual([
      ...call(0, input),
      opened,
      said(block),
      ...call(1, input),
      said(`\n${block}`),
      closed,
      over,
    ]);
  });

  it("keeps what the model says around its calls, in the same message", () => {
    const said = show([...text("One. "), ...call(0, input), ...text(" Two."), over]);
    expect(wordsOf(said)).toBe(`One. ${block} Two.`);
    expect(said.filter(({ type }) => type === "text-start")).toHaveLength(1);
    expect(said.slice(-2)).toEqual([{ type: "text-end", choice: 0 }, over]);
  });

  it("writes values by the schema of the tool that was called", () => {
    expect(wordsOf(show([...call(0, input), over]))).toContain("<code>5</code>");
    const elsewhere = show([...call(0, input, { namespace: "files" }), over]);
    expect(wordsOf(elsewhere)).toContain("<name>files__look</name>");
    expect(wordsOf(elsewhere)).toContain("<code>&quot;5&quot;</code>");
  });

  it("shows the text of a custom tool as it is", () => {
    const said = show([...call(0, "{}", { name: "patch", kind: "custom" }), over]);
    expect(wordsOf(said)).toBe(writeUseTool("patch", "{}", undefined, "custom"));
  });

  it("shows no call that was cut off", () => {
    const events = [...call(0, '{"co', { complete: false }), over];
    expect(show(events)).toEqual(events);
  });

  it("closes its message as cut off before a failure, though the model had ended its text", () => {
    const fail: Event = { type: "turn-fail", fault: new Fault("upstream.cut", "it broke") };
    const closed = [{ type: "text-end", choice: 0, complete: false }, fail];
    expect(show([...call(0, input), fail]).slice(-2)).toEqual(closed);
    expect(show([...text("One."), ...call(0, input), fail]).slice(-2)).toEqual(closed);
  });

  it("closes its message as cut off if a call was, since its block is missing", () => {
    const events = [...text("One."), ...call(0, '{"co', { complete: false }), over];
    expect(show(events).slice(-2)).toEqual([
      { type: "text-end", choice: 0, complete: false },
      over,
    ]);
  });
});
