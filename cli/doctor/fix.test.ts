import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  array,
  assert,
  boolean,
  constantFrom,
  dictionary,
  integer,
  oneof,
  property,
  string,
} from "fast-check";
import { parse, stringify } from "yaml";
import { describe, expect, it, onTestFinished } from "vitest";
import { fixedText, setInText, writeFix } from "./fix.ts";

const fix = {
  upstream: "it",
  model: "m:1",
  capabilities: { tools: { parallel: false, choice: ["auto" as const] }, streamUsage: false },
};
const entry = { match: "m:1", ...fix.capabilities };

const capabilitiesIn = (text: string): unknown =>
  (
    parse(text.replaceAll(/\$\{\w+\}/g, "x")) as {
      upstreams: { it: { capabilities: { models: unknown } } };
    }
  ).upstreams.it.capabilities.models;

describe("capabilities written into a file", () => {
  it("leave comments, order and every other character as they were", () => {
    const text = `# mine
upstreams:
  it:   # the one
    dialect: chat
    api_key: \${KEY}   # from the shell

  # the other
  other: { dialect: scripted }
models: { "*": it/m:1 }
`;
    expect(fixedText(text, fix)).toBe(`# mine
upstreams:
  it:   # the one
    dialect: chat
    api_key: \${KEY}   # from the shell
    capabilities:
      models:
        - match: m:1
          tools:
            parallel: false
            choice:
              - auto
          streamUsage: false

  # the other
  other: { dialect: scripted }
models: { "*": it/m:1 }
`);
  });

  it.each([
    ["a group in braces", "upstreams: { it: { dialect: chat, api_key: ${KEY} } } # end"],
    ["JSON", '{"upstreams": {\n  "it": {"dialect": "chat"}\n}}\n'],
    ["no line break at the end", "upstreams:\n  it:\n    dialect: chat"],
    ["capabilities of its own", "upstreams:\n  it:\n    capabilities:\n      bearer: true # x\n"],
    [
      "entries for other models",
      "upstreams:\n  it:\n    capabilities:\n      models:\n      - match: x\n        bearer: true\n    dialect: chat\n",
    ],
    ["a list in brackets", "upstreams: {it: {capabilities: {models: [{match: x},]}}}\n"],
  ])("are added to %s", (_, text) => {
    expect(capabilitiesIn(fixedText(text, fix))).toContainEqual(entry);
  });

  it("change an entry for the same model in its place", () => {
    const text = `upstreams:
  it:
    capabilities:
      models:
        - match: "m:1"   # tried in June
          tools: { parallel: true, max: 9 }   # nine at most
`;
    expect(fixedText(text, fix)).toBe(`upstreams:
  it:
    capabilities:
      models:
        - match: "m:1"   # tried in June
          tools: { parallel: false, max: 9, "choice": ["auto"] }   # nine at most
          streamUsage: false
`);
    const again = fixedText(fixedText(text, fix), fix);
    expect(again).toBe(fixedText(text, fix));
  });

  it("are not written where another place would change with them, or there is none", () => {
    for (const text of [
      "shared: &a { dialect: chat }\nupstreams: { it: *a }\n",
      "upstreams:\n  x: &a\n    dialect: chat\n  it: *a\n",
      "upstreams: &u\n  it:\n    dialect: chat\nmore: *u\n",
      "server: {}\n",
      "upstreams: {}\n",
      "",
      "upstreams: [\n",
    ])
      expect(() => fixedText(text, fix)).toThrow("by hand");
  });

  it("keep a copy of the file, byte for byte, and its mode", () => {
    const folder = mkdtempSync(join(tmpdir(), "patchbay-fix-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "patchbay.yaml");
    const text = "upstreams:\r\n  it:\r\n    dialect: chat # ü\r\n";
    writeFileSync(file, text, { mode: 0o600 });
    const { backup, text: written } = writeFix(file, fix);
    expect(written).toBe(readFileSync(file, "utf8"));
    expect(backup).toBe(`${file}.1.bak`);
    expect(readFileSync(backup, "utf8")).toBe(text);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(capabilitiesIn(readFileSync(file, "utf8"))).toEqual([entry]);
    writeFix(file, { ...fix, model: "other" });
    expect(readdirSync(folder).toSorted()).toEqual([
      "patchbay.yaml",
      "patchbay.yaml.1.bak",
      "patchbay.yaml.2.bak",
    ]);
  });
});

describe("a value set in a text", () => {
  const key = constantFrom("a", "b", "c", "d");
  const group = dictionary(
    key,
    oneof(integer(), string(), dictionary(key, integer(), { minKeys: 1 })),
    { minKeys: 1 },
  );

  it("is there afterwards, and nothing else has changed", () => {
    assert(
      property(
        group,
        array(key, { minLength: 1, maxLength: 2 }),
        boolean(),
        (value, path, flow) => {
          const text = flow ? JSON.stringify(value) : stringify(value);
          const after = setInText(text, path, 7);
          if (after === undefined) return;
          expect(parse(after)).toEqual(withSeven(value, path));
        },
      ),
    );
  });
});

function withSeven(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return 7;
  const fields = value as Record<string, unknown>;
  return { ...fields, [step]: withSeven(fields?.[step] ?? {}, rest) };
}
