import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { doors, doorUrl, type DoorName } from "../support/client.ts";
import { fakeUpstream, type FakeUpstream } from "../support/fake-upstream.ts";
import { serve, type Served } from "../support/serve.ts";

/** Answers whatever it is asked; only what it was sent matters here. */
const model = () => ({ headers: { "content-type": "application/json" }, steps: ["{}"] });

let upstream: FakeUpstream;
let served: Served;
beforeAll(async () => {
  upstream = await fakeUpstream(model);
  served = await serve({
    upstreams: Object.fromEntries(
      doors.map((door) => [door, { dialect: door, base_url: upstream.url, retries: 0 }]),
    ),
    models: Object.fromEntries(doors.map((door) => [door, `${door}/up`])),
  });
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

/** What the upstream of a dialect gets for a body that a client of a door sent. */
async function sent(door: DoorName, body: string): Promise<string> {
  const before = upstream.requests.length;
  const headers = { "content-type": "application/json" };
  const response = await fetch(doorUrl(served, door), { method: "POST", headers, body });
  const text = await response.text();
  const request = upstream.requests[before];
  if (request === undefined) throw new Error(`nothing was sent: ${text}`);
  return request.text;
}

/** The fields that every request of a door has, as text. */
const least: Readonly<Record<DoorName, string>> = {
  chat: '"messages":[{"role":"user","content":"Hi \\u00e9 \\/ é"}]',
  responses: '"input":"Hi \\u00e9 \\/ é"',
};

describe.each(doors)("a request of the %s door", (door) => {
  const other = doors.find((one) => one !== door) ?? door;

  it("reaches an upstream of its dialect as it was sent, but for the model", async () => {
    const text = `{ "model":"${door}" , "x_seed": 12345678901234567890,\n ${least[door]}, "a":1.0, "b":-0, "c":1E2 }`;
    expect(await sent(door, text)).toBe(text.replace(`"${door}"`, '"up"'));
  });

  it("keeps numbers that JavaScript cannot hold where it is written anew", async () => {
    const schema =
      '{"type":"object","properties":{"n":{"type":"integer","maximum":18446744073709551615}}}';
    const tool =
      door === "chat"
        ? `{"type":"function","function":{"name":"f","parameters":${schema}}}`
        : `{"type":"function","name":"f","parameters":${schema},"strict":false}`;
    const text = `{"model":"${other}","temperature":0.12345678901234567891,"metadata":{"id":9007199254740993},"tools":[${tool}],${least[door]}}`;
    const got = await sent(door, text);
    expect(got).toContain('"maximum":18446744073709551615');
    expect(got).toContain('"temperature":0.12345678901234567891');
  });

  it("is byte for byte the client's own whatever it holds", async () => {
    const number = fc.oneof(
      fc.stringMatching(/^-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,25})?(?:[eE][+-]?[0-9]{1,3})?$/),
      fc.constantFrom("-0", "1.0", "1e5"),
    );
    const string = fc.oneof(
      fc.string({ unit: "grapheme" }).map((text) => JSON.stringify(text)),
      fc.constantFrom('"\\u0041\\/"', '"\\ud83d\\ude00"', '"}{\\"model\\":1"'),
    );
    const value = fc.letrec<{ value: string }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        number,
        string,
        fc.constantFrom("true", "false", "null"),
        fc.array(tie("value"), { maxLength: 3 }).map((all) => `[ ${all.join(", ")}]`),
        fc
          .array(fc.tuple(string, tie("value")), { maxLength: 3 })
          .map((all) => `{${all.map(([key, one]) => `${key} :${one}`).join(" ,")}}`),
      ),
    })).value;
    const fields = fc.array(fc.tuple(fc.stringMatching(/^x_[a-z]{1,5}$/), value), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fields, fc.nat({ max: 6 }), async (more, at) => {
        const members = more.map(([key, json]) => `"${key}": ${json}`);
        members.splice(at, 0, `"model": "${door}"`, least[door]);
        const text = `{${members.join(",\n")} }`;
        expect(await sent(door, text)).toBe(text.replace(`"model": "${door}"`, '"model": "up"'));
      }),
      { numRuns: 60 },
    );
  });
});
