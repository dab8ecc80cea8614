import { describe, expect, it } from "vitest";
import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";
import { backs, type Back, type Say } from "./backs.ts";
import { doors, type Asking, type Given } from "./doors.ts";
import { someTools } from "./tools.ts";

const tools = someTools(60);
const MAX = 40;
const create = { name: "ticket_create", section: "ticket_1", arguments: { id: "T-1" } };
const invoice = { name: "invoice_list", section: "invoice_1", arguments: { id: "I-1" } };

type Setting = { readonly back: Back; readonly door: keyof typeof doors; readonly stream: boolean };

/** Lets one client talk to one folded upstream that says these things in turn. */
async function play(
  { back, door, stream }: Setting,
  says: readonly Say[],
  act: (stage: {
    ask(said: string | readonly string[], more?: Partial<Asking>): Promise<Given>;
    asked: readonly Body[];
    tools(at: number): readonly string[];
    items(at: number): readonly Body[];
    happened(): Body;
  }) => Promise<void>,
  config: Body = {},
): Promise<void> {
  await using upstream = await fakeUpstream(({ body, path }, at) =>
    back.answer(body, says[at] ?? { text: "There is no more to say." }, at, path),
  );
  await using served = await serve({ ...onto(back.dialect, upstream.url, back.more), ...config });
  const talk = doors[door](served);
  const requests = upstream.requests;
  await act({
    ask: (said, more = {}) => talk.ask(said, { tools, stream, mode: back.strategy, ...more }),
    get asked() {
      return requests.map(({ body }) => body);
    },
    tools: (at) => back.tools(requests[at]?.body ?? {}),
    items: (at) => back.items(requests[at]?.body ?? {}),
    happened: () => served.turns().at(-1) as unknown as Body,
  });
  for (const { body } of requests) {
    expect(back.tools(body).length).toBeLessThanOrEqual(MAX);
    expectPairs(back.items(body));
  }
}

const partsOf = (item: Body): readonly Body[] => (item["parts"] ?? []) as Body[];

/** Every call is answered, and every answer has its call. */
function expectPairs(items: readonly Body[]): void {
  const calls = items.flatMap((item) => [
    ...((item["tool_calls"] ?? []) as Body[]).map((call) => call["id"] as string),
    ...(String(item["type"]).endsWith("_call") ? [item["call_id"] as string] : []),
    ...partsOf(item).flatMap(({ functionCall: call }) => (call?.id ?? []) as string),
  ]);
  const answers = items.flatMap((item) => [
    ...(item["role"] === "tool" ? [item["tool_call_id"] as string] : []),
    ...(String(item["type"]).endsWith("_output") ? [item["call_id"] as string] : []),
    ...partsOf(item).flatMap(({ functionResponse: result }) => (result?.id ?? []) as string),
  ]);
  expect(answers.toSorted()).toEqual(calls.toSorted());
}

const INTERNALS = /read_section|call_tool|tool_search|ticket_1\b/;

const expectCalls = ({ calls, shown }: Given, ...wanted: readonly (typeof create)[]): void => {
  expect(calls.map(({ name, arguments: given }) => [name, JSON.parse(given)])).toEqual(
    wanted.map(({ name, arguments: given }) => [name, given]),
  );
  expect(shown).not.toMatch(INTERNALS);
};

const settings = backs.flatMap((back) =>
  (["chat", "responses", "messages", "gemini"] as const).flatMap((door) =>
    [true, false].map((stream) => ({
      name: `${back.name}, ${door} door, ${stream ? "streamed" : "whole"}`,
      setting: { back, door, stream },
    })),
  ),
);

describe.each(settings)("folded tools: $name", ({ setting }) => {
  const { back } = setting;
  const text = (value: unknown): string => JSON.stringify(value);
  // A chat client has no place for the signature of a hidden call; the API takes the dummy there.
  const told = (items: readonly Body[]): readonly Body[] =>
    setting.door !== "chat"
      ? items
      : (JSON.parse(
          text(items).replaceAll(/(?<="thoughtSignature":")[^"]*/g, ""),
        ) as readonly Body[]);

  it("are opened, called by their own names, and found again in the next request", () =>
    play(setting, [{ reads: ["ticket_1"] }, { calls: [create] }, { text: "Done." }], async (on) => {
      const first = await on.ask("Go.");
      expectCalls(first, create);
      expect(first.usage).toBe(36);
      expect(on.happened()).toMatchObject({
        rounds: 2,
        disclosure: {
          strategy: back.strategy,
          tools: 60,
          openings: 1,
          hiddenRounds: 1,
          misses: 0,
          dynamic: 1,
          injected: 5,
        },
        plan: expect.stringMatching(/deferred=(?:60|55) /),
      });
      expect((await on.ask(["Created."])).text).toBe("Done.");
      // What the model was told in the hidden round stands where it stood.
      const [, opened, resumed] = on.asked;
      expect(told(on.items(2)).slice(0, on.items(1).length)).toEqual(told(on.items(1)));
      expect(resumed?.["tools"]).toEqual(opened?.["tools"]);
    }));

  it("are answered with the nearest where a section is unknown, and again where it is open", () =>
    play(
      setting,
      [
        { reads: ["tickt_1"] },
        { reads: ["ticket_1"] },
        { reads: ["ticket_1"] },
        { calls: [create] },
      ],
      async (on) => {
        expectCalls(await on.ask("Go."), create);
        expect(text(on.items(1))).toMatch(/Did you mean .{0,3}ticket_1/);
        expect(text(on.items(3))).toContain("already expanded");
        expect(on.happened()).toMatchObject({
          disclosure: { openings: 1, hiddenRounds: 3, misses: 1 },
        });
      },
    ));

  it("are opened several at once, and called several at once", () =>
    play(
      setting,
      [{ reads: ["ticket_1", "invoice_1"] }, { calls: [create, invoice] }, { text: "Done." }],
      async (on) => {
        expectCalls(await on.ask("Go."), create, invoice);
        expect((await on.ask(["Created.", "None."])).text).toBe("Done.");
        expect(told(on.items(2)).slice(0, on.items(1).length)).toEqual(told(on.items(1)));
      },
    ));

  it("come with readings in one answer, which the next request brings back", () =>
    play(setting, [{ reads: ["invoice_1"], calls: [create] }, { text: "Done." }], async (on) => {
      expectCalls(await on.ask("Go."), create);
      expect(on.asked).toHaveLength(1);
      expect((await on.ask(["Created."])).text).toBe("Done.");
      expect(text(on.items(1))).toContain("Content of section 'invoice_1'");
    }));

  it("are declared by themselves where the request forces one", () =>
    play(setting, [{ plain: [invoice] }], async (on) => {
      expectCalls(await on.ask("Go.", { choice: { force: "invoice_list" } }), invoice);
      expect(on.tools(0)).toContain("invoice_list");
      expect(text(on.asked[0]?.["tool_choice"] ?? on.asked[0]?.["toolConfig"])).toContain(
        "invoice_list",
      );
      expect(on.asked).toHaveLength(1);
    }));

  it("are asked for until one is called where a call is required", () =>
    play(
      setting,
      [{ reads: ["ticket_1"] }, { reads: ["invoice_1"] }, { calls: [create] }],
      async (on) => {
        expectCalls(await on.ask("Go.", { choice: "required" }), create);
        expect(on.asked.map((body) => back.requires(body))).toEqual([true, true, true]);
      },
    ));

  // The Messages API has no such choice.
  it.skipIf(setting.door === "messages")("are only those that are allowed", () => {
    const allow = tools.filter(({ name }) => name.startsWith("ticket")).map(({ name }) => name);
    return play(
      setting,
      [{ plain: [invoice] }, { reads: ["ticket_1"] }, { calls: [create] }],
      async (on) => {
        expectCalls(await on.ask("Go.", { choice: { allow } }), create);
        expect(text(on.asked[0])).not.toContain("invoice");
        expect(text(on.items(1))).toContain("There is no tool `invoice_list`");
      },
    );
  });

  it("leave alone a tool of the client's that has the loader's name", () =>
    play(setting, [{ reads: ["ticket_1"] }, { calls: [create] }], async (on) => {
      const own = { name: "read_section", description: "Mine.", parameters: { type: "object" } };
      expectCalls(await on.ask("Go.", { tools: [...tools, own] }), create);
      expect(on.tools(0)).toContain("read_section");
    }));

  it("fail as a hidden round fails", async () => {
    const refused: Say[] = [{ reads: ["ticket_1"] }, { error: 503 }];
    await play(setting, refused, async (on) => {
      await expect(on.ask("Go.")).rejects.toThrow(/Overloaded/);
      expect(on.happened()).toMatchObject({ outcome: "failed", rounds: 2 });
    });
    await play(setting, [{ reads: ["ticket_1"] }, { cut: true }], async (on) => {
      await expect(on.ask("Go.")).rejects.toThrow(/closed|cut|ended|terminated/);
      expect(on.happened()).toMatchObject({ outcome: "failed", rounds: 2 });
    });
  });

  it("are asked for once more without the loader when the rounds are used up", () => {
    const reads = { reads: ["ticket_1"] };
    const says = [reads, reads, { text: "I give up." }];
    const config = { tools: { disclosure: { mode: "fit", rounds: 2 } } };
    return play(
      setting,
      says,
      async (on) => {
        expect((await on.ask("Go.")).text).toBe("I give up.");
        expect(on.asked).toHaveLength(3);
        expect(on.tools(1).join()).toMatch(/read_section|tool_search/);
        expect(on.tools(2).join()).not.toMatch(/read_section|tool_search/);
      },
      config,
    );
  });

  it("fail where a model reads on when the rounds are used up, and says nothing", () => {
    const reads = { reads: ["ticket_1"] };
    const config = { tools: { disclosure: { mode: "fit", rounds: 2 } } };
    return play(
      setting,
      [reads, reads, reads],
      async (on) => {
        await expect(on.ask("Go.")).rejects.toThrow(/`tools\.disclosure\.rounds`/);
        expect(on.asked).toHaveLength(3);
        expect(on.happened()).toMatchObject({
          outcome: "failed",
          fault: "disclosure.rounds",
          usage: { total: 54 },
        });
      },
      config,
    );
  });

  it("are incomplete where a model reads on when the rounds are used up, and says something", () => {
    const reads = { reads: ["ticket_1"] };
    const config = { tools: { disclosure: { mode: "fit", rounds: 1 } } };
    return play(
      setting,
      [reads, { ...reads, text: "Let me look." }],
      async (on) => {
        expect((await on.ask("Go.")).text).toBe("Let me look.");
        expect(on.happened()).toMatchObject({ outcome: "incomplete", stops: ["length"] });
      },
      config,
    );
  });

  it("are not called where nothing is to be called", () =>
    play(setting, [{ reads: ["ticket_1"], text: "No." }], async (on) => {
      const given = await on.ask("Go.", { choice: "none" });
      expect([given.text, given.calls, on.asked.length]).toEqual(["No.", [], 1]);
    }));
});

describe("a call through call_tool", () => {
  const [back] = backs;
  const wrap = back as Back;
  it.each([true, false])(
    "whose arguments do not fit is answered with the schema (stream: %s)",
    (stream) =>
      play(
        { back: wrap, door: "chat", stream },
        [{ calls: [{ ...create, arguments: { note: "x" } }] }, { calls: [create] }],
        async (on) => {
          expectCalls(await on.ask("Go."), create);
          expect(JSON.stringify(on.items(1))).toMatch(/do not fit.*required.*arguments/s);
        },
      ),
  );

  it("is taken as JSON text too, and for a tool that is called by its name", () =>
    play(
      { back: wrap, door: "chat", stream: true },
      [
        {
          plain: [
            { name: "call_tool", arguments: { name: "ticket_create", arguments: '{"id":"T-1"}' } },
          ],
        },
        { plain: [invoice] },
      ],
      async (on) => {
        expectCalls(await on.ask("Go."), create);
        expectCalls(await on.ask(["Created."]), invoice);
        expect(on.happened()).toMatchObject({ rounds: 1, disclosure: { misses: 0 } });
      },
    ));

  it("is refused as too many tools where several answers are asked for, or folding is off", async () => {
    for (const more of [{ more: { n: 2 } }, { mode: "off" }])
      await play({ back: wrap, door: "chat", stream: false }, [], async (on) => {
        await expect(on.ask("Go.", more)).rejects.toThrow(/takes at most 40 tools/);
      });
  });
});
