import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { builtinDialects } from "../../src/dialects/registry.ts";
import { createGateway, type Gateway } from "../../src/index.ts";
import { received } from "../support/client-answer.ts";
import type { OpenBackend } from "./backend.ts";
import type { ReadChoice, TestDoor } from "./door.ts";
import { builtinDoors } from "./doors.ts";
import { stopOf, type Heard } from "./heard.ts";
import { ownUpstream } from "./own-upstream.ts";
import { BROKEN, callables, COUNTS, scenarios, type Said, type Scenario } from "./scenario.ts";
import { scripted } from "./scripted.ts";
import { toyBackend, toyDoor } from "./toy.ts";
import { httpBackends } from "./wire-models.ts";

const doors = [...builtinDoors, toyDoor];
/** The last two are written outside `src`: a dialect over HTTP, and an upstream in this process. */
const backends = [...httpBackends, scripted, toyBackend, ownUpstream];

const open = new Map<string, OpenBackend>();
let gateway: Gateway;
beforeAll(async () => {
  for (const backend of backends) open.set(backend.name, await backend.open());
  const entries = [...open];
  gateway = createGateway(
    {
      upstreams: Object.fromEntries(
        entries.flatMap(([name, { config }]) => (config === undefined ? [] : [[name, config]])),
      ),
    },
    {
      dialects: entries.flatMap(([, { dialect }]) => dialect ?? []),
      upstreams: entries.flatMap(([, { upstream }]) => upstream ?? []),
    },
  );
});
afterAll(async () => {
  await gateway.close(0);
  for (const backend of open.values()) await backend[Symbol.asyncDispose]();
});

type Case = { readonly door: TestDoor; readonly scenario: Scenario; readonly stream: boolean };

function ask({ door, scenario, stream }: Case, backend: string): Promise<Response> {
  const model = `${backend}/${scenario.name}`;
  const { path, body } = door.request(scenario.asked ?? {}, { model, stream });
  return gateway.fetch(
    new Request(`http://gateway${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
}

/** What a client must read of what a model said. */
function meant(say: Said, { asked }: Scenario): ReadChoice {
  const known = callables(asked);
  const calls = (say.calls ?? []).map(({ tool, input }) =>
    Object.assign({}, known[tool], { input }),
  );
  const { text = "", reasoning = "" } = say;
  return { text, reasoning, calls, stop: stopOf(say) };
}

/** That an upstream was asked for no other calls than the client asked for. */
function checkHeard({ tools, choice, schema }: Heard, { asked = {} }: Scenario): void {
  const known = callables(asked);
  const wanted = asked.choice ?? "auto";
  if (typeof wanted === "object") {
    const at = known.findIndex(({ name }) => name === wanted.name);
    const isAlone = tools.length === 1 && choice !== "none";
    expect(isAlone ? tools[0]?.name : choice).toEqual(
      isAlone ? wanted.name : { name: tools[at]?.name },
    );
  } else if (wanted === "none") expect(tools.length === 0 ? "none" : choice).toBe("none");
  else {
    expect(choice).toBe(wanted);
    expect(tools).toHaveLength(known.length);
  }
  if (asked.schema !== undefined) expect(schema).toMatchObject(asked.schema);
}

async function checkAnswer(one: Case, response: Response, says: readonly Said[]): Promise<void> {
  const text = await response.text();
  expect([response.status, response.status === 200 ? "" : text]).toEqual([200, ""]);
  const read = one.stream ? one.door.readStream(text) : one.door.readBody(text);
  expect(read.error).toBeUndefined();
  expect(read.choices).toEqual(says.map((say) => meant(say, one.scenario)));
  expect(read.usage).toEqual(COUNTS);
}

async function checkFailure({ door }: Case, response: Response, after?: string): Promise<void> {
  const { text } = await received(response);
  if (after === undefined) {
    expect(response.status).toBeGreaterThanOrEqual(500);
    expect(door.readError(text)).toContain(BROKEN);
    return;
  }
  expect(text).toContain(after);
  expect(door.readStream(text).error).toContain(BROKEN);
}

async function checkLeaving(response: Response, left: () => Promise<void>): Promise<void> {
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  expect(value?.byteLength).toBeGreaterThan(0);
  await reader?.cancel();
  await left();
}

async function run(one: Case, name: string): Promise<void> {
  const backend = open.get(name);
  const response = await ask(one, name);
  const { plays } = one.scenario;
  switch (plays.type) {
    case "answer": {
      await checkAnswer(one, response, plays.says);
      const heard = backend?.heard();
      if (heard !== undefined) checkHeard(heard, one.scenario);
      return;
    }
    case "fail":
      return checkFailure(one, response, plays.after);
    case "hang":
      return checkLeaving(response, async () => backend?.left());
    default:
      plays satisfies never;
  }
}

for (const door of doors)
  for (const { name, can } of backends)
    describe(`the ${door.name} door on the ${name} upstream`, () => {
      for (const scenario of scenarios)
        for (const stream of scenario.streamOnly ? [true] : [true, false]) {
          const { door: ofDoor = [], upstream = [] } = scenario.needs ?? {};
          const isAble =
            ofDoor.every((one) => door.can.has(one)) && upstream.every((one) => can.has(one));
          it.skipIf(!isAble)(`${scenario.name}, ${stream ? "streamed" : "whole"}`, () =>
            expect(run({ door, scenario, stream }, name)).resolves.toBeUndefined(),
          );
        }
    });

it("is run at every built-in door and on every built-in dialect", () => {
  expect(builtinDoors.map(({ name }) => name)).toEqual(
    builtinDialects.doors.map(({ name }) => name),
  );
  expect(httpBackends.map(({ name }) => name)).toEqual(
    builtinDialects.upstreams.map(({ name }) => name),
  );
});
