import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/gateway/config.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/security.md"), "utf8");
const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
  .map((file) => [file, readFileSync(join(root, "src", file), "utf8")] as const);

/** The numbers that a constant is made of, multiplied: `64 * 1024`. */
function constant(file: string, name: string): number {
  const text = sources.find(([path]) => path === file)?.[1] ?? "";
  const written = new RegExp(`const ${name} = ([\\d_* e]+);`).exec(text)?.[1];
  if (written === undefined) throw new Error(`${file} has no ${name}`);
  return written
    .split("*")
    .reduce((product, part) => product * Number(part.replaceAll("_", "")), 1);
}

const row = (begins: string): string =>
  page.split("\n").find((line) => line.startsWith(`| ${begins}`)) ?? "";

describe("the limits in docs/security.md", () => {
  const { server, upstreams } = parseConfig({
    upstreams: { a: { dialect: "chat", base_url: "http://127.0.0.1:9/v1" } },
  });
  const upstream = upstreams["a"] as { connections: number; timeouts: Record<string, number> };

  it.each([
    ["a request body", server.body_limit],
    ["what a request is made of", server.counts.values],
    ["what a request is made of", server.counts.values_each],
    ["what a request is made of", server.counts.schemas],
    ["its tools; messages", server.counts.tools],
    ["its tools; messages", server.counts.items],
    ["its tools; messages", server.counts.parts],
    ["its tools; messages", server.counts.fields],
    ["an answer, in characters", server.answer_limit],
    ["an answer that its client", server.stall_timeout_ms],
    ["connections to", upstream.connections],
    ["waiting for one", upstream.timeouts["queue"]],
    ["an answer that does not begin", upstream.timeouts["headers"]],
    ["an answer that does not begin", upstream.timeouts["idle"]],
    ["work on one request", server.block_budget_ms],
    ["a body that arrives", constant("host/server/body-intake.ts", "LEAST_BYTES")],
    ["a body that arrives", constant("host/server/body-intake.ts", "LOOK_MS") / 1000],
    ["a body that arrives", constant("host/server/body-intake.ts", "LONGEST_MS") / 1000],
    ["a whole answer", constant("upstreams/http/answer.ts", "LONGEST_WHOLE")],
    ["white space", constant("upstreams/http/answer.ts", "MAX_BLANKS")],
    ["a list of models", constant("upstreams/http/requests.ts", "LONGEST")],
    ["a list of models", constant("upstreams/http/requests.ts", "WHOLE_MS") / 1000],
    ["a name; an id", constant("gateway/http/request-lengths.ts", "MAX_NAME")],
    ["a name; an id", constant("gateway/http/request-lengths.ts", "MAX_ID")],
    ["a name; an id", constant("dialects/shared/shape.ts", "LONGEST_KEY")],
    ["a schema", constant("dialects/shared/shape.ts", "DEEPEST")],
    [
      "a recorded turn that is read",
      6 * constant("observe/recording/turn-record.ts", "MAX_TURN_BYTES"),
    ],
    ["a recorded turn that is read", constant("observe/recording/bundle.ts", "DEEPEST")],
    ["a count of tokens", constant("dialects/shared/loose.ts", "MAX_TOKENS")],
  ])("%s: as the code has it", (begins, value) => {
    expect(row(begins)).toMatch(new RegExp(`\\b${value}\\b`));
  });

  it("name settings that there are", () => {
    const named = [...page.matchAll(/`server\.(\w+)`/g)].map(([, name = ""]) => name);
    const known = [...Object.keys(server), "bodies_limit", "turns_limit"];
    for (const name of named) expect(known).toContain(name);
  });
});

/** Titles in a test file: texts that are followed by a function, in one line or two. */
function titlesIn(file: string): readonly string[] {
  const text = readFileSync(join(root, file), "utf8");
  const title = /(["`])([^\n]+?)\1,\s*(?:\{[^}]*\},\s*)?(?:async\b|\(|\w+ =>)/g;
  return [...text.matchAll(title)].map(([, , words = ""]) => words);
}

describe("the table of docs/security.md", () => {
  const table = page.slice(page.indexOf("| asset |"), page.indexOf("\n## Limits"));
  const lines = table.split("\n").filter((line) => /^\| [^*]/.test(line));
  const named = [...table.matchAll(/`((?:src|test|cli)\/[\w./-]+)`: `([^`]+)`/g)];

  it("names a test in each line", () => {
    expect(lines.length).toBeGreaterThan(30);
    const bare = lines.slice(1).filter((line) => !/\.test\.ts`: `/.test(line));
    expect(bare).toEqual([]);
  });

  it("names tests that exist", () => {
    expect(named).toHaveLength(table.split(".test.ts`").length - 1);
    const missing = named.filter(([, file = "", title = ""]) => {
      const titles = existsSync(join(root, file)) ? titlesIn(file) : [];
      return !titles.some((one) => one.includes(title));
    });
    expect(missing.map(([place]) => place)).toEqual([]);
  });
});

it("SECURITY.md says where reports go, and leads to the threat model", () => {
  const text = readFileSync(join(root, "SECURITY.md"), "utf8");
  expect(text).toContain("docs/security.md");
  expect(text).toMatch(/private report/);
});
