import { readdirSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { expect, it } from "vitest";

// Tests are transformed by other means than Node's own, which some lines are beyond.
it("every file runs unbuilt", () => {
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" });
  const beyond = files
    .filter((file) => file.endsWith(".ts"))
    .filter((file) => !isStripped(readFileSync(join(import.meta.dirname, file), "utf8")));
  expect(beyond).toEqual([]);
});

function isStripped(source: string): boolean {
  try {
    return stripTypeScriptTypes(source).length === source.length;
  } catch {
    return false; // That is what the test is about.
  }
}
