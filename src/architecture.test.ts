import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, sep } from "node:path";
import { describe, expect, it } from "vitest";
import { builtinDialects, plannedDialects } from "./dialects/registry.ts";

/** Each room and the rooms it may import from. */
const rooms: Record<string, readonly string[]> = {
  turn: [],
  diagnostics: [],
  schema: ["turn"],
  stream: ["turn"],
  tools: ["turn", "schema", "stream"],
  profiles: ["turn"],
  dialects: ["turn", "diagnostics", "stream"],
  disclosure: ["turn", "diagnostics", "schema", "stream", "dialects"],
  adapters: ["turn", "stream", "tools", "profiles", "dialects", "disclosure", "upstreams"],
  upstreams: ["turn", "diagnostics", "schema", "stream", "dialects", "profiles"],
  store: ["turn"],
  telemetry: ["turn"],
  gateway: [
    "turn",
    "diagnostics",
    "stream",
    "tools",
    "profiles",
    "dialects",
    "disclosure",
    "upstreams",
    "store",
    "telemetry",
  ],
  recording: [
    "turn",
    "diagnostics",
    "stream",
    "tools",
    "profiles",
    "dialects",
    "disclosure",
    "upstreams",
    "telemetry",
    "gateway",
  ],
  console: [
    "turn",
    "diagnostics",
    "stream",
    "tools",
    "profiles",
    "dialects",
    "disclosure",
    "upstreams",
    "store",
    "telemetry",
    "gateway",
    "recording",
  ],
  host: [
    "turn",
    "diagnostics",
    "schema",
    "stream",
    "tools",
    "profiles",
    "dialects",
    "disclosure",
    "upstreams",
    "adapters",
    "store",
    "telemetry",
    "gateway",
    "recording",
    "console",
  ],
};
/** Rooms without I/O, clock, randomness or environment. */
const pure = new Set([
  "turn",
  "diagnostics",
  "schema",
  "stream",
  "tools",
  "profiles",
  "dialects",
  "disclosure",
]);

/** What a file's imports break, as sentences. */
function broken(file: string, text: string): string[] {
  const room = file.split("/")[0] ?? "";
  const faults: string[] = [];
  for (const [, target = ""] of text.matchAll(/\b(?:from|import)\s*\(?\s*["']([^"']+)["']/g)) {
    if (!target.startsWith(".")) {
      if (pure.has(room) && target.startsWith("node:"))
        faults.push(`${file} is pure and imports ${target}`);
      continue;
    }
    const reached = normalize(join(dirname(file), target)).split(sep)[0] ?? "";
    if (reached !== room && !rooms[room]?.includes(reached))
      faults.push(`${room} must not import ${reached} (${target})`);
  }
  if (
    pure.has(room) &&
    /\b(Date\.now|Math\.random|setTimeout|process\.env|console\.(?:log|info|warn|error)\b)/.test(
      text,
    )
  )
    faults.push(`${file} is pure and asks the machine`);
  if (file !== "host/config/env.ts" && text.includes("process.env"))
    faults.push(`${file} reads the environment`);
  return faults;
}

/** Where a file spreads a list into arguments: they are on the stack, and some 100,000 overflow it. */
const spreadArguments = (file: string, text: string): string[] =>
  text
    .split("\n")
    .flatMap((line, at) =>
      /\b(?:push|unshift|splice|concat|Math\.(?:max|min)|String\.from\w+)\([^(){}[\]]*\.\.\./.test(
        line,
      ) || /\.(?:push|unshift)\(\.\.\./.test(line)
        ? [`${file}:${at + 1} spreads a list into arguments: ${line.trim()}`]
        : [],
    );

/** The printer, which escapes what controls a terminal, and the screen of `top`, which asks it to. */
const printers = new Set(["host/platform/print.ts", "host/cli/top/screen.ts"]);

/** Where a file writes to a terminal around the printer. */
const writesToTerminal = (file: string, text: string): string[] =>
  printers.has(file)
    ? []
    : text
        .split("\n")
        .flatMap((line, at) =>
          /\bconsole\.(?:log|info|warn|error|debug|table|dir)\(|\bprocess\.(?:stdout|stderr)\b|\bwriteSync\([12]\b|\/dev\/(?:stdout|stderr|tty)/.test(
            line,
          )
            ? [`${file}:${at + 1} writes to the terminal: ${line.trim()}`]
            : [],
        );

/** Data that says who speaks which dialect. */
const declaresDialects = /^(?:dialects|profiles)\/|^host\/config\/providers\.ts$/;
/** The same words where others mean something else by them. */
const notDialects =
  /"gen_ai\.operation\.name": "\w+"|\bwire_api: "\w+"|\bCOPILOT_PROVIDER_WIRE_API: "\w+"/g;

/** Where a file outside `dialects` names a dialect: whoever must know something of one asks its traits. */
function namedDialects(file: string, text: string): string[] {
  if (declaresDialects.test(file)) return [];
  const names = [...builtinDialects.all.map(({ name }) => name), ...plannedDialects.keys()];
  const quoted = new RegExp(`(["'\`])(?:${names.join("|")})\\1(?!:)`);
  return text
    .replaceAll(notDialects, "")
    .split("\n")
    .flatMap((line, at) =>
      quoted.test(line) ? [`${file}:${at + 1} names a dialect: ${line.trim()}`] : [],
    );
}

const root = import.meta.dirname;
const files = readdirSync(root, { recursive: true, encoding: "utf8" })
  .map((file) => file.replaceAll(sep, "/"))
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && file.includes("/"));

describe("rooms", () => {
  it.each(files)("%s keeps to its room", (file) => {
    expect(Object.keys(rooms)).toContain(file.split("/")[0]);
    const text = readFileSync(join(root, file), "utf8");
    expect(broken(file, text)).toEqual([]);
    expect(namedDialects(file, text)).toEqual([]);
    expect(spreadArguments(file, text)).toEqual([]);
    expect(writesToTerminal(file, text)).toEqual([]);
    expect(text.split("\n").length, "lines").toBeLessThanOrEqual(500);
  });

  it("finds a dialect's name outside its folder", () => {
    const branch = 'if (turn.dialect === "chat") return;';
    expect(namedDialects("gateway/x.ts", `\n${branch}`)).toEqual([
      `gateway/x.ts:2 names a dialect: ${branch}`,
    ]);
    expect(namedDialects("host/x.ts", '"messages" in body')).toHaveLength(1);
    expect(namedDialects("tools/x.ts", "takesFrom('responses', profile)")).toHaveLength(1);
    expect(namedDialects("dialects/chat/x.ts", branch)).toEqual([]);
    // A key of JSON, as an example of a request has it, is none.
    expect(namedDialects("host/x.ts", `'{"messages":[]}'`)).toEqual([]);
  });

  it("finds a list that is spread into arguments", () => {
    expect(spreadArguments("turn/x.ts", "list.push(...more);")).toHaveLength(1);
    expect(spreadArguments("turn/x.ts", "Math.max(...counts)")).toHaveLength(1);
    expect(spreadArguments("turn/x.ts", "list.push({ ...one });")).toEqual([]);
    expect(spreadArguments("turn/x.ts", "const all = [...list, ...more];")).toEqual([]);
  });

  it("finds what writes to a terminal around the printer", () => {
    expect(writesToTerminal("host/x.ts", "process.stderr.write(text);")).toHaveLength(1);
    expect(writesToTerminal("host/x.ts", "console.error(text);")).toHaveLength(1);
    expect(writesToTerminal("host/platform/print.ts", "console.log(text);")).toEqual([]);
  });

  it("finds a forbidden import", () => {
    expect(broken("turn/x.ts", 'import { plan } from "../tools/plan.ts";')).toEqual([
      "turn must not import tools (../tools/plan.ts)",
    ]);
    expect(broken("stream/x.ts", 'import { createHash } from "node:crypto";')).toHaveLength(1);
    expect(
      broken("tools/x.ts", 'const { http } = await import("../upstreams/http/http.ts");'),
    ).toHaveLength(1);
    expect(broken("gateway/x.ts", "process.env.HOME")).toEqual([
      "gateway/x.ts reads the environment",
    ]);
  });
});
