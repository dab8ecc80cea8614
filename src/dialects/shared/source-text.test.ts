import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { genericChat } from "../../profiles/generic.ts";
import type { Fields } from "../../turn/turn.ts";
import { BodyReader } from "./body.ts";
import { bodyWith, dropSource, forwardedText, withFields } from "./source-text.ts";

const set = (text: string, changes: Fields): string =>
  withFields(JSON.parse(text) as Fields, { text }, changes);

describe("the client's own text", () => {
  it("is the same but for the fields that are set", () => {
    expect(set('{ "seed": 12345678901234567890, "model" :\t"a" }', { model: "b" })).toBe(
      '{ "seed": 12345678901234567890, "model" :\t"b" }',
    );
  });

  it("is the same where nothing is", () => {
    const text = ' {"a":[{"model":1}], "n":-0, "u":"\\u00e9"}\n';
    expect(set(text, {})).toBe(text);
  });

  it("has a field added that it has not, behind the others", () => {
    expect(set('{"a":1 }\n', { stream: true, b: null })).toBe('{"a":1 ,"stream":true,"b":null}\n');
    expect(set(" { } ", { stream: true })).toBe(' { "stream":true} ');
  });

  it("has no other key taken for the body's own", () => {
    const text =
      '{"x":{"model":"in"},"y":"\\"model\\":\\"no\\"","models":[{"model":2}],"model":"me","z":"}"}';
    expect(set(text, { model: "b" })).toBe(text.replace('"me"', '"b"'));
  });

  it("has a key set that is there twice, or spelt with escapes", () => {
    expect(set('{"model":"a","\\u006dodel":"b","mode\\u006c" : 1}', { model: "c" })).toBe(
      '{"model":"c","\\u006dodel":"c","mode\\u006c" : "c"}',
    );
  });

  it("is known by the body it was read as, without a byte order mark", () => {
    const body = new BodyReader().read('\u{feff}{"model":"a", "seed":9007199254740993}');
    expect(bodyWith(body, { model: "b" })).toBe('{"model":"b", "seed":9007199254740993}');
    expect(bodyWith({ ...body }, { model: "b" })).toBe('{"model":"b","seed":9007199254740993}');
    dropSource(body);
    expect(bodyWith(body, { model: "b" })).toBe('{"model":"b","seed":9007199254740993}');
  });

  it("passes over tools that are known", () => {
    const reader = new BodyReader();
    const read = (text: string): Fields => reader.read(text);
    const tools = JSON.stringify([{ name: "x".repeat(99), model: 1, n: 1 }]).replace("1}", "1.0}");
    const text = `{"tools": ${tools},"model":"a"}`;
    for (let time = 0; time < 3; time++)
      expect(bodyWith(read(text), { model: "b" })).toBe(text.replace('"a"', '"b"'));
  });

  it("is forwarded with only those fields changed that differ", () => {
    const to = { model: "m", profile: { ...genericChat, fields: { a: 1, b: 2 } } };
    const forward = (text: string, more?: Fields): string =>
      forwardedText({ body: new BodyReader().read(text), stream: true }, to, more);
    expect(forward('{ "model":"m","stream":true,"a":3 }')).toBe(
      '{ "model":"m","stream":true,"a":3 ,"b":2}',
    );
    expect(forward('{"model":"x", "stream":false,"a":null,"b":0}', { c: 3 })).toBe(
      '{"model":"m", "stream":true,"a":1,"b":0,"c":3}',
    );
  });

  it("means what it did, but for what is set, whatever it is", () => {
    const key = fc.oneof(fc.string(), fc.constantFrom("model", "tools", "a", "__proto__"));
    fc.assert(
      fc.property(
        fc.array(fc.tuple(key, fc.json(), fc.constantFrom("", " ", "\n\t"))),
        fc.dictionary(key, fc.jsonValue(), { maxKeys: 3 }),
        (members, changes) => {
          const text = `{${members.map(([name, json, blank]) => `${blank}${JSON.stringify(name)}${blank}:${blank}${json}${blank}`).join(",")}}`;
          const wanted: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
          for (const [name, json] of members) wanted[name] = JSON.parse(json);
          Object.assign(wanted, JSON.parse(JSON.stringify(changes)));
          const read = JSON.parse(set(text, changes)) as Fields;
          expect(new Map(Object.entries(read))).toEqual(new Map(Object.entries(wanted)));
        },
      ),
      { numRuns: 500 },
    );
  });
});
