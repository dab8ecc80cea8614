import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Fault } from "../../turn/fault.ts";
import type { Fields } from "../../turn/turn.ts";
import { BodyReader } from "./body.ts";

/** A list of tools long enough to be worth keeping. */
const list = (mark: string, length = 1500): string =>
  JSON.stringify([{ type: "function", name: "shell", pad: "x".repeat(length) }, { name: mark }]);

const faultOf = (text: string): Fault => {
  try {
    new BodyReader().read(text);
  } catch (error) {
    if (error instanceof Fault) return error;
  }
  throw new Error("no fault");
};

describe("BodyReader", () => {
  it("gives the very same tools for the same text", () => {
    const reader = new BodyReader();
    const read = (text: string): Fields => reader.read(text);
    const first = read(`{"model":"a","tools":${list("t")},"stream":true}`);
    const second = read(`{"input":[1,2],"tools":${list("t")},"model":"b"}`);
    expect(second.tools).toBe(first.tools);
    expect(second).toEqual({ input: [1, 2], tools: JSON.parse(list("t")), model: "b" });
  });

  it("knows them again behind a blank, and behind another key of that name", () => {
    const reader = new BodyReader();
    const read = (text: string): Fields => reader.read(text);
    const { tools } = read(`{"tools":${list("t")}}`);
    expect(read(`{"tools": ${list("t")}}`).tools).toBe(tools);
    expect(read(`{"tool_choice":{"tools":[1]},"tools":${list("t")}}`).tools).toBe(tools);
    expect(read(`{"tool_choice":{"tools":${list("u")}},"tools":${list("t")}}`).tools).toBe(tools);
  });

  it("tells lists apart that begin alike", () => {
    const reader = new BodyReader();
    const read = (text: string): Fields => reader.read(text);
    const [a, b] = [read(`{"tools":${list("a")}}`).tools, read(`{"tools":${list("b")}}`).tools];
    expect(read(`{"tools":${list("a")}}`).tools).toBe(a);
    expect(read(`{"tools":${list("b")}}`).tools).toBe(b);
    expect(a).not.toEqual(b);
  });

  it("is not fooled by a list that is not the body's own", () => {
    const reader = new BodyReader();
    const read = (text: string): Fields => reader.read(text);
    read(`{"tools":${list("t")}}`);
    const bodies = [
      `{"a":{"tools":${list("t")}},"tools":0}`,
      `{"tools":${list("t")},"tools":0}`,
      `{"tools":${list("t")},"\\u0074ools":${list("u")}}`,
      `{"my\\"tools":${list("t")}}`,
      `{"tools":{"tools":${list("t")}}}`,
      `{"text":${JSON.stringify(`"tools":${list("t")}`)}}`,
      `{"tools":0,"x":${list("t")}}`,
    ];
    // Twice: nor by one learned from such a body.
    for (const body of [...bodies, ...bodies]) expect(read(body)).toEqual(JSON.parse(body));
    expect(read(`{"tools":${list("u")}}`).tools).toEqual(JSON.parse(list("u")));
  });

  it("reads any body as JSON does, whatever it has read before", () => {
    const lists = [list("a"), list("b"), list("a", 1600), "[]", "[0]", "0", "null", "{}"];
    const key = fc.constantFrom('"tools"', '"\\u0074ools"', '"my\\"tools"', '"x"', '"__proto__"');
    const value = fc.letrec<{ value: string; object: string }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        { weight: 4, arbitrary: fc.constantFrom(...lists) },
        { weight: 1, arbitrary: fc.json({ maxDepth: 1 }) },
        { weight: 2, arbitrary: tie("object") },
      ),
      object: fc
        .array(fc.tuple(key, fc.constantFrom(":", ": ", " :", ":\n\t"), tie("value")), {
          maxLength: 3,
        })
        .map((entries) => `{${entries.map((entry) => entry.join("")).join(", ")}}`),
    }));
    fc.assert(
      fc.property(fc.array(value.object, { minLength: 1, maxLength: 6 }), (bodies) => {
        const reader = new BodyReader();
        const read = (text: string): Fields => reader.read(text);
        for (const body of bodies)
          expect(JSON.stringify(read(body))).toBe(JSON.stringify(JSON.parse(body)));
      }),
      { numRuns: 1500 },
    );
  });

  it("keeps neither the bodies nor more lists than it should", () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const used = (): number => {
      collect();
      return process.memoryUsage().heapUsed / 1_000_000;
    };
    const reader = new BodyReader();
    const read = (text: string): Fields => reader.read(text);
    const before = used();
    for (let at = 0; at < 150; at++)
      read(`{"input":"${"y".repeat(500_000)}","tools":${list(`small ${at}`)}}`);
    expect(used() - before).toBeLessThan(20);
    for (let at = 0; at < 100; at++) read(`{"tools":${list(`large ${at}`, 1_000_000)}}`);
    expect(used() - before).toBeLessThan(40);
    expect(read(`{"tools":${list("after")}}`).tools).toEqual(JSON.parse(list("after")));
  });

  describe("a body that is not JSON", () => {
    it("is a fault that says where, and what to do", () => {
      const fault = faultOf('{\n  "model": "m",\n  "input": secret\n}');
      expect(fault.code).toBe("request.not_json");
      expect(fault.message).toBe(
        "The request body is not JSON: at line 3, column 12, a value was expected. Correct it there.",
      );
    });

    it("is told from one that is not all there", () => {
      expect(faultOf('{"model": "m"').message).toBe(
        'The request body is not JSON: it ends at line 1, column 14, where "," or "}" was expected. Send all of it.',
      );
      expect(faultOf("").message).toBe(
        "The request body is not JSON: it ends at line 1, column 1, where a value was expected. Send all of it.",
      );
    });

    it("is never quoted", () => {
      for (const text of ["secret", '{"a": secret}', '{"a": "secret', "{} secret"]) {
        const fault = faultOf(text);
        expect(fault.message).not.toMatch(/secret|'s'/);
        expect(fault.cause).toBeUndefined();
      }
    });

    it("is told of in its own lines and columns where its tools are known", () => {
      const reader = new BodyReader();
      const read = (text: string): Fields => reader.read(text);
      read(`{"tools":${list("t")}}`);
      const text = `{"tools":${list("t")},?}`;
      const column = text.indexOf("?") + 1;
      expect(() => read(text)).toThrow(`line 1, column ${column}, a key in double quotes`);
    });
  });

  it.each(["[]", "null", "1", '"text"', "true"])("refuses %s, which is no object", (text) => {
    expect(faultOf(text).code).toBe("request.invalid");
  });
});
