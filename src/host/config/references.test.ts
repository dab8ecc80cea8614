import { describe, expect, it } from "vitest";
import { maskReferences } from "./config-file.ts";

const env: Record<string, string> = { NAME: "value", EMPTY: "", OTHER: "other" };

function readFile(path: string): string {
  if (path === "/run/secrets/key") return "sk-1\n";
  if (path === "value/key") return "two\nlines";
  throw Object.assign(new Error("no"), { code: "ENOENT" });
}

function expand(text: string): { value: string; wrong: string[] } {
  const masked = maskReferences(text, { lookUp: (name) => env[name], readFile });
  const wrong: string[] = [];
  return { value: masked.expand(masked.text, (message) => wrong.push(message)), wrong };
}

describe("references to the environment", () => {
  it.each([
    ["${NAME}", "value"],
    ["a ${NAME} b ${OTHER}", "a value b other"],
    ["${EMPTY}", ""],
    ["${NOPE:-preset}", "preset"],
    ["${EMPTY:-preset}", "preset"],
    ["${NAME:-preset}", "value"],
    ["${NOPE:-}", ""],
    ["${NOPE:-${NAME}/x}", "value/x"],
    ['${NOPE:-{"a": 1}}', '{"a": 1}'],
    ["$${NAME}", "${NAME}"],
    ["${file:/run/secrets/key}", "sk-1"],
    ["Bearer ${file:/run/secrets/key}!", "Bearer sk-1!"],
    ["${file:${NAME}/key}", "two\nlines"],
    ["$NAME and $5", "$NAME and $5"],
  ])("%s is %s", (text, value) => {
    expect(expand(text)).toEqual({ value, wrong: [] });
  });

  it("say what is wrong with them", () => {
    expect(expand("${NOPE}").wrong).toEqual([
      "`NOPE` is not set; export it, or give a default: `${NOPE:-default}`",
    ]);
    expect(expand("${NO-PE}").wrong).toEqual([
      "`${NO-PE}` is not a reference; write `${NAME}`, `${NAME:-default}` or `${file:PATH}`",
    ]);
    expect(expand("${file:/none}").wrong).toEqual([
      "`/none` cannot be read (ENOENT); check the path and its permissions",
    ]);
    expect(expand("${NAME").wrong).toEqual([
      "a `${` is not closed; write `${NAME}`, or `$${` for the characters themselves",
    ]);
  });

  it("keep every position of the text they stand in", () => {
    const text = "a: ${NAME} # ${NOPE:-x}\nb: ${OTHER}\n";
    const masked = maskReferences(text, { lookUp: () => undefined, readFile });
    expect(masked.text).toHaveLength(text.length);
    expect(masked.text).not.toMatch(/[${}]/);
    expect(masked.unmask(masked.text)).toBe(text);
  });

  it("may be many", () => {
    const text = Array.from({ length: 5000 }, (_, index) => `\${N${index}}`).join(" ");
    const masked = maskReferences(text, { lookUp: (name) => name.slice(1), readFile });
    expect(masked.expand(masked.text, () => {}).split(" ")[4999]).toBe("4999");
  });
});
