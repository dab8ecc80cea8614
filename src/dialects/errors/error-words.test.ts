import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { errorShapes } from "../../../test/support/error-shapes.ts";
import type { TurnFail } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import type { Fields } from "../../turn/turn.ts";
import { readEvents as readChat } from "../chat/read-events.ts";
import { readEvents as readResponses } from "../responses/read-events.ts";
import { errorWords } from "./error-words.ts";
import { bareError, upstreamError, strayError } from "./upstream-error.ts";

const set = (fields: object | undefined): unknown =>
  Object.fromEntries(Object.entries(fields ?? {}).filter(([, value]) => value !== undefined));

it.each(errorShapes)("are found in an error of %s", (_, body, said) => {
  expect(set(errorWords(body))).toEqual(said);
});

it("are cut to a length that can be read", () => {
  expect(errorWords("x".repeat(50_000))?.message?.length).toBeLessThan(2_010);
  expect(errorWords({ code: "x".repeat(50_000) })?.code?.length).toBeLessThan(210);
});

it("are looked for in anything without harm", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const { message = "m" } = errorWords(value) ?? {};
      expect(message.trim()).not.toBe("");
    }),
  );
});

describe("an error inside an answer", () => {
  it.each(errorShapes)("says what %s says", (_, body, { message, code, type, param }) => {
    const [raw] = [body].flat() as [Fields];
    const fault = upstreamError(raw) ?? strayError(raw) ?? bareError(raw);
    expect(fault.message).toContain(message ?? "did not say why");
    expect(fault.detail.upstreamCode).toBe(code ?? type);
    expect(fault.detail.param).toBe(param);
  });

  it.each([
    [{ error: { status: "RESOURCE_EXHAUSTED" } }, "upstream.rate_limited"],
    [{ error: { code: 503, status: "UNAVAILABLE" } }, "upstream.overloaded"],
    [{ error: "m", error_type: "overloaded" }, "upstream.overloaded"],
    [{ object: "error", type: "InternalServerError" }, "upstream.failed"],
    [{ error: { type: "rate_limit_error" } }, "upstream.rate_limited"],
    [{ error: { code: "invalid-argument" } }, "upstream.refused"],
    [{ error: { code: "never_heard_of" } }, "upstream.said_error"],
  ])("has the cause that its words name: %j", (raw, code) => {
    expect(upstreamError(raw)?.code).toBe(code);
  });

  it.each([{ error: null }, { error: "" }, { error: [] }, { base_resp: { status_code: 0 } }, {}])(
    "is none where nothing is said: %j",
    (raw) => {
      expect(upstreamError(raw)).toBeUndefined();
      expect(strayError(raw)).toBeUndefined();
    },
  );
});

describe.each([
  ["chat", readChat],
  ["responses", readResponses],
])("an answer of a %s upstream", (_, readEvents) => {
  // A sentence alone may be anything while an answer lasts.
  const marked = errorShapes.filter(([who]) => who !== "Cohere");

  it.each(marked)("that breaks off with an error of %s says so", (_who, body, { message }) => {
    const faults: Fault[] = [];
    const reader = readEvents({ newId: (prefix) => prefix, frames: false });
    reader.frame(JSON.stringify(body), undefined, false, (event) => {
      if (event.type === "turn-fail") faults.push(event.fault);
    });
    expect(faults).toHaveLength(1);
    expect(faults[0]?.message).toMatch(/^The upstream /);
    expect(faults[0]?.message).toContain(message ?? "did not say why");
  });

  it.each(errorShapes)("that is nothing but an error of %s says so", (_who, body, { message }) => {
    const said: unknown[] = [];
    const reader = readEvents({ newId: (prefix) => prefix, frames: false });
    reader.whole(JSON.stringify(body), (event) => void said.push(event));
    expect(said).toEqual([{ type: "turn-fail", fault: expect.any(Fault) }]);
    const [{ fault }] = said as [TurnFail];
    expect(fault.message).toContain(message ?? "did not say why");
  });
});
