import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chat } from "../../dialects/chat/chat.ts";
import { responses } from "../../dialects/responses/responses.ts";
import { genericChat } from "../../profiles/generic.ts";
import { extendProfile } from "../../profiles/extend.ts";
import { AnswerFold } from "../../stream/fold.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { clientName, type ClientName } from "../../turn/names.ts";
import type { Call, Item, Turn } from "../../turn/turn.ts";
import { callIdWith, openedIn } from "./call-id.ts";
import { foldTools } from "./fold.ts";
import { restoreLog } from "./question.ts";
import { DisclosureStage } from "./stage.ts";
import type { DisclosureSettings } from "./settings.ts";

const NAMES = ["alpha", "beta", "gamma", "delta"].flatMap((group) =>
  Array.from({ length: 5 }, (_, at) => `${group}_${at}`),
);
const tools = NAMES.map((name) => ({
  type: "function" as const,
  name: clientName(name),
  description: `Does ${name}.`,
  schema: { type: "object", properties: { n: { type: "number" } }, additionalProperties: false },
}));

const settings = (mode: DisclosureSettings["mode"]): DisclosureSettings => ({
  mode,
  thresholds: { tools: 24, bytes: 32_000 },
  rounds: 8,
});

const turnOf = (dialect: typeof chat | typeof responses, items: readonly Item[]): Turn => ({
  dialect: dialect.name,
  traits: dialect.traits,
  model: "m",
  items,
  tools,
  params: {},
  stream: true,
  usageWanted: false,
  extra: { dialect: dialect.name, fields: {} },
  body: {},
});

const profile = extendProfile(genericChat, { tools: { max: 18 } });

let number = 0;
/** An answer that makes some calls. */
const answerWith = (...calls: readonly (readonly [name: string, input: string])[]) => [
  ...calls.flatMap(([name, text], call): TurnEvent<ClientName>[] => [
    {
      type: "call-start",
      choice: 0,
      call,
      id: `id_${++number}`,
      kind: "function",
      name: clientName(name),
    },
    { type: "call-delta", choice: 0, call, text },
    { type: "call-end", choice: 0, call, complete: true },
  ]),
  { type: "turn-end", choice: 0, stop: calls.length === 0 ? "end" : "calls" } as const,
];

/** Plays one turn: readings in hidden rounds, then a call. Gives what the client was given and what was asked last. */
function play(
  turn: Turn,
  mode: DisclosureSettings["mode"],
  reads: readonly string[],
  call: readonly [string, string],
) {
  const stage = new DisclosureStage(turn, settings(mode));
  const given = new AnswerFold<ClientName>();
  let asked = stage.ask(profile, turn);
  for (const key of reads) {
    for (const event of answerWith(["read_section", JSON.stringify({ key })]))
      stage.each(event, (one) => void (one.type === "turn-end" || given.each(one)));
    stage.end(() => {});
    expect(stage.continues()).toBe(true);
    asked = stage.ask(profile, turn);
  }
  const made: readonly [string, string] =
    mode === "wrap"
      ? ["call_tool", `{"name":${JSON.stringify(call[0])},"arguments":${call[1]}}`]
      : call;
  for (const event of answerWith(made)) stage.each(event, (one) => void given.each(one));
  stage.end(() => {});
  expect(stage.continues()).toBe(false);
  return { asked, items: given.items(0) as readonly Item[] };
}

const keys = fc.array(fc.constantFrom("alpha", "beta", "gamma", "delta"), { maxLength: 5 });
const anyMode = fc.constantFrom("wrap" as const, "append" as const);
const anyDialect = fc.constantFrom(chat, responses);
const user: Item = { type: "message", role: "user", parts: [{ type: "text", text: "Go." }] };

/** Three sections of five fit beside the loader: those that were opened last. */
function keptOf(reads: readonly string[]): ReadonlySet<string> {
  const opened: string[] = [];
  const kept = (): Set<string> => new Set([...new Set(opened.toReversed())].slice(0, 3));
  for (const key of reads) if (!kept().has(key)) opened.push(key);
  return kept();
}

const declaredIn = ({ tools: sent }: Turn): string[] =>
  sent.map(({ name }) => String(name)).filter((name) => NAMES.includes(name));

describe("whatever the order of openings", () => {
  it("the tools that can be called are those of the sections that were opened, and the next request has them again", () => {
    const cases = fc.tuple(anyDialect, anyMode, keys, fc.constantFrom(...NAMES));
    fc.assert(
      fc.property(cases, ([dialect, mode, reads, name]) => {
        const first = play(turnOf(dialect, [user]), mode, reads, [name, '{"n":1}']);
        const opened = new Set<string>(reads);
        const last = mode === "wrap" ? new Set() : keptOf(reads);
        const callable = NAMES.filter((one) => last.has(one.split("_")[0] ?? ""));
        expect(declaredIn(first.asked).toSorted()).toEqual(callable.toSorted());
        const texts = JSON.stringify(first.asked.items);
        for (const key of ["alpha", "beta", "gamma", "delta"])
          expect(texts.includes(`Content of section '${key}'`)).toBe(opened.has(key));

        const call = first.items.find((item) => item.type === "call") as Call;
        expect([call.name, call.input]).toEqual([name, '{"n":1}']);
        const result: Item = { type: "result", call: call.id, kind: "function", parts: [] };
        const resumed = play(
          turnOf(dialect, [user, ...first.items, result]),
          mode,
          [],
          [name, "{}"],
        );
        // What was asked before stands there as it stood, byte for byte. A call id has no room for
        // readings of what was open already.
        const isAgain = opened.size < reads.length && !dialect.traits.sealsReasoning;
        const before = JSON.stringify(first.asked.items).slice(0, -1);
        expect(isAgain || JSON.stringify(resumed.asked.items).startsWith(before)).toBe(true);
      }),
    );
  });

  it("ids carry up to ten openings and are never longer than 40 characters", () => {
    const folded = foldTools(turnOf(chat, [user]), profile, settings("wrap"));
    if (folded === undefined) throw new Error("nothing is folded");
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("alpha", "beta", "gamma", "delta")),
        fc.string(),
        (paths, own) => {
          const id = callIdWith(paths, folded.catalog, own) ?? "";
          expect(id.length).toBeLessThanOrEqual(40);
          expect(openedIn(id, folded.catalog)).toEqual(paths.slice(-10));
        },
      ),
    );
    expect(openedIn("call_1", folded.catalog)).toEqual([]);
  });

  it("ids put a section back a few times at most, however many there are", () => {
    const turn = turnOf(chat, []);
    const folded = foldTools(turn, profile, settings("wrap"));
    if (folded === undefined) throw new Error("nothing is folded");
    const id = callIdWith(Array(10).fill("alpha"), folded.catalog, "own") ?? "";
    const name = clientName("alpha_1");
    const items = Array.from({ length: 1000 }, (): Call => ({
      type: "call",
      id,
      kind: "function",
      name,
      input: "{}",
    }));
    const log = restoreLog({ ...turn, items }, folded);
    expect(log.filter(({ added: { item } }) => item.type === "result")).toHaveLength(8);
  });
});
