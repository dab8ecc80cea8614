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

it("docs/seeds.md gives a reason for every difference", () => {
  const page = readFileSync(join(root, "docs/seeds.md"), "utf8");
  const rows = page
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1));
  // Those of seed 002 stand with that seed.
  const reasons = [
    ...rows.filter(([seed = ""]) => /^ 00\d/.test(seed)).map((cells) => cells[3]),
    ...tableUnder(page, "| done differently | why |").map((cells) => cells[1]),
  ];
  expect(reasons.length).toBeGreaterThan(45);
  expect(reasons.filter((reason = "") => !/\w+ \w+/.test(reason))).toEqual([]);
});

function tableUnder(page: string, head: string): readonly (readonly string[])[] {
  const [, rest = ""] = page.split(`${head}\n| --- | --- |\n`);
  const [table = ""] = rest.split("\n\n");
  return table.split("\n").map((line) => line.split("|").slice(1, -1));
}

it("CONTRIBUTING.md lists every fuzz campaign", () => {
  const page = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");
  const names = readdirSync(join(root, "fuzz/campaigns")).map((file) => file.replace(".ts", ""));
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
