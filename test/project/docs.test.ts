import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pages } from "../../scripts/generate.ts";

const root = join(import.meta.dirname, "../..");

it.each(Object.entries(pages))("%s says what the code does (else: npm run docs)", (path, make) => {
  const now = readFileSync(join(root, path), "utf8");
  expect(now).toBe(make(now));
});
