import { describe, expect, it } from "vitest";
import { findingLine, readConfigFile } from "./config-file.ts";

const env: Record<string, string> = { KEY: "s3cret: {x}", HOST_NAME: "example" };
const read = (text: string) => readConfigFile(text, "p.yaml", (name) => env[name]);

describe("a configuration file", () => {
  it("is YAML or JSON, and references may stand anywhere in it", () => {
    const yaml = read("server:\n  keys: [${KEY}, ${NONE:-}]\nmodels:\n  ${HOST_NAME}-x: a/b\n");
    expect(yaml.findings).toEqual([]);
    expect(yaml.value).toEqual({
      server: { keys: ["s3cret: {x}", ""] },
      models: { "example-x": "a/b" },
    });
    expect(yaml.refers(["server", "keys", 0])).toBe(true);
    expect(yaml.refers(["models", "example-x"])).toBe(false);
    expect(read('{"server": {"host": "${HOST_NAME}.org"}}').value).toEqual({
      server: { host: "example.org" },
    });
  });

  it("says where each thing stands", () => {
    const file = read("server:\n  port: x\nmodels:\n  cheap:\n    - a/b\n    - c\n");
    const at = (...path: (string | number)[]) => findingLine(file.find({ path, message: "m" }));
    expect(at("server", "port")).toBe("p.yaml:2:3 server.port: m");
    expect(at("models", "cheap", 1)).toBe("p.yaml:6:7 models.cheap[1]: m");
    expect(at("server", "missing", "deep")).toBe("p.yaml:1:1 server.missing.deep: m");
    expect(at()).toBe("p.yaml:1:1: m");
  });

  it("tells every missing variable with its line", () => {
    const file = read("a: ${ONE}\n# ${NOT_READ}\nb:\n  c: x${TWO}y\n");
    expect(file.findings.map(findingLine)).toEqual([
      "p.yaml:1:1 a: `ONE` is not set; export it, or give a default: `${ONE:-default}`",
      "p.yaml:4:3 b.c: `TWO` is not set; export it, or give a default: `${TWO:-default}`",
    ]);
  });

  it("tells broken syntax and doubled keys with their lines", () => {
    const broken = read("server:\n  keys: [a, b\nmodels: {}\n");
    expect(broken.value).toBeUndefined();
    expect(broken.findings.map(findingLine)[0]).toMatch(
      /^p\.yaml:3:1 syntax: .+; check quotes, brackets and indentation around here$/,
    );
    const doubled = read("server: {}\nserver: {}\n");
    expect(doubled.findings.map(findingLine)).toEqual([
      "p.yaml:2:1 server: is defined twice; remove one definition",
    ]);
    expect(read("server: {}\n---\nserver: {}\n").findings.map(findingLine)).toEqual([
      "p.yaml:2:1 syntax: a second document begins here; keep one in the file",
    ]);
  });

  it("tells the first errors of a text that is no YAML, without its text", () => {
    const { findings } = read(`# A page\n\n${'**Bold** text: "a": `b` - [c](d)\n\n'.repeat(40)}`);
    expect(findings.length).toBeLessThanOrEqual(3);
    for (const { message } of findings) expect(message.length).toBeLessThan(300);
  });

  it("follows anchors and merges, and stops where they never end", () => {
    const shared = read("a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  y: 3\nc: *a\n");
    expect(shared.value).toEqual({ a: { x: 1, y: 2 }, b: { x: 1, y: 3 }, c: { x: 1, y: 2 } });
    const rows = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"];
    for (let row = 1; row < 12; row++)
      rows.push(
        `a${row}: &a${row} [${Array(10)
          .fill(`*a${row - 1}`)
          .join(",")}]`,
      );
    const many = Array.from({ length: 30_000 }, (_, at) => `k${at}: 1`);
    for (const text of [rows.join("\n"), "a: &a [*a]", "a: &a {<<: *a}", many.join("\n")]) {
      const { value, findings } = read(text);
      expect(value).toBeUndefined();
      expect(findings.map(({ message }) => message)).toEqual([
        "expands without end or is nested too deeply; replace aliases by their values, or nest less",
      ]);
    }
  });

  it("is not nested deeper than its parser can follow", () => {
    for (const depth of [200, 5_000, 100_000])
      for (const text of [`a: ${"[".repeat(depth)}${"]".repeat(depth)}`, "[".repeat(depth)]) {
        const { value, findings } = read(text);
        expect(value).toBeUndefined();
        expect(findings.map(({ message }) => message).join()).not.toMatch(/call stack/i);
      }
  });
});
