import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pages } from "../../scripts/generate.ts";

const root = join(import.meta.dirname, "../..");

it.each(Object.entries(pages))("%s says what the code does (else: npm run docs)", (path, make) => {
  const now = readFileSync(join(root, path), "utf8");
  expect(now).toBe(make(now));
});

it("docs/seeds.md names only files that exist", () => {
  const page = readFileSync(join(root, "docs/seeds.md"), "utf8");
  const paths = [...page.matchAll(/`((?:src|cli|test|docs|examples|scripts|agents)\/[\w./-]*)`/g)];
  expect(paths.length).toBeGreaterThan(100);
  expect(
    paths.map(([, path = ""]) => path).filter((path) => !existsSync(join(root, path))),
  ).toEqual([]);
});

it("CONTRIBUTING.md lists every fuzz campaign", () => {
  const page = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");
  const names = readdirSync(join(root, "fuzz/campaigns")).map((file) => file.replace(".ts", ""));
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
