import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonSettings } from "./json-settings.ts";
import { MARK, type SettingEntry } from "./settings.ts";

const mark = `${MARK}patchbay launch x --restore`;
const comment = `/* ${mark} */`;
const plain = jsonSettings(false);
const commented = jsonSettings(true);
const entries: readonly SettingEntry[] = [
  { path: ["model"], value: "m" },
  { path: ["provider", "patchbay"], value: { url: "u", list: [1] }, owned: true },
  { path: ["env", "KEY"], value: "k" },
];

describe("settings in JSON", () => {
  it("are written into an empty file, and taken out of it again", () => {
    const { text, entries: written } = plain.write("", entries, mark);
    expect(JSON.parse(text)).toEqual({
      model: "m",
      provider: { patchbay: { url: "u", list: [1] } },
      env: { KEY: "k" },
    });
    expect(plain.takeOut(text, written, false)).toEqual({ text: "{}\n", left: [] });
  });

  it("leave every byte around them as it is", () => {
    const before = `{
  // mine
  "env": {"A": "1" /* a */, "KEY": 'x'},
`
      .replace("'x'", '"x"')
      .concat('\t"theme": [1, {"b": 2,},],\n  "model": "other", // chosen\n}\n');
    const { text, entries: written } = commented.write(before, entries, mark);
    expect(text).toContain(
      `  "model": ${comment} "m",\n  ${comment} "provider": {"patchbay":{"url":"u","list":[1]}}, // chosen\n}`,
    );
    expect(text).toContain(`"KEY": ${comment} "k"}`);
    expect(commented.takeOut(text, written, false)).toEqual({ text: before, left: [] });
  });

  it("are taken out by their mark where the value was changed, and by value where the mark is gone", () => {
    const { text, entries: written } = commented.write('{\n  "a": 1\n}\n', entries, mark);
    const changed = text.replace('"m"', '"chosen since"');
    expect(commented.takeOut(changed, written, false).text).toBe('{\n  "a": 1\n}\n');
    const rewritten = JSON.stringify(
      { ...(JSON.parse(text.replaceAll(comment, "")) as object), more: [2] },
      null,
      4,
    );
    expect(JSON.parse(commented.takeOut(rewritten, written, false).text)).toEqual({
      a: 1,
      more: [2],
    });
  });

  it("that somebody else has changed since, without a mark, stay and are told", () => {
    const { text, entries: written } = plain.write('{"model": "old"}', entries, mark);
    const changed = text.replace('"m"', '"theirs"');
    const { text: now, left } = plain.takeOut(changed, written, false);
    expect(JSON.parse(now)).toEqual({ model: "theirs" });
    expect(left).toEqual(["model"]);
  });

  it("are not written over what is no object, nor into what is no JSON", () => {
    expect(() => plain.write('{"env": null}', entries, mark)).toThrow(
      "`env` that is not an object",
    );
    for (const text of ["[]", '{"a" 1}', '{"a": 1,,}', "{", '{"a": 1} x', "a: 1"])
      expect(() => plain.write(text, entries, mark)).toThrow("is not JSON: see line 1");
  });

  it("are taken out to the byte, whatever the file holds and however it is laid out", () => {
    const key = fc.constantFrom("model", "provider", "env", "KEY", "a", "b//c", 'd"/*');
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        fc.constantFrom(1, "x", null, "/* no */"),
        tie("group"),
        fc.array(tie("any"), { maxLength: 2 }),
      ),
      group: fc.dictionary(key, tie("any"), { maxKeys: 3 }),
    })).group;
    fc.assert(
      fc.property(
        value,
        fc.constantFrom(undefined, 2, "\t"),
        fc.boolean(),
        (before, space, comments) => {
          const format = jsonSettings(comments);
          const text = JSON.stringify(before, null, space);
          let written;
          try {
            written = format.write(text, entries, mark);
          } catch {
            return; // `env` or `provider` is no object.
          }
          expect(format.takeOut(written.text, written.entries, false)).toEqual({ text, left: [] });
        },
      ),
    );
  });
});
