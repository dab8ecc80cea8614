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
    ["an answer, in characters", server.answer_limit],
    ["an answer that its client", server.stall_timeout_ms],
    ["connections to", upstream.connections],
    ["waiting for one", upstream.timeouts["queue"]],
    ["an answer that does not begin", upstream.timeouts["headers"]],
    ["an answer that does not begin", upstream.timeouts["idle"]],
    ["work on one request", server.block_budget_ms],
    ["a body that arrives", constant("host/server/slow-bodies.ts", "LEAST_BYTES")],
    ["a body that arrives", constant("host/server/slow-bodies.ts", "LOOK_MS") / 1000],
    ["a body that arrives", constant("host/server/slow-bodies.ts", "LONGEST_MS") / 1000],
    ["a whole answer", constant("upstreams/http/answer.ts", "LONGEST_WHOLE")],
    ["white space", constant("upstreams/http/answer.ts", "MAX_BLANKS")],
    ["a list of models", constant("upstreams/http/fetch-text.ts", "LONGEST")],
    ["a list of models", constant("upstreams/http/fetch-text.ts", "WHOLE_MS") / 1000],
    ["a name; an id", constant("gateway/request-lengths.ts", "MAX_NAME")],
    ["a name; an id", constant("gateway/request-lengths.ts", "MAX_ID")],
    ["a name; an id", constant("dialects/shared/json-schema.ts", "LONGEST_KEY")],
    ["a schema", constant("dialects/shared/json-schema.ts", "DEEPEST")],
    ["a recorded turn that is read", 6 * constant("recording/turn-record.ts", "MAX_TURN_BYTES")],
    ["a recorded turn that is read", constant("recording/bundle/read-bundle.ts", "DEEPEST")],
    ["a count of tokens", constant("dialects/shared/token-counts.ts", "MAX_TOKENS")],
  ])("%s: as the code has it", (begins, value) => {
    expect(row(begins)).toMatch(new RegExp(`\\b${value}\\b`));
  });

  it("name settings that there are", () => {
    const named = [...page.matchAll(/`server\.(\w+)`/g)].map(([, name = ""]) => name);
    const known = [...Object.keys(server), "bodies_limit", "turns_limit"];
    for (const name of named) expect(known).toContain(name);
  });

  it("name tests that there are", () => {
    const named = [...page.matchAll(/`(test\/[\w./-]+)`/g)].map(([, path = ""]) => path);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

it("SECURITY.md says where reports go, and leads to the threat model", () => {
  const text = readFileSync(join(root, "SECURITY.md"), "utf8");
  expect(text).toContain("docs/security.md");
  expect(text).toMatch(/private report/);
});
