import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  array,
  assert,
  constantFrom,
  dictionary,
  integer,
  oneof,
  property,
  string,
} from "fast-check";
import { parse, stringify } from "yaml";
import { describe, expect, it, onTestFinished } from "vitest";
import { fixedText, writeFix } from "./fix.ts";

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
  it("leave comments and order as they were", () => {
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
  it:
    # the one
    dialect: chat
    api_key: \${KEY} # from the shell
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
          tools:
            choice: [auto, none]   # as its documents say
            max: 9   # nine at most
`;
    expect(fixedText(text, fix)).toBe(`upstreams:
  it:
    capabilities:
      models:
        - match: "m:1" # tried in June
          tools:
            choice: [auto] # as its documents say
            max: 9 # nine at most
            parallel: false
          streamUsage: false
`);
    const again = fixedText(fixedText(text, fix), fix);
    expect(again).toBe(fixedText(text, fix));
  });

  it("keep the indentation of the file", () => {
    const list = (indent: string, models: readonly string[]): string =>
      ["upstreams:", "  it:", "    capabilities:", "      models:", ...models]
        .map((line) => line.replaceAll("  ", indent))
        .join("\n")
        .concat("\n");
    const there = ["        - match: x", "        - match: y"];
    for (const indent of ["  ", "    "])
      expect(fixedText(list(indent, there), fix)).toContain(list(indent, there).trimEnd());
    const flush = ["      - match: x", "      - match: y"];
    expect(fixedText(list("  ", flush), fix)).toContain(list("  ", flush).trimEnd());
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

it.each([
  ["YAML", (value: unknown) => stringify(value), (text: string): unknown => parse(text)],
  ["JSON", (value: unknown) => JSON.stringify(value, null, 2), JSON.parse],
])("no other value in %s changes with the capabilities", (_, write, read) => {
  const value = dictionary(
    constantFrom("a", "b c", "${D}", "# e", "1"),
    oneof(integer(), string(), array(string()), dictionary(string(), integer())),
  );
  assert(
    property(value, value, (own, other) => {
      const before = { upstreams: { it: { dialect: "chat", own }, other }, models: other };
      const it = { ...before.upstreams.it, capabilities: { models: [entry] } };
      const after: unknown = read(fixedText(write(before), fix));
      expect(after).toEqual({ ...before, upstreams: { it, other } });
    }),
  );
});
