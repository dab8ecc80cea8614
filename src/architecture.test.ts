import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, sep } from "node:path";
import { describe, expect, it } from "vitest";
import { builtinDialects } from "./dialects/registry.ts";

const hub = [
  "json",
  "turn",
  "diagnostics",
  "stream",
  "tools",
  "profiles",
  "dialects",
  "agent",
  "upstreams",
];

const served = [
  "schema",
  "agent/adapters",
  "history",
  "gateway",
  "observe",
  "observe/recording",
  "observe/console",
];

/** Each room and the rooms it may import from. */
const rooms: Record<string, readonly string[]> = {
  json: [],
  turn: ["json"],
  diagnostics: [],
  schema: ["json", "turn"],
  stream: ["json", "turn"],
  tools: ["json", "turn", "schema", "stream"],
  profiles: ["json", "turn"],
  dialects: ["json", "turn", "stream"],
  agent: ["json", "turn", "diagnostics", "schema", "stream", "dialects"],
  "agent/adapters": [
    "json",
    "turn",
    "stream",
    "tools",
    "profiles",
    "dialects",
    "agent",
    "upstreams",
  ],
  upstreams: ["json", "turn", "diagnostics", "schema", "stream", "dialects", "profiles"],
  history: ["json", "turn"],
  observe: ["json", "turn"],
  gateway: [...hub, "history", "observe"],
  "observe/recording": [...hub, "observe", "gateway"],
  "observe/console": [...hub, "history", "observe", "observe/recording", "gateway"],
  host: [...hub, ...served],
  cli: [],
};

/** The command line imports the entries beside the rooms and the console's wire, and no room. */
const commandLineImports = /^(?:[\w-]+|observe\/console\/wire[\w-]*)\.ts$/;

/** The folder of a single dialect: other rooms find dialects in the registry. */
const oneDialect = /^dialects\/(?!shared\/|errors\/)[\w-]+\//;

/** The room of a file: the longest that its path begins with. */
function roomOf(file: string): string {
  const [first = "", second = ""] = file.split("/");
  return `${first}/${second}` in rooms ? `${first}/${second}` : first;
}

/** Rooms without I/O, clock, randomness or environment. */
const pure = new Set([
  "json",
  "turn",
  "diagnostics",
  "schema",
  "stream",
  "tools",
  "profiles",
  "dialects",
  "agent",
]);

/** What a file's imports break, as sentences. */
function broken(file: string, text: string): string[] {
  const room = roomOf(file);
  const faults: string[] = [];
  for (const [, target = ""] of text.matchAll(/\b(?:from|import)\s*\(?\s*["']([^"']+)["']/g)) {
    if (!target.startsWith(".")) {
      if (pure.has(room) && target.startsWith("node:"))
        faults.push(`${file} is pure and imports ${target}`);
      continue;
    }
    const path = pathFrom(file, target);
    const reached = roomOf(path);
    if (room !== "dialects" && oneDialect.test(path))
      faults.push(`${file} imports a dialect around the registry (${target})`);
    if (room === "cli" && commandLineImports.test(path)) continue;
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
const printers = new Set(["host/platform/print.ts", "cli/top/table.ts"]);

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
  /\["gemini", \/\^gemini-\?cli|\bname: "gemini",\n *title: "Gemini CLI"|\bcommands: \["gemini"\]|"gen_ai\.operation\.name": "\w+"|\bwire_api: "\w+"|\bCOPILOT_PROVIDER_WIRE_API: "\w+"/g;

/** Where a file outside `dialects` names a dialect: whoever must know something of one asks its traits. */
function namedDialects(file: string, text: string): string[] {
  if (declaresDialects.test(file)) return [];
  const names = builtinDialects.all.map(({ name }) => name);
  const quoted = new RegExp(`(["'\`])(?:${names.join("|")})\\1(?!:)`);
  return text
    .replaceAll(notDialects, "")
    .split("\n")
    .flatMap((line, at) =>
      quoted.test(line) ? [`${file}:${at + 1} names a dialect: ${line.trim()}`] : [],
    );
}

const root = import.meta.dirname;
const commandLine = join(root, "../cli");
const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll(sep, "/"))
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
/** Files of `src` and, below `cli/`, of the command line. */
const files = [
  ...filesIn(root).filter((file) => file.includes("/")),
  ...filesIn(commandLine).map((file) => `cli/${file}`),
];
const textOf = (file: string): string =>
  readFileSync(file.startsWith("cli/") ? join(root, "..", file) : join(root, file), "utf8");

/** The path that an import leads to. */
function pathFrom(file: string, target: string): string {
  const reached = normalize(join(file.startsWith("cli/") ? ".." : ".", dirname(file), target));
  return reached.replaceAll(sep, "/").replace(/^\.\.\/(src\/|(?=cli\/))/, "");
}

describe("rooms", () => {
  it.each(files)("%s keeps to its room", (file) => {
    expect(Object.keys(rooms)).toContain(roomOf(file));
    const text = textOf(file);
    expect(broken(file, text)).toEqual([]);
    expect(namedDialects(file, text)).toEqual([]);
    expect(spreadArguments(file, text)).toEqual([]);
    expect(writesToTerminal(file, text)).toEqual([]);
    expect(text.split("\n").length, "lines").toBeLessThanOrEqual(600);
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
    const deep = 'import { Fault } from "../../src/turn/fault.ts";';
    expect(broken("cli/commands/x.ts", deep)).toEqual([
      "cli must not import turn (../../src/turn/fault.ts)",
    ]);
    expect(broken("cli/commands/x.ts", 'from "../../src/terminal.ts"')).toEqual([]);
    expect(broken("host/x.ts", 'from "../../cli/output.ts"')).toHaveLength(1);
    expect(broken("gateway/x.ts", 'from "../dialects/chat/chat.ts"')).toEqual([
      "gateway/x.ts imports a dialect around the registry (../dialects/chat/chat.ts)",
    ]);
    expect(broken("gateway/x.ts", 'from "../dialects/shared/params.ts"')).toEqual([]);
    expect(broken("gateway/x.ts", "process.env.HOME")).toEqual([
      "gateway/x.ts reads the environment",
    ]);
  });
});

/** Lines of each room, without tests. */
const mostLines: Readonly<Record<string, number>> = {
  json: 465,
  turn: 1651,
  diagnostics: 201,
  schema: 614,
  stream: 1935,
  tools: 6341,
  profiles: 1654,
  dialects: 16105,
  upstreams: 6258,
  agent: 2422,
  history: 3917,
  observe: 4819,
  gateway: 11118,
  host: 4557,
  cli: 7930,
};

/** Files in the largest import cycle. */
const LARGEST_CYCLE = 4;

/** Functions of `src`, their calls, and kilobytes of each warm turn that `bench/turn-counts.ts` measures. */
const turnCeilings: Readonly<Record<string, readonly [number, number, number]>> = {
  "chat on chat": [373, 745, 93],
  "Messages on Responses": [449, 826, 122],
  "300 folded tools": [453, 813, 196],
  "chat: answer with one tool": [315, 496, 38],
  "chat: stream of 100 deltas": [327, 741, 80],
  "chat: stream of 1,000 argument fragments": [361, 1866, 462],
  "chat: 60 kB request with 30 tools": [326, 630, 75],
  "responses: answer with one tool": [363, 577, 55],
  "responses: stream of 100 deltas": [399, 825, 121],
  "responses: stream of 1,000 argument fragments": [425, 1905, 714],
  "responses: 60 kB request with 30 tools": [380, 811, 195],
  "messages: answer with one tool": [356, 544, 44],
  "messages: stream of 100 deltas": [384, 757, 101],
  "messages: stream of 1,000 argument fragments": [420, 1880, 608],
  "messages: 60 kB request with 30 tools": [375, 786, 172],
  "gemini: answer with one tool": [385, 616, 51],
  "gemini: stream of 100 deltas": [389, 762, 105],
  "gemini: stream of 1,000 argument fragments": [416, 1860, 484],
  "gemini: 60 kB request with 30 tools": [410, 982, 186],
  "chat on gemini: answer with one tool": [395, 695, 63],
  "chat on gemini: stream of 100 deltas": [418, 914, 197],
  "chat on gemini: stream of 1,000 argument fragments": [420, 723, 94],
  "chat on gemini: 60 kB request with 30 tools": [407, 1007, 196],
};

const exported = /^export (?:async )?(?:const|function\*?|class|type|abstract class) (\w+)/gm;
/** A tool of a turn, and one of an agent, for users of two entries. */
const publicTwice: ReadonlySet<string> = new Set(["Tool"]);

/** Ceilings for the whole: they only go down, and raising one needs a commit that says why. */
describe("weight", () => {
  it("has no more lines in a room than it had", () => {
    const lines: Record<string, number> = {};
    for (const file of files) {
      const [room = ""] = file.split("/");
      const own = textOf(file).split("\n").length - 1;
      lines[room] = (lines[room] ?? 0) + own;
    }
    expect(overCeiling(lines, mostLines)).toEqual([]);
  });

  it("defines an exported name once, except for the roles of dialects and the public names", () => {
    const places = new Map<string, Set<string>>();
    for (const file of files) {
      if (file.startsWith("dialects/")) continue;
      for (const [, name = ""] of textOf(file).matchAll(exported))
        places.set(name, (places.get(name) ?? new Set()).add(file));
    }
    const several = [...places].filter(([name, { size }]) => size > 1 && !publicTwice.has(name));
    expect(several.map(([name, where]) => `${name}: ${[...where].join(", ")}`)).toEqual([]);
  });

  it("has no larger import cycle than it had, types included", () => {
    expect(largestCycle(importsByFile())).toBeLessThanOrEqual(LARGEST_CYCLE);
  });

  it("executes no more in a warm turn than it did", () => {
    const script = join(root, "../bench/turn-counts.ts");
    const told = execFileSync(process.execPath, [script, "--json"], { encoding: "utf8" });
    const counts = JSON.parse(told) as Record<string, Record<string, number>>;
    for (const [turn, [functions, calls, kilobytes]] of Object.entries(turnCeilings)) {
      // An answer may come in two reads where it came in one, and bytes differ by some per cent.
      const ceilings = {
        functions: functions * 1.03,
        calls: calls * 1.03,
        kilobytes: kilobytes * 1.15,
        files: Infinity,
      };
      expect(Object.keys(counts)).toContain(turn);
      expect([turn, ...overCeiling(counts[turn] ?? {}, ceilings)]).toEqual([turn]);
    }
  }, 120_000);
});

function overCeiling(
  values: Readonly<Record<string, number>>,
  ceilings: Readonly<Record<string, number>>,
): string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const most = ceilings[name] ?? 0;
    return value > most ? [`${name}: ${value}, where ${most} is the most`] : [];
  });
}

function importsByFile(): ReadonlyMap<string, readonly string[]> {
  const all = new Set(files);
  return new Map(
    files.map((file) => {
      const targets = [...textOf(file).matchAll(/\b(?:from|import)\s*\(?\s*["'](\.[^"']+)["']/g)];
      const reached = targets.map(([, target = ""]) => pathFrom(file, target));
      return [file, reached.filter((one) => all.has(one))];
    }),
  );
}

/** The size of the largest group of files that all reach each other (Tarjan's algorithm). */
function largestCycle(imports: ReadonlyMap<string, readonly string[]>): number {
  const order = new Map<string, number>();
  const open: string[] = [];
  let largest = 0;
  const visit = (file: string): number => {
    const place = order.size;
    order.set(file, place);
    open.push(file);
    let low = place;
    for (const next of imports.get(file) ?? []) {
      if (!order.has(next)) low = Math.min(low, visit(next));
      else if (open.includes(next)) low = Math.min(low, order.get(next) ?? low);
    }
    if (low === place) largest = Math.max(largest, open.splice(open.indexOf(file)).length);
    return low;
  };
  for (const file of imports.keys()) if (!order.has(file)) visit(file);
  return largest;
}
