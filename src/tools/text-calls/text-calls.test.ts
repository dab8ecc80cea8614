import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { broken } from "../../../test/support/stream-grammar.ts";
import {
  ask,
  builtin,
  custom,
  fn,
  namespace,
  plain,
  restored,
  whole,
} from "../../../test/support/turns.ts";
import { StreamNormalizer } from "../../stream/normalize.ts";
import { chain, runStage } from "../../stream/stage.ts";
import type { Decision } from "../../turn/decision.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { JsonSchema } from "../../turn/turn.ts";
import { planTools } from "../plan/plan.ts";
import { textCalls } from "./text-calls.ts";
import { writeUseTool } from "./use-tool.ts";

type Event = TurnEvent<UpstreamName>;

const schema: JsonSchema = {
  type: "object",
  properties: { q: { type: "string" }, n: { type: "integer" } },
};
const tools = [
  fn("look", schema),
  fn("files.read"),
  custom("patch"),
  builtin("web_search"),
  namespace("git", [fn("status")]),
];
const plan = planTools(ask({ tools }), plain);
const counter = (): ((prefix: string) => string) => {
  let count = 0;
  return (prefix) => `${prefix}_${++count}`;
};
const stage = (of = plan) => textCalls(of.identity, counter());

const say = (text: string, choice = 0): Event => ({ type: "text-delta", choice, text });
const end = (choice = 0): Event => ({ type: "turn-end", choice, stop: "end" });
const frame: Event = { type: "frame", data: "x", forwardable: true };
const start = (call: number, choice = 0): Event => ({
  type: "call-start",
  choice,
  call,
  id: `up_${call}`,
  kind: "function",
  name: upstreamName("look"),
});
const think = (text: string): Event => ({
  type: "reasoning-delta",
  choice: 0,
  text,
  of: "content",
  part: 0,
});

/** Events as short as can be told apart, text that belongs together in one. */
function shown(events: readonly Event[]): string[] {
  const lines: string[] = [];
  let text: string | undefined;
  for (const event of [...events, undefined]) {
    if (event?.type === "text-delta") {
      if (event.text === "") continue;
      text = (text ?? "") + event.text;
      continue;
    }
    if (text !== undefined) lines.push(`"${text}"`);
    text = undefined;
    if (event === undefined) break;
    if (event.type === "call-start")
      lines.push(`${event.call}:${event.kind} ${event.namespace ?? ""}${event.name} ${event.id}`);
    else if (event.type === "call-delta") lines.push(`${event.call}:${event.text}`);
    else if (event.type === "call-end") lines.push(`${event.call}:${event.complete}`);
    else lines.push(event.type);
  }
  return lines;
}
const run = (...events: readonly Event[]): string[] => shown(runStage(stage(), events));

it("tells of every call that was text", () => {
  const decisions: Decision[] = [];
  const told = textCalls(plan.identity, counter(), (one) => void decisions.push(one));
  const block = "<use_tool><name>look</name></use_tool>";
  runStage(told, [say(`So: ${block}`), start(0), say("<use_tool><name>none</name></use_tool>")]);
  expect(decisions).toEqual([
    { path: "output", action: "reshaped", reason: "a call of `look` was written as text" },
  ]);
});
const told = (...pieces: readonly string[]): string[] => run(...pieces.map((piece) => say(piece)));

const block = (q: string): string => writeUseTool("look", JSON.stringify({ q }), schema);
const call = (number: number, q: string): string[] => [
  `${number}:function look call_${number + 1}`,
  `${number}:${JSON.stringify({ q })}`,
  `${number}:true`,
];

/** The text in pieces, cut at the places given. */
const pieces = (text: string, places: readonly number[]): string[] => {
  const at = [0, ...places.map((one) => one % (text.length + 1)).toSorted((a, b) => a - b)];
  return at.map((from, index) => text.slice(from, at[index + 1] ?? text.length));
};

describe("calls written in text", () => {
  it("are calls, and the text around them is text", () => {
    expect(told(`Let me see. ${block("cats")} Well?`)).toEqual([
      '"Let me see. "',
      ...call(0, "cats"),
      '" Well?"',
    ]);
  });

  it("are several in one delta, and in many", () => {
    const text = `${block("a")}\n${block("b")}\n\n${block("c")}`;
    const calls = [...call(0, "a"), ...call(1, "b"), ...call(2, "c")];
    expect(told(text)).toEqual(calls);
    expect(told(...text.split(""))).toEqual(calls);
  });

  it("have the types that were declared", () => {
    const text = "<use_tool><name>look</name><q>5</q><n>5</n><x>&amp;</x></use_tool>";
    expect(told(text)[1]).toBe('0:{"q":"5","n":5,"x":"&"}');
  });

  it("are the same however they are split", () => {
    const texts = [
      `Hi 😀 <b>${block("名前 e\u0301 👩‍👩‍👧 <x>")}\n${block("a\r\nb")} < <use_to <use_tool> ok`,
      `\n ${block("a")} \n<use_tool name="look"><q><![CDATA[</use_tool>]]]></q></use_tool>\n`,
      `<use_tool>no</use_tool><<use_tool ><name>look</name></use_tool ><use_tool/>`,
      `<use_tool><name>look</name><q>a ${block("b")}</use_tool>`,
      `<use_tool><name>nobody</name></use_tool>\n${block("c")}<use_tool><name>look`,
      `<use_tool name = 'look' />. <use_tool name="look" x>`,
    ];
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...texts), { minLength: 1, maxLength: 3 }),
        fc.array(fc.nat()),
        (parts, places) => {
          const text = parts.join("");
          expect(told(...pieces(text, places))).toEqual(told(text));
        },
      ),
    );
    for (const text of texts) expect(told(...text.split(""))).toEqual(told(text));
  });

  it("are read whole, halves of characters and all, wherever they are split", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 0xff_ff })), fc.array(fc.nat()), (codes, places) => {
        const q = String.fromCharCode(...codes);
        expect(told(...pieces(block(q), places))).toEqual(call(0, q));
      }),
    );
  });

  it("are restored as the client declared their tools", () => {
    const text = [
      "<use_tool><name>patch</name><args>*** Begin &lt;b></args></use_tool>",
      "<use_tool><name>patch</name><input>*** Begin\n <b></input></use_tool>",
      "<use_tool><name>git.status</name></use_tool>",
      "<use_tool><name>files.read</name><path>a</path></use_tool>",
      "<use_tool><name>functions.look</name><q>1</q></use_tool>",
    ].join("\n");
    const events = runStage(chain([stage(), new StreamNormalizer<UpstreamName>()]), [
      say(text),
      end(),
    ]);
    expect(restored(plan, events).calls).toMatchObject([
      { kind: "custom", name: "patch", input: "*** Begin <b>" },
      { kind: "custom", name: "patch", input: "*** Begin\n <b>" },
      { kind: "function", namespace: "git", name: "status", input: "{}" },
      { kind: "function", name: "files.read", input: '{"path":"a"}' },
      { kind: "function", name: "look", input: '{"q":"1"}' },
    ]);
    const native = planTools(ask({ tools }), whole);
    const same = runStage(chain([stage(native), new StreamNormalizer<UpstreamName>()]), [
      say(text),
      end(),
    ]);
    expect(restored(native, same).calls).toMatchObject([
      { kind: "custom", name: "patch", input: "*** Begin <b>" },
      { kind: "custom", name: "patch", input: "*** Begin\n <b>" },
      { kind: "function", namespace: "git", name: "status" },
      { kind: "function", name: "files.read" },
      { kind: "function", name: "look" },
    ]);
  });

  it("cannot be of what the provider runs", () => {
    const text = "<use_tool><name>web_search</name><query>a</query></use_tool>";
    const native = planTools(ask({ tools }), whole);
    expect(shown(runStage(stage(native), [say(text)]))).toEqual([`"${text}"`]);
  });

  it.each([
    ["a tool nobody declared", "<use_tool><name>rm</name></use_tool> \n"],
    ["no name", "a<use_tool>\n<q>1</q>\n</use_tool>"],
    ["no end", `a\n${block("x").slice(0, -1)}`],
    ["no beginning", " </use_tool>\n"],
    ["nothing in it", "<use_tool></use_tool>"],
    ["an end that stands in character data", '<use_tool name="look"><![CDATA[</use_tool>'],
    ["a longer name", "<use_tools><name>look</name></use_tools>"],
    ["words in its place", "I write <use_tool> and then </use_tool>. < <u <use_tool"],
  ])("are text to the byte with %s", (_, text) => {
    expect(told(text)).toEqual([`"${text}"`]);
    expect(told(...text.split(""))).toEqual([`"${text}"`]);
  });

  it("are found behind a block that was never closed", () => {
    const open = "<use_tool><name>look</name><q>a</q>\n";
    expect(told(open, block("b"))).toEqual([`"${open}"`, ...call(0, "b")]);
  });

  it("are found in an argument that was never closed", () => {
    const open = "<use_tool><name>look</name><q>a\n";
    expect(told(open, block("b"))).toEqual([`"${open}"`, ...call(0, "b")]);
  });

  it("may speak of the tag themselves", () => {
    const text = "<use_tool><name>look</name><q>the <use_tool> tag</q></use_tool>";
    expect(told(text)).toEqual(call(0, "the <use_tool> tag"));
  });

  it.each([
    ["before", ` \n${block("a")}`],
    ["between", `${block("a")}\n\n`],
    ["behind", `${block("a")}\n`],
  ])("take white space with them that stands alone %s them", (_, text) => {
    expect(told(...text.split(""))).toEqual(call(0, "a"));
  });

  it("leave white space alone that belongs to words", () => {
    expect(told(`\n Hi\n\n${block("a")}\n\nBye\n`)).toEqual([
      '"\n Hi\n\n"',
      ...call(0, "a"),
      '"\n\nBye\n"',
    ]);
    expect(told(" ", "\n")).toEqual(['" \n"']);
  });
});

describe("text that may be a call", () => {
  it("is held only as long as it may", () => {
    const said: string[] = [];
    const one = stage();
    const tell = (text: string): string => {
      said.length = 0;
      one.each(
        say(text),
        (event) => void said.push(event.type === "text-delta" ? event.text : "?"),
      );
      return said.join("");
    };
    expect(tell("a <us")).toBe("a ");
    expect(tell("e")).toBe("");
    expect(tell("r> b")).toBe("<user> b");
    expect(tell("<use_tool ")).toBe("");
    expect(tell("n")).toBe("");
    expect(tell("o a")).toBe("<use_tool no a");
    expect(tell("<use_tool>\n")).toBe("");
    expect(tell("x")).toBe("<use_tool>\nx");
  });

  it("passes as the very event it came as, if it is plain", () => {
    const events = [say("a"), say("b < c"), say(" ")];
    expect(runStage(stage(), events).every((event, at) => event === events[at])).toBe(true);
  });

  it.each<[string, Event]>([
    ["the turn ends", end()],
    ["the turn fails", { type: "turn-fail", fault: new Fault("upstream.failed", "it broke") }],
    ["the message ends", { type: "text-end", choice: 0 }],
    ["another begins", { type: "text-start", choice: 0 }],
    ["a part ends", { type: "text-break", choice: 0 }],
    ["the model thinks", think("hm")],
    ["a call comes", start(0)],
    ["an item comes", { type: "item-start", choice: 0, item: 0, dialect: "responses", raw: {} }],
    ["the model refuses", { type: "refusal-delta", choice: 0, text: "no" }],
  ])("is text once %s", (_, event) => {
    const half = "<use_tool><name>look</name> ";
    const [first, second] = runStage(stage(), [say(half), event]);
    expect(first).toEqual(say(half));
    expect(second).toMatchObject({ type: event.type });
  });

  it("waits while counts, frames and pieces of other calls go by", () => {
    const usage: Event = { type: "usage", usage: { input: 1, output: 1, total: 2 } };
    const text = block("a");
    const more: Event = { type: "call-delta", choice: 0, call: 0, text: "{}" };
    expect(run(start(0), say(text.slice(0, 20)), usage, frame, more, say(text.slice(20)))).toEqual([
      "0:function look up_0",
      "usage",
      "frame",
      "0:{}",
      "1:function look call_1",
      '1:{"q":"a"}',
      "1:true",
    ]);
  });

  // Takes hours if what is held is gone through again for each piece.
  it("costs no more in a million pieces", () => {
    const text = `${block("x".repeat(1_000_000))}${" ".repeat(100_000)}${"<use_tool name='".repeat(50_000)}`;
    let calls = 0;
    const one = stage();
    for (const char of text)
      one.each(say(char), (event) => void (event.type === "call-end" && calls++));
    one.end?.(() => {});
    expect(calls).toBe(1);
  });
});

describe("what stands beside calls in text", () => {
  it("keeps the order of all calls", () => {
    const done: Event = { type: "call-end", choice: 0, call: 0, complete: true };
    const input: Event = { type: "call-delta", choice: 0, call: 1, text: "{}" };
    const events = [say(block("a")), start(0), done, say(block("b")), start(1), input, start(1)];
    expect(run(...events)).toEqual([
      ...call(0, "a"),
      "1:function look up_0",
      "1:true",
      "2:function look call_2",
      '2:{"q":"b"}',
      "2:true",
      "3:function look up_1",
      "3:{}",
      "3:function look up_1",
    ]);
  });

  it("keeps choices apart", () => {
    const [one, two] = [block("a"), block("b")];
    const events = [say(one.slice(0, 9)), say(two.slice(0, 30), 1), say(one.slice(9)), end()];
    const out = runStage(stage(), [...events, say(two.slice(30), 1), end(1)]);
    expect(shown(out.filter((event) => "choice" in event && event.choice === 0))).toEqual([
      ...call(0, "a"),
      "turn-end",
    ]);
    expect(shown(out.filter((event) => "choice" in event && event.choice === 1))).toEqual([
      "0:function look call_2",
      '0:{"q":"b"}',
      "0:true",
      "turn-end",
    ]);
  });

  it("does not look for calls in reasoning", () => {
    expect(run(think(block("a")))).toEqual(["reasoning-delta"]);
  });

  it("makes no message of nothing but calls", () => {
    const begin: Event = { type: "text-start", choice: 0, id: "msg_1", phase: "commentary" };
    const over: Event = { type: "text-end", choice: 0 };
    expect(run(begin, say(`\n${block("a")}\n`), over, end())).toEqual([
      ...call(0, "a"),
      "turn-end",
    ]);
    expect(run(begin, over)).toEqual(["text-start", "text-end"]);
    const split = runStage(stage(), [begin, say(`a${block("b")}c`), over]);
    expect(split.filter(({ type }) => type === "text-start")).toEqual([
      begin,
      { type: "text-start", choice: 0, phase: "commentary" },
    ]);
  });

  it("keeps the probabilities of the text that stays, and drops those of calls", () => {
    const text = `a b${block("q")}c`;
    const tokens = ["a", " b<", text.slice(4, -3), "l>", "c"].map((token) => ({ token }));
    const deltas = (...events: Event[]): unknown[] =>
      runStage(stage(), events).flatMap((event) =>
        event.type === "text-delta" ? [[event.text, event.logprobs]] : [],
      );
    expect(deltas({ type: "text-delta", choice: 0, text, logprobs: tokens })).toEqual([
      ["a b", [{ token: "a" }, { token: " b<" }]],
      ["c", [{ token: "c" }]],
    ]);
    const held: Event = {
      type: "text-delta",
      choice: 0,
      text: "a <use",
      logprobs: [{ token: "a" }],
    };
    const rest: Event = {
      type: "text-delta",
      choice: 0,
      text: "ful",
      logprobs: [{ token: "ful" }],
    };
    expect(deltas(held, rest)).toEqual([
      ["a ", [{ token: "a" }]],
      ["<use", undefined],
      ["ful", [{ token: "ful" }]],
    ]);
  });

  it("keeps annotations with the text that they are of", () => {
    const note: Event = { type: "text-note", choice: 0, annotation: {} };
    const text = block("a");
    expect(run(say(`See${text.slice(0, 15)}`), note, say(text.slice(15)))).toEqual([
      '"See"',
      "text-note",
      ...call(0, "a"),
    ]);
    expect(run(say("a <us"), note, say("eful"))).toEqual(['"a <us"', "text-note", '"eful"']);
    expect(run(say(text.slice(0, 15)), note, say(text.slice(15)))).toEqual(call(0, "a"));
  });

  it("says of frames that they no longer tell what is told", () => {
    const regular = (...events: Event[]): boolean[] =>
      runStage(stage(), events).flatMap((event) =>
        event.type === "frame" ? [event.forwardable] : [],
      );
    expect(regular(say("a"), frame, say("b <"), frame, say("c"), frame)).toEqual([
      true,
      false,
      false,
    ]);
    expect(regular(say(block("a")), frame)).toEqual([false]);
  });

  it("is lawful once the next stage has seen it", () => {
    const parts = [
      say("a "),
      say("\n"),
      say(block("a")),
      say("<use_tool>"),
      say(block("b").slice(0, 20)),
    ];
    const others: Event[] = [
      start(0),
      start(1),
      { type: "call-end", choice: 0, call: 0, complete: true },
      { type: "text-start", choice: 0, phase: "commentary" },
      { type: "text-break", choice: 0 },
      { type: "text-note", choice: 0, annotation: {} },
      { type: "text-end", choice: 0 },
      think("hm"),
      say("x", 1),
      frame,
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...parts, ...others)), (events) => {
        const last = [say("."), end(), say(".", 1), end(1)];
        const out = runStage(chain([stage(), new StreamNormalizer<UpstreamName>(2)]), [
          ...events,
          ...last,
        ]);
        expect(broken(out)).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});
