import * as fc from "fast-check";
import { expect, it } from "vitest";
import {
  ask,
  called,
  fn,
  message,
  plain,
  result,
  withHistory,
  withTools,
} from "../../../test/support/turns.ts";
import { genericMessages } from "../../profiles/generic.ts";
import type { HistoryRule } from "../../turn/profile.ts";
import type { Item } from "../../turn/turn.ts";
import { toolsetOf } from "../plan/toolset.ts";
import { isPlainHistory, planHistory } from "./history.ts";

const tools = [fn("look"), fn("x/y")];

it("takes a conversation of texts, calls and results for plain, also under strict rules", () => {
  const items = [
    message("system", "be brief"),
    message("user", "look twice"),
    message("assistant", "so"),
    called("a"),
    called("b"),
    result("a"),
    result("b"),
    message("assistant", "done"),
    message("user", "thanks"),
  ];
  for (const profile of [plain, genericMessages, withHistory({ paired: true, empty: false })])
    expect(isPlainHistory(ask({ items, tools }), toolsetOf(ask({ tools }), profile), profile)).toBe(
      true,
    );
});

const ids = fc.constantFrom("a", "b", "c", "", "an id");
const names = fc.constantFrom("look", "x/y", "gone");
const inputs = fc.constantFrom("{}", '{"a":1}', "", "[1]", "no JSON");
const texts = fc.constantFrom("hi", " ", "");
const item: fc.Arbitrary<Item> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.tuple(ids, names, inputs).map(([id, name, input]) => called(id, name, { input })),
  },
  { weight: 3, arbitrary: fc.tuple(ids, texts).map(([id, text]) => result(id, text)) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom("system", "developer", "user", "assistant"), texts)
      .map(([role, text]) => message(role, text)),
  },
  fc.constant<Item>({ ...message("user", "hi"), name: "Ann" }),
  fc.constant<Item>({ type: "message", role: "user", parts: [] }),
  fc.constant<Item>({ type: "message", role: "user", parts: [{ type: "image", url: "data:," }] }),
  fc.constant<Item>({ type: "reasoning", summary: [], content: ["hm"] }),
  fc.constant<Item>({ type: "opaque", dialect: "responses", raw: { type: "odd" } }),
  ids.map((id): Item => result(id, "found", { declares: { tools: [fn("more")] } })),
  fc.tuple(ids, names).map(([id, name]): Item => result(id, "ok", { name })),
);
/** A call with its result, so that long conversations are often in order. */
const pair = fc
  .tuple(ids, names)
  .map(([id, name]): readonly Item[] => [called(id, name), result(id, "ok")]);
const conversation = fc
  .array(
    fc.oneof(
      item.map((one) => [one]),
      pair,
    ),
    { maxLength: 8 },
  )
  .map((lists) => lists.flat());

const some = <Value>(...values: readonly Value[]) =>
  fc.option(fc.constantFrom(...values), { nil: undefined });
const rules: fc.Arbitrary<HistoryRule> = fc.record({
  paired: some(true),
  interleaved: some(true),
  roles: some<HistoryRule["roles"]>(["user", "assistant", "system"], ["user", "assistant"]),
  lateSystem: some(false),
  media: some<HistoryRule["media"]>([]),
  resultMedia: some<HistoryRule["media"]>([]),
  empty: some(false),
  names: some(false),
  resultNames: some(true),
  reasoningWithCalls: some("."),
  behindResults: some("So."),
  beforeCalls: some("Go on."),
  ids: some({ chars: "A-Za-z0-9", max: 9 }),
});

it("never takes a conversation for plain that a rule would change or report", () => {
  let count = 0;
  fc.assert(
    fc.property(
      conversation,
      fc.option(rules, { nil: undefined }),
      fc.boolean(),
      fc.constantFrom("chat", "messages"),
      fc.boolean(),
      (items, history, parallel, dialect, hasPlaces) => {
        const profile = { ...withTools({ parallel }), history };
        const places = hasPlaces ? items.map((_, at) => at) : undefined;
        const turn = ask({ items, tools, dialect, places });
        const set = toolsetOf(turn, profile);
        if (!isPlainHistory(turn, set, profile)) return;
        count++;
        const planned = planHistory(turn, set, profile);
        expect(planned.decisions).toEqual([]);
        expect(planned.items).toBe(turn.items);
        expect(planned.places).toBe(turn.places);
      },
    ),
    { numRuns: 3000 },
  );
  expect(count).toBeGreaterThan(100);
});
