import * as fc from "fast-check";
import { expect, it } from "vitest";
import { isFields, jsonOf } from "../../json/json.ts";
import { ObjectText } from "./settle.ts";

it("knows at any time whether an object is whole, however its text is cut", () => {
  const object = fc.dictionary(fc.string({ maxLength: 2 }), fc.json({ maxDepth: 2 })).map(text);
  const garbage = fc.string({
    unit: fc.constantFrom("{", "}", "[", "]", '"', ":", ",", "1", " ", "\\"),
    maxLength: 8,
  });
  const asks = fc.array(fc.boolean());
  fc.assert(
    fc.property(fc.array(fc.oneof(object, garbage)), asks, (texts, asked) => {
      const whole = new ObjectText();
      let so = "";
      for (const [at, piece] of texts.flatMap((one) => one.split(/(?<=[{}"])/)).entries()) {
        whole.add(piece);
        so += piece;
        const isAsked = asked[at % asked.length] === true;
        expect(isAsked && whole.isWhole()).toBe(isAsked && isFields(jsonOf(so)));
      }
      expect(whole.isWhole()).toBe(isFields(jsonOf(so)));
    }),
    { numRuns: 300 },
  );
});

const text = (value: unknown): string => JSON.stringify(value);
