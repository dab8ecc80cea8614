import * as fc from "fast-check";
import { expect, it } from "vitest";
import { isFields } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import { PartialArgs } from "./partial-args.ts";

/** A value as the API sends it in pieces: every text in two. */
function piecesOf(value: unknown, jsonPath: string): Fields[] {
  if (Array.isArray(value))
    return [
      ...(value as readonly unknown[]).flatMap((one, at) => piecesOf(one, `${jsonPath}[${at}]`)),
      { jsonPath: `${jsonPath}[]` },
    ];
  if (isFields(value))
    return [
      { jsonPath },
      ...Object.entries(value).flatMap(([key, one]) =>
        piecesOf(one, `${jsonPath}[${JSON.stringify(key)}]`),
      ),
    ];
  if (typeof value === "number") return [{ jsonPath, numberValue: value }];
  if (typeof value === "boolean") return [{ jsonPath, boolValue: value }];
  if (value === null) return [{ jsonPath, nullValue: "NULL_VALUE" }];
  const text = value as string;
  return [
    { jsonPath, stringValue: text.slice(0, 2), willContinue: true },
    { jsonPath, stringValue: text.slice(2) },
  ];
}

it("arguments in pieces are what they were", () => {
  const keys = fc.constantFrom("a", "b c", "__proto__", "0", 'q"');
  const values = fc.jsonValue({ maxDepth: 3, noUnicodeString: false });
  fc.assert(
    fc.property(fc.dictionary(keys, values), (value) => {
      const args = new PartialArgs();
      for (const piece of piecesOf(value, "$")) expect(args.add(piece)).toBe(true);
      expect(JSON.parse(args.end())).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

it.each([
  [
    "a value twice",
    [
      { jsonPath: "$.a", numberValue: 1 },
      { jsonPath: "$.a", numberValue: 2 },
    ],
  ],
  [
    "a value in a value",
    [
      { jsonPath: "$.a", numberValue: 1 },
      { jsonPath: "$.a.b", numberValue: 2 },
    ],
  ],
  ["an index that skips", [{ jsonPath: "$.a[1]", numberValue: 1 }]],
  [
    "a key in a list",
    [
      { jsonPath: "$.a[0]", numberValue: 1 },
      { jsonPath: "$.a.b", numberValue: 2 },
    ],
  ],
  ["a list of arguments", [{ jsonPath: "$[0]", numberValue: 1 }]],
  ["a place of no form", [{ jsonPath: "$.a..b", numberValue: 1 }]],
])("arguments in pieces may not have %s", (_, pieces) => {
  const args = new PartialArgs();
  expect(pieces.map((piece) => args.add(piece)).at(-1)).toBe(false);
});
